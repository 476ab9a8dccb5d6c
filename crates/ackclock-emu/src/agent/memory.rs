//! How much memory of a kernel's receive buffer a window takes: Linux counts what packets occupy, headers and padding included.

/// Since this version the share of payload is measured with the first segments, and holds from then on; before it was a half.
const MEASURED: (u32, u32) = (6, 11);
/// Parts in which the kernel counts the share (`TCP_RMEM_TO_WIN_SCALE`).
const PARTS: u64 = 256;
/// Beside a packet that a TUN device receives: room before it (`NET_SKB_PAD`), what stands behind it (`skb_shared_info`), and
/// what describes it (`sk_buff`), all in whole cache lines.
const BEFORE: u64 = 64;
const BEHIND: u64 = 320;
const DESCRIPTION: u64 = 256;
const LINE: u64 = 64;
/// Packets from here on are kept in pieces.
const WHOLE: u64 = 4096;

/// Bytes of memory in which `window` bytes fit, that come in segments with `payload` in packets of `length` bytes, on the kernel
/// of this `release`; `joined`: packets may be joined before.
pub fn of_window(window: u64, (payload, length): (u64, u64), release: &str, joined: bool) -> u64 {
    let occupied = ((BEFORE + length).next_multiple_of(LINE) + BEHIND).next_power_of_two() + DESCRIPTION;
    let share = PARTS * payload / occupied;
    if joined || BEFORE + length >= WHOLE || share == 0 || version(release) < MEASURED {
        return window.saturating_mul(2);
    }
    (window.saturating_mul(PARTS)).div_ceil(share)
}

/// Of `6.12.117-ackclock` 6 and 12; zeros of what is none.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|text| text.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_occupies_what_linux_says() {
        // Of 1448 bytes in 2304, as `skmem` of ss(8) has it: 160 of 256 parts.
        assert_eq!(of_window(147_456, (1448, 1500), "6.12.117-ackclock", false), (147_456u64 * 256).div_ceil(160));
        assert_eq!(of_window(147_456, (1448, 1500), "6.18.0", true), 2 * 147_456);
        assert_eq!(of_window(147_456, (1448, 1500), "5.10.0-30-amd64", false), 2 * 147_456);
        assert_eq!(of_window(147_456, (8948, 9000), "6.12", false), 2 * 147_456);
        assert_eq!((version("6.9"), version("7"), version("")), ((6, 9), (7, 0), (0, 0)));
    }
}
