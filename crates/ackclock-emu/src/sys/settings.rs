//! Settings of a host: files below `/proc/sys/net`, each network namespace's own.

use std::collections::BTreeSet;
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

/// The controller that connections of the calling thread's network begin with where nobody chooses another.
pub fn controller() -> String {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    text.trim().to_owned()
}

/// Names of the settings of TCP that the calling thread's network has.
pub fn of_tcp() -> BTreeSet<String> {
    names("/proc/sys/net/ipv4").filter(|name| name.starts_with("tcp_")).collect()
}

/// Parameters of module `module`, as `tcp_cubic.beta`, and their values.
pub fn parameters(module: &str) -> Vec<(String, String)> {
    let folder = format!("/sys/module/{module}/parameters");
    let value = |name: String| {
        let text = fs::read_to_string(format!("{folder}/{name}")).ok()?;
        Some((format!("{module}.{name}"), text.trim().to_owned()))
    };
    names(&folder).filter_map(value).collect()
}

/// Sets parameter `name`, as `tcp_cubic.beta`, of a module: for the whole kernel.
///
/// # Errors
/// There is none, or the value is not taken.
pub fn set_parameter(name: &str, value: &str) -> Result<(), String> {
    let (module, parameter) = name.split_once('.').unwrap_or((name, ""));
    let path = format!("/sys/module/{module}/parameters/{parameter}");
    fs::write(&path, value).map_err(|e| format!("{path} cannot be set to '{value}': {e}"))
}

/// The controllers that this kernel has as modules, loaded or not; none where its modules cannot be looked at.
pub fn modules() -> Option<Vec<String>> {
    let folder = format!("/lib/modules/{}/kernel/net/ipv4", kernel());
    fs::exists(&folder).is_ok_and(|there| there).then_some(())?;
    let controller = |name: String| Some(name.split_once(".ko")?.0.strip_prefix("tcp_")?.to_owned());
    Some(names(&folder).filter_map(controller).collect())
}

fn names(folder: &str) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Which kernel this is.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Whether the kernel has the setting `name`.
pub fn has(name: &str) -> bool {
    fs::exists(format!("/proc/sys/net/{}", name.replace('.', "/"))).unwrap_or(false)
}
