//! Payload is never kept: while the connections of a capture are open, and when they are over, no memory has any of it.
//! The allocator remembers every block of this test's thread, in which all of it runs.

#![allow(clippy::unwrap_used)]

use crate::allocator::{remember_blocks, remembered};
use crate::files;
use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::{Analyzer, Settings};
use ackclock_capture::reader::{Capture, Decoder, blank};

/// What the payload consists of, so that this program has it nowhere else.
fn marker() -> [u8; 8] {
    std::array::from_fn(|i| b'Q' ^ (i as u8 * 29))
}

/// In how many blocks the marker is, besides `own`.
fn found(own: usize) -> usize {
    let marker = marker();
    remembered()
        .filter(|(at, _)| *at != own)
        .filter(|&(at, size)| {
            // SAFETY: this block was given out with that size, from zeroed memory, and only this thread gives it back.
            let bytes = unsafe { std::slice::from_raw_parts(at as *const u8, size) };
            bytes.windows(8).any(|window| window == marker)
        })
        .count()
}

/// A packet of connection `n`, four to each.
fn with(payload: &[u8], n: u8) -> Vec<u8> {
    let mut tcp = files::tcp(1 + u32::from(n % 4) * payload.len() as u32, 0);
    tcp[1] = n / 4;
    tcp.extend(payload);
    files::ipv4(6, &tcp)
}

#[test]
fn no_payload_is_kept() {
    remember_blocks();
    let payload = marker().repeat(64);
    let file = files::plain(101, &(0..40).map(|n| with(&payload, n)).collect::<Vec<_>>());
    let kept = file.as_ptr() as usize;
    assert!(found(kept) > 0, "the payload by itself");
    drop(payload);
    let mut analyzer = Analyzer::new(Vec::<FlowRow>::new(), Settings { most_awake: 2, ..Settings::default() });
    let (mut capture, mut decoder, mut segment) =
        (Capture::open(file.as_slice(), None).unwrap(), Decoder::new(true), blank());
    let mut taken = 0;
    while capture.advance().unwrap() {
        let record = capture.record();
        if decoder.read(&record, &mut segment).is_ok() {
            taken += 1;
            analyzer.take(&segment);
        }
    }
    assert!(taken >= 40 && found(kept) > 0, "the reader has what it read last");
    drop((capture, decoder));
    assert_eq!(found(kept), 0, "in open connections");
    let rows = analyzer.finish();
    assert!(rows.iter().any(|row| row.sent_bytes >= 512));
    assert_eq!(found(kept), 0, "in rows");
}
