//! What happened in a cell over time.

use super::TTI;
use super::downlink::Downlink;
use super::uplink::Uplink;
use crate::time::{Span, Time};

/// The cell in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The end of the interval.
    pub at: Time,
    /// Resource blocks used in the downlink.
    pub down_rbs: u64,
    /// Those of retransmissions.
    pub down_again_rbs: u64,
    /// TTIs of the downlink with data.
    pub down_ttis: u64,
    /// Resource blocks used in the uplink.
    pub up_rbs: u64,
}

/// A user in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UserRow {
    /// The end of the interval.
    pub at: Time,
    /// Who.
    pub user: u16,
    /// Resource blocks it was sent.
    pub down_rbs: u64,
    /// Bytes of packets that came out of the downlink.
    pub down_bytes: u64,
    /// Bytes of packets that came out of the uplink.
    pub up_bytes: u64,
    /// The age in the queue of the base station of the oldest packet whose transmission began.
    pub down_wait: Span,
    /// Bytes in that queue at the end.
    pub down_backlog: u64,
    /// SNR of the downlink at the end, dB.
    pub sinr_db: f64,
}

/// Rows of a cell.
#[derive(Clone, Debug, Default)]
pub struct Series {
    every: Span,
    next: Time,
    /// Of the cell.
    pub cell: Vec<Row>,
    /// Of its users, all of them in every interval.
    pub users: Vec<UserRow>,
    /// Totals at the end of the last interval.
    totals: Row,
    user_totals: Vec<(u64, u64, u64)>,
}

impl Series {
    /// With a row for every interval of this length.
    pub fn new(every: Span, users: usize) -> Series {
        let next = Time::ZERO + every;
        Series { every, next, user_totals: vec![(0, 0, 0); users], ..Series::default() }
    }

    /// Closes the intervals that end at `now` or before.
    #[inline]
    pub fn roll(&mut self, now: Time, down: &mut Downlink, up: &mut Uplink) {
        while self.next <= now {
            self.close(self.next, down, up);
            self.next += self.every;
        }
    }

    #[cold]
    fn close(&mut self, at: Time, down: &mut Downlink, up: &mut Uplink) {
        let ((rbs, again, ttis), up_rbs) = (down.totals, up.totals.0);
        let t = Row { at, down_rbs: rbs, down_again_rbs: again, down_ttis: ttis, up_rbs };
        self.cell.push(Row {
            at,
            down_rbs: t.down_rbs - self.totals.down_rbs,
            down_again_rbs: t.down_again_rbs - self.totals.down_again_rbs,
            down_ttis: t.down_ttis - self.totals.down_ttis,
            up_rbs: t.up_rbs - self.totals.up_rbs,
        });
        self.totals = t;
        for (i, (d, u)) in down.users.iter_mut().zip(&mut up.users).enumerate() {
            let totals = (d.rbs, d.bearer.total_bytes, u.bearer.total_bytes);
            let last = std::mem::replace(&mut self.user_totals[i], totals);
            self.users.push(UserRow {
                at,
                user: i as u16,
                down_rbs: totals.0 - last.0,
                down_bytes: totals.1 - last.1,
                up_bytes: totals.2 - last.2,
                down_wait: std::mem::take(&mut d.bearer.longest_wait),
                down_backlog: d.bearer.backlog().bytes,
                sinr_db: d.radio.sinr_at(at.0 / TTI, &down.medium),
            });
        }
    }
}
