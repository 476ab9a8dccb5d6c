//! CoDel (RFC 8289): drops from the head of a FIFO while its packets have waited longer than a target for an interval
//! or more, and the more often the longer that lasts.
//!
//! `variant = "linux"` has the arithmetic of Linux 6.12 (`include/net/codel_impl.h`): time in ticks of 1024 ns, and
//! 1/sqrt(count) as a fraction of 16 bits that takes one Newton step each time `count` changes, so that the second drop
//! follows after 50 ms instead of 70.7 ms. Deviation from it: times do not wrap after 2199 s. `variant = "ns3"` has the
//! same arithmetic, drops also with `mtu` bytes left, and counts the time to what follows a mark from the mark.

use super::registry::{Discipline, Site};
use super::{Backlog, Limits, Queue, Reason, Sink, mark};
use crate::packet::Parcel;
use crate::params::{Default as Preset, Kind, ParamError, ParamSpec, Params, choice, flag, time};
use crate::ring::Ring;
use crate::time::{Span, Time};

pub(super) const TARGET: ParamSpec = time(
    "target",
    5,
    (0.0, 60.0),
    "waiting time that is acceptable for good (RFC 8289 §4.3; 5 to 10 % of the interval)",
);
pub(super) const INTERVAL: ParamSpec = time(
    "interval",
    100,
    (0.000_01, 600.0),
    "how long the waiting time must exceed the target before the first drop: about the longest round trip (RFC 8289 §4.2)",
);
pub(super) const MTU: ParamSpec = ParamSpec {
    name: "mtu",
    kind: Kind::Bytes,
    default: Preset::Int(0),
    range: Some((0.0, 1e9)),
    doc: "with no more bytes than this left in the queue nothing is dropped (RFC 8289 §5.6); 0: a full-size packet of the link",
};
pub(super) const CE_THRESHOLD: ParamSpec = time(
    "ce_threshold",
    0,
    (0.0, 60.0),
    "packets that understand ECN are marked when they have waited longer than this (Linux; RFC 8290 §5.2.7); 0: never",
);
pub(super) const VARIANT: ParamSpec = choice(
    "variant",
    &["rfc", "linux", "ns3"],
    "rfc: the pseudocode of the RFC, interval/sqrt(count) exact; linux: the integer arithmetic of Linux 6.12; ns3: that \
     arithmetic, but ns-3's rules",
);

const PARAMS: &[ParamSpec] = &[
    TARGET,
    INTERVAL,
    MTU,
    flag("ecn", false, "marks instead of dropping what understands ECN (RFC 8289; Linux's default is off)"),
    CE_THRESHOLD,
    VARIANT,
];

/// The entry of the registry. Linux's limit is 1000 packets; RFC 8289 has none.
pub(super) const ENTRY: Discipline = Discipline {
    name: "codel",
    source: "K. Nichols, V. Jacobson, A. McGregor, J. Iyengar: Controlled Delay Active Queue Management, RFC 8289, 2018",
    summary: "FIFO that drops from its head while packets have waited longer than a target for an interval or more",
    params: PARAMS,
    default_limit: Some(1000),
    build: |p, site| Ok(Box::new(Codel::new(site.limits, Law::new(p, &site)?))),
};

/// What is the same for every queue that CoDel watches. Times are in ticks: of 1 ns, or of 1024 ns as in Linux.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// Binary logarithm of the nanoseconds in a tick.
    shift: u32,
    target: u64,
    interval: u64,
    /// Bytes left behind a packet up to which it is not dropped.
    mtu: u64,
    ecn: bool,
    /// Waiting time above which packets are marked whatever the state.
    ce_above: u64,
    /// Below this waiting time nothing happens to a packet.
    calm: u64,
    form: Form,
}

/// Whose decisions hold.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Rfc,
    Linux,
    Ns3,
}

impl Law {
    /// The law with parameters `p` at a link; `p` must hold those of [`PARAMS`].
    pub(super) fn new(p: &Params, site: &Site) -> Result<Law, ParamError> {
        let form = match p.text("variant") {
            "linux" => Form::Linux,
            "ns3" => Form::Ns3,
            _ => Form::Rfc,
        };
        let shift = if form == Form::Rfc { 0 } else { 10 };
        let ticks = |name: &str| p.duration(name).0 >> shift;
        if p.duration("target") >= p.duration("interval") {
            return Err(ParamError::Conflict {
                name: "target".to_owned(),
                problem: "must be shorter than 'interval'; RFC 8289 recommends 5 to 10 % of it".to_owned(),
            });
        }
        let ce_above = if p.duration("ce_threshold") == Span::ZERO { u64::MAX } else { ticks("ce_threshold") };
        let mtu = if p.int("mtu") == 0 { u64::from(site.packet) } else { p.int("mtu") };
        Ok(Law {
            shift,
            target: ticks("target"),
            interval: ticks("interval"),
            mtu: mtu.saturating_sub(u64::from(form == Form::Ns3)),
            ecn: p.bool("ecn"),
            ce_above,
            calm: ticks("target").min(ce_above.saturating_add(1)),
            form,
        })
    }

    /// Whether Linux's form was asked for.
    #[inline]
    pub(super) fn linux(&self) -> bool {
        self.form == Form::Linux
    }

    /// Whether it is the arithmetic of Linux, in whole numbers.
    #[inline]
    fn whole(&self) -> bool {
        self.form != Form::Rfc
    }

    /// Ticks `parcel` has waited.
    #[inline]
    fn waited(&self, tick: u64, parcel: &Parcel) -> u64 {
        tick.saturating_sub(parcel.arrived.0 >> self.shift)
    }
}

/// What CoDel remembers of one queue (RFC 8289 §5). The spacing of drops is computed when `count` changes, so a
/// packet costs a few comparisons.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodelState {
    /// Tick from which on drops are justified; `u64::MAX` while the last packet had not waited too long.
    justified: u64,
    /// Tick of the next drop while dropping; afterwards when it would have been. 0 before the first.
    drop_next: u64,
    /// interval / sqrt(count) in ticks.
    spacing: u64,
    /// Drops since dropping began, and what was carried over from the time before.
    count: u32,
    /// `count` when dropping last began.
    last_count: u32,
    /// Linux's 1/sqrt(count), in units of 2^-16.
    inverse: u16,
    dropping: bool,
}

impl Default for CodelState {
    fn default() -> CodelState {
        CodelState {
            justified: u64::MAX,
            drop_next: 0,
            spacing: 0,
            count: 0,
            last_count: 0,
            inverse: 0,
            dropping: false,
        }
    }
}

impl CodelState {
    /// The next packet of a queue. `next` takes a packet from its head and says how many bytes remain behind it.
    #[inline]
    pub(super) fn dequeue(
        &mut self,
        law: &Law,
        now: Time,
        mut next: impl FnMut() -> Option<(Parcel, u64)>,
        sink: &mut dyn Sink,
    ) -> Option<Parcel> {
        let tick = now.0 >> law.shift;
        let first = next();
        let justified = self.justifies(law, tick, &first);
        let mut parcel = match first {
            Some((parcel, _)) if !self.dropping && !justified => parcel,
            None if !self.dropping => return None,
            _ => self.act(law, now, first.map(|(parcel, _)| parcel), justified, &mut next, sink)?,
        };
        if law.waited(tick, &parcel) > law.ce_above {
            mark(now, &mut parcel, Reason::Threshold, sink);
        }
        Some(parcel)
    }

    /// Whether `parcel`, the next of a queue, goes out as it is: nothing is being dropped, and it has not waited long.
    #[inline]
    pub(super) fn passes(&mut self, law: &Law, now: Time, parcel: &Parcel) -> bool {
        let passes = !self.dropping && law.waited(now.0 >> law.shift, parcel) < law.calm;
        if passes {
            self.justified = u64::MAX;
        }
        passes
    }

    /// Whether this packet may be dropped: every packet has waited for the target or longer since an interval ago.
    #[inline]
    fn justifies(&mut self, law: &Law, tick: u64, head: &Option<(Parcel, u64)>) -> bool {
        match head {
            Some((parcel, left)) if law.waited(tick, parcel) >= law.target && *left > law.mtu => {
                if self.justified == u64::MAX {
                    // The RFC drops at the end of the interval, Linux after it.
                    self.justified = tick + law.interval + u64::from(law.whole());
                    false
                } else {
                    tick >= self.justified
                }
            }
            _ => {
                self.justified = u64::MAX;
                false
            }
        }
    }

    /// RFC 8289 §5.5 for a packet that may be dropped, or that arrives at the link's end while dropping.
    #[inline(never)]
    fn act(
        &mut self,
        law: &Law,
        now: Time,
        mut head: Option<Parcel>,
        mut justified: bool,
        next: &mut impl FnMut() -> Option<(Parcel, u64)>,
        sink: &mut dyn Sink,
    ) -> Option<Parcel> {
        let tick = now.0 >> law.shift;
        // Disposes of the packet; true if it stays, marked.
        let mut marked = |parcel: &mut Parcel| {
            let marked = law.ecn && mark(now, parcel, Reason::Delay, sink);
            if !marked {
                sink.dropped(now, *parcel, Reason::Delay);
            }
            marked
        };
        if !self.dropping {
            if !head.as_mut().is_some_and(&mut marked) {
                let following = next();
                self.justifies(law, tick, &following);
                head = following.map(|(parcel, _)| parcel);
            }
            self.enter(law, tick);
            return head;
        }
        self.dropping = justified;
        while self.dropping && tick >= self.drop_next {
            self.set_count(law, self.count.wrapping_add(1));
            let stays = head.as_mut().is_some_and(&mut marked);
            if !stays {
                let following = next();
                justified = self.justifies(law, tick, &following);
                head = following.map(|(parcel, _)| parcel);
            }
            if stays && law.form == Form::Ns3 {
                self.drop_next = tick + self.spacing;
            } else if justified {
                self.drop_next += self.spacing;
            } else {
                self.dropping = false;
            }
            if stays {
                break;
            }
        }
        head
    }

    /// Dropping begins: as often as it ended if that is less than 16 intervals ago, else with the first drop.
    fn enter(&mut self, law: &Law, tick: u64) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        // A queue that never dropped did not do so lately, even when time began less than 16 intervals ago.
        let recent = self.drop_next > 0 && tick.saturating_sub(self.drop_next) < 16 * law.interval;
        self.set_count(law, if delta > 1 && recent { delta } else { 1 });
        self.last_count = self.count;
        self.drop_next = tick + self.spacing;
    }

    /// Sets `count` and the spacing that follows from it.
    fn set_count(&mut self, law: &Law, count: u32) {
        self.count = count;
        self.spacing = if law.whole() {
            self.inverse = if count == 1 { u16::MAX } else { newton(self.inverse, count) };
            (law.interval * u64::from(self.inverse)) >> 16
        } else {
            (law.interval as f64 / f64::from(count.max(1)).sqrt() + 0.5) as u64
        };
    }

    /// Linux lets packets that were dropped for want of room count as drops of CoDel.
    pub(super) fn count_overflow(&mut self, law: &Law, drops: u32) {
        if law.linux() {
            self.count = self.count.wrapping_add(drops);
        }
    }
}

/// One Newton step x (3 - n x^2) / 2 towards 1/sqrt(n), from and to units of 2^-16, in 64-bit arithmetic that wraps
/// where Linux's does: when n has grown so much that 3 < n x^2.
fn newton(inverse: u16, n: u32) -> u16 {
    let x = u64::from(inverse) << 16; // units of 2^-32
    let square = (x * x) >> 32;
    let rest = (3u64 << 32).wrapping_sub(u64::from(n).wrapping_mul(square));
    // Two bits less, that the product fits; then the half.
    ((rest >> 2).wrapping_mul(x) >> 31 >> 16) as u16
}

/// A FIFO under CoDel.
#[derive(Clone, Debug)]
struct Codel {
    limits: Limits,
    law: Law,
    state: CodelState,
    fifo: Ring<Parcel>,
    bytes: u64,
}

impl Codel {
    fn new(limits: Limits, law: Law) -> Codel {
        Codel { limits, law, state: CodelState::default(), fifo: Ring::default(), bytes: 0 }
    }
}

impl Queue for Codel {
    fn enqueue(&mut self, now: Time, parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        if !self.limits.admit(self.backlog(), in_service, parcel.len) {
            return sink.dropped(now, parcel, Reason::Full);
        }
        self.bytes += u64::from(parcel.len);
        self.fifo.push(parcel);
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn Sink) -> Option<Parcel> {
        let Codel { law, state, fifo, bytes, .. } = self;
        let next = || {
            let parcel = fifo.pop()?;
            *bytes -= u64::from(parcel.len);
            Some((parcel, *bytes))
        };
        state.dequeue(law, now, next, sink)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len() as u64, bytes: self.bytes }
    }
}

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
