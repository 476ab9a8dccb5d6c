//! The program: splits TCP connections, as a document says.
//!
//! ```text
//! ackclock-proxy run FILE|-    until SIGTERM or SIGINT; lines about connections to standard output
//! ackclock-proxy probe         what this computer can do, JSON
//! ```

use ackclock_proxy::probe::probe;
use ackclock_proxy::start::run;
use ackclock_proxy::wanted::Wanted;
use std::io::Read;
use std::process::ExitCode;
use std::{env, fs, io};

const USAGE: &str = "usage: ackclock-proxy run FILE|- | probe";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{}", problem.replace('\n', " "));
            ExitCode::from(2)
        }
    }
}

fn command(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run", file] => run(Wanted::from_json(&read(file)?)?),
        ["probe"] => {
            let found = serde_json::to_string(&probe()).map_err(|e| e.to_string())?;
            println!("{found}");
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    }
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
