//! Shares of an epoch as whole numbers of positions.

use crate::error::{Error, Result};

/// How far each group has been walked: positions that it had in earlier epochs, and what it lacks to its exact share of them.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// Positions of each group in the epochs before.
    pub(super) before: Vec<u64>,
    credits: Vec<f64>,
}

/// A part of a position that comes from rounding alone.
const NOTHING: f64 = 1e-9;

impl Shares {
    pub(super) fn new(groups: usize) -> Self {
        Shares { before: vec![0; groups], credits: vec![0.0; groups] }
    }

    /// Divides the `len` positions of the next epoch by weight: each group has its exact share rounded down, or one more. The
    /// positions that are left go to the groups that lack most, earlier epochs included; of equal ones to the first.
    pub(super) fn next(&mut self, weights: &[f64], len: usize) -> Vec<usize> {
        let total: f64 = weights.iter().sum();
        let mut counts = Vec::with_capacity(weights.len());
        let mut fractional = vec![false; weights.len()];
        for (group, weight) in weights.iter().enumerate() {
            let exact = weight / total * len as f64;
            let near = exact.round();
            let whole = if (exact - near).abs() < NOTHING { near } else { exact.floor() };
            fractional[group] = whole < exact - NOTHING;
            self.credits[group] += if fractional[group] { exact - whole } else { 0.0 };
            counts.push(whole as usize);
        }
        let mut left = len.saturating_sub(counts.iter().sum());
        let mut by_need: Vec<usize> = (0..weights.len()).filter(|&group| fractional[group]).collect();
        by_need.sort_by(|&a, &b| self.credits[b].total_cmp(&self.credits[a]).then(a.cmp(&b)));
        for group in by_need {
            if left == 0 {
                break;
            }
            counts[group] += 1;
            self.credits[group] -= 1.0;
            left -= 1;
        }
        for (before, count) in self.before.iter_mut().zip(&counts) {
            *before += *count as u64;
        }
        counts
    }
}

/// Checks the weights of data sets of these lengths.
pub(super) fn check(weights: &[f64], lengths: &[usize]) -> Result<()> {
    let refused = |reason: String| Err(Error::argument("weights", reason));
    if weights.len() != lengths.len() {
        return refused(format!("{} for {} data sets; give one for each", weights.len(), lengths.len()));
    }
    if let Some(number) = weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0) {
        return refused(format!(
            "{} for data set {number}, but a weight must be finite and at least 0",
            weights[number]
        ));
    }
    if !weights.iter().any(|&weight| weight > 0.0) {
        return refused("all are 0, so that no sample can come; set one above 0".to_owned());
    }
    if let Some(number) = (0..lengths.len()).find(|&number| lengths[number] == 0 && weights[number] > 0.0) {
        return refused(format!("{} for data set {number}, which has no samples", weights[number]));
    }
    Ok(())
}
