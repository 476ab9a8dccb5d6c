//! A proxy that splits TCP connections: one on each side of it, instead of one end to end (RFC 3135).
//!
//! * [`wanted`]: what is asked for; [`start`]: sockets, rights and limits; [`confine`]: what it can do no more; [`proxy`]: who is accepted, and the end
//! * [`clients`], [`targets`], [`cidr`]: who may come, and where to
//! * [`header`]: what clients say first; [`opening`], [`early`]: the server's side; [`legs`]: options of sockets, [`routes`]: initial windows
//! * [`connection`]: its life; [`carry`]: one direction, [`pipes`]: what holds its bytes
//! * [`ending`], [`line`], [`journal`], [`metrics`]: what is told
//! * [`probe`]: what this computer can do; [`sys`]: what is asked of the system

pub mod carry;
pub mod cidr;
pub mod clients;
pub mod confine;
pub mod connection;
pub mod early;
pub mod ending;
pub mod header;
pub mod journal;
pub mod legs;
pub mod line;
pub mod metrics;
pub mod opening;
pub mod pipes;
pub mod probe;
pub mod proxy;
pub mod routes;
pub mod start;
pub mod sys;
pub mod targets;
pub mod wanted;
