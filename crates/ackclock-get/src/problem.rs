//! What ends a download: one line, and an exit code.

/// Something was done, and it failed.
pub const FAILED: u8 = 1;
/// What was given cannot be used.
pub const BAD_INPUT: u8 = 2;

/// Why there is no file in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One line.
    pub text: String,
    /// The exit code.
    pub code: u8,
}

impl Problem {
    /// It was tried, and failed.
    pub fn failed(text: impl Into<String>) -> Problem {
        Problem { text: text.into(), code: FAILED }
    }

    /// It cannot be tried.
    pub fn input(text: impl Into<String>) -> Problem {
        Problem { text: text.into(), code: BAD_INPUT }
    }
}

/// Errors of libraries hide their reason behind others: all of them in one line, each once.
pub fn reasons(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text.replace('\n', " ")
}
