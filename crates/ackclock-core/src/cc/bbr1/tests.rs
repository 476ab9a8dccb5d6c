//! Vectors of BBRv1.
