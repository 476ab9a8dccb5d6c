//! What a kernel has of what scenarios ask for: found here, or told of another.

use crate::sys::settings;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a kernel has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its release.
    pub kernel: String,
    /// Controllers that it has now.
    pub controllers: Vec<String>,
    /// Controllers whose modules could be loaded; none: nobody knows.
    #[serde(default)]
    pub loadable: Option<Vec<String>>,
    /// Names of the settings of TCP, without `ipv4.`.
    #[serde(default)]
    pub settings: BTreeSet<String>,
    /// Parameters of the modules of controllers, as `tcp_cubic.beta`, and their values.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Nobody else uses it: what all its networks share may be set.
    #[serde(default)]
    pub own: bool,
}

impl Kernel {
    /// That of this computer; `own`: nobody else uses it.
    pub fn here(own: bool) -> Kernel {
        let controllers = settings::controllers();
        let known = controllers.clone();
        Kernel {
            kernel: settings::kernel(),
            loadable: settings::modules().map(|all| all.into_iter().filter(|name| !known.contains(name)).collect()),
            parameters: controllers.iter().flat_map(|name| settings::parameters(&format!("tcp_{name}"))).collect(),
            controllers,
            settings: settings::of_tcp(),
            own,
        }
    }
}
