//! Predicts by the roofline model how long a GPU takes for the shader passes of a recipe. `gpufeed::internals::work`
//! counts the bytes and the operations of each pass. The model has two limits ("roofs"), both measured on the GPU in
//! the same run: the rate at which it copies memory, and the rate at which it multiplies and adds. A test in this file
//! writes the table of the guide's chapter, `docs/guide/roofline.md`.

use crate::results::Roofline;
use gpufeed::internals::Work;

/// A pass that memory limits is predicted to move its bytes at this share of the rate of a plain copy. The share is the
/// goal of the kernels' design, not a measurement.
pub(crate) const OF_COPY: f64 = 0.7;
/// A pass that arithmetic limits is predicted to do its operations at this share of the GPU's measured rate. The share
/// is a guess, to be corrected by the first measurement on a real GPU: weights, addresses, conversions and waiting take
/// time, but are not counted as operations.
pub(crate) const OF_ARITHMETIC: f64 = 0.25;

/// The two roofs of a GPU: its measured rates of copying memory and of arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Roofs {
    /// The rate of a memory copy in GB/s. Bytes that are read and bytes that are written both count.
    pub(crate) gb_per_second: f64,
    /// The rate of arithmetic in GFLOP/s. A multiplication with an addition counts as two operations.
    pub(crate) gflop_per_second: f64,
}

/// The predicted time of a list of passes that run one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Predicted {
    pub(crate) seconds: f64,
    /// The part of `seconds` that is spent in passes whose limit is arithmetic, not memory.
    arithmetic: f64,
}

impl Predicted {
    /// Returns the roof that limits more than half of the predicted time: `arithmetic` or `memory`.
    pub(crate) fn limit(&self) -> &'static str {
        if 2.0 * self.arithmetic > self.seconds { "arithmetic" } else { "memory" }
    }
}

impl Roofs {
    /// Predicts the time of passes that run one after the other. `works` has the bytes and operations of each pass.
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

    /// Makes the roofline section of the report: the two roofs, and the rate in images a second of the passes `works`,
    /// as predicted and as measured. The passes make `images` images, in `measured_seconds` if they were timed.
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
    use gpufeed::Plan;
    use gpufeed::internals::work;
    use gpufeed_testing::bits::named_lists;
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

    /// The number of images over which the table of work averages. Each image is a random draw of the recipe's
    /// parameters for a photograph of 500x375 pixels.
    const IMAGES: u64 = 256;

    /// Returns a Markdown table with a row for each recipe: its passes, and the bytes and operations for one image.
    fn work_table() -> String {
        let mut text = "| recipe | passes | KB moved | Mflop | flop a byte |\n|---|---|---|---|---|\n".to_owned();
        for (name, list) in named_lists() {
            let output = list.output.unwrap_or_default();
            let plan = Plan::compile_as(list.semantics.unwrap_or_default(), 3, &list.transforms, &output).unwrap();
            let works = work(&plan, &make_params(&plan, IMAGES).unwrap()).unwrap();
            let bytes = works.iter().map(|work| work.bytes).sum::<u64>() as f64;
            let operations: f64 = works.iter().map(|work| work.operations).sum();
            let [kb, mflop] = [bytes / 1e3, operations / 1e6].map(|sum| sum / IMAGES as f64);
            let (passes, flop) = (works.len(), operations / bytes);
            text += &format!("| `{name}` | {passes} | {kb:.0} | {mflop:.1} | {flop:.1} |\n");
        }
        text
    }

    /// Fails if the guide's chapter does not have the table that `work_table` makes. With GPUFEED_RENEW=1 in the
    /// environment, writes that table into the chapter instead.
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
