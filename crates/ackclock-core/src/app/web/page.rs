//! What pages consist of: drawn from distributions, or listed in a manifest.
//!
//! Every page draws from a stream of its own, which is named after its number, and in a fixed order: main object, number of
//! objects, time to the next page, bytes of the objects. So the page with a given number is the same whatever the
//! controller, the connections and the pages before it are, and a size is the same whatever the convention of counting is.

use crate::app::Setup;
use crate::app::params::{Given, Problem};
use crate::rng::Stream;
use crate::time::Span;
use crate::variate::Variate;

/// Most objects of a page: a request has room for so many numbers.
pub const MOST_OBJECTS: usize = 1 << 20;
/// Largest object, bytes.
pub const MOST_BYTES: u64 = 1 << 40;

/// An object as it is known before the page is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its bytes.
    pub bytes: u64,
    /// Objects that must have come before the client knows of it: numbers below its own. None: it is the main object.
    pub after: Vec<u32>,
    /// From the last byte of the last of these to when it is known; none: what pages have in general.
    pub parse: Option<Span>,
}

/// How a number drawn from a continuous distribution becomes a number of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// The nearest.
    Round,
    /// The next below.
    Floor,
    /// The nearest to what it has more than the smallest (3GPP's models of web pages).
    MinusMin,
}

impl Counting {
    /// Its words.
    pub const WORDS: &'static [&'static str] = &["round", "floor", "minus_min"];

    fn count(self, drawn: f64, least: f64) -> usize {
        let number = match self {
            Counting::Round => drawn + 0.5,
            Counting::Floor => drawn,
            Counting::MinusMin => (drawn - least).max(0.0) + 0.5,
        };
        // Saturates.
        (number as usize).min(MOST_OBJECTS - 1)
    }
}

/// Where the objects of pages come from.
#[derive(Clone, Debug)]
enum Content {
    Drawn { main: Variate, count: Variate, counting: Counting, embedded: Variate },
    Listed(Vec<Planned>),
}

/// The pages of a client.
#[derive(Clone, Debug)]
pub struct Pages {
    content: Content,
    interval: Variate,
    seed: (u64, u64),
    /// What names of streams begin with.
    stream: String,
}

/// A page to be loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its objects, the main one first.
    pub objects: Vec<Planned>,
    /// From its start to the start of the next page.
    pub interval: Span,
}

impl Pages {
    /// The pages that the parameters describe.
    ///
    /// # Errors
    /// A parameter is missing, or there are two kinds of pages.
    pub fn new(given: &Given, setup: &Setup<'_>) -> Result<Pages, Problem> {
        let needed = |key: &'static str| {
            given.distribution(key).ok_or_else(|| Problem::new(key, "a page needs it, or the objects of its manifest"))
        };
        let content = if let Some(objects) = given.objects("page") {
            if let Some(key) = ["main", "objects", "embedded"].into_iter().find(|key| given.has(key)) {
                return Err(Problem::new(key, "the page's manifest has its objects"));
            }
            check(objects)?;
            Content::Listed(objects.to_vec())
        } else {
            let counting = match given.word("counting") {
                Some("floor") => Counting::Floor,
                Some("minus_min") => Counting::MinusMin,
                _ => Counting::Round,
            };
            let (main, count, embedded) = (needed("main")?, needed("objects")?, needed("embedded")?);
            Content::Drawn { main, count, counting, embedded }
        };
        let interval = needed("interval")?;
        Ok(Pages { content, interval, seed: setup.seed, stream: format!("flow {} page", setup.flow) })
    }

    /// Bytes that nearly no page exceeds: as many objects as one in ten thousand has, of the usual size.
    pub fn large(&self) -> u64 {
        const NEARLY_ALL: f64 = 0.9999;
        match &self.content {
            Content::Listed(objects) => objects.iter().map(|o| o.bytes).sum(),
            Content::Drawn { main, count, embedded, .. } => {
                whole(main.quantile(NEARLY_ALL) + count.quantile(NEARLY_ALL) * embedded.mean())
            }
        }
    }

    /// Page number `number`.
    pub fn plan(&self, number: u64) -> Plan {
        let rng = &mut Stream::named(self.seed.0, self.seed.1, &format!("{} {number}", self.stream));
        let (first, second) = (rng.uniform(), rng.uniform());
        let interval = Span(whole(self.interval.draw(rng)));
        let objects = match &self.content {
            Content::Listed(objects) => objects.clone(),
            Content::Drawn { main, count, counting, embedded } => {
                let bytes = |x: f64| whole(x).clamp(1, MOST_BYTES);
                let n = counting.count(count.quantile(second), count.quantile(0.0));
                let mut all = Vec::with_capacity(n + 1);
                all.push(Planned { bytes: bytes(main.quantile(first)), after: Vec::new(), parse: None });
                all.extend((0..n).map(|_| {
                    let bytes = bytes(embedded.draw(rng));
                    Planned { bytes, after: vec![0], parse: None }
                }));
                all
            }
        };
        Plan { objects, interval }
    }
}

/// The nearest whole number.
fn whole(x: f64) -> u64 {
    (x + 0.5) as u64
}

/// Whether the objects of a manifest are a page.
fn check(objects: &[Planned]) -> Result<(), Problem> {
    let wrong = |text: String| Err(Problem::new("page", text));
    if objects.is_empty() || objects.len() > MOST_OBJECTS {
        return wrong(format!("a page has 1 to {MOST_OBJECTS} objects, not {}", objects.len()));
    }
    for (i, object) in objects.iter().enumerate() {
        if object.bytes == 0 || object.bytes > MOST_BYTES {
            return wrong(format!("object {i} has {} bytes; an object has 1 to {MOST_BYTES}", object.bytes));
        }
        if object.after.is_empty() != (i == 0) {
            return wrong(format!("object {i}: the first object, and no other, is known without others"));
        }
        if object.after.iter().any(|parent| *parent as usize >= i) {
            return wrong(format!("object {i}: an object comes behind those that make it known"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::params::Value;
    use crate::app::testing::Fake;

    fn drawn(counting: &str) -> Pages {
        let mut given = Given::default();
        let all = [
            ("main", Variate::lognormal(20_000.0, 22e6f64.sqrt(), 100.0, 200_000.0)),
            ("objects", Variate::BoundedPareto { shape: 1.1, min: 2.0, max: 50.0 }),
            ("embedded", Variate::lognormal(160_000.0, 5e9f64.sqrt(), 50.0, 2e6)),
            ("interval", Variate::exponential_between(30e9, 10e9, 60e9, crate::variate::Truncation::After)),
        ];
        for (key, variate) in all {
            given.insert(key, Value::Distribution(variate));
        }
        given.insert("counting", Value::Word(counting.to_owned()));
        Pages::new(&given, &Fake::setup()).unwrap()
    }

    fn mean(n: u64, of: impl Fn(u64) -> f64) -> (f64, f64) {
        let all: Vec<f64> = (0..n).map(of).collect();
        let mean = all.iter().sum::<f64>() / n as f64;
        let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
        (mean, (variance / n as f64).sqrt())
    }

    /// Means that the distributions have: 6.213048 objects when rounded, 5.781621 when cut, and of the nearest whole number
    /// of what is above 2, 2 less than rounded; a page of 20 + 6.213048 * 160 kB; 30 s.
    #[test]
    fn pages_have_the_means_of_their_distributions() {
        let n = 40_000;
        for (counting, expected) in [("round", 6.213_048), ("floor", 5.781_621), ("minus_min", 4.213_048)] {
            let pages = drawn(counting);
            let (found, error) = mean(n, |k| (pages.plan(k).objects.len() - 1) as f64);
            assert!((found - expected).abs() < 4.0 * error, "{counting}: {found} +- {error}");
        }
        let pages = drawn("round");
        let kilobytes = |k| pages.plan(k).objects.iter().map(|o| o.bytes).sum::<u64>() as f64 / 1e3;
        let (found, error) = mean(n, kilobytes);
        assert!((found - (20.0 + 6.213_048 * 160.0)).abs() < 4.0 * error, "{found} +- {error}");
        let (found, error) = mean(n, |k| pages.plan(k).interval.as_secs_f64());
        assert!((found - 30.0).abs() < 4.0 * error, "{found} +- {error}");
    }

    #[test]
    fn a_page_is_the_same_whatever_came_before_and_however_objects_are_counted() {
        let (a, b) = (drawn("round"), drawn("floor"));
        for k in [0, 5, 77] {
            let (one, other) = (a.plan(k), b.plan(k));
            assert_eq!(one, a.plan(k));
            assert_eq!(one.interval, other.interval);
            assert!(one.objects.iter().zip(&other.objects).all(|(x, y)| x == y));
        }
        assert_ne!(a.plan(1).objects[0], a.plan(2).objects[0]);
    }

    #[test]
    fn what_a_large_page_has() {
        // At 0.9999 the normal distribution is at 3.71902: exp(9.876717 + 0.231389 * 3.71902) = 46,040 bytes; and there are
        // 2 * (1 - 0.9999 * (1 - 0.04^1.1))^(-1/1.1) = 49.848 objects.
        let large = drawn("round").large() as f64;
        assert!((large - (46_040.0 + 49.848_243 * 160e3)).abs() < 10.0, "{large}");
    }

    #[test]
    fn a_manifest_that_is_no_page_is_refused() {
        let refused = |objects: Vec<Planned>| {
            let mut given = Given::default();
            given.insert("interval", Value::Distribution(Variate::Constant(1.0)));
            given.insert("page", Value::Objects(objects));
            Pages::new(&given, &Fake::setup()).unwrap_err().text
        };
        let object = |bytes, after: &[u32]| Planned { bytes, after: after.to_vec(), parse: None };
        assert!(refused(vec![]).contains("objects, not 0"));
        assert!(refused(vec![object(0, &[])]).contains("object 0 has 0 bytes"));
        assert!(refused(vec![object(1, &[]), object(1, &[])]).contains("object 1: the first"));
        assert!(refused(vec![object(1, &[]), object(1, &[2]), object(1, &[0])]).contains("object 1: an object"));
    }
}
