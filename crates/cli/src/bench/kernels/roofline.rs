//! A roofline predicts the time of passes from their bytes and operations, which `gpufeed::internals::work` counts. It
//! has two roofs of a GPU, measured in the same run: the rate at which it copies memory, and the rate at which it
//! multiplies and adds. A test writes the table of the guide's chapter, `docs/guide/roofline.md`.

use crate::results::Roofline;
use gpufeed::internals::Work;

/// Where memory limits a pass, it is predicted to reach this share of a copy's rate. This is the goal of the kernels'
/// design, not a measurement.
pub(crate) const OF_COPY: f64 = 0.7;
/// Where arithmetic limits a pass, it is predicted to reach this share of a GPU's multiplications and additions. This
/// is a guess, which the first card will correct: weights, addresses, conversions and waiting are not counted as
/// operations.
pub(crate) const OF_ARITHMETIC: f64 = 0.25;

/// The roofs of a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Roofs {
    /// The GB/s of a copy. Bytes that are read and bytes that are written both count.
    pub(crate) gb_per_second: f64,
    /// Thousand millions of operations a second. A multiplication with an addition counts as two.
    pub(crate) gflop_per_second: f64,
}

/// The predicted time of passes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Predicted {
    pub(crate) seconds: f64,
    /// The part of `seconds` that belongs to passes which arithmetic limits.
    arithmetic: f64,
}

impl Predicted {
    /// Returns the roof that limits most of the time.
    pub(crate) fn limit(&self) -> &'static str {
        if 2.0 * self.arithmetic > self.seconds { "arithmetic" } else { "memory" }
    }
}

impl Roofs {
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

    /// Makes the report's part: these roofs, and the recipe's passes for `images` images, as predicted and as measured.
    pub(crate) fn report(&self, works: &[Work], images: u64, measured_seconds: Option<f64>) -> Roofline {
        let rate = |seconds: f64| images as f64 / seconds;
        let predicted = self.predict(works);
        Roofline {
            gb_per_second: self.gb_per_second,
            gflop_per_second: self.gflop_per_second,
            limit: predicted.limit().to_owned(),
            predicted_images_per_second: rate(predicted.seconds),
            measured_images_per_second: measured_seconds.map(rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::kernels::plans::make_params;
    use gpufeed::internals::work;
    use gpufeed::{Plan, recipe};
    use std::fs;
    use std::path::Path;

    fn one(bytes: u64, operations: f64) -> Work {
        Work { pass: "stage 0".to_owned(), bytes, operations }
    }

    #[test]
    fn the_slower_roof_limits_each_pass() {
        let roofs = Roofs { gb_per_second: 10.0, gflop_per_second: 100.0 };
        let memory = roofs.predict(&[one(7_000_000_000, 1.0)]);
        assert!((memory.seconds - 1.0).abs() < 1e-9 && memory.limit() == "memory");
        let arithmetic = roofs.predict(&[one(1, 25e9)]);
        assert!((arithmetic.seconds - 1.0).abs() < 1e-9 && arithmetic.limit() == "arithmetic");
        let both = roofs.predict(&[one(7_000_000_000, 1.0), one(1, 50e9)]);
        assert!((both.seconds - 3.0).abs() < 1e-9 && both.limit() == "arithmetic");
        let report = roofs.report(&[one(7_000_000_000, 1.0)], 100, Some(2.0));
        assert_eq!(report.measured_images_per_second, Some(50.0));
        assert!((report.predicted_images_per_second - 100.0).abs() < 1e-6);
    }

    /// The number of images over which the table averages the work. They are random parameters for 500x375 pixels.
    const IMAGES: u64 = 256;

    /// Returns the table of the bytes and operations of an image of each recipe.
    fn work_table() -> String {
        let mut text = "| recipe | passes | KB moved | Mflop | flop a byte |\n|---|---|---|---|---|\n".to_owned();
        for name in recipe::NAMES {
            let recipe = recipe::named(name).unwrap();
            let output = recipe.output.unwrap_or_default();
            let plan = Plan::compile_as(recipe.semantics.unwrap_or_default(), 3, &recipe.transforms, &output).unwrap();
            let works = work(&plan, &make_params(&plan, IMAGES).unwrap()).unwrap();
            let bytes = works.iter().map(|work| work.bytes).sum::<u64>() as f64;
            let operations: f64 = works.iter().map(|work| work.operations).sum();
            let [kb, mflop] = [bytes / 1e3, operations / 1e6].map(|sum| sum / IMAGES as f64);
            let (passes, flop) = (works.len(), operations / bytes);
            text += &format!("| `{name}` | {passes} | {kb:.0} | {mflop:.1} | {flop:.1} |\n");
        }
        text
    }

    /// Compares the chapter with today's table. With GPUFEED_RENEW=1 writes the table into the chapter.
    #[test]
    fn the_chapter_has_the_work_of_each_recipe() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/roofline.md");
        let found = fs::read_to_string(&path).unwrap();
        for share in [format!("rate x {OF_COPY})"), format!("additions x {OF_ARITHMETIC})")] {
            assert!(found.contains(&share), "the chapter's formula has the share in `{share}`");
        }
        let (begin, end) = ("<!-- work: begin -->\n", "<!-- work: end -->");
        let (before, rest) = found.split_once(begin).unwrap();
        let (_, after) = rest.split_once(end).unwrap();
        let chapter = format!("{before}{begin}\n{}\n{end}{after}", work_table());
        if std::env::var_os("GPUFEED_RENEW").is_some() {
            fs::write(&path, chapter).unwrap();
        } else {
            assert!(
                chapter == found,
                "GPUFEED_RENEW=1 cargo test -p gpufeed-cli the_chapter_has_the_work_of_each_recipe"
            );
        }
    }
}
