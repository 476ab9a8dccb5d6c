//! A download over HTTP that decides while it runs how many connections it uses ([docs/get.md](../../../docs/get.md)).
//!
//! * [`wanted`] what is asked for · [`start`] a whole download, from the document to the exit code
//! * [`address`] where a URL leads, redirects · [`connect`], [`tls`] one connection · [`request`] what is asked, what an answer says
//! * [`names`] what the file is called · [`folder`] the files of a download · [`journal`] what of it is there
//! * [`ranges`] which bytes are whose · [`worker`] one connection at work · [`supervisor`] all of them, and the decision, which is
//!   `ackclock_core::app::parallel`'s · [`meter`] what sockets say, as windows of it
//! * [`single`] where one connection is all that can be · [`bucket`] a rate that is not exceeded · [`report`] what is said of it
//! * [`sys`] all `unsafe`

pub mod address;
pub mod bucket;
pub mod connect;
pub mod folder;
pub mod journal;
pub mod meter;
pub mod names;
pub mod problem;
pub mod ranges;
pub mod report;
pub mod request;
pub mod single;
pub mod start;
pub mod supervisor;
pub mod sys;
pub mod tls;
pub mod wanted;
pub mod worker;
