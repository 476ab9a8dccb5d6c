//! What senders do that the rules of the analysis must follow: each is a case of a recorded Linux sender, made short.
//!
//! The path is that of the vectors: 50 ms, segments of 1000 bytes.

use crate::script::{Setting, holds};

fn with_sack(script: &str, results: &str) {
    holds(&Setting::default(), script, results);
}

fn without_sack(script: &str, results: &str) {
    holds(&Setting { sack: false, ..Setting::default() }, script, results);
}

/// A needless first retransmission is no reason to stop while others may have been needed (RFC 3708 §3).
#[test]
fn a_dsack_of_the_first_does_not_end_a_timeouts_recovery() {
    with_sack(
        "D5; 400 > 1:1000; 450 < a1001; 450.1 > 1001:1000; 452 < a1001 s1-1001; 452.1 > 2001:1000",
        "1 timeout, 1 rto, 2 rto_recovery, 1 spurious dsack, 0 unknown",
    );
}

/// Timestamps tell of the timeout only if nothing had been sent again before it (RFC 3522 §3.2, step 1).
#[test]
fn a_timeout_within_a_fast_recovery_is_not_undone_by_timestamps() {
    with_sack(
        "60 > 1:1000 t60/0; 60.1 > 1001:1000 t60/0; 60.2 > 2001:1000 t60/0; 60.3 > 3001:1000 t60/0; \
         60.4 > 4001:1000 t60/0; 110 < a1001 t110/60; 110.3 < a1001 s3001-4001 t110/60; 110.4 < a1001 s3001-5001 t110/60; \
         110.5 > 1001:1000 t110/110; 600 > 1001:1000 t600/110; 650 < a2001 s3001-5001 t650/110; 650.1 > 2001:1000 t650/650",
        "1 fast, 1 timeout, 1 rto, 1 rto_recovery, 1 recovery, 1 spurious eifel",
    );
}

/// That an acknowledgment came too early is for the observer to see; without timestamps the sender goes on.
#[test]
fn what_only_an_observer_sees_ends_nothing() {
    with_sack(
        "D5; 400 > 1:1000; 410 < a1001; 410.1 > 1001:1000; 410.2 > 2001:1000",
        "1 timeout, 1 rto, 2 rto_recovery, 1 spurious early",
    );
}

/// Each timeout begins anew with everything that is out.
#[test]
fn a_second_timeout_moves_the_end() {
    with_sack(
        "D3; 360 > 1:1000; 410 < a1001; 410.1 > 1001:1000; 410.2 > 3001:1000; 800 > 1001:1000; 850 < a3001; \
         850.1 > 3001:1000",
        "2 timeout, 2 rto, 2 rto_recovery, 0 unknown",
    );
}

/// What an episode sent again of data behind its end is lost as long as nothing covers it: the sender recovers on.
#[test]
fn a_recovery_goes_over_into_the_next() {
    with_sack(
        "D5; 110 < a1001; 110.2 < a1001 s2001-3001; 110.3 < a1001 s2001-4001; 110.5 > 1001:1000; 110.6 > 5001:1000; \
         110.7 > 6001:1000; 110.8 > 7001:1000; 160.5 < a1001 s2001-5001 s6001-8001; 160.6 > 5001:1000; \
         170 < a5001 s6001-8001; 215 < a8001",
        "2 fast, 2 recovery",
    );
}

/// Retransmissions give no sample, but with timestamps the sender's timer follows them.
#[test]
fn the_round_trip_follows_timestamps_while_all_is_repeated() {
    let mut script = String::from("60 > 1:1000 t60/0");
    for k in 1..12 {
        script += &format!("; 60.1 > {}:1000 t60/0", k * 1000 + 1);
    }
    script += "; 260 < a1001 t260/60; 260.1 < a1001 t260/60; 260.2 < a1001 t260/60; 260.3 < a1001 t260/60";
    for k in 0..7 {
        let (at, seq) = (261 + 50 * k, 1001 + 1000 * k);
        script += &format!("; {at} > {seq}:1000 t{at}/{at}; {}.9 < a{} t{at}/{at}", at + 49, seq + 1000);
    }
    script += "; 800 > 8001:1000 t800/0";
    without_sack(&script, "7 fast, 1 rto, 1 timeout");
}

/// A segment sent later has arrived, be it one that was sent again (RFC 8985 §6.2).
#[test]
fn a_repair_that_arrives_shows_that_older_segments_are_lost() {
    with_sack(
        "D5; 110 < a1001; 110.2 < a1001 s2001-3001; 110.3 < a1001 s2001-4001; 110.4 > 1001:1000; 110.5 > 5001:1000; \
         112 > 4001:1000; 162 < a4001; 163 < a5001; 163.1 > 5001:1000",
        "3 fast, 2 recovery, 0 unknown",
    );
}

/// FIN has a number of its own; a block that covers only this one is news.
#[test]
fn a_sacked_fin_shows_that_data_are_lost() {
    with_sack(
        "60 > 1:1000; 60.1 > 1001:1000; 60.2 > 2001:0 F; 110 < a1001; 110.1 < a1001 s2001-2002; 120 > 1001:1000; 170 < a2002",
        "1 fast, 1 recovery, 1 dup",
    );
}

/// What the other end sends of its own, or again, does not restart this end's timers.
#[test]
fn packets_without_news_are_silence() {
    with_sack(
        "60 > 1:1000; 110 < a1001; 200 > 1001:1000; 480 < 1:100 a1001; 480 > 2001:0; 500 > 1001:1000",
        "1 tlp, 1 ambiguous, 0 unknown",
    );
}

/// A timer that repeats the last segment that has not come, while the first is out, is that of probes, long before a timeout's.
#[test]
fn the_last_that_has_not_come_is_a_probe_though_others_are_reported() {
    with_sack(
        "D5; 110 < a1001; 112 < a1001 s4001-5001; 150 > 3001:1000; 200 < a1001 s3001-5001; 200.05 > 1001:1000",
        "1 tlp, 0 ambiguous, 1 fast, 1 recovery",
    );
}

/// Without SACK no acknowledgment tells that what was sent again is lost again: only the timer does, whatever duplicates come.
#[test]
fn without_sack_the_same_once_more_is_a_timeout() {
    without_sack(
        "D5; 110 < a1001; 110.1 < a1001; 110.2 < a1001; 110.3 < a1001; 110.4 > 1001:1000; 140 < a1001; 170 < a1001; \
         199 < a1001; 200 > 1001:1000; 250 < a2001; 250.1 > 2001:1000",
        "1 fast, 1 recovery, 1 timeout, 1 rto, 1 rto_recovery",
    );
}

/// With SACK it is one where nothing that was sent after it has come, however lately the last acknowledgment did.
#[test]
fn the_same_once_more_that_nothing_has_overtaken_is_a_timeout() {
    with_sack(
        "D5; 110 < a1001; 110.2 < a1001 s2001-3001; 110.3 < a1001 s2001-4001; 110.5 > 1001:1000; \
         150 < a1001 s2001-5001; 170 > 1001:1000; 220 < a5001",
        "1 fast, 1 recovery, 1 timeout, 1 rto",
    );
}

/// What was sent again after a timeout and overtaken is lost again: another recovery begins (RFC 8985 §6.2).
#[test]
fn a_lost_repair_of_a_timeout_begins_a_recovery() {
    with_sack(
        "D5; 400 > 1:1000; 450 < a1001; 450.1 > 1001:1000; 450.2 > 2001:1000; 500.3 < a1001 s2001-3001; \
         500.4 > 1001:1000; 550 < a5001",
        "1 timeout, 1 rto, 2 rto_recovery, 1 fast, 1 recovery",
    );
}

/// The last segment once more, right behind the first repair, asks for acknowledgments (RFC 6675 §4, NextSeg 4): what is out
/// behind the end of the recovery then begins no other.
#[test]
fn a_rescue_is_no_timeout_and_no_recovery_of_its_own() {
    with_sack(
        "D5; 110 < a1001; 110.2 < a1001 s2001-3001; 110.3 < a1001 s2001-4001; 110.5 > 1001:1000; 110.6 > 5001:1000 i8; \
         110.7 < a1001 s2001-5001; 110.75 > 5001:1000 i9; 160.5 < a5001; 160.6 < a6001",
        "2 fast, 1 recovery, 0 timeout",
    );
}

/// FIN without data is a segment like others: an acknowledgment of it alone counts.
#[test]
fn the_acknowledgment_of_a_fin_counts() {
    with_sack("60 > 1:1000; 60.1 > 1001:0 F; 110 < a1001; 112 < a1002; 113 < a1002", "2 ack, 0 dup, 2 RTT");
}

/// Receivers echo the timestamp of the segment at the edge (RFC 7323 §4.3): a repair behind it that is reported first is no
/// proof that it was needless.
#[test]
fn the_echo_tells_nothing_of_repairs_behind_the_edge() {
    with_sack(
        "60 > 1:1000 t60/0; 60.1 > 1001:1000 t60/0; 60.2 > 2001:1000 t60/0; 60.3 > 3001:1000 t60/0; \
         60.4 > 4001:1000 t60/0; 110.1 < a1 s1001-2001 t110/0; 110.3 < a1 s1001-2001 s3001-4001 t110/0; \
         110.4 < a1 s1001-2001 s3001-5001 t110/0; 110.5 > 1:1000 t110/110; 110.6 > 2001:1000 t110/110; \
         160.6 < a1 s1001-5001 t160/0; 170 > 1:1000 t170/160; 220 < a5001 t220/170",
        "3 fast, 1 recovery, 0 spurious eifel",
    );
}

/// After a timeout that was spurious the sender goes on with new data (F-RTO, RFC 5682): what it sends again then has
/// another cause.
#[test]
fn new_data_before_what_was_out_end_a_timeout() {
    with_sack(
        "D5; 60.5 > 5001:1000; 60.6 > 6001:1000; 400 > 1:1000; 410 < a1001; 410.1 > 7001:1000; 410.2 < a2001; \
         410.3 > 8001:1000; 411 < a2001 s3001-4001; 411.1 < a2001 s3001-5001; 411.2 < a2001 s3001-6001; 411.3 > 2001:1000; \
         462 < a7001",
        "1 timeout, 1 rto, 1 fast, 1 recovery, 0 rto_recovery",
    );
}
