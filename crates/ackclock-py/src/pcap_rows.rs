//! Connections in captures as rows of the tables that every engine has: its columns first, null where no capture can know them.

use crate::tables::{floats, ints, some_floats, text};
use ackclock_capture::analysis::rows::{FlowRow, Shares};
use ackclock_capture::analysis::sink::{Event, FlowId, Happening, Metric, Sample};
use ackclock_capture::analysis::{Cause, Proof};
use ackclock_core::packet::{Address, Family};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray, UInt64Array,
    new_null_array,
};
use arrow_schema::{ArrowError, DataType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A direction with what its row says besides: whether it stands for its connection, and what its ends are called.
pub struct Row {
    pub flow: FlowRow,
    pub main: bool,
    pub ends: [String; 2],
}

/// What addresses are called: as they are, or by numbers in the order in which they come.
#[derive(Default)]
pub struct Names {
    anonymous: bool,
    given: BTreeMap<Address, u32>,
}

impl Names {
    /// With `anonymous`, by numbers.
    pub fn new(anonymous: bool) -> Names {
        Names { anonymous, ..Names::default() }
    }

    /// Gives addresses their numbers, if that is how they are called.
    pub fn note(&mut self, addresses: impl Iterator<Item = Address>) {
        if self.anonymous {
            addresses.for_each(|address| drop(self.of(address)));
        }
    }

    /// What an address is called. The same one is always called the same.
    pub fn of(&mut self, address: Address) -> String {
        if !self.anonymous {
            return address.to_string();
        }
        let next = u32::try_from(self.given.len() + 1).unwrap_or(u32::MAX);
        let number = *self.given.entry(address).or_insert(next);
        // In a private network of version 4 there is room for 2^24.
        let family = if number >> 24 == 0 { address.family() } else { Family::V6 };
        Address::of_host(family, number).to_string()
    }
}

/// How a direction is called in tables.
fn id(id: FlowId) -> String {
    format!("{}.{}", id.connection, id.direction)
}

fn numbers(it: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(it.collect::<UInt64Array>())
}

fn truths(it: impl Iterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(it.collect::<BooleanArray>())
}

fn words<'a>(it: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(it.collect::<StringArray>())
}

fn instants(it: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(it.collect::<Int64Array>())
}

type Columns<'a> = Vec<(&'a str, ArrayRef, bool)>;

/// A batch of rows of `flows`. Times are ns since the epoch, in columns that end with `_ns`.
pub fn flows(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    let mut columns = as_simulated(rows);
    columns.extend(of_captures(rows));
    columns.extend(of_the_path(rows));
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// The columns that the simulator's flows have, in its order.
fn as_simulated(rows: &[Row]) -> Columns<'static> {
    let r = || rows.iter().map(|row| &row.flow);
    let count = |of: fn(&FlowRow) -> u64| ints(r().map(of));
    let rtt = |i: usize| some_floats(r().map(move |f| Some(f.rtt_s?[i])));
    let unknown = |kind: DataType| (new_null_array(&kind, rows.len()), true);
    let no_count = || unknown(DataType::UInt64);
    let no_number = || unknown(DataType::Float64);
    let end = |f: &FlowRow| Some(f.start + (f.fct_s? * 1e9).round() as i64);
    let named = |name, (array, nullable)| (name, array, nullable);
    vec![
        ("id", Arc::new(StringArray::from_iter_values(r().map(|f| id(f.id)))), false),
        named("app", unknown(DataType::Utf8)),
        named("cc", unknown(DataType::Utf8)),
        ("start_ns", instants(r().map(|f| Some(f.start))), false),
        ("end_ns", instants(r().map(end)), true),
        ("goodput_bps", floats(r().map(|f| f.goodput_bps)), false),
        ("goodput_bytes", count(|f| f.goodput_bytes), false),
        ("sent_bytes", count(|f| f.sent_bytes), false),
        ("retransmitted_bytes", count(|f| f.retransmitted_bytes), false),
        ("sent_segments", count(|f| f.sent_segments), false),
        ("retransmitted_segments", count(|f| f.retransmitted_segments), false),
        ("timeouts", count(|f| f.timeouts), false),
        ("recoveries", count(|f| f.recoveries), false),
        ("spurious_timeouts", count(|f| f.spurious_timeouts), false),
        named("undos", no_count()),
        ("tlp_probes", count(|f| f.tlp_probes), false),
        ("dsacks", count(|f| f.dsacks), false),
        ("marked_segments", count(|f| f.marked_segments), false),
        named("ecn_reductions", no_count()),
        named("path_rtt_s", no_number()),
        ("mean_rtt_s", rtt(1), true),
        ("min_rtt_s", rtt(0), true),
        ("max_rtt_s", rtt(2), true),
        named("mean_cwnd_bytes", no_number()),
        ("acks", count(|f| f.acks), false),
        ("dup_acks", count(|f| f.dup_acks), false),
        named("start_estimate_bps", no_number()),
        named("start_ssthresh_bytes", no_count()),
        ("fct_s", some_floats(r().map(|f| f.fct_s)), true),
        ("completed", truths(r().map(|f| Some(f.completed))), false),
        ("failed", words(r().map(|f| f.failed)), true),
        named("received_packets", no_count()),
        named("lost_packets", no_count()),
        named("in_flight_packets", no_count()),
        named("mean_delay_s", no_number()),
        named("p50_delay_s", no_number()),
        named("p95_delay_s", no_number()),
        named("p99_delay_s", no_number()),
        named("transfers", no_count()),
        named("transfers_completed", no_count()),
        named("mean_fct_s", no_number()),
        named("p50_fct_s", no_number()),
        named("p95_fct_s", no_number()),
        named("p99_fct_s", no_number()),
    ]
}

/// What only captures tell: who spoke with whom, and what became of the packets.
fn of_captures(rows: &[Row]) -> Columns<'static> {
    let r = || rows.iter().map(|row| &row.flow);
    let count = |of: fn(&FlowRow) -> u64| ints(r().map(of));
    let end = |at: usize| text(rows.iter().map(move |row| row.ends[at].as_str()));
    vec![
        ("connection", count(|f| f.id.connection), false),
        ("main", truths(rows.iter().map(|row| Some(row.main))), false),
        ("interface", count(|f| u64::from(f.interface)), false),
        ("src", end(0), false),
        ("sport", count(|f| u64::from(f.source.port)), false),
        ("dst", end(1), false),
        ("dport", count(|f| u64::from(f.destination.port)), false),
        ("initiator", truths(r().map(|f| Some(f.initiator))), false),
        ("last_ns", instants(r().map(|f| Some(f.end))), false),
        ("packets", count(|f| f.packets), false),
        ("super_packets", count(|f| f.super_packets), false),
        ("fast_segments", count(|f| f.fast_segments), false),
        ("rto_segments", count(|f| f.rto_segments), false),
        ("tlp_segments", count(|f| f.tlp_segments), false),
        ("unknown_segments", count(|f| f.unknown_segments), false),
        ("ambiguous", count(|f| f.ambiguous), false),
        ("partial", count(|f| f.partial), false),
        ("spurious_segments", count(|f| f.spurious_segments), false),
        ("pure_acks", count(|f| f.pure_acks), false),
        ("ack_unseen", count(|f| f.ack_unseen), false),
        ("reordered_segments", count(|f| f.reordered_segments), false),
        ("max_reorder_s", floats(r().map(|f| f.max_reorder_s)), false),
        ("gap_bytes", count(|f| f.gap_bytes), false),
        ("missed_bytes", count(|f| f.missed_bytes), false),
        ("duplicate_packets", count(|f| f.duplicate_packets), false),
        ("keepalives", count(|f| f.keepalives), false),
        ("zero_windows", count(|f| f.zero_windows), false),
        ("zero_window_s", floats(r().map(|f| f.zero_window_s)), false),
        ("probes", count(|f| f.probes), false),
        ("window_updates", count(|f| f.window_updates), false),
        ("syn_retransmissions", count(|f| f.syn_retransmissions), false),
        ("fin_retransmissions", count(|f| f.fin_retransmissions), false),
    ]
}

/// What is known of the path and of who limited.
fn of_the_path(rows: &[Row]) -> Columns<'static> {
    let r = || rows.iter().map(|row| &row.flow);
    let count = |of: fn(&FlowRow) -> u64| ints(r().map(of));
    let percentile = |i: usize| some_floats(r().map(move |f| Some(f.rtt_percentiles_s?[i])));
    let share = |of: fn(&Shares) -> f64| some_floats(r().map(move |f| f.shares.as_ref().map(of)));
    let some = |of: fn(&FlowRow) -> Option<u64>| numbers(r().map(of));
    let flag = |of: fn(&FlowRow) -> bool| truths(r().map(move |f| Some(of(f))));
    vec![
        ("p50_rtt_s", percentile(0), true),
        ("p95_rtt_s", percentile(1), true),
        ("p99_rtt_s", percentile(2), true),
        ("rtt_samples", count(|f| f.rtt_samples), false),
        ("handshake_rtt_s", some_floats(r().map(|f| f.handshake_rtt_s)), true),
        ("up_rtt_s", some_floats(r().map(|f| f.up_rtt_s)), true),
        ("vantage", words(r().map(|f| f.vantage)), true),
        ("mss_offered", some(|f| f.mss_offered.map(u64::from)), true),
        ("mss", count(|f| u64::from(f.mss)), false),
        ("wscale", some(|f| f.wscale.map(u64::from)), true),
        ("sack", flag(|f| f.sack), false),
        ("timestamps", truths(r().map(|f| f.timestamps)), true),
        ("ecn", truths(r().map(|f| f.ecn)), true),
        ("initial_window_bytes", some(|f| Some(f.initial_window?.0)), true),
        ("initial_window_segments", some(|f| Some(f.initial_window?.1)), true),
        ("max_in_flight_bytes", some(|f| Some(f.in_flight?.0)), true),
        ("mean_in_flight_bytes", some_floats(r().map(|f| Some(f.in_flight?.1))), true),
        ("min_rwnd_bytes", some(|f| Some(f.rwnd?.0)), true),
        ("max_rwnd_bytes", some(|f| Some(f.rwnd?.1)), true),
        ("handshake_s", share(|s| s.handshake_s), true),
        ("app_s", share(|s| s.app_s), true),
        ("rwnd_s", share(|s| s.rwnd_s), true),
        ("network_s", share(|s| s.network_s), true),
        ("busy_s", share(|s| s.busy_s), true),
        ("limited_by", words(r().map(|f| Some(f.shares.as_ref()?.limited_by))), true),
        ("one_sided", flag(|f| f.one_sided), false),
        ("started_mid", flag(|f| f.started_mid), false),
        ("capture_incomplete", flag(|f| f.capture_incomplete), false),
        ("evicted", flag(|f| f.evicted), false),
        ("irregular", flag(|f| f.irregular), false),
        ("stray", count(|f| f.stray), false),
        ("time_back", count(|f| f.time_back), false),
        ("options_cut", count(|f| f.options_cut), false),
    ]
}

/// A dictionary column: each value names one of `all`.
fn among(
    keys: impl Iterator<Item = Option<i8>>,
    all: impl Iterator<Item = &'static str>,
) -> Result<ArrayRef, ArrowError> {
    let array = DictionaryArray::<Int8Type>::try_new(keys.collect::<Int8Array>(), text(all))?;
    Ok(Arc::new(array))
}

fn owners(ids: impl Iterator<Item = FlowId>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(ids.map(id)))
}

/// A batch of rows of `series`.
pub fn series(rows: &[Sample]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter_with_nullable(vec![
        ("time_ns", instants(rows.iter().map(|s| Some(s.time))), false),
        ("kind", among(rows.iter().map(|_| Some(0)), ["flow"].into_iter())?, false),
        ("id", owners(rows.iter().map(|s| s.id)), false),
        ("metric", among(rows.iter().map(|s| Some(s.metric as i8)), Metric::ALL.iter().map(|m| m.name()))?, false),
        ("value", floats(rows.iter().map(|s| s.value)), false),
    ])
}

/// What may happen, in the order of the numbers of [`Happening`].
const HAPPENINGS: [Happening; 18] = [
    Happening::New,
    Happening::Gap,
    Happening::Retransmission,
    Happening::Partial,
    Happening::Reordered,
    Happening::DuplicatePacket,
    Happening::SynRetransmission,
    Happening::FinRetransmission,
    Happening::Keepalive,
    Happening::Probe,
    Happening::DupAck,
    Happening::WindowUpdate,
    Happening::ZeroWindow,
    Happening::AckUnseen,
    Happening::Sack,
    Happening::Dsack,
    Happening::Spurious,
    Happening::Plateau,
];
const CAUSES: [Cause; 5] = [Cause::Rto, Cause::RtoRecovery, Cause::Tlp, Cause::Fast, Cause::Unknown];
const PROOFS: [Proof; 4] = [Proof::Acked, Proof::Dsack, Proof::Eifel, Proof::Early];

/// A batch of rows of `events`.
pub fn events(rows: &[Event]) -> Result<RecordBatch, ArrowError> {
    let kinds = rows.iter().map(|e| Some(e.kind as i8));
    let causes = rows.iter().map(|e| e.cause.map(|c| c as i8));
    let proofs = rows.iter().map(|e| e.spurious.map(|p| p as i8));
    RecordBatch::try_from_iter_with_nullable(vec![
        ("time_ns", instants(rows.iter().map(|e| Some(e.time))), false),
        ("id", owners(rows.iter().map(|e| e.id)), false),
        ("kind", among(kinds, HAPPENINGS.iter().map(|h| h.name()))?, false),
        ("seq", Arc::new(rows.iter().map(|e| e.seq).collect::<Int64Array>()), false),
        ("bytes", ints(rows.iter().map(|e| e.bytes)), false),
        ("cause", among(causes, CAUSES.iter().map(|c| c.name()))?, true),
        ("spurious", among(proofs, PROOFS.iter().map(|p| p.name()))?, true),
        ("packet", ints(rows.iter().map(|e| e.packet)), false),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_the_order_of_their_numbers() {
        assert!(HAPPENINGS.iter().enumerate().all(|(at, each)| *each as usize == at));
        assert!(CAUSES.iter().enumerate().all(|(at, each)| *each as usize == at));
        assert!(PROOFS.iter().enumerate().all(|(at, each)| *each as usize == at));
        assert!(Metric::ALL.iter().enumerate().all(|(at, each)| *each as usize == at));
    }

    #[test]
    fn an_address_is_always_called_the_same() {
        let [a, b] = [Address::V4([192, 0, 2, 1]), Address::V4([192, 0, 2, 2])];
        let mut plain = Names::default();
        assert_eq!(plain.of(a), "192.0.2.1");
        let mut names = Names::new(true);
        assert_eq!([a, b, a].map(|each| names.of(each)), ["10.0.0.1", "10.0.0.2", "10.0.0.1"]);
        assert_eq!(names.of(Address::V6([1; 16])), "fd00::3");
    }
}
