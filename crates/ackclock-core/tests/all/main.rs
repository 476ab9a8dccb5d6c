//! All integration tests of ackclock-core, as one program: linked once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod aqm_peers;
mod aqm_rfc;
mod beside;
mod elements;
mod fair;
mod fair_peers;
mod histories;
mod hostile;
#[path = "../../../testing/hostile_peer.rs"]
mod hostile_peer;
mod invariants;
mod net;
mod queues;
#[path = "../../../testing/cases.rs"]
mod random_cases;
mod transfers;
mod wire;
