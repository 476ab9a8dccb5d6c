//! Applications that read slowly, and one that plays what it fetches.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, document, flow, link, play, sim};
use serde_json::{Value, json};

/// A bulk flow whose receiver reads `bps` every 10 ms, with a buffer of so many bytes.
fn slow(bps: u64, buffer: u64, profile: &str) -> Value {
    let mut f = flow("0", None);
    f["app"] = json!({"kind": "bulk", "read_bps": bps});
    f["profile"] = json!(profile);
    f["tcp"] = json!({"receive_buffer": buffer, "initial_receive_window": buffer / 2});
    f
}

fn path() -> Vec<Value> {
    vec![link("out", 20_000_000, 20, 100), link("back", 20_000_000, 20, 100)]
}

#[test]
fn a_slow_reader_sets_the_rate() {
    for profile in ["rfc", "linux"] {
        let mut d = document(20_000, path(), vec![slow(4_000_000, 100_000, profile)]);
        d["warmup_ns"] = json!(5000 * MS);
        d["engine"] = json!({"log_deliveries": true});
        let mut s = sim(&d);
        s.run(|| false).unwrap();
        let windows: Vec<u16> = s
            .take_deliveries()
            .iter()
            .filter(|p| p.to == 0 && p.at.0 > 5_000 * MS)
            .filter_map(|p| p.packet.tcp().map(|t| t.window))
            .collect();
        let row = &s.output().flows[0];
        // 500,000 B/s in turns of 5000 B, whatever the buffer holds beyond.
        assert!((row.goodput_bps / 4e6 - 1.0).abs() < 0.01, "{profile}: {}", row.goodput_bps);
        assert_eq!(row.retransmitted_segments, 0, "nothing is sent that finds no room");
        // In units of two bytes: what is not read takes room, and the rest is what a round trip and a turn need.
        let (most, n) = (2 * u64::from(*windows.iter().max().unwrap()), windows.len());
        assert!((25_000..=60_000).contains(&most) && n > 500, "{profile}: {most} of 100000, {n} of them");
    }
}

#[test]
fn a_reader_as_fast_as_the_path_changes_nothing_in_the_long_run() {
    let goodput = |f: Value| {
        let mut d = document(20_000, path(), vec![f]);
        d["warmup_ns"] = json!(2000 * MS);
        play(&d).flows[0].goodput_bps
    };
    let mut at_once = slow(1, 1 << 20, "linux");
    at_once["app"] = json!({"kind": "bulk"});
    let (fast, free) = (goodput(slow(100_000_000, 1 << 20, "linux")), goodput(at_once));
    assert!((fast / free - 1.0).abs() < 0.02, "{fast} and {free}");
}

#[test]
fn a_window_that_closed_opens_again_although_its_update_is_lost() {
    for profile in ["rfc", "linux"] {
        // A reader that reads a whole buffer every two seconds; every third packet on the way back is lost.
        let mut f = slow(400_000, 100_000, profile);
        f["app"]["read_every_ns"] = json!(2000 * MS);
        let mut links = path();
        links[1]["loss"] = json!({"kind": "every", "n": 3});
        let out = play(&document(60_000, links, vec![f]));
        let row = &out.flows[0];
        // The buffer is full whenever the reader comes: it never waits.
        assert!(row.failed.is_none() && (row.goodput_bps / 400_000.0 - 1.0).abs() < 0.002, "{profile}: {row:?}");
    }
}

#[test]
fn what_a_slow_reader_was_sent_is_read_to_the_end() {
    let mut f = slow(1_000_000, 50_000, "linux");
    f["app"]["bytes"] = json!(200_000);
    let out = play(&document(60_000, path(), vec![f]));
    let row = &out.flows[0];
    // 200,000 B take 1.6 s to read, in turns of 10 ms from the handshake on.
    assert!(row.completed && (1.6..1.75).contains(&row.fct_s.unwrap()), "{row:?}");
    assert_eq!(out.transfers[0].end_s, row.end_s);
}

/// Bitrate, stalls, how long until it plays, and the times that chunks took.
fn video(rate: u64, bitrates: &[u64]) -> (f64, f64, f64, Vec<f64>) {
    let mut f = flow("0", None);
    f["app"] = json!({"kind": "video", "chunk_ns": 2000 * MS, "bitrates_bps": bitrates, "chunks": 60});
    let out = play(&document(200_000, vec![link("out", rate, 20, 100), link("back", rate, 20, 100)], vec![f]));
    let of = |name: &str| out.measures.iter().find(|m| m.name == name).unwrap().value;
    assert_eq!(out.flows[0].transfers.unwrap().begun as usize, out.transfers.len());
    (of("bitrate_bps"), of("stalls"), of("startup_s"), out.transfers.iter().filter_map(|t| t.fct_s).collect())
}

#[test]
fn a_video_takes_the_bitrate_that_the_path_allows() {
    let rates = [500_000, 1_000_000, 2_000_000, 4_000_000];
    // 3 Mbit/s, of which TCP takes 5 %: 85 % allow 2 Mbit/s. The first chunk is the smallest, and what it took, 0.45 s of which 0.1 is
    // the handshake and slow start, allows 1 Mbit/s for the second. With two of them it plays.
    let (bitrate, stalls, startup, chunks) = video(3_000_000, &rates);
    assert_eq!((stalls, chunks.len()), (0.0, 60));
    assert!((bitrate / ((0.5e6 + 1e6 + 58.0 * 2e6) / 60.0) - 1.0).abs() < 1e-9, "{bitrate} bit/s");
    assert!((startup - chunks[0] - chunks[1]).abs() < 1e-6, "{startup} s, {chunks:?}");
    // A path below the smallest bitrate: a chunk of 125 kB takes 2.63 s and a round trip. Two of them play for 4 s, in which a third
    // comes, and in its 2 s a fourth, which it also plays: a stall for every four.
    let (bitrate, stalls, _, chunks) = video(400_000, &rates);
    assert!(bitrate == 500_000.0 && stalls == 60.0 / 4.0 && chunks.len() == 60, "{bitrate} bit/s, {stalls} stalls");
    assert!(chunks[2..].iter().filter(|s| (*s - 2.67).abs() < 0.02).count() > 50, "{chunks:?}");
}

#[test]
fn what_is_read_at_a_rate_is_delivered_all_the_same() {
    let apps = [
        json!({"kind": "bulk", "bytes": 100_000}),
        json!({"kind": "request_response", "count": 3, "request": {"kind": "constant", "value": 500},
            "response": {"kind": "constant", "value": 30_000}}),
        json!({"kind": "files", "count": 3, "arrivals": {"every_ns": 300 * MS}, "request_bytes": 400,
            "size": {"kind": "constant", "value": 30_000}}),
    ];
    for app in apps {
        let mut f = flow("0", None);
        (f["app"], f["tcp"]) = (app, json!({"app_read_rate": 100_000}));
        let out = play(&document(20_000, path(), vec![f.clone()]));
        let row = &out.flows[0];
        // 100 kB, or three times 30 and for files what was asked for.
        let bytes = if f["app"]["kind"] == "bulk" { 100_000 } else { 90_000 };
        assert!(row.completed && row.goodput_bytes == bytes, "{f}: {row:?}");
        assert!(out.transfers.iter().all(|t| t.fct_s.is_some()), "{f}");
    }
}
