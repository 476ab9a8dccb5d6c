//! Interfaces that packets were captured at, and the time units of each.

/// Most interfaces of a file, those of all sections together.
pub const MOST_INTERFACES: usize = 65_536;
/// Most bytes of a name that are kept.
const MOST_NAME: usize = 256;
const SECOND: i64 = 1_000_000_000;

/// A place where packets were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name, as the file has it; empty if it has none. It may hold any character.
    pub name: String,
    /// Link type of its packets.
    pub link: u16,
    /// Most bytes of a packet that were kept; 0 for all.
    pub snaplen: u32,
    /// Packets in the file.
    pub packets: u64,
    /// Packets that were lost in capturing, by the file's account; unknown in formats without one.
    pub drops: Option<u64>,
}

impl Interface {
    /// One with a name from a file.
    pub(super) fn new(link: u16, snaplen: u32, name: &[u8]) -> Interface {
        let name = name.get(..MOST_NAME).unwrap_or(name);
        let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
        Interface { name, link, snaplen, packets: 0, drops: None }
    }
}

/// What a unit of time is, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// So many.
    Times(u64),
    /// One of so many parts of one; of more than can be counted if 0.
    Part(u64),
    /// A second divided by two to this.
    Halved(u32),
}

impl Unit {
    /// Of an option `if_tsresol`: ten, or with the highest bit set two, to the minus what it says, seconds.
    pub fn of(resolution: u8) -> Unit {
        let power = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            return Unit::Halved(power);
        }
        match power {
            0..=9 => Unit::Times(10u64.pow(9 - power)),
            _ => Unit::Part(10u64.checked_pow(power - 9).unwrap_or(0)),
        }
    }

    /// So many units and `offset` seconds, ns; times so far off that differences would overflow are moved nearer.
    #[inline]
    pub fn ns(self, units: u64, offset: i64) -> i64 {
        let ns = match self {
            Unit::Times(factor) => units.saturating_mul(factor),
            Unit::Part(parts) => units.checked_div(parts).unwrap_or(0),
            Unit::Halved(power) => {
                // Products of 64 and 30 bits; shifts by more leave nothing.
                let whole = u128::from(units) * SECOND as u128;
                u64::try_from(whole.checked_shr(power).unwrap_or(0)).unwrap_or(u64::MAX)
            }
        };
        let ns = i64::try_from(ns).unwrap_or(i64::MAX);
        ns.saturating_add(offset.saturating_mul(SECOND)).clamp(EARLIEST, LATEST)
    }
}

/// The year 2116, and 1896.
const LATEST: i64 = 1 << 62;
const EARLIEST: i64 = -(1 << 61);

/// How packets of a section name an interface and tell the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Described {
    /// Its place among all interfaces of the file.
    pub number: u32,
    pub link: u16,
    pub snaplen: u32,
    pub unit: Unit,
    /// Seconds that are added to times.
    pub offset: i64,
}

impl Described {
    /// Of no packet that is read.
    pub const UNKNOWN: Described =
        Described { number: u32::MAX, link: u16::MAX, snaplen: 0, unit: Unit::Times(1), offset: 0 };
}
