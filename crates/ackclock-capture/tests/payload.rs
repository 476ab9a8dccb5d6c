//! Payload is never kept: while the connections of a capture are open, and when they are over, no memory has any of it. Alone
//! in its process: the allocator knows of every block.

#![allow(clippy::unwrap_used)]

mod files;

use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::{Analyzer, Settings};
use ackclock_capture::reader::{blank, Capture, Decoder};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Blocks that are given out: where they begin, how long they are.
struct Block(AtomicUsize, AtomicUsize);

const BLOCKS: usize = 1 << 14;
static GIVEN: [Block; BLOCKS] = [const { Block(AtomicUsize::new(0), AtomicUsize::new(0)) }; BLOCKS];

/// The system's allocator, which remembers blocks.
struct Remembering;

fn remember(p: *mut u8, size: usize) -> *mut u8 {
    let free = GIVEN.iter().find(|block| block.0.compare_exchange(0, p as usize, Relaxed, Relaxed).is_ok());
    match free {
        Some(block) => block.1.store(size, Relaxed),
        None => std::process::abort(),
    }
    p
}

fn forget(p: *mut u8) {
    if let Some(block) = GIVEN.iter().find(|block| block.0.load(Relaxed) == p as usize) {
        block.1.store(0, Relaxed);
        block.0.store(0, Relaxed);
    }
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Remembering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the system's allocator. Zeroed, so that all of a block may be looked at.
        remember(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        forget(p);
        // SAFETY: as above.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static REMEMBERING: Remembering = Remembering;

/// What the payload consists of, so that this program has it nowhere else.
fn marker() -> [u8; 8] {
    std::array::from_fn(|i| b'Q' ^ (i as u8 * 29))
}

/// In how many blocks the marker is, besides `own`.
fn found(own: usize) -> usize {
    let marker = marker();
    let blocks = GIVEN.iter().map(|block| (block.0.load(Relaxed), block.1.load(Relaxed)));
    blocks
        .filter(|(at, size)| *at != 0 && *size > 0 && *at != own)
        .filter(|&(at, size)| {
            // SAFETY: this block was given out with that size, from zeroed memory, and nothing else runs that gives it back.
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

// One test: others would allocate at the same time.
#[test]
fn no_payload_is_kept() {
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
