//! Settings of a host: files below `/proc/sys/net`, each network namespace's own.

use std::fs;

/// Sets `name`, as `ipv4.tcp_sack`, of the calling thread's network.
///
/// # Errors
/// The kernel has no such setting, or does not take this value.
pub fn set(name: &str, value: &str) -> Result<(), String> {
    let path = format!("/proc/sys/net/{}", name.replace('.', "/"));
    fs::write(&path, value).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => format!("this kernel has no setting net.{name}"),
        _ => format!("net.{name} cannot be set to '{value}': {e}"),
    })
}

/// The controllers that the kernel has now: those built in, and those whose modules are loaded.
pub fn controllers() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Which kernel this is.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Whether the kernel has the setting `name`.
pub fn has(name: &str) -> bool {
    fs::exists(format!("/proc/sys/net/{}", name.replace('.', "/"))).unwrap_or(false)
}
