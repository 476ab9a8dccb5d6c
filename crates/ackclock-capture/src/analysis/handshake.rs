//! The handshake of a connection: what its SYNs offer and agree on, and how long its parts take.

use super::connection::{Connection, Context};
use super::direction::Offer;
use super::moment::Moment;
use super::rtt::LONGEST;
use super::segment::Segment;
use super::segment_size::UNOFFERED;
use super::sink::{Happening, Sink};
use ackclock_core::packet::wire::flags;

/// What both SYNs together agree on, and what they took: what every packet asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreement {
    /// Both were seen, with their window scales.
    pub both: bool,
    /// Largest segment of each direction: what the other one offers, less the timestamps.
    pub largest: [u32; 2],
    /// By how much windows of each direction are shifted.
    pub shifts: [u8; 2],
    /// Whether SACK is in use.
    pub sack: bool,
    /// Whether timestamps are.
    pub timestamps: bool,
    /// [`Connection::handshake_rtt`].
    pub handshake_rtt: Moment,
}

impl Default for Agreement {
    fn default() -> Agreement {
        Agreement {
            both: false,
            largest: [UNOFFERED; 2],
            shifts: [0; 2],
            sack: false,
            timestamps: false,
            handshake_rtt: Moment::default(),
        }
    }
}

impl Connection {
    /// A packet of the handshake has passed.
    pub(super) fn agree(&mut self) {
        self.agreement.handshake_rtt = self.measured_handshake().map_or(Moment::NEVER, Moment::at);
        let [Some(a), Some(b)] = [&self.directions[0].offer, &self.directions[1].offer] else { return };
        let timestamps = a.timestamps && b.timestamps;
        let stamps = if timestamps { 12 } else { 0 };
        let most = |offered: u16| u32::from(offered).saturating_sub(stamps).max(1);
        self.agreement = Agreement {
            both: !a.cut && !b.cut,
            largest: [b.mss.map_or(UNOFFERED, most), a.mss.map_or(UNOFFERED, most)],
            shifts: a.scale.zip(b.scale).map_or([0, 0], |(own, other)| [own, other]),
            sack: a.sack && b.sack,
            timestamps,
            ..self.agreement
        };
    }

    fn measured_handshake(&self) -> Option<i64> {
        (!self.repeated).then_some(())?;
        Some((self.handshake[2].get()? - self.handshake[0].get()?).min(LONGEST)).filter(|ns| *ns >= 0)
    }

    /// Takes a SYN that direction `d` sent.
    pub(super) fn syn<S: Sink>(&mut self, s: &Segment, d: usize, cx: &mut Context<S>) {
        let x = &mut self.directions[d];
        if x.offer.is_some() {
            x.counts.syn_retransmissions += 1;
            self.repeated |= !self.handshake[2].is_known();
            let seq = self.directions[d].origin.wrapping_sub(1);
            self.tell(cx, s, d, Happening::SynRetransmission, seq, 0);
            return;
        }
        x.offer = Some(Offer {
            isn: s.seq,
            mss: s.options.mss,
            scale: s.options.window_scale.map(|shift| shift.min(14)),
            cut: s.options_cut && s.options.window_scale.is_none(),
            sack: s.options.sack_permitted,
            timestamps: s.options.timestamps.is_some(),
            ecn: s.has(flags::ECE) && (s.has(flags::CWR) || s.has(flags::ACK)),
        });
        if !x.data {
            x.stand_at(s.seq.wrapping_add(1));
        }
        let (answer, opener) = if s.has(flags::ACK) { (1, 1 - d) } else { (0, d) };
        self.initiator.get_or_insert(opener as u8);
        let own = &mut self.handshake[answer];
        own.get_or_insert(s.time);
    }

    /// Measures the handshake, and notes when it is over.
    #[inline]
    pub(super) fn shake(&mut self, s: &Segment, d: usize) {
        if !self.handshake[2].is_known() && !self.opened.is_known() {
            self.shake_on(s, d);
        }
    }

    fn shake_on(&mut self, s: &Segment, d: usize) {
        let is_syn = s.has(flags::SYN);
        if let [Some(syn), Some(answer), None] = self.handshake.map(Moment::get) {
            let part = if is_syn && s.has(flags::ACK) && answer == s.time {
                Some(answer - syn)
            } else if !is_syn && s.has(flags::ACK) && self.initiator == Some(d as u8) {
                self.handshake[2] = Moment::at(s.time);
                Some(s.time - answer)
            } else {
                None
            };
            if let Some(part) = part.map(|ns| ns.min(LONGEST)).filter(|ns| *ns >= 0 && !self.repeated) {
                self.directions[d].up.lower(part);
            }
            self.agree();
        }
        if !is_syn && (self.handshake[2].is_known() || s.length > 0) {
            self.opened = Moment::at(s.time);
            for d in 0..2 {
                let path = self.path(d);
                // Data in a SYN came before.
                if self.directions[d].data {
                    let limits = &mut self.directions[d].sending.limits;
                    limits.advance(s.time, &path);
                    limits.open = true;
                }
            }
        }
    }
}
