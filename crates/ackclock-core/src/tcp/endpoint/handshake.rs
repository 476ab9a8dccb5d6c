//! Opening a connection: SYN segments, the options both sides agree on, and what they start from.

use super::{Endpoint, Failure, State};
use crate::cc::EcnUse;
use crate::tcp::config::RtoRule;
use crate::tcp::ecn::{Feedback, Marks, codepoint};
use crate::tcp::peer_window::PeerWindow;
use crate::tcp::prediction::Reading;
use crate::tcp::segment::{Segment, flags};
use crate::tcp::timers::Timer;
use crate::time::{Span, Time};

/// The least MSS of a peer that is minded: with less, a window of segments is mostly headers (Linux's `tcp_min_snd_mss`).
const LEAST_MSS: u32 = 48;

impl Endpoint {
    /// Opens the connection actively.
    pub fn connect(&mut self) {
        self.state = State::SynSent;
        self.syn_due = true;
    }

    /// Waits for the peer to open it.
    pub fn listen(&mut self) {
        self.state = State::Listen;
    }

    /// Starts established, without handshake; the peer has the same options.
    pub fn assume_established(&mut self, now: Time) {
        self.sack = self.tx.config().offers_sack();
        self.timestamps = self.tx.config().timestamps;
        self.scaled = true;
        self.rx.open(self.tx.config().iss as u32);
        self.agree_on_ecn(self.wanted_feedback());
        self.establish(now, false);
        let window = self.tx.config().receive_buffer.min(self.tx.config().initial_receive_window);
        let window = window.min(65_535 << self.rx.scale());
        self.tx.peer = PeerWindow::new(1 + window, self.rx.scale());
        self.rx.note_promise(window);
    }

    pub(super) fn establish(&mut self, now: Time, syn_was_lost: bool) {
        self.state = State::Established;
        self.news = true;
        self.timers.clear(Timer::Rto);
        self.tx.established(now, self.sack, syn_was_lost);
        self.mind_wake(now);
    }

    /// A reset counts when it answers our SYN or is exactly what we expect next (RFC 9293 §3.10.7, RFC 5961 §3.2).
    //= RFC 9293 §3.5.3 reset-is-checked
    pub(super) fn on_reset_in_handshake(&mut self, seg: &Segment) {
        let ours = seg.has(flags::ACK) && seg.ack == self.tx.tcb.iss.wrapping_add(1);
        let expected = seg.seq == self.rx.origin().wrapping_add(1);
        if (self.state == State::SynSent && ours) || (self.state == State::SynReceived && expected) {
            self.fail(Failure::Reset);
        }
    }

    /// The peer asks for the connection.
    //= RFC 9293 §3.5 three-way
    pub(super) fn on_request(&mut self, now: Time, seg: &Segment) {
        self.take_syn(now, seg);
        self.state = State::SynReceived;
        self.syn_due = true;
    }

    /// The SYN, ACK of a peer that opened the connection at the same time (RFC 9293 §3.5, figure 8).
    //= RFC 9293 §3.5 simultaneous-open
    pub(super) fn answers_both_syns(&self, seg: &Segment) -> bool {
        let acknowledged = seg.ack == self.tx.tcb.iss.wrapping_add(1);
        seg.has(flags::SYN | flags::ACK) && seg.seq == self.rx.origin() && acknowledged
    }

    /// Agrees on options with the peer's SYN (RFC 7323, RFC 2018).
    pub(super) fn take_syn(&mut self, now: Time, seg: &Segment) {
        self.rx.open(seg.seq);
        self.sack = self.tx.config().offers_sack() && seg.sack_permitted();
        //= RFC 7323 §3.2 negotiation
        self.timestamps = self.tx.config().timestamps && seg.has_timestamps();
        //= RFC 7323 §2.2 both-sides
        self.scaled = seg.window_scale().is_some();
        //= RFC 9293 §3.7.1 default-mss
        let peer_mss = if seg.mss == 0 { 536 } else { u32::from(seg.mss).max(LEAST_MSS) };
        //= RFC 9293 §3.7.1 smaller-mss
        self.mss = self.mss.min(peer_mss);
        self.tx.set_mss(self.mss);
        self.rx.set_mss(self.mss);
        (self.ts_recent, self.ts_recent_at) = (seg.tsval(), now);
        //= RFC 7323 §2.2 syn-unscaled
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        self.tx.peer = PeerWindow::new(1 + u64::from(seg.window), seg.window_scale().unwrap_or(0));
        self.agree_on_ecn(self.wanted_feedback().agree(seg, self.tx.tcb.congestion.needs().ecn));
        self.rx.on_bare_marking(seg.ecn);
        self.tx.marks.on_syn(seg);
    }

    fn wanted_feedback(&self) -> Feedback {
        Feedback::wanted(self.tx.config(), self.tx.tcb.congestion.needs().ecn)
    }

    fn agree_on_ecn(&mut self, feedback: Feedback) {
        self.tx.marks = Marks::new(feedback, self.tx.tcb.congestion.needs());
        let ecn = feedback != Feedback::Off;
        if ecn {
            self.reading = Reading::ForMarks;
        }
        self.tx.tcb.congestion.set_ecn(ecn);
        self.rx.set_feedback(feedback);
    }

    pub(super) fn handshake_done(&mut self, now: Time, seg: &Segment) {
        let rtt = match (self.syn_retries, self.syns_sent) {
            (0, 1) => Some(now.since(self.syn_sent_at)),
            (1.., _) => self.echoed_syn(now, seg),
            _ => None,
        };
        if let Some(rtt) = rtt {
            self.tx.tcb.rtt.note_min(now, rtt, false);
            self.tx.tcb.rtt.sample(rtt, 0, 1);
            self.rx.established(now, rtt);
        } else if self.syn_retries > 0 {
            self.tx.tcb.rtt.after_lost_syn();
        }
        //= RFC 5681 §3.1 lost-syn
        self.establish(now, self.syn_retries >= self.tx.config().iw_lost_syns && !self.answers_first_syn(seg));
        if !seg.has(flags::SYN) {
            self.tx.peer.established(seg.window);
        }
    }

    /// How long ago the SYN was sent that `seg` answers. Linux takes it for a sample also of one that was repeated;
    /// RFC 6298 §5.7 has a timeout of three seconds then, whatever timestamps say.
    fn echoed_syn(&mut self, now: Time, seg: &Segment) -> Option<Span> {
        let known = self.tx.config().rto == RtoRule::Linux && self.timestamps && seg.has_timestamps();
        // Of less than a tick nothing is left; Linux counts it as one.
        known.then(|| self.age(now, seg.tsecr())).flatten().map(|age| age.max(self.tx.config().timestamp_tick))
    }

    /// Whether an echoed timestamp shows that the SYN was not lost, but repeated too early.
    fn answers_first_syn(&self, seg: &Segment) -> bool {
        self.tx.config().eifel && self.timestamps && seg.has_timestamps() && seg.tsecr() == self.first_syn_stamp
    }

    //= RFC 9293 §3.8.3 r2-syn
    pub(super) fn on_syn_timeout(&mut self) {
        let linear = if self.state == State::SynSent { self.tx.config().syn_linear_timeouts } else { 0 };
        if self.syn_retries >= self.tx.config().syn_retries + linear {
            self.fail(Failure::Connect);
            return;
        }
        self.syn_retries += 1;
        if self.syn_retries > linear {
            self.tx.tcb.rtt.back_off();
        }
        self.syn_due = true;
    }

    pub(super) fn syn(&mut self, now: Time) -> Segment {
        self.syn_due = false;
        self.syn_sent_at = now;
        if self.syns_sent == 0 {
            self.first_syn_stamp = self.timestamp(now);
        }
        self.syns_sent += 1;
        self.timers.set_after(Timer::Rto, now, self.tx.tcb.rtt.rto());
        let window = self.tx.config().receive_buffer.min(self.tx.config().initial_receive_window).min(65_535) as u16;
        self.rx.note_promise(u64::from(window));
        let answer = self.state == State::SynReceived;
        let mut seg = Segment {
            seq: self.tx.tcb.iss,
            window,
            //= RFC 9293 §3.7.1 send-mss
            mss: self.mss.min(65_535) as u16,
            flags: flags::SYN,
            ..Segment::default()
        };
        if answer {
            seg.flags |= flags::ACK;
            self.tx.marks.feedback().answer(self.tx.marks.syn_came_with(), &mut seg);
            seg.ack = self.rx.origin().wrapping_add(1);
        } else {
            self.wanted_feedback().ask(&mut seg);
        }
        let needs = self.tx.tcb.congestion.needs();
        //= RFC 3168 §6.1.1 syn-not-ect
        if needs.ecn != EcnUse::Classic {
            // RFC 8257 §3.5: a full queue would otherwise be worse to it than to the data.
            seg.ecn = codepoint(needs);
        }
        if !answer || self.scaled {
            seg.set_window_scale(self.rx.scale());
        }
        if if answer { self.sack } else { self.tx.config().offers_sack() } {
            seg.set_sack_permitted();
        }
        if if answer { self.timestamps } else { self.tx.config().timestamps } {
            let tsval = self.timestamp(now);
            seg.set_timestamps(tsval, self.ts_recent);
        }
        seg
    }
}
