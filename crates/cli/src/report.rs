//! `gpufeed report`: renders the results of earlier runs.

use crate::render::html;
use crate::results::Report;
use crate::{DONE, Outcome, output};
use std::path::PathBuf;

/// Renders the JSON of an earlier `gpufeed bench` as HTML, without measuring anything.
#[derive(clap::Args)]
pub(crate) struct ReportArguments {
    /// What `gpufeed bench --json` wrote.
    #[arg(value_name = "FILE.json")]
    file: PathBuf,
    /// One self-contained page with charts; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
}

pub(crate) fn run(arguments: &ReportArguments) -> Outcome {
    let [html] = output::open([("--html", Some(&arguments.html))])?;
    let report = Report::read(&arguments.file)?;
    if let Some(output) = &html {
        html::write(&report, output)?;
    }
    Ok(DONE)
}
