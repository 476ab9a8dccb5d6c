//! Vectors of BBRv3.
