//! Notes the commit that the extension is built from, for the manifest of results.

use std::process::Command;

fn main() {
    // Once a build script names what it depends on, it does not run again for anything else: what the engine is made
    // from must be among it, or an engine built from changed sources has the name of the last clean one.
    for source in ["../../crates", "../../Cargo.toml", "../../Cargo.lock"] {
        println!("cargo:rerun-if-changed={source}");
    }
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
    let described = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let commit = match described {
        Ok(out) if out.status.success() => String::from_utf8_lossy(&out.stdout).trim().to_owned(),
        _ => "unknown".to_owned(),
    };
    println!("cargo:rustc-env=ACKCLOCK_COMMIT={commit}");
}
