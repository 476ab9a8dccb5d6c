//! How the base station gets to know what users have: requests, and reports that come with blocks (TS 36.321 §5.4.4, §5.4.5).

use super::Uplink;
use crate::cell::rlc::NEVER;

/// What the base station will know of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Report {
    /// When.
    pub tick: u64,
    /// Bytes left.
    pub left: u32,
    /// Bytes granted up to the grant of the block that brought it.
    pub granted: u64,
    /// Whose.
    pub user: u16,
    /// Whether it is only a request.
    pub request: bool,
}

impl Uplink {
    /// User `i` may have data from TTI number `tick` on. With neither a grant nor a request nor a report on its way, and nothing that
    /// the base station knows of, it waits for its next opportunity to request.
    #[inline]
    pub fn wake(&mut self, i: usize, tick: u64) {
        let user = &mut self.users[i];
        let served = user.grants > 0 || user.told > 0 || user.wanted > 0;
        if served || user.asking || user.request != NEVER || !user.bearer.has_data() {
            return;
        }
        let from = if user.bearer.is_ready(tick) { tick } else { user.bearer.next_again().max(tick) };
        let from = from.max(user.from);
        user.request = if from <= user.offset {
            user.offset
        } else {
            user.offset + (from - user.offset).div_ceil(self.period) * self.period
        };
        self.requests.set(user.request, i);
    }

    /// What `report` says is known from now on.
    pub(super) fn hear(&mut self, report: Report) {
        let user = &mut self.users[usize::from(report.user)];
        if report.request {
            user.asking = false;
            // The base station does not know how much: the smallest grant, and the rest by the report that comes with it.
            user.wanted = user.wanted.max(1);
        } else {
            user.told -= u32::from(report.left > 0);
        }
        if !report.request && report.granted >= user.known {
            user.known = report.granted;
            user.wanted = u64::from(report.left).saturating_sub(user.granted - report.granted);
        }
        if user.wanted > 0 {
            self.turns.join(usize::from(report.user));
        } else {
            self.turns.leave(usize::from(report.user));
        }
        if !report.request {
            self.wake(usize::from(report.user), report.tick + 1);
        }
    }

    /// Requests of TTI number `tick`.
    #[inline]
    pub fn ask(&mut self, tick: u64) {
        while let Some(i) = self.requests.due(tick) {
            let user = &mut self.users[i];
            user.request = NEVER;
            if user.grants == 0 && user.wanted == 0 && user.bearer.is_ready(tick) {
                user.asking = true;
                let (tick, user) = (tick + self.lead, i as u16);
                self.reports.push(Report { tick, user, request: true, ..Report::default() });
            } else {
                self.wake(i, tick + 1);
            }
        }
    }
}
