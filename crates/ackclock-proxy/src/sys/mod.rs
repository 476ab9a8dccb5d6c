//! What is asked of the system. All of the crate's `unsafe` is here.
//!
//! * [`options`]: of sockets, and what they hold; [`info`]: what the kernel says of a connection
//! * [`rights`]: descriptors, and whose rights the process has; [`memory`]: what it does not need any more

pub mod info;
pub mod memory;
pub mod options;
pub mod rights;
