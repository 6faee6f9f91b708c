//! A roofline: the time of passes predicted from the bytes and the operations of `gpufeed::internals::work`, by two roofs
//! of a GPU: the rate at which it copies memory, and the rate at which it multiplies and adds.
//!
//! `cards.rs` has the roofs of GPUs by their data sheets; those of any other are measured in the same run. A test in
//! `page.rs` writes the tables of the guide's chapter, `docs/guide/roofline.md`.

mod cards;
#[cfg(test)]
mod page;

use crate::results::Roofline;
use gpufeed::internals::Work;

/// The share of a copy's rate that a pass is predicted to reach where memory limits it. The goal of the kernels' design,
/// not a measurement.
pub(crate) const OF_COPY: f64 = 0.7;
/// The share of a GPU's multiplications and additions that a pass is predicted to reach where arithmetic limits it. A
/// guess, to be corrected by the first card: weights, addresses, conversions and waiting are not counted as operations.
pub(crate) const OF_ARITHMETIC: f64 = 0.25;

/// The roofs of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Roofs {
    /// The source of these numbers.
    pub(crate) source: String,
    /// GB/s of a copy, read and written bytes together.
    pub(crate) gb_per_second: f64,
    /// Thousand millions of operations a second: a multiplication with an addition is two.
    pub(crate) gflop_per_second: f64,
}

/// The predicted time of passes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Predicted {
    pub(crate) seconds: f64,
    /// The part of `seconds` in passes that arithmetic limits.
    arithmetic: f64,
}

impl Predicted {
    /// The roof that limits most of the time.
    pub(crate) fn limit(&self) -> &'static str {
        if 2.0 * self.arithmetic > self.seconds { "arithmetic" } else { "memory" }
    }
}

impl Roofs {
    /// The roofs of an adapter by its data sheet, if `cards.rs` has it.
    pub(crate) fn by_data_sheet(adapter: &str) -> Option<Roofs> {
        cards::CARDS.iter().find(|card| card.is(adapter)).map(cards::Card::roofs)
    }

    /// The roofs that this run's kernels have measured.
    pub(crate) fn measured(gb_per_second: f64, gflop_per_second: f64) -> Roofs {
        let source = "the copy and the arithmetic kernel of this run".to_owned();
        Roofs { source, gb_per_second, gflop_per_second }
    }

    /// Predicts the time of passes that run one after the other.
    pub(crate) fn predict(&self, works: &[Work]) -> Predicted {
        let mut predicted = Predicted::default();
        for work in works {
            let memory = work.bytes as f64 / (1e9 * self.gb_per_second * OF_COPY);
            let arithmetic = work.operations / (1e9 * self.gflop_per_second * OF_ARITHMETIC);
            predicted.seconds += memory.max(arithmetic);
            predicted.arithmetic += if arithmetic > memory { arithmetic } else { 0.0 };
        }
        predicted
    }

    /// The report's part: these roofs and the measured ones, and the recipe's passes for `images` images as predicted
    /// and as measured.
    pub(crate) fn report(
        &self,
        measured: &Roofs,
        (works, images): (&[Work], u64),
        measured_seconds: Option<f64>,
    ) -> Roofline {
        let rate = |seconds: f64| images as f64 / seconds;
        let predicted = self.predict(works);
        Roofline {
            source: self.source.clone(),
            gb_per_second: self.gb_per_second,
            gflop_per_second: self.gflop_per_second,
            measured_gb_per_second: measured.gb_per_second,
            measured_gflop_per_second: measured.gflop_per_second,
            limit: predicted.limit().to_owned(),
            predicted_images_per_second: rate(predicted.seconds),
            measured_images_per_second: measured_seconds.map(rate),
        }
    }
}

/// Predicts the time in which a GPU of `cards.rs` gets this many bytes over its bus.
pub(super) fn upload_seconds(adapter: &str, bytes: u64) -> Option<f64> {
    let bus = cards::CARDS.iter().find(|card| card.is(adapter))?.bus?;
    Some(bytes as f64 / (1e9 * bus))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(bytes: u64, operations: f64) -> Work {
        Work { pass: "stage 0".to_owned(), bytes, operations }
    }

    #[test]
    fn the_slower_roof_limits_each_pass() {
        let roofs = Roofs::measured(10.0, 100.0);
        let memory = roofs.predict(&[work(7_000_000_000, 1.0)]);
        assert!((memory.seconds - 1.0).abs() < 1e-9 && memory.limit() == "memory");
        let arithmetic = roofs.predict(&[work(1, 25e9)]);
        assert!((arithmetic.seconds - 1.0).abs() < 1e-9 && arithmetic.limit() == "arithmetic");
        let both = roofs.predict(&[work(7_000_000_000, 1.0), work(1, 50e9)]);
        assert!((both.seconds - 3.0).abs() < 1e-9 && both.limit() == "arithmetic");
        let report = roofs.report(&roofs, (&[work(7_000_000_000, 1.0)], 100), Some(2.0));
        assert_eq!(report.measured_images_per_second, Some(50.0));
        assert!((report.predicted_images_per_second - 100.0).abs() < 1e-6);
    }

    #[test]
    fn the_bus_limits_uploads_to_known_cards_with_memory_of_their_own() {
        assert_eq!(upload_seconds("NVIDIA GeForce RTX 4090", 27_000_000_000), Some(1.0));
        assert_eq!(upload_seconds("Apple M3 Max", 1), None);
        assert_eq!(upload_seconds("llvmpipe", 1), None);
    }
}
