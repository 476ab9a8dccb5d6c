//! Writes pcapng.
