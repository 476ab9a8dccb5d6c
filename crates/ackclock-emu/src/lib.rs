//! The path of a scenario in real time, between real kernels.
//!
//! * [`path`]: the elements of the simulator with packets as bytes; pure
//! * [`driver`]: who drives them by a clock, through [`ports`]; [`lateness`]: how late it was; [`starved`]: who had no processor; [`series`]: what is recorded of links
//! * [`host`]: network namespaces with devices; [`agent`]: the applications on sockets in them
//! * [`shell`]: programs of a user behind the path
//! * [`relay`]: flows that are split, by a real proxy in a host of its own
//! * [`play`]: a whole run; [`probe`]: whether one can be played here; [`prepare`]: whether this one can, on this [`kernel`] or on another
//! * [`guest`]: the same within a kernel whose time is virtual
//! * [`sys`]: what is asked of the system: namespaces, devices, sockets, priority
pub mod agent;
pub mod driver;
pub mod guest;
pub mod host;
pub mod kernel;
pub mod lateness;
pub mod path;
pub mod play;
pub mod ports;
pub mod prepare;
pub mod probe;
pub mod relay;
pub mod series;
pub mod shell;
pub mod starved;
pub mod sys;
