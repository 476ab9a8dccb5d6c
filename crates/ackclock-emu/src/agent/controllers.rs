//! Controllers of a kernel: what it calls them, and parameters that all of its connections share.

use crate::kernel::Kernel;
use ackclock_core::cc::registry;
use ackclock_run::spec::Flow;

/// Our names of controllers that Linux calls otherwise.
const NAMES: [(&str, &str); 3] = [("bbr1", "bbr"), (NEW_RENO, "reno"), ("westwood+", "westwood")];

/// Of them the one whose name there is one of ours, too.
const NEW_RENO: &str = "newreno";

/// A controller of ours that Linux has not, though a module of it bears the name; and our name of that module's.
const NAMESAKE: (&str, &str) = ("westwood", "westwood+");

/// All controllers of Linux.
const LINUX: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Parameters that a kernel takes when it starts, or the module when it is loaded, and not later.
const FROM_THE_START: [&str; 1] = ["tcp_cubic.bic_scale"];

/// Parameters of ours that modules of Linux have, too: controller, key, the kernel's name, and what one of ours is there.
const PARAMETERS: [(&str, &str, &str, f64); 4] = [
    ("cubic", "beta", "tcp_cubic.beta", 1024.0),
    ("cubic", "c", "tcp_cubic.bic_scale", 102.4),
    ("cubic", "fast_convergence", "tcp_cubic.fast_convergence", 1.0),
    ("cubic", "reno_friendly", "tcp_cubic.tcp_friendliness", 1.0),
];

/// The kernel's name of the flow's controller.
pub(super) fn controller(flow: &Flow, kernel: &Kernel) -> Result<String, String> {
    let name = flow.cc.name.as_str();
    if name == NAMESAKE.0 {
        let (name, theirs) = NAMESAKE;
        return Err(format!("Linux's module {name} is not '{name}', but '{theirs}'; write {theirs}, or engine sim"));
    }
    let kernels = NAMES.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, theirs)| *theirs);
    if kernel.controllers.iter().any(|k| k == kernels) {
        return Ok(kernels.to_owned());
    }
    let remedy = match &kernel.loadable {
        _ if !LINUX.contains(&kernels) => {
            "Linux has none of this name, so choose one of these, or engine sim".to_owned()
        }
        Some(modules) if modules.iter().any(|m| m == kernels) => format!("load its module: modprobe tcp_{kernels}"),
        Some(_) => format!("choose one of these, for this kernel has no module tcp_{kernels} to load"),
        None => format!("choose one of these, or load its module, where there is one: modprobe tcp_{kernels}"),
    };
    let list: Vec<&str> = kernel.controllers.iter().filter_map(|name| in_scenarios(name)).collect();
    let (release, list) = (&kernel.kernel, list.join(", "));
    Err(format!("the kernel here ({release}) has no controller '{name}', but {list}; {remedy}"))
}

/// What scenarios call the kernel's controller `name`; none of those that only kernels have, for they cannot be asked for.
pub(super) fn in_scenarios(name: &str) -> Option<&str> {
    if let Some((ours, _)) = NAMES.iter().find(|(ours, theirs)| *theirs == name && *ours != NEW_RENO) {
        return Some(ours);
    }
    registry::CONTROLLERS.iter().any(|known| known.name == name).then_some(name)
}

/// What is to be set of the module of `controller` so that its parameter `key` is `value`: the kernel's name and value. None
/// where it is so already: such parameters are those of all connections of a computer, so that nothing else of one that
/// others use, too, is touched.
pub(super) fn parameter(
    controller: &str,
    key: &str,
    value: &serde_json::Value,
    kernel: &Kernel,
) -> Result<Option<(String, String)>, String> {
    let number = value.as_f64().or(value.as_bool().map(f64::from));
    let theirs = PARAMETERS.iter().find(|p| p.0 == controller && p.1 == key);
    let (Some((_, _, name, scale)), Some(number)) = (theirs, number) else {
        let ours = in_scenarios(controller).unwrap_or(controller);
        return Err(format!("the kernel's '{ours}' has no such parameter; leave it out"));
    };
    let wanted = (number * scale).round().to_string();
    match kernel.parameters.get(*name) {
        None => Err(format!("this kernel ({}) has no {name} for it; leave it out", kernel.kernel)),
        Some(there) if *there == wanted => Ok(None),
        Some(there) if FROM_THE_START.contains(name) => Err(format!(
            "{name} of the kernel here is {there}, not {wanted}, and stays so while it runs; leave it out, or start the kernel \
             with {name}={wanted}"
        )),
        Some(_) if kernel.own => Ok(Some(((*name).to_owned(), wanted))),
        Some(there) => {
            let file = format!("/sys/module/{}", name.replacen('.', "/parameters/", 1));
            Err(format!(
                "{name} of the kernel here is {there}, not {wanted}, for all connections of this computer; leave it out, or \
                 set it for all of them: echo {wanted} > {file}"
            ))
        }
    }
}
