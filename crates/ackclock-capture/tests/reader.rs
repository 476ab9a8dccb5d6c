//! Files of the classic format, whole and damaged.

use ackclock_capture::reader::{segment, Fault, Pcap};

/// A file with one TCP segment of 5 bytes over Ethernet, padded to 60, at 1.5 s.
fn file(big: bool) -> Vec<u8> {
    let word = |v: u32| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let half = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let mut frame = vec![0; 12];
    frame.extend([8, 0, 0x45, 0, 0, 45, 0, 9, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0x9c, 0x40, 0, 80, 0, 0, 0, 7, 0, 0, 0, 8, 0x50, 0x10, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5]);
    frame.resize(60, 0);
    let mut all = Vec::new();
    all.extend(word(0xa1b2_c3d4));
    all.extend([half(2), half(4)].concat());
    all.extend([word(0), word(0), word(65535), word(1)].concat());
    all.extend([word(1), word(500_000), word(60), word(60)].concat());
    all.extend(frame);
    all
}

#[test]
fn both_orders_and_padding() {
    for big in [false, true] {
        let bytes = file(big);
        let mut pcap = Pcap::open(&bytes[..]).unwrap();
        let link = pcap.link();
        let record = pcap.next().unwrap().unwrap();
        let s = segment(&record, link).unwrap();
        assert_eq!((s.time, s.length, s.seq, s.ack, s.window), (1_500_000_000, 5, 7, 8, Some(256)));
        assert_eq!((s.source_port, s.destination_port, s.ip_id), (40000, 80, 9));
        assert!(pcap.next().unwrap().is_none());
    }
}

#[test]
fn a_cut_file_ends_where_it_is_cut() {
    let whole = file(false);
    for end in 0..whole.len() {
        match Pcap::open(&whole[..end]) {
            Err(Fault::Magic) => assert_eq!(end, 0),
            Err(Fault::Header) => assert!(end < 24),
            Err(e) => panic!("{e} at {end}"),
            Ok(mut pcap) => match pcap.next() {
                Ok(None) => assert_eq!(end, 24),
                Err(Fault::Truncated) => assert!(end > 24),
                other => panic!("{other:?} at {end}"),
            },
        }
    }
}

#[test]
fn a_length_from_the_file_is_not_believed() {
    let mut bytes = file(false);
    bytes[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(Pcap::open(&bytes[..]).unwrap().next(), Err(Fault::Truncated)));
    bytes[0] = 0;
    assert!(matches!(Pcap::open(&bytes[..]), Err(Fault::Magic)));
}
