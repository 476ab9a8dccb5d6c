//! The receiver of RLC: gives out packets in order.

use super::{Bearer, Mode, NEVER, begin};
use crate::path::{Out, Store};
use crate::ring::Ring;
use crate::time::Time;

impl Bearer {
    /// `bytes` of block `number` arrive in TTI number `tick`; what is complete goes into `out` with the time `at`.
    pub fn receive<S: Store + ?Sized>(
        &mut self,
        tick: u64,
        number: u64,
        bytes: u32,
        out: &mut Ring<Out>,
        store: &mut S,
    ) {
        if number < self.pdus.head() {
            // The receiver has stopped waiting for it.
            return;
        }
        let pdu = self.pdus.get_mut(number);
        pdu.missing -= bytes;
        if pdu.missing > 0 {
            return;
        }
        self.reached = self.reached.max(number + 1);
        if number == self.pdus.head() {
            self.release(begin(tick), out, store);
        }
        self.watch(tick);
    }

    /// Starts and stops the timer (TS 36.322 §5.1.2.2.3, §5.1.3.2.3).
    #[inline]
    fn watch(&mut self, tick: u64) {
        if self.timer.0 != NEVER && self.pdus.head() >= self.timer.1 {
            self.timer.0 = NEVER;
        }
        if self.timer.0 == NEVER && self.reached > self.pdus.head() {
            self.timer = (tick + self.timing.reordering, self.reached);
        }
    }

    /// The timer has run out in TTI number `tick`.
    #[cold]
    pub fn expire<S: Store + ?Sized>(&mut self, tick: u64, out: &mut Ring<Out>, store: &mut S) {
        let until = self.timer.1;
        self.timer.0 = NEVER;
        match self.timing.mode {
            Mode::Unacknowledged => {
                // Nobody waits for those below any more.
                for number in self.pdus.head()..until {
                    let pdu = self.pdus.get_mut(number);
                    pdu.lost = pdu.missing > 0;
                }
                self.release(begin(tick), out, store);
            }
            Mode::Acknowledged => {
                // A report that is still to come names this hole as well.
                let report = if self.reported > tick {
                    self.reported
                } else if self.reported == 0 {
                    tick
                } else {
                    tick.max(self.reported + self.timing.status_prohibit)
                };
                let mut asked = false;
                for number in self.pdus.head()..until {
                    // What HARQ is still trying is left to it.
                    if self.pdus.get(number).again > 0 {
                        asked |= self.resend(number, report + self.timing.status_delay);
                    }
                }
                if asked {
                    self.reported = report;
                }
            }
        }
        self.watch(tick);
    }

    /// Gives out what is complete and next in order.
    fn release<S: Store + ?Sized>(&mut self, at: Time, out: &mut Ring<Out>, store: &mut S) {
        while let Some(pdu) = self.pdus.front() {
            if pdu.missing > 0 && !pdu.lost {
                break;
            }
            let (end, lost, partial) = (pdu.end, pdu.lost, pdu.partial);
            while self.packets.head() < end {
                let Some(parcel) = self.packets.pop() else { break };
                let whole = !lost && !self.damaged;
                self.damaged = false;
                if parcel.len == 0 {
                    continue;
                }
                if !whole {
                    self.stats.lost += u64::from(self.window.covers(at));
                    store.drop(parcel.id);
                    continue;
                }
                self.total_bytes += u64::from(parcel.len);
                if self.window.covers(at) {
                    self.stats.delivered += 1;
                    self.stats.delivered_bytes += u64::from(parcel.len);
                    self.stats.longest = self.stats.longest.max(at.since(parcel.arrived));
                }
                out.push(Out { at, port: self.port, parcel });
            }
            self.damaged |= partial && lost;
            self.pdus.skip();
        }
    }
}
