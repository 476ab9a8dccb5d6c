//! Proportional rate reduction (RFC 9937, which obsoletes RFC 6937).

use super::super::config::PrrRule;

/// State of one recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// Bytes delivered since the recovery began.
    delivered: u64,
    /// Bytes sent since the recovery began.
    out: u64,
    /// RecoverFS, or Linux's window at entry.
    reference: u64,
    rule: Option<PrrRule>,
}

impl Prr {
    /// A recovery begins with `reference` bytes in flight.
    pub fn new(reference: u64, rule: PrrRule) -> Prr {
        Prr { delivered: 0, out: 0, reference: reference.max(1), rule: Some(rule) }
    }

    /// Bytes left the sender.
    #[inline]
    pub fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// The window after an event that delivered `delivered` bytes and leaves `in_flight`. `safe`: SND.UNA advanced and
    /// no loss was found (SafeACK), or for ns-3: what it acknowledges ends with a retransmission.
    pub fn on_ack(&mut self, delivered: u64, in_flight: u64, ssthresh: u64, safe: bool, mss: u64) -> u64 {
        self.delivered += delivered;
        let mut allowed = if in_flight > ssthresh {
            //= RFC 9937 §6 proportional
            let share = (u128::from(self.delivered) * u128::from(ssthresh)).div_ceil(u128::from(self.reference));
            let share = u64::try_from(share).unwrap_or(u64::MAX);
            i64::try_from(self.round(share, mss)).unwrap_or(i64::MAX) - self.out as i64
        } else {
            let mut n = delivered as i64;
            if safe || self.rule != Some(PrrRule::Ns3) {
                n = n.max(self.delivered as i64 - self.out as i64);
            }
            //= RFC 9937 §6 safe-ack
            if safe {
                n += mss as i64;
            }
            n.min(i64::try_from(ssthresh - in_flight).unwrap_or(i64::MAX))
        };
        if self.out == 0 {
            //= RFC 9937 §6 first-retransmission
            // The first fast retransmission always leaves.
            allowed = allowed.max(mss as i64);
        }
        // Never below one segment: with nothing in flight no acknowledgment would come to raise it.
        in_flight.saturating_add(allowed.max(0) as u64).max(mss)
    }

    /// Linux counts whole segments and rounds up to the next.
    fn round(&self, bytes: u64, mss: u64) -> u64 {
        match self.rule {
            Some(PrrRule::Linux) => bytes.div_ceil(mss).saturating_mul(mss),
            _ => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cumulative segments allowed after each of ten acknowledgments of one segment, everything allowed being sent.
    fn allowed(reference: u64, ssthresh: u64) -> Vec<u64> {
        let mut p = Prr::new(reference, PrrRule::Rfc9937);
        let mut total = 0;
        (0..10)
            .map(|_| {
                let in_flight = ssthresh + 1;
                let n = p.on_ack(1, in_flight, ssthresh, false, 1).saturating_sub(in_flight);
                p.sent(n);
                total += n;
                total
            })
            .collect()
    }

    #[test]
    //= test: RFC 9937 §6 proportional
    fn proportional_part() {
        assert_eq!(allowed(20, 14), [1, 2, 3, 3, 4, 5, 5, 6, 7, 7]);
        assert_eq!(allowed(20, 10), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    }

    #[test]
    //= test: RFC 9937 §6 safe-ack
    fn slow_start_part_after_burst_loss() {
        // 100 in flight, ssthresh 50, 90 lost: pipe 10. One segment delivered.
        assert_eq!(Prr::new(100, PrrRule::Rfc9937).on_ack(1, 10, 50, false, 1) - 10, 1);
        assert_eq!(Prr::new(100, PrrRule::Rfc9937).on_ack(1, 10, 50, true, 1) - 10, 2);
    }

    #[test]
    fn ns3_lets_out_what_came_in_unless_a_retransmission_did() {
        // What its TcpPrrRecovery answers after 20 were delivered and 10 sent, with 5 less in flight than ssthresh.
        let allowed = |delivered, safe| {
            let mut p = Prr::new(40, PrrRule::Ns3);
            p.on_ack(20, 30, 20, false, 1);
            p.sent(10);
            p.on_ack(delivered, 15, 20, safe, 1) - 15
        };
        assert_eq!((allowed(1, false), allowed(3, false), allowed(1, true)), (1, 3, 5));
    }

    #[test]
    fn linux_rounds_up_to_segments() {
        let mut p = Prr::new(130 * 1448, PrrRule::Linux);
        let in_flight = 100 * 1448;
        assert_eq!(p.on_ack(1448, in_flight, 65 * 1448, false, 1448) - in_flight, 1448);
        p.sent(1448);
        assert_eq!(p.on_ack(1448, in_flight, 65 * 1448, false, 1448), in_flight);
        assert_eq!(p.on_ack(1448, in_flight, 65 * 1448, false, 1448) - in_flight, 1448);
    }
}
