//! Packets of a run into a capture: what the simulator sees at its probe points, written by the crate that writes captures.

use crate::controller::{self, Maker};
use ackclock_capture::write::{LinkType, Seen, Truth, Writer};
use ackclock_sim::tap::{Sight, Tap, points};
use ackclock_sim::{Run, Sim};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

/// A writer that a simulation and its caller share: the simulation while it runs, the caller when it has ended.
#[derive(Clone)]
struct Shared(Arc<Mutex<Option<Writer<File>>>>);

/// The simulation's end of it: it holds the writer, and gives it back when it is dropped.
struct Lent {
    writer: Option<Writer<File>>,
    back: Shared,
}

impl Tap for Lent {
    #[inline]
    fn see(&mut self, sight: &Sight) {
        let Some(writer) = &mut self.writer else { return };
        let Sight { at, point, addresses, packet, id, repeated, dropped, copy } = sight;
        let truth = Truth { repeated: repeated.map(|cause| cause.name()), dropped: *dropped, copy: *copy };
        writer.packet(&Seen { at: *at, interface: *point, addresses: *addresses, packet, id: *id, truth });
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.back.0.lock().unwrap_or_else(PoisonError::into_inner) = self.writer.take();
    }
}

/// Plays a resolved run whose `capture` says where packets are looked at, and writes them to `file`, a capture (pcapng) of
/// packets that begin with the IP header, or with one of Ethernet. `comment` goes with the whole. Returns how many packets
/// there are. As for :func:`ackclock._ackclock.run` otherwise; OSError where the file cannot be written.
#[pyfunction]
#[pyo3(signature = (resolved, file, comment, ethernet=false, controllers=None))]
pub fn capture(
    py: Python<'_>,
    resolved: &str,
    file: &str,
    comment: &str,
    ethernet: bool,
    controllers: Option<&Bound<'_, PyDict>>,
) -> PyResult<u64> {
    let spec = Run::from_json(resolved).map_err(crate::value_error)?;
    let names = points(&spec).map_err(crate::value_error)?;
    let mut maker = Maker::new(py, controllers);
    let mut sim = crate::build(py, &spec, &mut maker)?;
    let link = if ethernet { LinkType::Ethernet } else { LinkType::Raw };
    let out = File::create(file).map_err(system)?;
    let writer = Writer::new(out, (link, sim.tap_family()), comment, &names);
    let back = Shared(Arc::default());
    sim.set_tap(Box::new(Lent { writer: Some(writer), back: back.clone() }));
    if controller::any(&spec) {
        crate::play(py, &mut sim, &maker.failure)?;
        drop::<Sim>(sim);
    } else {
        crate::play_detached(py, sim)?;
    }
    let writer = back.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    let writer = writer.ok_or_else(|| PyValueError::new_err("the capture was not given back"))?;
    let (_, packets) = writer.finish().map_err(system)?;
    Ok(packets)
}

/// What the system said, as Python says it.
fn system(error: std::io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, error.to_string())),
        None => PyOSError::new_err(error.to_string()),
    }
}
