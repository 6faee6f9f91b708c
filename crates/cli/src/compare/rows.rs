//! Pairs the numbers that two reports have in common.

use super::noise::{self, Strictness, Verdict, judge};
use crate::results::Report;
use crate::units;
use serde::Serialize;

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "images/s")]
    ImagesPerSecond,
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "B")]
    Bytes,
}

impl Unit {
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::ImagesPerSecond => format!("{} images/s", units::number(value)),
            Self::GigabytesPerSecond => units::gigabytes(value),
            Self::Seconds => units::duration(value),
            Self::Bytes => units::bytes(value),
        }
    }

    fn more_is_better(self) -> bool {
        matches!(self, Self::ImagesPerSecond | Self::GigabytesPerSecond)
    }
}

/// A number that both reports have.
#[derive(Debug, Serialize)]
pub(crate) struct ComparedNumber {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    /// A's number, the median if there are runs.
    pub(crate) a: f64,
    /// B's number, like `a`.
    pub(crate) b: f64,
    /// B / A.
    pub(crate) ratio: f64,
    /// B's least run divided by A's greatest, and B's greatest by A's least; `None` if a side was measured once.
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) verdict: Verdict,
}

impl ComparedNumber {
    /// Returns true if B is better.
    pub(crate) fn better(&self) -> bool {
        (self.ratio > 1.0) == self.unit.more_is_better()
    }
}

#[derive(Serialize)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<ComparedNumber>,
    pub(crate) only_in_a: Vec<String>,
    pub(crate) only_in_b: Vec<String>,
}

/// A number of one report.
struct Measured<'a> {
    name: String,
    unit: Unit,
    value: f64,
    runs: &'a [f64],
    strictness: Strictness,
}

/// Pairs every number of A with the number of the same name of B.
pub(crate) fn compare(a: &Report, b: &Report) -> Rows {
    let (a, b) = (measured(a), measured(b));
    let missing = |from: &[Measured], of: &[Measured]| -> Vec<String> {
        from.iter().filter(|one| !of.iter().any(|other| other.name == one.name)).map(|one| one.name.clone()).collect()
    };
    let pairs = a.iter().filter_map(|a| Some((a, b.iter().find(|b| b.name == a.name)?)));
    Rows { rows: pairs.map(|(a, b)| row(a, b)).collect(), only_in_a: missing(&a, &b), only_in_b: missing(&b, &a) }
}

fn row(a: &Measured, b: &Measured) -> ComparedNumber {
    let ratio = b.value / a.value;
    let spread = a.runs.len() > 1 && b.runs.len() > 1;
    let range = spread.then(|| {
        let ((low_a, high_a), (low_b, high_b)) = (noise::range(a.runs), noise::range(b.runs));
        (low_b / high_a, high_b / low_a)
    });
    let verdict = judge(a.runs, b.runs, ratio, a.strictness);
    ComparedNumber { name: a.name.clone(), unit: a.unit, a: a.value, b: b.value, ratio, range, verdict }
}

/// Returns all numbers that a report has. Those that an older report lacks were read as 0 and are left out.
fn measured(report: &Report) -> Vec<Measured<'_>> {
    use Strictness::{Headline, OneOfMany};
    use Unit::{Bytes, GigabytesPerSecond, ImagesPerSecond, Seconds};

    let one =
        |name: &str, unit, value, runs, strictness| Measured { name: name.to_owned(), unit, value, runs, strictness };
    let once = |name: &str, unit, value| one(name, unit, value, [].as_slice(), OneOfMany);

    let rate = &report.images_per_second;
    let mut all = vec![
        one("images/s", ImagesPerSecond, rate.median, &rate.runs, Headline),
        one(
            "CPU time for an image",
            Seconds,
            report.cpu_seconds_per_image,
            &report.cpu_seconds_per_image_runs,
            Headline,
        ),
        once("first batch after", Seconds, report.time_to_first_batch),
    ];
    for stage in &report.stages {
        all.push(one(&format!("stage {}", stage.name), Seconds, stage.seconds_per_image, &stage.runs, OneOfMany));
    }
    for (what, list) in [("kernel", &report.kernels.rows), ("upload", &report.upload)] {
        for rate in list {
            let name = format!("{what} {}", rate.name);
            all.push(one(&name, GigabytesPerSecond, rate.gb_per_second, &rate.runs, OneOfMany));
        }
    }
    for point in &report.sweep {
        let name = match point.workers {
            1 => "sweep, 1 worker".to_owned(),
            workers => format!("sweep, {workers} workers"),
        };
        let rate = &point.images_per_second;
        all.push(one(&name, ImagesPerSecond, rate.median, &rate.runs, OneOfMany));
    }
    all.push(once("memory, steady", Bytes, report.memory.steady_bytes as f64));
    all.push(once("memory, peak", Bytes, report.memory.peak_bytes as f64));
    all.push(once("memory, declared", Bytes, report.memory.declared_bytes as f64));
    let known = |number: f64| number.is_finite() && number > 0.0;
    all.retain(|measured| known(measured.value) && measured.runs.iter().copied().all(known));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Spread, sample};

    #[test]
    fn a_report_equals_itself() {
        let report = sample();
        let rows = compare(&report, &report);
        assert!(rows.only_in_a.is_empty() && rows.only_in_b.is_empty());
        assert!(rows.rows.iter().all(|row| row.ratio == 1.0 && !row.verdict.counts()));
        for name in
            ["images/s", "stage decode", "kernel strip, f32", "upload ring and copy", "sweep, 1 worker", "memory, peak"]
        {
            assert!(rows.rows.iter().any(|row| row.name == name), "no {name}");
        }
    }

    #[test]
    fn ratios_have_the_range_of_the_runs() {
        let (mut a, mut b) = (Report::default(), Report::default());
        let spread = |median, runs: &[f64]| Spread { median, runs: runs.to_vec(), ..Spread::default() };
        a.images_per_second = spread(100.0, &[80.0, 100.0, 110.0]);
        b.images_per_second = spread(200.0, &[190.0, 200.0, 240.0]);
        a.cpu_seconds_per_image = 1e-3;
        b.cpu_seconds_per_image = 2e-3;
        a.time_to_first_batch = 1.0;
        let rows = compare(&a, &b);
        assert_eq!(rows.only_in_a, ["first batch after"]);
        let [rate, cpu] = rows.rows.as_slice() else { panic!("{:?}", rows.rows) };
        assert_eq!((rate.ratio, rate.range), (2.0, Some((190.0 / 110.0, 3.0))));
        assert!(rate.better() && rate.verdict.counts());
        assert!(!cpu.better() && cpu.range.is_none());
        assert_eq!(cpu.verdict, Verdict::Once, "taken once, it never counts");
    }
}
