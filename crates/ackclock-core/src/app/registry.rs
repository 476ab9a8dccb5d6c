//! The list of applications.

use super::params::{Given, Param, Problem};
use super::{Made, Setup, bulk, files, paced, requests, video, web};

/// An application.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its `kind` in the resolved run.
    pub kind: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes both ends of it.
    pub make: fn(&Given, &Setup<'_>) -> Result<Made, Problem>,
}

/// Every application.
pub const APPLICATIONS: &[Entry] =
    &[bulk::ENTRY, paced::CBR, paced::ON_OFF, files::ENTRY, requests::ENTRY, video::ENTRY, web::ENTRY];

/// The application of this kind.
pub fn find(kind: &str) -> Option<&'static Entry> {
    APPLICATIONS.iter().find(|e| e.kind == kind)
}
