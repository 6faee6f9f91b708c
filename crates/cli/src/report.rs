//! `gpufeed report`: renders the results of earlier runs.

use crate::render::{html, markdown};
use crate::results::Report;
use crate::{DONE, Outcome, output};
use std::path::PathBuf;

/// Renders the JSON of an earlier `gpufeed bench` as HTML or as markdown tables, without measuring anything.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("outputs").args(["html", "markdown"]).required(true).multiple(true))]
pub(crate) struct ReportArguments {
    /// What `gpufeed bench --json` wrote.
    #[arg(value_name = "FILE.json", required_unless_present = "peers")]
    file: Option<PathBuf>,
    /// One self-contained page with charts; `-` is standard output.
    #[arg(long, value_name = "FILE", requires = "file")]
    html: Option<PathBuf>,
    /// Tables between the lines `<!-- gpufeed bench: begin -->` and `end`; the rest of the file stays as it is, a
    /// missing one is made; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// What benches/peers/run.py printed: its tables go between `<!-- gpufeed peers: begin -->` and `end` of the
    /// markdown file.
    #[arg(long, value_name = "PEERS.json", requires = "markdown")]
    peers: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ReportArguments) -> Outcome {
    let [html, markdown] =
        output::open([("--html", arguments.html.as_deref()), ("--markdown", arguments.markdown.as_deref())])?;
    if let Some(file) = &arguments.file {
        let report = Report::read(file)?;
        if let Some(output) = &html {
            html::write(&report, output)?;
        }
        if let Some(output) = &markdown {
            markdown::update(&report, output)?;
        }
    }
    if let (Some(peers), Some(output)) = (&arguments.peers, &markdown) {
        markdown::update_peers(peers, output)?;
    }
    Ok(DONE)
}
