//! One connection, from the first byte to the last: where a server gives no pieces, or nothing says that they would be of one file.

use crate::bucket::Bucket;
use crate::problem::Problem;
use crate::report::Report;
use crate::request::bytes;
use hyper::Response;
use hyper::body::Incoming;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Writes the whole answer: its bytes.
///
/// # Errors
/// It ended before its time.
pub async fn whole(
    response: Response<Incoming>,
    part: &File,
    name: &str,
    patience: Duration,
    bucket: Option<&Mutex<Bucket>>,
    report: &mut Report,
) -> Result<u64, Problem> {
    let total = crate::request::described(response.headers(), false).total;
    let lost = |at: u64, why: &str| {
        let remedy = "the server gives no pieces, so that it has to begin anew";
        Problem::failed(format!("{name}: after {at} bytes: {why}; {remedy}"))
    };
    let version = response.version();
    let (mut body, mut at, start) = (response.into_body(), 0u64, Instant::now());
    loop {
        let data = match bytes(&mut body, version, patience).await {
            Err(why) => return Err(lost(at, &why)),
            Ok(None) => break,
            Ok(Some(data)) => data,
        };
        part.write_all_at(&data, at).map_err(|e| Problem::failed(format!("what has come cannot be written: {e}")))?;
        at += data.len() as u64;
        report.progress(name, at, total, at as f64 / start.elapsed().as_secs_f64().max(1e-3), 1);
        if let Some(bucket) = bucket {
            let until = bucket.lock().unwrap_or_else(PoisonError::into_inner).took(data.len() as u64, Instant::now());
            tokio::time::sleep_until(until.into()).await;
        }
    }
    match total {
        Some(total) if total != at => Err(lost(at, &format!("{total} were to come"))),
        _ => Ok(at),
    }
}
