//! Runs with a flow that a relay splits.
#![allow(dead_code, clippy::unwrap_used)]

use super::{MS, document, flow, link, play};
use ackclock_sim::Output;
use serde_json::{Value, json};

/// A flow of `bytes` over a far link (`core`) and a near one (`radio`), of these rates and one-way delays, ms.
pub struct Split {
    pub bytes: Option<u64>,
    pub rates: [u64; 2],
    pub delays: [u64; 2],
    pub buffer: u64,
    pub profile: &'static str,
    pub tcp: [Value; 2],
    pub more: Value,
    pub app: Option<Value>,
    pub seconds: u64,
}

impl Default for Split {
    fn default() -> Split {
        Split {
            bytes: None,
            rates: [100_000_000, 20_000_000],
            delays: [50, 20],
            buffer: 4 << 20,
            profile: "linux",
            tcp: [json!({}), json!({})],
            more: json!({}),
            app: None,
            seconds: 20,
        }
    }
}

impl Split {
    fn hops(names: &[&str]) -> Value {
        names.iter().map(|n| json!({"link": n})).collect()
    }

    fn flow(&self, id: &str, legs: &[usize]) -> Value {
        let names = ["core", "radio"];
        let out: Vec<&str> = legs.iter().map(|l| names[*l]).collect();
        let back: Vec<String> = out.iter().rev().map(|n| format!("{n}-back")).collect();
        let mut f = flow(id, self.bytes);
        f["forward"] = Split::hops(&out);
        f["reverse"] = Split::hops(&back.iter().map(String::as_str).collect::<Vec<_>>());
        (f["profile"], f["cc"]) = (json!(self.profile), json!({"name": "cubic"}));
        if let Some(app) = &self.app {
            f["app"] = app.clone();
        }
        if let [leg] = legs {
            f["tcp"] = self.tcp[*leg].clone();
        }
        f
    }

    fn links(&self) -> Vec<Value> {
        let both = self.rates.iter().zip(self.delays).zip(["core", "radio"]);
        both.flat_map(|((rate, delay), id)| {
            // Room for what half a second takes.
            let queue = (rate / 8 / 2 / 1000).max(50);
            [link(id, *rate, delay, queue), link(&format!("{id}-back"), *rate, delay, queue)]
        })
        .collect()
    }

    fn document(&self, flows: Vec<Value>) -> Value {
        let mut d = document(self.seconds * 1000, self.links(), flows);
        if self.bytes.is_none() && self.app.is_none() {
            d["warmup_ns"] = json!(self.seconds * 1000 * MS / 2);
        }
        d
    }

    pub fn split(&self) -> Value {
        let mut whole = self.flow("0", &[0, 1]);
        whole["relay"] = json!({"legs": ["0/source", "0/sink"], "buffer_bytes": self.buffer});
        for (key, value) in self.more.as_object().unwrap() {
            whole["relay"][key] = value.clone();
        }
        self.document(vec![whole, self.flow("0/source", &[0]), self.flow("0/sink", &[1])])
    }

    /// The whole and its legs.
    pub fn play(&self) -> Output {
        play(&self.split())
    }

    /// A flow over these links without a relay.
    pub fn of_legs(&self, legs: &[usize]) -> Value {
        self.document(vec![self.flow("0", legs)])
    }

    /// It, played.
    pub fn alone(&self, legs: &[usize]) -> Output {
        play(&self.of_legs(legs))
    }
}

/// Takes the rates of all links away: a packet takes a link's delay, and nothing else.
pub fn without_rates(mut document: Value) -> Value {
    for link in document["links"].as_array_mut().unwrap() {
        link["rate_bps"] = Value::Null;
    }
    document
}

pub fn close(a: f64, b: f64, part: f64) -> bool {
    (a / b - 1.0).abs() < part
}

pub fn measure(out: &Output, name: &str) -> f64 {
    out.measures.iter().find(|m| m.name == name).unwrap().value
}

/// A file that the sink asks for.
pub fn file(bytes: u64) -> Value {
    json!({"kind": "files", "arrivals": {"every_ns": 50_000 * MS}, "size": {"kind": "constant", "value": bytes},
        "request_bytes": 200, "count": 1})
}
