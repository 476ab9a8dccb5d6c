//! What the tables say of a shell: the row of the flow whose way it has.

use crate::path::Tally;
use ackclock_core::time::Time;
use ackclock_run::output::{FlowRow, delays};
use ackclock_run::spec::Flow;

/// The row of `flow`, whose way programs have had until `end`. What they do is theirs: of their connections nothing is known
/// here but what passed the path, from the server to the client.
pub fn row(flow: &Flow, tally: &Tally, rtt_s: f64, (from, end): (Time, Time)) -> FlowRow {
    let span = end.since(from).as_secs_f64();
    FlowRow {
        id: flow.id.clone(),
        leg: None,
        app: "shell".into(),
        cc: "none".to_owned(),
        start_s: 0.0,
        end_s: None,
        goodput_bps: if span > 0.0 { tally.received_bytes as f64 * 8.0 / span } else { 0.0 },
        goodput_bytes: tally.received_bytes,
        sent_bytes: tally.sent_bytes,
        retransmitted_bytes: 0,
        sent_segments: tally.sent,
        retransmitted_segments: 0,
        timeouts: 0,
        recoveries: 0,
        spurious_timeouts: 0,
        undos: 0,
        tlp_probes: 0,
        dsacks: 0,
        marked_segments: tally.marked,
        ecn_reductions: None,
        path_rtt_s: rtt_s,
        mean_rtt_s: None,
        min_rtt_s: None,
        max_rtt_s: None,
        mean_cwnd_bytes: 0.0,
        acks: 0,
        dup_acks: None,
        start_estimate_bps: None,
        start_ssthresh_bytes: None,
        fct_s: None,
        completed: false,
        failed: None,
        received_packets: Some(tally.received),
        delay_s: delays(&tally.delay),
        datagrams: Some(tally.row()),
        transfers: None,
    }
}
