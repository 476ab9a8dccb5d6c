//! The vectors of the analysis: one short capture each, and what must come out.
//!
//! Before each: SYN at 0, SYN/ACK at 50 ms, ACK at 50.1 ms, as at the sender of a path of 50 ms. Segments of 1000 bytes,
//! SACK, no timestamps in the SYNs, window 60000. D3 and D5 are three and five segments at 60 ms; H are three of which the
//! second has not come, at the receiver.

use crate::script::{self, Setting, holds};

fn usual(script: &str, results: &str) {
    holds(&Setting::default(), script, results);
}

fn without_sack(script: &str, results: &str) {
    holds(&Setting { sack: false, ..Setting::default() }, script, results);
}

#[test]
fn a_fast_recovery_by_sack() {
    usual(
        "D5; 110 < a1001; 110.2 < a1001 s2001-3001; 110.3 < a1001 s2001-4001; 110.4 < a1001 s2001-5001; \
         110.5 > 1001:1000; 160 < a5001",
        "1 fast, 1 recovery, 3 dup, 4 RTT",
    );
}

#[test]
fn two_holes_are_one_recovery() {
    usual(
        "D5; 60.5 > 5001:1000; 110 < a1001; 110.5 < a1001 s2001-3001 s4001-6001; 110.6 > 1001:1000; \
         110.8 > 6001:1000; 111 > 3001:1000",
        "2 fast, 1 recovery, 0 reordered",
    );
}

#[test]
fn a_timeout_and_what_follows_it() {
    usual("D3; 360 > 1:1000; 410 < a1001; 410.1 > 1001:1000; 410.2 > 2001:1000", "1 timeout, 1 rto, 2 rto_recovery");
}

#[test]
fn a_tail_loss_probe_finds_a_loss() {
    usual("D3; 110 < a1001; 212 > 2001:1000; 262 < a1001 s2001-3001; 262.1 > 1001:1000", "1 tlp, 1 fast, 0 timeout");
}

#[test]
fn a_tail_loss_probe_that_was_needless() {
    usual("D3; 110 < a1001; 212 > 2001:1000; 240 < a3001; 262 < a3001 s2001-3001", "1 tlp, 1 spurious dsack, 1 dsack");
}

#[test]
fn timeouts_back_off() {
    without_sack("60 > 1:1000; 360 > 1:1000; 960 > 1:1000; 2160 > 1:1000; 2210 < a1001", "3 timeout, 3 rto, 0 RTT");
}

#[test]
fn a_probe_of_the_only_segment_may_be_a_timeout() {
    usual("60 > 1:1000; 360 > 1:1000; 410 < a1001", "1 tlp, 1 ambiguous");
}

#[test]
fn keepalives_are_no_retransmissions() {
    usual(
        "60 > 1:1000; 110 < a1001; 5000 > 1000:0; 5050 < a1001; 6000 > 1000:1; 6050 < a1001",
        "2 keepalive, 0 dup, 0 rtx, 1000 byte sent",
    );
}

#[test]
fn probes_of_a_closed_window() {
    holds(
        &Setting { window: 1000, ..Setting::default() },
        "60 > 1:1000; 110 < a1001 w0; 400 > 1001:1; 450 < a1001 w0; 900 > 1000:0; 950 < a1001 w0; 1400 < a1001 w8000; \
         1401 > 1001:1000",
        "2 probe, 1 zero window, 1 update, 0 rtx, 0 dup",
    );
}

#[test]
fn a_hole_that_fills_at_once_was_reordered() {
    usual("H; 62 > 1001:1000; 62 < a4001", "1 reordered, 2 dup, 0 rtx");
}

#[test]
fn a_hole_that_fills_after_a_round_trip_was_lost() {
    usual("H; 111 > 1001:1000; 111 < a4001", "1 fast, 0 reordered");
}

#[test]
fn an_older_timestamp_was_overtaken() {
    usual("60 > 1:1000 t60/0; 60.2 > 2001:1000 t62/0; 130 > 1001:1000 t61/0", "1 reordered, 0 rtx");
}

#[test]
fn a_newer_timestamp_was_sent_again() {
    usual("60 > 1:1000 t60/0; 60.2 > 2001:1000 t62/0; 75 > 1001:1000 t90/0", "1 rtx, 0 reordered");
}

#[test]
fn copies_have_the_same_identification() {
    usual(
        "60 > 1:1000 i7; 60.03 > 1:1000 i7; 110 < a1001 i9; 110.02 < a1001 i9",
        "1 duplicate packet of X, 1 duplicate packet of Y, 0 rtx, 0 dup",
    );
}

#[test]
fn the_same_identification_much_later_is_no_copy() {
    usual("60 > 1:1000 i7; 60.1 > 1001:1000 i8; 360 > 1:1000 i7", "1 rto, 0 duplicate packet of X");
}

#[test]
fn the_echo_of_the_first_copy_proves_a_timeout_needless() {
    usual(
        "60 > 1:1000 t60/0; 60.1 > 1001:1000 t60/0; 360 > 1:1000 t360/0; 370 < a1001 t500/60",
        "1 rto, 1 spurious eifel",
    );
}

#[test]
fn what_was_acknowledged_is_sent_needlessly() {
    usual("60 > 1:1000; 110 < a1001; 115 > 1:1000; 165 < a1001 s1-1001", "1 spurious acked, 0 spurious dsack, 1 dsack");
}

#[test]
fn of_a_partial_retransmission_the_old_bytes_count() {
    usual("60 > 1:1000; 60.1 > 1001:1000; 360 > 1001:2000", "1 partial, 1000 byte again, 4000 byte sent");
}

#[test]
fn a_gap_that_is_acknowledged_was_missed() {
    usual("60 > 1:1000; 60.2 > 2001:1000; 110 < a3001", "1000 gap, 1000 missed, 0 rtx");
}

#[test]
fn an_acknowledgment_of_what_did_not_pass() {
    usual("60 > 1:1000; 110 < a3001; 111 > 3001:1000", "1 ack_unseen, 2000 missed, 0 rtx");
}

#[test]
fn with_sack_a_duplicate_has_news() {
    let script = "D5; 110 < a1001; 110.1 < a1001; 110.2 < a1001";
    usual(script, "0 dup");
    without_sack(script, "2 dup");
}

#[test]
fn with_sack_windows_may_move() {
    usual("D5; 110 < a1001; 110.1 < a1001 s2001-3001 w59000; 110.2 < a1001 s2001-4001 w58000", "2 dup");
}

#[test]
fn sequence_numbers_wrap() {
    let of = Setting { isn: 0u32.wrapping_sub(1500), ..Setting::default() };
    holds(&of, "60 > 1:1000; 60.1 > 1001:1000; 110 < a1001; 310 > 1001:1000", "1 rtx, 1000 byte again");
}

#[test]
fn super_packets_count_their_segments() {
    usual(
        "60 > 1:4000; 110 < a1001; 110.2 < a1001 s2001-3001; 110.3 < a1001 s2001-4001; 110.5 > 1001:1000",
        "1 fast, 5 segment, 2 packet",
    );
}

#[test]
fn a_recovery_without_sack() {
    without_sack(
        "D5; 110 < a1001; 110.1 < a1001; 110.2 < a1001; 110.3 < a1001; 110.4 > 1001:1000; 160.4 < a2001; \
         160.5 > 2001:1000",
        "2 fast, 1 recovery",
    );
}

#[test]
fn round_trips_of_repeated_segments_do_not_count() {
    usual("D5; 110 < a1001; 112 < a1001 s2001-5001; 113 > 1001:1000; 163 < a5001", "2 RTT");
}

#[test]
fn a_later_identification_and_timestamp_was_sent_again() {
    usual(
        "60 > 1:1000 t60/0 i1; 60.2 > 2001:1000 t60/0 i3; 110.2 < a1001 s2001-3001; 110.3 > 1001:1000 t110/1 i4; \
         160 < a3001",
        "1 rtx, 0 missed",
    );
}

#[test]
fn each_stretch_that_sack_blocks_cover_is_told_apart() {
    let script = "D5; 60.5 > 5001:1000; 110 < a1001; 110.5 < a1001 s2001-3001 s4001-6001; 110.6 < a1001 s2001-6001";
    let found = script::play(&Setting::default(), script);
    let sacks = found.events.iter().filter(|event| event.kind.name() == "sack");
    let told: Vec<_> = sacks.map(|event| (event.packet, event.seq, event.bytes)).collect();
    assert_eq!(told, [(11, 2001, 1000), (11, 4001, 2000), (12, 3001, 1000)]);
}

#[test]
fn a_direction_of_a_fin_alone_ends_with_it() {
    // Y closes without having sent a byte; seen beside X, which receives that. Times are those of clocks.
    let of = Setting { shift_ms: 1.7e12, ..Setting::default() };
    let found = script::play(&of, "60 > 1:1000; 110 < a1001 F; 110.3 > 1001:0 a7002");
    let (syn, row) = (found.rows[0].start as f64 * 1e-9, &found.rows[1]);
    assert!(row.completed);
    assert_eq!(row.vantage, Some("receiver"));
    let lasted = row.fct_s.unwrap();
    assert!((lasted - 0.11).abs() < 1e-6, "{lasted} s since the SYN at {syn} s");
}

#[test]
fn a_window_scale_that_was_cut_off_is_unknown() {
    let of = Setting { scale: Some(7), ..Setting::default() };
    let whole = script::segments(&of, "D3; 110 < a3001");
    let mut cut = whole.clone();
    (cut[1].options, cut[1].options_cut) = (Default::default(), true);
    let [known, unknown] = [whole, cut].map(|all| script::analysed(&all, Default::default()).rows.swap_remove(0));
    assert!(known.shares.is_some() && known.rwnd.is_some());
    assert!(unknown.shares.is_none() && unknown.rwnd.is_none());
    assert_eq!(unknown.goodput_bytes, 3000);
}
