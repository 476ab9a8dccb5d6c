//! System calls that have no safe door. Only this folder has unsafe code.

pub mod info;
