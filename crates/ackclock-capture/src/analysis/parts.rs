//! The parts of a direction as [`packing`](super::packing) keeps them while their connection sleeps: each field is named once,
//! so that none can be left out.

use super::counts::Volume;
use super::direction::{ABOVE, Direction, Ending, KEPT, Loss, Offer, Rounds, Sending};
use super::limits::Limits;
use super::packing::Coder;
use super::repairs::Episode;
use super::segment_size::SegmentSize;

impl Direction {
    /// All of it; `last` is near. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C, last: i64) {
        let Direction {
            offer,
            seen,
            data,
            known,
            window_known,
            tagged,
            blocks,
            repaired,
            initial_over,
            window,
            dups,
            origin,
            max,
            edge,
            answered,
            stirred,
            changed,
            up,
            pieces,
            recent,
            stamps,
            counts,
            rtt,
            sending,
            loss,
            ending,
        } = self;
        let mut parts = [false; 4];
        if !C::READS {
            let ends = *ending != Ending::default();
            parts = [offer.is_some(), *data || !sending.is_blank(), !loss.is_blank(), ends];
        }
        let [offers, sends, loses, ends] = &mut parts;
        let flags =
            [seen, data, known, window_known, tagged, blocks, repaired, initial_over, offers, sends, loses, ends];
        c.small(flags, [], dups);
        let mut isn = 0;
        if parts[0] {
            isn = offer.get_or_insert(Offer::NONE).code(c);
        } else {
            *offer = None;
        }
        c.int(window);
        c.near(origin, ABOVE + u64::from(isn.wrapping_add(1)));
        c.near(max, *origin);
        c.near(edge, *max);
        c.time(answered, last);
        c.time(stirred, last);
        c.time(changed, last);
        c.moment(up, 0);
        pieces.code(c, KEPT, *max, last);
        recent.code(c, KEPT, last);
        stamps.code(c, KEPT, last);
        counts.code(c);
        rtt.code(c);
        let una = pieces.una();
        if parts[1] {
            sending.code(c, una, last);
        } else if C::READS {
            sending.clear();
        }
        if parts[2] {
            loss.code(c, una, last);
        } else if C::READS {
            loss.clear();
        }
        if parts[3] {
            ending.code(c, *max, last);
        } else if C::READS {
            *ending = Ending::default();
        }
    }
}

impl Offer {
    const NONE: Offer =
        Offer { isn: 0, mss: None, scale: None, cut: false, sack: false, timestamps: false, ecn: false };

    /// All of it. The answer is the initial sequence number.
    fn code<C: Coder>(&mut self, c: &mut C) -> u32 {
        let Offer { isn, mss, scale, cut, sack, timestamps, ecn } = self;
        let (mut size, mut shift) = (mss.map_or(0, |mss| u32::from(mss) + 1), scale.map_or(0, |scale| scale + 1));
        c.small([cut, sack, timestamps, ecn], [(&mut shift, 4)], &mut size);
        if C::READS {
            *mss = size.checked_sub(1).map(|mss| mss as u16);
            *scale = shift.checked_sub(1);
        }
        c.int(isn);
        *isn
    }
}

impl Sending {
    /// Of a direction without data, for which there is no account of who limits.
    fn is_blank(&self) -> bool {
        let Sending { limits: _, rounds, volume, arrived, last_data, size } = self;
        *rounds == Rounds::NONE
            && *volume == Volume::NONE
            && (*arrived, *last_data) == (0, 0)
            && *size == SegmentSize::NONE
    }

    fn clear(&mut self) {
        let mut limits = std::mem::replace(&mut self.limits, Limits::NONE);
        limits.clear(KEPT);
        *self = Sending { limits, ..Sending::default() };
    }

    fn code<C: Coder>(&mut self, c: &mut C, una: u64, last: i64) {
        let Sending { limits, rounds, volume, arrived, last_data, size } = self;
        limits.code(c, KEPT, una, last);
        rounds.code(c, una, last);
        volume.code(c);
        c.time(arrived, last);
        c.time(last_data, last);
        size.code(c);
    }
}

impl Rounds {
    fn code<C: Coder>(&mut self, c: &mut C, una: u64, last: i64) {
        let Rounds { end, largest, level, initial, told } = self;
        c.near(end, una);
        c.word(largest);
        c.moment(&mut level.0, last);
        c.word(&mut level.1);
        c.word(&mut initial.0);
        c.word(&mut initial.1);
        c.int(&mut initial.2);
        c.flags([told]);
    }
}

impl Loss {
    fn is_blank(&self) -> bool {
        let Loss { sacked, episode, repairs, closed_since, probed, overtaken } = self;
        let quiet = *episode == Episode::default() && *probed == 0 && closed_since.is_none() && overtaken.is_none();
        quiet && sacked.is_empty() && repairs.is_blank()
    }

    fn clear(&mut self) {
        self.sacked.clear(KEPT);
        self.repairs.clear(KEPT);
        (self.episode, self.closed_since, self.probed, self.overtaken) = (Episode::default(), None, 0, None);
    }

    fn code<C: Coder>(&mut self, c: &mut C, una: u64, last: i64) {
        let Loss { sacked, episode, repairs, closed_since, probed, overtaken } = self;
        sacked.code(c, una);
        episode.code(c, una, last);
        repairs.code(c, una, last);
        c.maybe_time(closed_since, last);
        c.word(probed);
        c.maybe_time(overtaken, last);
    }
}

impl Ending {
    fn code<C: Coder>(&mut self, c: &mut C, max: u64, last: i64) {
        let Ending { fin, acked, sacked, bare, done } = self;
        c.maybe_near(fin, max);
        c.flags([acked, sacked]);
        if c.is_there(bare) {
            let (at, once) = bare.get_or_insert_default();
            c.time(at, last);
            c.flags([once]);
        }
        if c.is_there(done) {
            let (acked, passed) = done.get_or_insert_default();
            c.time(acked, last);
            c.time(passed, last);
        }
    }
}
