//! The document that says what is to be downloaded, as the command gives it.

use crate::problem::Problem;
use serde::Deserialize;
use std::path::PathBuf;

/// Most connections to a host.
pub const MOST: u32 = 16;

/// What is wanted. The command has checked units; what a program of one's own writes is checked here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Of what.
    pub url: String,
    /// The folder of the file.
    pub dir: PathBuf,
    /// Its name; the server's or the URL's where it is not given.
    #[serde(default)]
    pub name: Option<String>,
    /// Overwrite a file.
    #[serde(default)]
    pub force: bool,
    /// Most connections.
    pub max: u32,
    /// Always so many.
    #[serde(default)]
    pub connections: Option<u32>,
    /// Bytes a second.
    #[serde(default)]
    pub limit_rate: Option<u64>,
    /// Headers of requests to the URL's own host.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// An algorithm and what it gives, in hexadecimal digits.
    #[serde(default)]
    pub checksum: Option<(String, String)>,
    /// Certificates that are trusted instead of the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Trust any certificate.
    #[serde(default)]
    pub insecure: bool,
    /// Bytes of the sockets' receive buffers.
    #[serde(default)]
    pub rcvbuf: Option<u32>,
    /// Seconds without a byte after which a connection is given up.
    pub timeout_s: f64,
    /// Failures in a row, none of which brought a byte, after which it ends.
    pub retries: u32,
    /// Print the summary as JSON.
    #[serde(default)]
    pub json: bool,
    /// Say nothing but what is wrong.
    #[serde(default)]
    pub quiet: bool,
}

impl Wanted {
    /// From JSON.
    ///
    /// # Errors
    /// It is not such a document.
    pub fn from_json(text: &str) -> Result<Wanted, Problem> {
        let wanted: Wanted = serde_json::from_str(text).map_err(|e| Problem::input(format!("get: {e}")))?;
        if wanted.max == 0 || wanted.max > MOST {
            return Err(Problem::input(format!("--max: {} connections; give 1 to {MOST}", wanted.max)));
        }
        if wanted.connections.is_some_and(|n| n == 0 || n > MOST) {
            return Err(Problem::input(format!("--connections: give auto, or 1 to {MOST}")));
        }
        if !(wanted.timeout_s > 0.0 && wanted.timeout_s <= 86_400.0) {
            return Err(Problem::input("--timeout: give more than 0 s and at most a day"));
        }
        if let Some((algorithm, digits)) = &wanted.checksum {
            let length = match algorithm.as_str() {
                "sha256" => 64,
                "sha512" => 128,
                _ => {
                    return Err(Problem::input(format!("--checksum: {algorithm} is not known; sha256 and sha512 are")));
                }
            };
            if digits.len() != length || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(Problem::input(format!("--checksum: {algorithm} has {length} hexadecimal digits")));
            }
        }
        Ok(wanted)
    }
}
