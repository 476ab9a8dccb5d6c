//! What is measured at a link.

use crate::histogram::Histogram;
use crate::queue::Reason;
use crate::time::Time;

/// Number of reasons for drops and marks.
pub const REASONS: usize = Reason::ALL.len();

/// Measurements over the window `[from, to]` of a run.
#[derive(Clone, Debug)]
pub struct LinkStats {
    from: u64,
    to: u64,
    includes_service: bool,
    /// Packets that arrived within the window.
    pub arrived: u64,
    /// Packets whose transmission ended within the window, and their bytes on this link.
    pub sent: u64,
    /// Bytes of them.
    pub sent_bytes: u64,
    /// Packets the queue dropped, by reason.
    pub drops: [u64; REASONS],
    /// Packets the queue marked (CE), by reason.
    pub marks: [u64; REASONS],
    /// Packets the medium lost.
    pub lost: u64,
    /// Packets the medium delivered twice.
    pub duplicated: u64,
    busy_ns: u64,
    /// What packets in the queue times nanoseconds have beyond the sums of waiting and, where it counts, transmission
    /// times: what is clipped at the edges of the window or leaves without being transmitted. Modulo 2^128.
    beyond_ns: u128,
    byte_ns: u128,
    /// Most packets and bytes in the queue, as its limit counts them.
    pub max_packets: u64,
    /// Bytes of it.
    pub max_bytes: u64,
    /// Waiting times before transmission, nanoseconds.
    pub wait: Histogram,
    /// Those of the packets of its low-latency queue, if it has one.
    pub low: Option<Box<Histogram>>,
    /// Bytes transmitted since the start of the run, for series.
    pub total_bytes: u64,
    /// Packets dropped since the start of the run, for series.
    pub total_drops: u64,
    /// Changes of the queue length, if they are recorded: time and packets.
    pub log: Option<Vec<(Time, u64)>>,
}

impl LinkStats {
    /// For the window `[from, to]`. With `includes_service` the queue length counts the packet in transmission.
    pub fn new(from: Time, to: Time, includes_service: bool) -> LinkStats {
        LinkStats {
            from: from.0,
            to: to.0,
            includes_service,
            arrived: 0,
            sent: 0,
            sent_bytes: 0,
            drops: [0; REASONS],
            marks: [0; REASONS],
            lost: 0,
            duplicated: 0,
            busy_ns: 0,
            beyond_ns: 0,
            byte_ns: 0,
            max_packets: 0,
            max_bytes: 0,
            wait: Histogram::default(),
            low: None,
            total_bytes: 0,
            total_drops: 0,
            log: None,
        }
    }

    /// The window ends at `to`, before it should have: nothing has been counted that happened later.
    pub fn ends(&mut self, to: Time) {
        self.to = to.0.max(self.from);
    }

    #[inline]
    fn clip(&self, t: Time) -> u64 {
        t.0.clamp(self.from, self.to)
    }

    /// Whether `t` is within the window.
    #[inline]
    pub fn covers(&self, t: Time) -> bool {
        t.0 >= self.from && t.0 <= self.to
    }

    /// A packet arrived at `now`.
    #[inline]
    pub fn arrive(&mut self, now: Time) {
        self.arrived += u64::from(self.covers(now));
    }

    /// The queue dropped a packet at `at`.
    pub fn drop_at(&mut self, at: Time, reason: Reason) {
        self.total_drops += 1;
        self.drops[reason as usize] += u64::from(self.covers(at));
    }

    /// The queue marked a packet at `at`.
    pub fn mark_at(&mut self, at: Time, reason: Reason) {
        self.marks[reason as usize] += u64::from(self.covers(at));
    }

    /// A packet of `len` bytes that came at `arrived` is or will be transmitted from `start` to `end`.
    #[inline(always)]
    pub fn service(&mut self, arrived: Time, start: Time, end: Time, len: u32) {
        if arrived.0 >= self.from && end.0 <= self.to {
            return self.serve_within(arrived, start, end, len);
        }
        let left = if self.includes_service { end } else { start };
        let before = self.packet_ns();
        self.busy_ns += self.clip(end) - self.clip(start);
        if self.covers(start) {
            self.wait.record(start.0 - arrived.0);
        }
        let counted = self.packet_ns().wrapping_sub(before);
        self.beyond_ns = self.beyond_ns.wrapping_sub(counted);
        self.stayed(arrived, left, len);
        if self.covers(end) {
            self.sent += 1;
            self.sent_bytes += u64::from(len);
        }
    }

    /// A packet of `len` bytes that arrives at `now` is taken and will be transmitted from `start` to `end`:
    /// [`LinkStats::arrive`] and [`LinkStats::service`] in one.
    #[inline(always)]
    pub fn carries(&mut self, now: Time, (start, end): (Time, Time), len: u32) {
        if now.0 < self.from || end.0 > self.to {
            return self.carries_across(now, (start, end), len);
        }
        self.serve_within(now, start, end, len);
        self.arrived += 1;
    }

    #[cold]
    #[inline(never)]
    fn carries_across(&mut self, now: Time, (start, end): (Time, Time), len: u32) {
        self.service(now, start, end, len);
        self.arrive(now);
    }

    #[inline(always)]
    fn serve_within(&mut self, arrived: Time, start: Time, end: Time, len: u32) {
        let left = if self.includes_service { end } else { start };
        let stay = left.0 - arrived.0;
        self.byte_ns += u128::from(stay) * u128::from(len);
        self.busy_ns += end.0 - start.0;
        self.wait.record(start.0 - arrived.0);
        self.sent += 1;
        self.sent_bytes += u64::from(len);
    }

    /// A packet of the low-latency queue that came at `arrived` is transmitted from `start` on.
    pub fn serve_low(&mut self, arrived: Time, start: Time) {
        if self.covers(start) {
            if let Some(low) = &mut self.low {
                low.record(start.0 - arrived.0);
            }
        }
    }

    /// A packet of `len` bytes waited from `arrived` to `until` without being transmitted.
    #[inline]
    pub fn stayed(&mut self, arrived: Time, until: Time, len: u32) {
        let stay = self.clip(until) - self.clip(arrived);
        self.beyond_ns = self.beyond_ns.wrapping_add(u128::from(stay));
        self.byte_ns += u128::from(stay) * u128::from(len);
    }

    /// A packet arrived at `now` and was taken; the queue holds `packets` and `bytes` with it.
    #[inline]
    pub fn level(&mut self, now: Time, packets: u64, bytes: u64) {
        if self.covers(now) {
            self.arrived += 1;
            self.max_packets = self.max_packets.max(packets);
            self.max_bytes = self.max_bytes.max(bytes);
        }
    }

    /// The queue holds `packets` and `bytes` after an arrival.
    #[inline]
    pub fn peak(&mut self, now: Time, packets: u64, bytes: u64) {
        if self.covers(now) {
            self.max_packets = self.max_packets.max(packets);
            self.max_bytes = self.max_bytes.max(bytes);
        }
    }

    /// Notes the queue length for a series.
    #[inline]
    pub fn log_level(&mut self, now: Time, packets: u64) {
        if let Some(log) = &mut self.log {
            log.push((now, packets));
        }
    }

    fn window(&self) -> f64 {
        (self.to - self.from).max(1) as f64
    }

    /// Share of the window in which the link transmitted.
    pub fn utilisation(&self) -> f64 {
        self.busy_ns as f64 / self.window()
    }

    /// Packets in the queue times nanoseconds, as its limit counts them. Within the window a packet stays as long as it
    /// waits, and maybe is transmitted, both of which are summed up anyway.
    fn packet_ns(&self) -> u128 {
        let service = if self.includes_service { u128::from(self.busy_ns) } else { 0 };
        self.beyond_ns.wrapping_add(self.wait.sum()).wrapping_add(service)
    }

    /// Mean packets in the queue over time, as its limit counts them.
    pub fn mean_packets(&self) -> f64 {
        self.packet_ns() as f64 / self.window()
    }

    /// Mean bytes in the queue over time.
    pub fn mean_bytes(&self) -> f64 {
        self.byte_ns as f64 / self.window()
    }
}
