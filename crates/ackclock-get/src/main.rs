//! The program: downloads what a document says.
//!
//! ```text
//! ackclock-get run FILE|-
//! ```

use ackclock_get::problem::{BAD_INPUT, Problem};
use ackclock_get::start::run;
use ackclock_get::wanted::Wanted;
use std::io::Read;
use std::process::ExitCode;
use std::{env, fs, io};

const USAGE: &str = "usage: ackclock-get run FILE|-";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("ackclock: {}", problem.text.replace('\n', " "));
            ExitCode::from(problem.code)
        }
    }
}

fn command(arguments: &[String]) -> Result<(), Problem> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run", file] => run(&Wanted::from_json(&read(file)?)?),
        _ => Err(Problem { text: USAGE.to_owned(), code: BAD_INPUT }),
    }
}

fn read(file: &str) -> Result<String, Problem> {
    let text = if file == "-" {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    text.map_err(|e| Problem::input(format!("{file}: {e}")))
}
