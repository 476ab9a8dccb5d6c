//! Lines about connections. A thread of its own writes them, so that whoever reads slowly holds up nobody.

use serde::Serialize;
use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// Lines wait so long for others to be written with them.
const TOGETHER: Duration = Duration::from_millis(50);

/// Most bytes that wait; lines beyond are dropped and counted.
const MOST: usize = 8 << 20;

#[derive(Debug, Default)]
struct Waiting {
    text: Vec<u8>,
    over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    news: Condvar,
    dropped: AtomicU64,
    /// Bytes that wait or are being written.
    held: AtomicUsize,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where lines go.
#[derive(Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// To `to`.
    pub fn new(mut to: Box<dyn Write + Send>) -> Journal {
        let shared = Arc::new(Shared::default());
        let of = Arc::clone(&shared);
        let thread = spawn(move || {
            loop {
                let (text, over) = {
                    let mut waiting = of.waiting();
                    while waiting.text.is_empty() && !waiting.over {
                        waiting = of.news.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                    }
                    (std::mem::take(&mut waiting.text), waiting.over)
                };
                if to.write_all(&text).and_then(|()| to.flush()).is_err() {
                    of.dropped.fetch_add(text.iter().filter(|byte| **byte == b'\n').count() as u64, Relaxed);
                }
                of.held.fetch_sub(text.len(), Relaxed);
                drop(text);
                if over {
                    return;
                }
                sleep(TOGETHER);
            }
        });
        Journal { shared, thread: Mutex::new(Some(thread)) }
    }

    /// Adds a line.
    pub fn line(&self, line: &str) {
        self.add(|text| text.extend_from_slice(line.as_bytes()));
    }

    /// Adds a line of JSON, which is written where it waits.
    pub fn json(&self, of: &impl Serialize) {
        self.add(|text| {
            let before = text.len();
            // It fails for keys that are no text, and for nothing else that is written into memory.
            if serde_json::to_writer(&mut *text, of).is_err() {
                text.truncate(before);
            }
        });
    }

    fn add(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut waiting = self.shared.waiting();
        let before = waiting.text.len();
        write(&mut waiting.text);
        if waiting.text.len() >= MOST {
            waiting.text.truncate(before);
            self.shared.dropped.fetch_add(1, Relaxed);
            return;
        }
        waiting.text.push(b'\n');
        self.shared.held.fetch_add(waiting.text.len() - before, Relaxed);
        drop(waiting);
        if before == 0 {
            self.shared.news.notify_one();
        }
    }

    /// Bytes of lines that are not written yet.
    pub fn held(&self) -> usize {
        self.shared.held.load(Relaxed)
    }

    /// Lines that were not written.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Relaxed)
    }

    /// Writes what is left.
    pub fn finish(&self) {
        self.shared.waiting().over = true;
        self.shared.news.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    struct Slow(Sender<Vec<u8>>, Duration);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            sleep(self.1);
            self.0.send(bytes.to_vec()).map_err(std::io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_in_order_and_to_the_last() {
        let (to, from) = channel();
        let journal = Journal::new(Box::new(Slow(to, Duration::ZERO)));
        for number in 0..1000 {
            journal.line(&number.to_string());
        }
        journal.finish();
        let text = from.iter().flatten().collect::<Vec<u8>>();
        let lines: Vec<String> = String::from_utf8(text).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines, (0..1000).map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!((journal.dropped(), journal.held()), (0, 0));
    }

    #[test]
    fn who_reads_slowly_costs_lines_and_no_time() {
        let (to, from) = channel();
        let journal = Journal::new(Box::new(Slow(to, Duration::from_millis(300))));
        let begin = std::time::Instant::now();
        let line = "x".repeat(1 << 20);
        for _ in 0..40 {
            journal.line(&line);
        }
        assert!(begin.elapsed() < Duration::from_millis(250), "{:?}", begin.elapsed());
        journal.finish();
        let written = from.iter().flatten().filter(|byte| *byte == b'\n').count() as u64;
        assert!(journal.dropped() > 0 && journal.held() == 0);
        assert_eq!(written + journal.dropped(), 40);
    }
}
