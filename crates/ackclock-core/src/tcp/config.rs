//! The options of an endpoint and the profiles that bundle them.

mod choices;

mod profile;

use crate::params::{Kind, ParamError, Value, check};
use crate::time::Span;

pub use profile::Profile;

pub use choices::*;
use choices::{
    ACK_POLICIES, APP_LIMITED_RULES, ECN_RULES, Field, IDLE_RULES, IW_BOUNDS, LOSS_DETECTIONS, NAGLE_RULES,
    PACING_RULES, PRR_RULES, REARM_RULES, RECOVERIES, RTO_RULES, WINDOW_UNITS,
};

/// Describes one endpoint option.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Its key in a scenario.
    pub name: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// Smallest and largest sensible value (durations in seconds).
    pub range: Option<(f64, f64)>,
    /// Meaning and source.
    pub doc: &'static str,
}

macro_rules! options {
    ($($name:ident : $ty:ty, $kind:expr, $range:expr, [$rfc:expr, $linux:expr, $ns3:expr, $ns2:expr], $doc:literal;)+) => {
        /// Every option of an endpoint.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config { $(#[doc = $doc] pub $name: $ty),+ }

        /// The options' descriptions, in the order of the table in the documentation.
        pub const OPTIONS: &[OptionSpec] = &[
            $(OptionSpec { name: stringify!($name), kind: $kind, range: $range, doc: $doc }),+
        ];

        impl Config {
            /// The options of a profile.
            pub fn profile(profile: Profile) -> Config {
                match profile {
                    Profile::Rfc => Config { $($name: $rfc),+ },
                    Profile::Linux => Config { $($name: $linux),+ },
                    Profile::Ns3 => Config { $($name: $ns3),+ },
                    Profile::Ns2 => Config { $($name: $ns2),+ },
                }
            }

            /// Sets one option by name.
            ///
            /// # Errors
            /// An unknown name, a value of the wrong kind or out of range.
            pub fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
                match name {
                    $(stringify!($name) => {
                        let value = check(name, $kind, $range, value)?;
                        if let Some(v) = <$ty as Field>::from_value(&value) { self.$name = v; }
                        Ok(())
                    })+
                    _ => Err(ParamError::Unknown(name.to_owned())),
                }
            }

            /// One option's value by name.
            pub fn get(&self, name: &str) -> Option<Value> {
                match name { $(stringify!($name) => Some(self.$name.to_value()),)+ _ => None }
            }
        }
    };
}

const MS: fn(u64) -> Span = Span::from_millis;
const S: fn(u64) -> Span = Span::from_secs;
/// The largest window a scale of 14 can offer.
pub const UNLIMITED_WINDOW: u64 = (1 << 30) - 1;

options! {
    iw: u64, Kind::Segments, Some((1.0, 1_000_000.0)), [10, 10, 10, 2], "initial window, segments (RFC 6928)";
    iw_bound: IwBound, Kind::Choice(IW_BOUNDS), None, [IwBound::Rfc6928, IwBound::None, IwBound::None, IwBound::None],
        "upper bound of the initial window";
    iw_lost_syns: u64, Kind::Count, Some((1.0, 1000.0)), [1, 2, 1, 1],
        "SYNs that must be lost for an initial window of one segment (RFC 6928 §2; Linux: 2)";
    rto: RtoRule, Kind::Choice(RTO_RULES), None, [RtoRule::Rfc6298, RtoRule::Linux, RtoRule::Rfc6298, RtoRule::Rfc6298],
        "retransmission timeout: rfc6298 is max(SRTT + max(G, 4 RTTVAR), min_rto), linux is SRTT + max(4 RTTVAR, min_rto)";
    rearm_rto: RearmRule, Kind::Choice(REARM_RULES), None,
        [RearmRule::Never, RearmRule::Never, RearmRule::Never, RearmRule::First],
        "which retransmissions of a recovery restart the retransmission timer: never (RFC 6298 §5: only acknowledgments of new data \
         do), the first, every one (RFC 6675 §6, \"more careful\"); with rto linux that of the head does anyway";
    min_rto: Span, Kind::Duration, Some((0.0, 60.0)), [S(1), MS(200), S(1), MS(200)], "smallest retransmission timeout";
    max_rto: Span, Kind::Duration, Some((0.001, 3600.0)), [S(60), S(120), S(60), S(60)], "largest retransmission timeout";
    initial_rto: Span, Kind::Duration, Some((0.001, 60.0)), [S(1), S(1), S(3), S(3)], "timeout before the first RTT sample (RFC 6298 §2.1)";
    timer_tick: Span, Kind::Duration, Some((0.0, 1.0)), [Span::ZERO, MS(1), Span::ZERO, Span::ZERO],
        "timers expire on ticks of this length and a little late, the longer the coarser, as in Linux; 0 is exactly";
    clock_granularity: Span, Kind::Duration, Some((0.0, 1.0)), [MS(1), MS(1), MS(1), MS(10)], "G of RFC 6298";
    timestamps: bool, Kind::Bool, None, [true, true, true, false], "timestamp option (RFC 7323)";
    timestamp_tick: Span, Kind::Duration, Some((1e-6, 1.0)), [MS(1), MS(1), MS(1), MS(1)], "tick of the timestamp clock";
    sack: bool, Kind::Bool, None, [true, true, true, true], "selective acknowledgments (RFC 2018)";
    recovery: Recovery, Kind::Choice(RECOVERIES), None, [Recovery::Auto, Recovery::Auto, Recovery::Auto, Recovery::Auto],
        "what repairs losses: auto is prr with SACK, newreno without; tahoe, reno and newreno do not offer SACK";
    loss_detection: LossDetection, Kind::Choice(LOSS_DETECTIONS), None,
        [LossDetection::Dupack, LossDetection::Rack, LossDetection::Dupack, LossDetection::Dupack],
        "how losses are found: dupack counts (RFC 5681, RFC 6675), rack compares transmission times (RFC 8985)";
    tlp: bool, Kind::Bool, None, [false, true, false, false],
        "tail loss probes: after two round-trip times without an acknowledgment a new segment, or the last one again, asks for one \
         (RFC 8985 §7); needs SACK";
    frto: bool, Kind::Bool, None, [false, true, false, false],
        "F-RTO: after a timeout the acknowledgments of segments sent once tell a late flight from a lost one, which is then taken \
         back (RFC 5682, with SACK)";
    dsack_undo: bool, Kind::Bool, None, [false, true, false, false],
        "take a reduction back when the receiver reports all retransmissions as duplicates (RFC 2883; with SACK)";
    eifel: bool, Kind::Bool, None, [false, true, false, false],
        "take a reduction back when an echoed timestamp shows that the original arrived (RFC 3522, RFC 4015; with SACK)";
    prr: PrrRule, Kind::Choice(PRR_RULES), None, [PrrRule::Rfc9937, PrrRule::Linux, PrrRule::Ns3, PrrRule::Rfc9937],
        "proportional rate reduction: reference is RecoverFS (rfc9937), the window at entry (linux) or all that is outstanding at \
         entry (ns3, which below ssthresh lets out as much as comes in, and more only on an acknowledgment that ends with a \
         retransmission)";
    dupthresh: u64, Kind::Count, Some((1.0, 300.0)), [3, 3, 3, 3], "duplicate acknowledgments that mean a loss (RFC 5681)";
    min_rtt_window: Span, Kind::Duration, Some((0.0, 86_400.0)), [MS(0), MS(300_000), MS(0), MS(0)],
        "time over which the minimum RTT is taken (tcp_min_rtt_wlen of Linux), for RACK, rate samples and controllers that ask for it; 0 is the connection";
    limited_transmit: bool, Kind::Bool, None, [true, true, true, true], "one new segment on each of the first two duplicates (RFC 3042)";
    limited_transmit_after_timeout: bool, Kind::Bool, None, [false, false, false, true],
        "limited transmit also while a timeout is repaired without SACK, where it sends old segments again (ns-2)";
    careful: bool, Kind::Bool, None, [true, true, true, true],
        "Reno starts no second recovery for what was sent before the last one, as NewReno (RFC 6582 §3.2 step 2, bugFix_ of ns-2); false is RFC 5681 to the letter";
    newreno_impatient: bool, Kind::Bool, None, [true, true, true, true], "restart the timer on the first partial acknowledgment only (RFC 6582 §4)";
    newreno_full_window: bool, Kind::Bool, None, [false, false, false, true],
        "leave NewReno recovery at ssthresh (RFC 6582 option 2) instead of min(ssthresh, flight + 1 MSS)";
    delayed_ack: u64, Kind::Count, Some((1.0, 64.0)), [2, 2, 2, 1], "acknowledge every this many full segments; 1 is every segment";
    delayed_ack_timeout: Span, Kind::Duration, Some((0.0, 0.5)), [MS(200), MS(40), MS(200), MS(100)],
        "longest delay of an acknowledgment; the least of Linux's adaptive delay";
    ack_policy: AckPolicy, Kind::Choice(ACK_POLICIES), None, [AckPolicy::Rfc, AckPolicy::Linux, AckPolicy::Rfc, AckPolicy::Rfc],
        "when the receiver acknowledges";
    quick_acks: u64, Kind::Count, Some((0.0, 1000.0)), [0, 16, 1, 0], "segments acknowledged at once at the start";
    receive_buffer: u64, Kind::Bytes, Some((256.0, UNLIMITED_WINDOW as f64)),
        [UNLIMITED_WINDOW, UNLIMITED_WINDOW, UNLIMITED_WINDOW, UNLIMITED_WINDOW],
        "receive buffer; the default is the largest window TCP can offer";
    initial_receive_window: u64, Kind::Bytes, Some((256.0, UNLIMITED_WINDOW as f64)),
        [UNLIMITED_WINDOW, 8_387_160, UNLIMITED_WINDOW, UNLIMITED_WINDOW],
        "window offered at first; ack_policy linux opens it with the data received. The default of profile linux is that of a buffer of 16 MiB";
    ack_compression: bool, Kind::Bool, None, [false, true, false, false],
        "with ack_policy linux: acknowledge out-of-order segments beyond the third together, after min(1 ms, RTT/20) + 0.1 ms";
    write_bytes: u64, Kind::Bytes, None, [0, 131_072, 0, 0],
        "bytes that the application writes at a time, in the end to a full send buffer; 0 is everything at once. Linux marks \
         where it pushed the stream (PSH), and a receiver acknowledges such a segment at once";
    send_buffer: u64, Kind::Bytes, Some((1.0, UNLIMITED_WINDOW as f64)), [16_777_216, 16_777_216, 16_777_216, 16_777_216],
        "memory of the buffer that the application's writes fill";
    notsent_lowat: u64, Kind::Bytes, Some((0.0, UNLIMITED_WINDOW as f64)), [0, 0, 0, 0],
        "written bytes that have not left and beyond which the application finds no room, until less than half of them is left \
         (TCP_NOTSENT_LOWAT of Linux); what is written when a source stops is sent. 0: no bound, and a source that stops takes \
         back what has not left";
    window_counts_ooo: bool, Kind::Bool, None, [false, false, false, false], "out-of-order data takes room of the receive buffer";
    app_read_rate: u64, Kind::Bytes, None, [0, 0, 0, 0], "bytes per second that the receiving application reads; 0 is at once";
    header_bytes: u64, Kind::Bytes, Some((0.0, 200.0)), [40, 40, 40, 40], "IP and TCP header of every segment, without options";
    count_options: bool, Kind::Bool, None, [true, true, true, false], "TCP options take room on the wire";
    ack_bytes: u64, Kind::Bytes, Some((0.0, 1500.0)), [0, 0, 0, 0], "wire size of a segment without payload; 0 is by its headers";
    mtu: u64, Kind::Bytes, Some((0.0, 65_535.0)), [0, 0, 0, 0], "largest IP packet; 0 is unlimited";
    handshake: bool, Kind::Bool, None, [true, true, true, true], "three-way handshake";
    handshake_ack: bool, Kind::Bool, None, [false, true, false, false],
        "the acknowledgment that ends the handshake leaves alone, ahead of the first data (Linux)";
    iss: u64, Kind::Count, Some((0.0, u32::MAX as f64)), [0, 0, 0, 0], "initial send sequence number";
    pacing: PacingRule, Kind::Choice(PACING_RULES), None,
        [PacingRule::Controller, PacingRule::Controller, PacingRule::Controller, PacingRule::Controller],
        "spreads segments over time: as the controller asks; window paces the others too, at 2 windows per RTT in slow start and 1.2 \
         after it (Linux with the fq queue); off";
    pacing_credit: bool, Kind::Bool, None, [false, true, false, false],
        "a segment that leaves late shortens the gap to the next, to half at most (Linux)";
    pacing_quantum: PacingQuantum, Kind::Choice(PACING_QUANTA), None,
        [PacingQuantum::Controller, PacingQuantum::Segment, PacingQuantum::Controller, PacingQuantum::Controller],
        "what a paced sender lets out at once: controller: as the controller asks, BBR for its send quantum (1 ms of its rate, at \
         least 2 segments, at most 64 KiB), the others for a segment; segment: each one alone (Linux without segmentation offload)";
    unpaced_segments: u64, Kind::Count, Some((0.0, 1e6)), [0, 10, 0, 0], "segments that leave unpaced at the start (Linux: 10)";
    idle: IdleRule, Kind::Choice(IDLE_RULES), None, [IdleRule::Rfc5681, IdleRule::Linux, IdleRule::None, IdleRule::Rfc5681],
        "window after an idle time";
    ecn: EcnRule, Kind::Choice(ECN_RULES), None, [EcnRule::Off, EcnRule::Off, EcnRule::Off, EcnRule::Off],
        "explicit congestion notification: off, classic (RFC 3168) or accurate (exact counts of marks, RFC 9768); a controller that \
         needs it has it anyway. Linux by default accepts it but does not ask for it, and both ends here are alike: off";
    window_validation: bool, Kind::Bool, None, [true, true, false, false], "grow the window only when it limits the sender";
    window_unit: WindowUnit, Kind::Choice(WINDOW_UNITS), None,
        [WindowUnit::Bytes, WindowUnit::Packets, WindowUnit::Bytes, WindowUnit::Bytes],
        "what the congestion window, flights and deliveries count: bytes, or packets: a segment counts as much as a full one, whatever it \
         holds (Linux)";
    nagle: bool, Kind::Bool, None, [false, false, false, false], "hold a short segment while data is outstanding, as nagle_rule says (false: TCP_NODELAY)";
    nagle_rule: NagleRule, Kind::Choice(NAGLE_RULES), None,
        [NagleRule::Rfc896, NagleRule::Minshall, NagleRule::Rfc896, NagleRule::Rfc896],
        "what nagle holds: rfc896 any short segment while data is outstanding, minshall one while another short one is (Linux)";
    app_limited: AppLimitedRule, Kind::Choice(APP_LIMITED_RULES), None,
        [AppLimitedRule::Exhausted, AppLimitedRule::Write, AppLimitedRule::Exhausted, AppLimitedRule::Exhausted],
        "when delivery-rate samples begin to be limited by the application: exhausted, when the sender has run out of data with room in \
         the window; write, when the application writes and finds less than a segment unsent, room in the window and no loss to repair (Linux)";
    syn_retries: u64, Kind::Count, Some((0.0, 100.0)), [7, 6, 6, 6],
        "SYN retransmissions before giving up; 7 is the first number that waits for three minutes (R2 of RFC 9293 §3.8.3)";
    syn_linear_timeouts: u64, Kind::Count, Some((0.0, 100.0)), [0, 4, 0, 0],
        "SYN retransmissions before the timeout begins to double; syn_retries counts those behind them (tcp_syn_linear_timeouts of Linux)";
    data_retries: u64, Kind::Count, Some((1.0, 1000.0)), [15, 15, 6, 1000], "timeouts of one segment before giving up (R2)";
    clear_sack_on_rto: bool, Kind::Bool, None, [false, false, false, true], "forget SACK information on a timeout (RFC 2018 §8)";
}

impl Config {
    /// The initial window in bytes for this MSS (RFC 6928 §2, RFC 5681 §3.1).
    pub fn initial_window(&self, mss: u32) -> u64 {
        let mss = u64::from(mss);
        match self.iw_bound {
            IwBound::None => self.iw * mss,
            //= RFC 6928 §2 bound
            IwBound::Rfc6928 => (self.iw * mss).min((2 * mss).max(14_600)),
            //= RFC 3390 §1 bound
            IwBound::Rfc5681 if mss > 2190 => 2 * mss,
            IwBound::Rfc5681 if mss > 1095 => 3 * mss,
            IwBound::Rfc5681 => 4 * mss,
        }
    }

    /// Whether SACK is offered: the classic recoveries predate it.
    //= RFC 9293 §3.8.3 r2-application
    pub fn offers_sack(&self) -> bool {
        self.sack && !matches!(self.recovery, Recovery::Tahoe | Recovery::Reno | Recovery::NewReno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    //= test: RFC 3390 §1 bound
    //= test: RFC 6928 §2 bound
    fn initial_window_vectors() {
        let c = Config::profile(Profile::Rfc);
        for (mss, iw) in [(1450, 14_500), (1460, 14_600), (536, 5_360), (4000, 14_600), (9000, 18_000)] {
            assert_eq!(c.initial_window(mss), iw);
        }
        let mut c = Config::profile(Profile::Linux);
        assert_eq!(c.initial_window(9000), 90_000);
        c.set("iw_bound", &Value::Text("rfc5681".into())).unwrap();
        assert_eq!([c.initial_window(2191), c.initial_window(2190), c.initial_window(1095)], [4382, 6570, 4380]);
    }

    #[test]
    //= test: RFC 9293 §3.8.3 r2-application
    fn options_are_set_by_name() {
        let mut c = Config::profile(Profile::Rfc);
        c.set("min_rto", &Value::Duration(MS(200))).unwrap();
        c.set("recovery", &Value::Text("reno".into())).unwrap();
        assert_eq!((c.min_rto, c.recovery, c.offers_sack()), (MS(200), Recovery::Reno, false));
        assert!(c.set("min_rtt", &Value::Bool(true)).is_err());
        assert!(c.set("dupthresh", &Value::Int(0)).is_err());
        for spec in OPTIONS {
            let v = c.get(spec.name).unwrap();
            c.set(spec.name, &v).unwrap();
        }
    }
}
