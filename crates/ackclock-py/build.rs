//! Notes the commit that the extension is built from, for the manifest of results.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
    let described = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let commit = match described {
        Ok(out) if out.status.success() => String::from_utf8_lossy(&out.stdout).trim().to_owned(),
        _ => "unknown".to_owned(),
    };
    println!("cargo:rustc-env=ACKCLOCK_COMMIT={commit}");
}
