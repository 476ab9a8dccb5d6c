//! Idle users: who had no traffic for a while is not connected any more, and is served late when there is some again (TS 36.331: RRC).

use super::params::Promotion;
use super::rlc::ttis;

/// Who is connected.
#[derive(Clone, Debug)]
pub struct Connections {
    /// TTIs without traffic after which a user is idle, and TTIs that it then waits; none: nobody is idle ever.
    times: Option<(u64, u64)>,
    /// Of every user: connected from a TTI on, and until another.
    users: Vec<(u64, u64)>,
}

impl Connections {
    /// Of so many users, all idle at the start.
    pub fn new(promotion: Option<Promotion>, users: usize) -> Connections {
        let times = promotion.map(|p| (ttis(p.after), ttis(p.delay)));
        Connections { times, users: vec![(0, 0); if times.is_some() { users } else { 0 }] }
    }

    /// User `i` gets a packet that can be sent in TTI number `tick` at the earliest: in which it can be.
    #[inline]
    pub fn arrival(&mut self, i: usize, tick: u64) -> u64 {
        let Some((after, delay)) = self.times else { return tick };
        let (from, until) = &mut self.users[i];
        if tick > *until {
            *from = tick + delay;
        }
        let at = tick.max(*from);
        *until = (*until).max(at + after);
        at
    }

    /// A packet of user `i` comes out in TTI number `tick`.
    #[inline]
    pub fn departure(&mut self, i: usize, tick: u64) {
        if let (Some((after, _)), Some(user)) = (self.times, self.users.get_mut(i)) {
            user.1 = user.1.max(tick + after);
        }
    }
}
