//! Tables as text, between an engine that is a process of its own and whoever reads its results.
//!
//! What the core has is written as plain numbers, times in nanoseconds: it knows no serde.

/// A sample: when, number of its metric, of what, its value; none is infinite.
pub(crate) mod sample {
    use crate::series::Sample;
    use ackclock_core::time::Time;
    use serde::{Deserialize, Deserializer, Serializer};

    type Plain = (u64, u8, u32, Option<f64>);

    pub fn serialize<S: Serializer>(all: &[Sample], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            all.iter().map(|s| -> Plain { (s.at.0, s.metric, s.of, Some(s.value).filter(|v| v.is_finite())) }),
        )
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Sample>, D::Error> {
        let all = Vec::<Plain>::deserialize(from)?;
        let sample =
            |(at, metric, of, value): Plain| Sample { at: Time(at), metric, of, value: value.unwrap_or(f64::INFINITY) };
        Ok(all.into_iter().map(sample).collect())
    }
}

/// A page, in the order of its fields; of the split its parts.
pub(crate) mod page {
    use ackclock_core::app::web::report::{Outcome, Page, Split};
    use ackclock_core::time::{Span, Time};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Plain = (u64, u64, Option<u64>, String, bool, u32, u64, u32, u32, u32, Option<[u64; 5]>);

    const OUTCOMES: [Outcome; 4] = [Outcome::Completed, Outcome::Aborted, Outcome::Failed, Outcome::Unfinished];

    pub fn serialize<S: Serializer>(p: &Page, to: S) -> Result<S::Ok, S::Error> {
        let split = p.split.map(|s| [s.handshake, s.queueing, s.first_byte, s.transfer, s.parse].map(|part| part.0));
        let word = p.outcome.word().to_owned();
        let plain: Plain = (
            p.number,
            p.start.0,
            p.end.map(|t| t.0),
            word,
            p.deferred,
            p.objects,
            p.bytes,
            p.done,
            p.connections,
            p.allowed,
            split,
        );
        plain.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Page, D::Error> {
        let (number, start, end, word, deferred, objects, bytes, done, connections, allowed, split) =
            Plain::deserialize(from)?;
        let outcome = OUTCOMES.into_iter().find(|o| o.word() == word);
        let split = split.map(|parts| parts.map(Span)).map(|[handshake, queueing, first_byte, transfer, parse]| {
            Split { handshake, queueing, first_byte, transfer, parse }
        });
        Ok(Page {
            number,
            start: Time(start),
            end: end.map(Time),
            outcome: outcome.ok_or_else(|| D::Error::custom(format!("no page ends as '{word}'")))?,
            deferred,
            objects,
            bytes,
            done,
            connections,
            allowed,
            split,
        })
    }
}

/// An object of a page, in the order of its fields.
pub(crate) mod object {
    use ackclock_core::app::web::report::Object;
    use ackclock_core::time::Time;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Plain = (u64, u32, u64, Option<u32>, Option<u32>, [Option<u64>; 6]);

    pub fn serialize<S: Serializer>(o: &Object, to: S) -> Result<S::Ok, S::Error> {
        let times = [o.known, o.opened, o.connected, o.requested, o.first_byte, o.done];
        let plain: Plain = (o.page, o.number, o.bytes, o.parent, o.connection, times.map(|t| t.map(|t| t.0)));
        plain.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Object, D::Error> {
        let (page, number, bytes, parent, connection, times) = Plain::deserialize(from)?;
        let [known, opened, connected, requested, first_byte, done] = times.map(|t| t.map(Time));
        Ok(Object { page, number, bytes, parent, known, connection, opened, connected, requested, first_byte, done })
    }
}

/// Counters of a direction of a cell, in the order of their fields.
pub(crate) mod direction {
    use ackclock_core::cell::stats::DirectionStats;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Plain = (u16, u64, u64, u64, u64, u64, u64);

    pub fn serialize<S: Serializer>(d: &DirectionStats, to: S) -> Result<S::Ok, S::Error> {
        let plain: Plain = (d.rbs, d.ttis, d.used_rbs, d.retransmitted_rbs, d.busy_ttis, d.blocked_ttis, d.blocks);
        plain.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DirectionStats, D::Error> {
        let (rbs, ttis, used_rbs, retransmitted_rbs, busy_ttis, blocked_ttis, blocks) = Plain::deserialize(from)?;
        Ok(DirectionStats { rbs, ttis, used_rbs, retransmitted_rbs, busy_ttis, blocked_ttis, blocks })
    }
}

/// A channel, in the order of its fields; an SNR that is none is infinite and negative.
pub(crate) mod signal {
    use ackclock_core::cell::stats::Signal;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Plain = (Option<f64>, u8, Option<u8>, f64);

    pub fn serialize<S: Serializer>(s: &Signal, to: S) -> Result<S::Ok, S::Error> {
        let plain: Plain = (Some(s.sinr_db).filter(|v| v.is_finite()), s.cqi, s.mcs, s.rate_bps);
        plain.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Signal, D::Error> {
        let (sinr_db, cqi, mcs, rate_bps) = Plain::deserialize(from)?;
        Ok(Signal { sinr_db: sinr_db.unwrap_or(f64::NEG_INFINITY), cqi, mcs, rate_bps })
    }
}
