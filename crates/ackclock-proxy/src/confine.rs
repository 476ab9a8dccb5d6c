//! What the process can do no more once it runs, whatever somebody makes it do: landlock(7) and seccomp(2).

use crate::wanted::{Mode, Wanted, host_and_port};
use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, path_beneath_rules,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

/// Where the system's libraries find out which address a name has: files of theirs, and modules of them.
const NAMES: [&str; 9] = ["/etc", "/usr", "/lib", "/lib64", "/nix", "/gnu", "/run", "/opt", "/sys/devices/system/cpu"];

/// A name's answer that is too long for a datagram comes over TCP.
const DNS: u16 = 53;

/// System calls that start programs, look into other processes, make the system another one, or reach much of its kernel.
const REFUSED: [libc::c_long; 34] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_clock_settime,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// The second numbering of system calls that some kernels for x86_64 have, x32: this bit, and other numbers for execve, ptrace,
/// process_vm_readv, process_vm_writev and execveat.
const X32: libc::c_long = 0x4000_0000;
const X32_OTHERS: [libc::c_long; 5] = [520, 521, 539, 540, 545];

/// What confines the process from now on, and all threads that it starts; the names of those that the kernel does not have.
pub fn confine(wanted: &Wanted) -> Vec<&'static str> {
    let fenced = fence(wanted).is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced);
    let without = [("landlock", fenced), ("seccomp", refuse().is_ok())];
    without.into_iter().filter(|(_, has)| !has).map(|(name, _)| name).collect()
}

/// Of files only those are read that names are looked up with; what is open already stays so. No TCP socket listens any more,
/// and where all go to one server none is connected to another port. A kernel that has not all of it does what it has.
fn fence(wanted: &Wanted) -> Result<RestrictionStatus, RulesetError> {
    let binds = wanted.keep_port || wanted.keep_source;
    let port = match &wanted.mode {
        Mode::To(target) => host_and_port(target).ok().map(|(_, port)| port),
        _ => None,
    };
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(ABI::V5))?;
    if !binds {
        rules = rules.handle_access(AccessNet::BindTcp)?;
    }
    if port.is_some() {
        rules = rules.handle_access(AccessNet::ConnectTcp)?;
    }
    let mut rules: RulesetCreated =
        rules.create()?.add_rules(path_beneath_rules(readable(), AccessFs::ReadFile | AccessFs::ReadDir))?;
    for port in port.into_iter().flat_map(|port| [port, DNS]) {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    rules.restrict_self()
}

fn readable() -> Vec<PathBuf> {
    // On many systems a link to where a daemon writes it.
    let resolver = Path::new("/etc/resolv.conf").canonicalize().ok().and_then(|file| Some(file.parent()?.to_owned()));
    NAMES.into_iter().map(PathBuf::from).chain(resolver).collect()
}

fn refuse() -> Result<(), String> {
    let mut numbers = REFUSED.to_vec();
    if ARCH == "x86_64" {
        numbers.extend(REFUSED.iter().chain(&X32_OTHERS).map(|number| number | X32));
    }
    let rules: BTreeMap<i64, _> = numbers.into_iter().map(|number| (number, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let arch = ARCH.try_into().map_err(|_| format!("not for {ARCH}"))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).map_err(|e| e.to_string())?;
    let program: BpfProgram = filter.try_into().map_err(|e: seccompiler::BackendError| e.to_string())?;
    apply_filter(&program).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;
    use std::{env, fs, thread};

    fn wanted(to: &str) -> Wanted {
        let mode = if to.is_empty() { "\"socks5\"".to_owned() } else { format!("{{\"to\": \"{to}\"}}") };
        Wanted::from_json(&format!("{{\"listen\": \"127.0.0.1:0\", \"mode\": {mode}}}")).unwrap()
    }

    /// In a thread of its own, which alone is confined.
    fn confined<T: Send + 'static>(to: &str, then: impl FnOnce(Vec<&'static str>) -> T + Send + 'static) -> T {
        let wanted = wanted(to);
        thread::spawn(move || then(confine(&wanted))).join().unwrap()
    }

    #[test]
    fn no_program_is_started_any_more() {
        confined("", |without| {
            let started = Command::new("/bin/true").status();
            if !without.contains(&"seccomp") || !without.contains(&"landlock") {
                assert_eq!(started.unwrap_err().kind(), ErrorKind::PermissionDenied);
            }
            if !without.contains(&"seccomp") {
                let status = fs::read_to_string("/proc/thread-self/status");
                // Who cannot read it is confined all the more.
                assert!(status.is_err() || status.unwrap().contains("Seccomp:\t2"));
            }
        });
        assert!(Command::new("/bin/true").status().unwrap().success(), "others are as they were");
    }

    #[test]
    fn no_file_is_written_and_few_are_read() {
        let secret = env::temp_dir().join(format!("ackclock-confined-{}", std::process::id()));
        fs::write(&secret, "mine").unwrap();
        let copy = secret.clone();
        confined("", move |without| {
            assert!(fs::read_to_string("/etc/passwd").is_ok());
            if without.contains(&"landlock") {
                return;
            }
            assert_eq!(fs::read(&copy).unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert_eq!(fs::write(&copy, "theirs").unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert_eq!(fs::write("/etc/ackclock-new", "").unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert_eq!(fs::remove_file(&copy).unwrap_err().kind(), ErrorKind::PermissionDenied);
        });
        assert_eq!(fs::read_to_string(&secret).unwrap(), "mine");
        fs::remove_file(secret).unwrap();
    }

    #[test]
    fn where_all_go_to_one_server_nobody_goes_elsewhere() {
        let (server, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (to, elsewhere) = (server.local_addr().unwrap(), other.local_addr().unwrap());
        confined(&to.to_string(), move |without| {
            TcpStream::connect(to).unwrap();
            // The network came to landlock with Linux 6.7: without it, both are as they were.
            let listens = TcpListener::bind("127.0.0.1:0").map(drop).map_err(|e| e.kind());
            let connects = TcpStream::connect(elsewhere).map(drop).map_err(|e| e.kind());
            let known = !without.contains(&"landlock") && listens.is_err();
            let expected = if known { Err(ErrorKind::PermissionDenied) } else { Ok(()) };
            assert_eq!((listens, connects), (expected, expected));
        });
        confined("", move |_| TcpStream::connect(elsewhere).map(drop)).unwrap();
    }
}
