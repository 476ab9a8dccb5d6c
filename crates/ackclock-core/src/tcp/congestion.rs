//! The controller and the window in force: the one place where a decision is asked for and applied.

use crate::cc::{CongestionControl, Control, Cx, Interval, Needs, Phase, RecoveryBy, RttView, StartEstimate};
use crate::rng::Stream;
use crate::time::Time;

/// What the endpoint has measured, for the controller's [`Cx`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Bytes in the network.
    pub in_flight: u64,
    /// SND.NXT.
    pub nxt: u64,
    /// Bytes declared lost so far.
    pub lost: u64,
    /// Round-trip times.
    pub rtt: RttView,
}

/// A controller, its last decision, and what of it is in force.
#[repr(C)]
pub(super) struct Congestion {
    /// The window in force, bytes: the controller's, or recovery's while it holds it.
    window: u64,
    control: Control,
    /// Recovery moves the window; the controller's comes into force again when it is released.
    held: bool,
    /// The last reduction left the threshold a segment or more above the window: it says nothing about the reduction.
    no_threshold: bool,
    /// The phase that was reported to the controller last.
    reported: Phase,
    needs: Needs,
    /// Both sides use ECN.
    ecn: bool,
    cc: Box<dyn CongestionControl>,
    /// Payload bytes delivered (C.delivered).
    delivered: u64,
    mss: u32,
    rng: Stream,
}

impl Congestion {
    pub fn new(cc: Box<dyn CongestionControl>, mss: u32, rng: Stream) -> Congestion {
        Congestion {
            window: 0,
            control: cc.control(),
            needs: cc.needs(),
            cc,
            held: false,
            no_threshold: false,
            ecn: false,
            reported: Phase::Open,
            mss,
            delivered: 0,
            rng,
        }
    }

    /// Brings `event` before the controller, reads its decision, and puts its window into force unless recovery holds
    /// the window.
    #[inline]
    pub fn decide<R>(
        &mut self,
        now: Time,
        m: Measured,
        event: impl FnOnce(&mut dyn CongestionControl, &mut Cx<'_>) -> R,
    ) -> R {
        let mut cx = Cx {
            now,
            mss: self.mss,
            in_flight: m.in_flight,
            nxt: m.nxt,
            rtt: m.rtt,
            delivered: self.delivered,
            lost: m.lost,
            phase: self.reported,
            rng: &mut self.rng,
        };
        let answer = event(self.cc.as_mut(), &mut cx);
        self.control = self.cc.control();
        if !self.held {
            self.window = self.control.cwnd;
        }
        answer
    }

    /// After the controller heard of congestion: whether its threshold says how far it reduced.
    #[inline]
    pub fn check_threshold(&mut self) {
        let Control { cwnd, ssthresh, .. } = self.control;
        let endpoints = self.needs.recovery == RecoveryBy::Endpoint;
        self.no_threshold = endpoints && cwnd.saturating_add(u64::from(self.mss)) <= ssthresh;
    }

    /// What recovery reduces the window to, bytes: the slow start threshold (RFC 5681 §3.2 step 6). A controller may have
    /// none, or leave an old one above the window that it decided; then its window is what it reduced to.
    #[inline]
    pub fn recovery_target(&self) -> u64 {
        if self.no_threshold { self.control.cwnd.min(self.control.ssthresh) } else { self.control.ssthresh }
    }

    /// From here on recovery moves the window, not the controller; one that runs its own recovery keeps it.
    #[inline]
    pub fn hold(&mut self) {
        self.held = !self.recovers();
    }

    /// Recovery sets the window to `bytes` and holds it.
    #[inline]
    pub fn hold_at(&mut self, bytes: u64) {
        if !self.recovers() {
            self.held = true;
            self.window = bytes;
        }
    }

    /// Recovery is over: with its next decision the controller's window is in force.
    #[inline]
    pub fn release(&mut self) {
        self.held = false;
    }

    /// The window in force, bytes.
    #[inline]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// What the controller decided last.
    #[inline]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The controller moves the window also while losses are repaired.
    #[inline]
    pub fn recovers(&self) -> bool {
        self.needs.recovery == RecoveryBy::Controller
    }

    /// What the controller asks of the endpoint.
    #[inline]
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Both sides use ECN.
    #[inline]
    pub fn ecn(&self) -> bool {
        self.ecn
    }

    /// Whether both sides use ECN.
    pub fn set_ecn(&mut self, on: bool) {
        self.ecn = on;
    }

    /// Delivery-rate samples are needed for another reason.
    pub fn need_rate(&mut self) {
        self.needs.rate = true;
    }

    /// The phase that was reported last.
    #[inline]
    pub fn reported(&self) -> Phase {
        self.reported
    }

    /// What is reported as the phase from the next decision on.
    #[inline]
    pub fn set_reported(&mut self, phase: Phase) {
        self.reported = phase;
    }

    /// Payload bytes delivered so far.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// `bytes` were delivered.
    #[inline]
    pub fn add_delivered(&mut self, bytes: u64) {
        self.delivered += bytes;
    }

    /// The controller itself keeps the sender below what the network may carry.
    #[inline]
    pub fn limits_itself(&self) -> bool {
        self.cc.limits_itself()
    }

    /// What the controller measured for somebody outside.
    pub fn interval(&self) -> Option<&Interval> {
        self.cc.interval()
    }

    /// What the slow start measured, if it did.
    pub fn start_estimate(&self) -> Option<StartEstimate> {
        self.cc.start_estimate()
    }

    /// The peer's segments are smaller.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }
}
