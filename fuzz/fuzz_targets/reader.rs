//! Any bytes as a capture, read and analysed to its rows: nothing panics, and what is counted fits together.
#![no_main]

use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::sink::{Event, Sample, Sink};
use ackclock_capture::analysis::Settings;
use ackclock_capture::drive::{analyse, Options};
use libfuzzer_sys::fuzz_target;

/// Checks rows as they come.
#[derive(Default)]
struct Checks {
    connections: u64,
    packets: u64,
}

impl Sink for Checks {
    fn flows(&mut self, rows: [FlowRow; 2]) {
        self.connections += 1;
        for row in rows {
            self.packets += row.packets + row.duplicate_packets + row.stray;
            assert!(row.retransmitted_bytes <= row.sent_bytes);
            assert!(row.spurious_timeouts <= row.timeouts);
        }
    }
    fn sample(&mut self, sample: Sample) {
        assert!(sample.value.is_finite());
    }
    fn event(&mut self, _: Event) {}
}

/// A small file that unpacks to a large one is read so far.
const MOST_BYTES: u64 = 1 << 22;

fuzz_target!(|bytes: &[u8]| {
    // Both ways from the same bytes, so that what the corpus has are captures.
    let all = Settings { series: true, events: true, merge_interfaces: true, most_connections: 3, ..Settings::default() };
    let thorough = Options { settings: all, sort: 5, most_bytes: Some(MOST_BYTES), checksums: true };
    for options in [Options { most_bytes: Some(MOST_BYTES), ..Options::default() }, thorough] {
        let mut checks = Checks::default();
        let Ok(summary) = analyse(bytes, &options, &mut checks) else { continue };
        let skipped: u64 = summary.skipped().map(|(_, n)| n).sum();
        assert_eq!(checks.connections, summary.connections);
        assert!(summary.segments + skipped + summary.malformed >= summary.packets);
        assert!(checks.packets <= summary.segments);
        assert!(summary.bytes <= MOST_BYTES);
    }
});
