//! One connection, from the first byte to the last: where a server gives no pieces, or nothing says that they would be of one file.

use crate::bucket::Bucket;
use crate::problem::{reasons, Problem};
use crate::report::Report;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::Response;
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
    let (mut body, mut at, start) = (response.into_body(), 0u64, Instant::now());
    loop {
        let frame = match tokio::time::timeout(patience, body.frame()).await {
            Err(_) => return Err(lost(at, &format!("no byte within {} s", patience.as_secs_f64()))),
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(lost(at, &reasons(&error))),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
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
