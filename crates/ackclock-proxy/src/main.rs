//! The program: splits TCP connections, as a document says.
//!
//! ```text
//! ackclock-proxy run FILE|-    until SIGTERM or SIGINT; lines about connections to standard output
//! ackclock-proxy probe         what this computer can do, JSON
//! ```

use ackclock_proxy::probe::probe;
use ackclock_proxy::routes;
use ackclock_proxy::start::run;
use ackclock_proxy::wanted::Wanted;
use std::io::Read;
use std::process::ExitCode;
use std::{env, fs, io};

const USAGE: &str = "usage: ackclock-proxy run FILE|- | probe; ackclock-proxy --help says more";

const HELP: &str = "\
Splits TCP connections: one to the client, one to the server, joined here.

ackclock-proxy run FILE|-    until SIGTERM or SIGINT; lines about connections to standard output
ackclock-proxy probe         what this computer can do, JSON

FILE is one JSON document. The command ackclock proxy makes it of options, which have the names of its keys, and becomes this
program: ackclock proxy --help lists them, and docs/proxy.md says what they do.
";

/// Keys of the document that are options of the command, and what messages about them begin with.
const KEYS: [&str; 21] = [
    "allow_target",
    "buffer",
    "client",
    "connect",
    "connections",
    "credentials",
    "drain",
    "half_open",
    "header",
    "idle",
    "keep_source",
    "listen",
    "log",
    "max_buffer",
    "metrics",
    "per_client",
    "sample",
    "server",
    "to",
    "transparent",
    "user",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("ackclock: {}", named(&problem).replace('\n', " "));
            ExitCode::from(2)
        }
    }
}

fn command(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run", file] => run(Wanted::from_json(&read(file)?)?),
        // Begun by the program itself.
        [routes::WORD, segments] => routes::serve(segments),
        ["probe"] => {
            let found = serde_json::to_string(&probe()).map_err(|e| e.to_string())?;
            println!("{found}");
            Ok(())
        }
        ["--help" | "-h" | "help"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// The message with the options of the command in place of the keys that it begins with.
fn named(problem: &str) -> String {
    let Some((keys, rest)) = problem.split_once(": ") else { return problem.to_owned() };
    let option = |key: &str| {
        let name = key.split(' ').next().filter(|name| KEYS.contains(name))?;
        Some(format!("--{}{}", name.replace('_', "-"), &key[name.len()..]))
    };
    let options: Option<Vec<String>> = keys.split(", ").map(option).collect();
    options.map_or(problem.to_owned(), |options| format!("{}: {rest}", options.join(", ")))
}

fn read(file: &str) -> Result<String, String> {
    let text = if file == "-" {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    text.map_err(|e| format!("{file}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn messages_have_the_names_of_options() {
        assert_eq!(named("listen: 0.0.0.0:80 can be reached"), "--listen: 0.0.0.0:80 can be reached");
        assert_eq!(named("half_open: 0 s; write"), "--half-open: 0 s; write");
        assert_eq!(named("connections, per_client: 0"), "--connections, --per-client: 0");
        assert_eq!(named("server cc: the kernel refuses"), "--server cc: the kernel refuses");
        for other in ["what is asked for: no JSON", "signals: none", "no key at all", "pipes: none"] {
            assert_eq!(named(other), other);
        }
    }
}
