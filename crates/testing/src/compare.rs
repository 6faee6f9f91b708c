//! Comparison of results in f32 with expected values in f64, with a tolerance.

use std::collections::BTreeMap;

/// Returns the largest difference of `actual` from `expected`, or an error for another length, a NaN or a difference
/// above `bar`.
pub fn within(expected: &[f64], actual: &[f32], bar: f64) -> Result<f64, String> {
    if expected.len() != actual.len() {
        return Err(format!("{} values instead of {}", actual.len(), expected.len()));
    }
    let mut worst = 0.0;
    for (i, (&expected, &actual)) in expected.iter().zip(actual).enumerate() {
        let difference = (expected - f64::from(actual)).abs();
        if difference.is_nan() || difference > bar {
            return Err(format!("value {i} is {actual}, not {expected}: {difference:.2e} > {bar:.2e}"));
        }
        worst = difference.max(worst);
    }
    Ok(worst)
}

/// Like [`within`], but leaves out the values that `doubtful` marks.
pub fn within_except(doubtful: &[bool], expected: &[f64], actual: &[f32], bar: f64) -> Result<f64, String> {
    if expected.len() != actual.len() || expected.len() != doubtful.len() {
        return Err(format!("{} values instead of {} ({})", actual.len(), expected.len(), doubtful.len()));
    }
    let certain = || doubtful.iter().map(|doubtful| !doubtful);
    let expected: Vec<f64> =
        expected.iter().zip(certain()).filter_map(|(value, keep)| keep.then_some(*value)).collect();
    let actual: Vec<f32> = actual.iter().zip(certain()).filter_map(|(value, keep)| keep.then_some(*value)).collect();
    within(&expected, &actual, bar)
}

/// The number of cases and the largest difference of each group, and all failures.
#[derive(Debug, Default)]
pub struct Tally {
    worst: BTreeMap<String, (usize, f64)>,
    failures: Vec<String>,
}

impl Tally {
    /// Adds a result of [`within`] for the case `name` of the group `group`.
    pub fn add(&mut self, group: &str, name: &str, result: Result<f64, String>) {
        let (count, worst) = self.worst.entry(group.to_owned()).or_default();
        *count += 1;
        match result {
            Ok(difference) => *worst = worst.max(difference),
            Err(reason) => self.failures.push(format!("{name}: {reason}")),
        }
    }

    /// Prints the largest difference of each group, and the failures that the panic's message has no room for.
    ///
    /// # Panics
    /// If something failed, or if nothing was compared.
    pub fn finish(self, title: &str) {
        println!("{title}:");
        for (group, (count, worst)) in &self.worst {
            println!("  {group}: {count} cases, largest difference {worst:.1e}");
        }
        assert!(!self.worst.is_empty(), "{title}: nothing was compared");
        let (shown, others) = self.failures.split_at(self.failures.len().min(40));
        others.iter().for_each(|failure| println!("  {failure}"));
        assert!(self.failures.is_empty(), "{title}: {} failures:\n  {}", self.failures.len(), shown.join("\n  "));
    }
}
