//! All integration tests of ackclock-sim, as one program: linked once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod allocations;
#[path = "../../../testing/allocator.rs"]
mod allocator;
mod application_runs;
mod applications;
mod cells;
mod classic_reno;
mod common;
mod conservation;
mod crowds;
mod dctcp;
mod delay_based;
mod determinism;
mod elements;
mod event_series;
mod fused_and_general;
mod general_links;
mod hspa;
mod model_based;
mod one_way_delays;
mod order_of_calls;
mod queue_theory;
mod random_applications;
mod readers;
mod relay_legs;
mod relay_properties;
mod relay_resets;
mod relays;
mod start_up;
mod stepping;
mod taps;
mod topology;
mod two_drivers;
mod web;
