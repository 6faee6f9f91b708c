//! `gpufeed bench`: measures the loader's pipeline and each of its parts on this machine, and writes one report.
//!
//! - `mod.rs` is the command: arguments in, outputs out. `run.rs` makes the measurements in order.
//! - `setup/` resolves the options: backend, recipe, data, samples.
//! - `measure/` measures the pipeline and its stages, `kernels/` the kernels and the upload.
//! - `checks/` compares claims of the statistics with the measurements.
//! - `output/` is the summary at the terminal, and the trace.
//!
//! The report's types are in `crate::results`, the page in `crate::render`.

mod checks;
pub(crate) mod kernels;
mod measure;
mod output;
mod run;
mod setup;

pub(crate) use setup::{BenchArguments, procedural};

use crate::output::Output;
use crate::render::html;
use crate::results::Report;
use crate::{DONE, Outcome};
use measure::first_batch;
use output::summary;
use run::Finished;
use setup::Setup;
use std::ffi::OsString;

/// Measures and writes all outputs. `given` holds all arguments of the process.
pub(crate) fn run(arguments: &BenchArguments, given: &[OsString]) -> Outcome {
    arguments.check()?;
    let settings = arguments.settings()?;
    let workers = arguments.workers(&settings)?;
    let main = workers.last().copied().unwrap_or(1);
    if arguments.first_batch {
        first_batch::print(&Setup::new(arguments, settings)?, main)?;
        return Ok(DONE);
    }
    let outputs = arguments.outputs()?;
    // The summary is left out if one of the outputs is standard output.
    let summarise = !outputs.iter().flatten().any(Output::is_standard);
    let [json, page, trace, card] = outputs;
    let Finished { report, traced } = run::run(arguments, given, settings, &workers, main, trace.as_ref())?;
    let text = |report: &Report| serde_json::to_string_pretty(report).map(|text| text + "\n");
    let (json_text, card_text) = (text(&report)?, text(&report.card())?);
    // Tries all outputs, because one may fail and the next succeed. JSON comes first, because the others can be made
    // from it.
    let written = [
        json.map_or(Ok(()), |output| output.write_all(json_text)),
        if summarise { summary::print(&report) } else { Ok(()) },
        page.as_ref().map_or(Ok(()), |output| html::write(&report, output)),
        card.map_or(Ok(()), |output| output.write_all(card_text)),
    ];
    written.into_iter().collect::<Result<(), String>>()?;
    if let (true, Some(page)) = (arguments.open, &page) {
        crate::show::open(page);
    }
    traced.map(|()| DONE)
}
