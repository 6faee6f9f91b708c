//! `gpufeed compare`: compares two reports of `gpufeed bench`, as ratios with their spread. `rows.rs` chooses the
//! numbers to compare, `noise.rs` decides whether a difference counts, and `conditions.rs` finds differences of machine
//! and settings. Nothing here measures; the reports' types are in `crate::results`.

mod conditions;
mod noise;
mod rows;

use crate::columns;
use crate::file_identity::is_one_file;
use crate::results::Report;
use crate::units;
use crate::{DONE, FINDINGS, Outcome};
use console::{Style, style};
use gpufeed::internals::Shown;
use noise::Verdict;
use rows::{ComparedNumber, Rows};
use serde::Serialize;
use std::io::Write as _;
use std::path::PathBuf;

/// Compares two reports: ratios with their spread, and whether a difference is larger than the noise.
///
/// A difference counts where the ranges of the runs do not overlap, the medians differ by more than 2 %, and there are
/// so many runs that two measurements of the same thing would hardly look like that: three on each side for images/s
/// and for the CPU time of an image (1 in 10), five for the other rows (1 in 126), of which there are many. What was
/// measured once is shown and never counts.
#[derive(clap::Args)]
#[command(
    after_long_help = "Exit codes: 0 no difference larger than the noise; 3 there is one; 1 a file cannot be read; 2 wrong arguments"
)]
pub(crate) struct CompareArguments {
    /// What `gpufeed bench --json` wrote: the one that is compared with.
    #[arg(value_name = "A.json")]
    a: PathBuf,
    /// The other: ratios are B / A.
    #[arg(value_name = "B.json")]
    b: PathBuf,
    /// Prints the comparison as JSON.
    #[arg(long)]
    json: bool,
}

/// The JSON of `--json`.
#[derive(Serialize)]
struct Comparison<'a> {
    a: String,
    b: String,
    /// True if both paths lead to one file, so that nothing can differ.
    one_file: bool,
    /// Differences of machine and settings.
    unlike: Vec<conditions::Difference>,
    /// True if the difference of some row is larger than the noise.
    differs: bool,
    #[serde(flatten)]
    rows: &'a Rows,
}

pub(crate) fn run(arguments: &CompareArguments) -> Outcome {
    let (a, b) = (Report::read(&arguments.a)?, Report::read(&arguments.b)?);
    let rows = rows::compare(&a, &b);
    if rows.rows.is_empty() {
        let [a, b] = [&arguments.a, &arguments.b].map(|path| Shown(path.display()));
        return Err(format!("{a} and {b} have no measurement in common: nothing can be compared").into());
    }
    let unlike = conditions::differences(&a, &b);
    let differs = rows.rows.iter().any(|row| row.verdict.counts());
    if arguments.json {
        let comparison = Comparison {
            a: arguments.a.display().to_string(),
            b: arguments.b.display().to_string(),
            one_file: is_one_file(&arguments.a, &arguments.b),
            unlike,
            differs,
            rows: &rows,
        };
        let text = serde_json::to_string_pretty(&comparison)?;
        crate::to_stdout(|out| writeln!(out, "{text}"))?;
    } else {
        print(arguments, [&a, &b], &rows, &unlike)?;
    }
    Ok(if differs { FINDINGS } else { DONE })
}

fn print(
    arguments: &CompareArguments,
    reports: [&Report; 2],
    rows: &Rows,
    unlike: &[conditions::Difference],
) -> Result<(), String> {
    for (letter, path, report) in [("A", &arguments.a, reports[0]), ("B", &arguments.b, reports[1])] {
        let date = units::date(report.unix_time);
        let [version, recipe] = [&report.version, &report.recipe].map(Shown);
        say!("{}  {}  gpufeed {version}, {recipe}, {date}", style(letter).bold(), Shown(path.display()));
    }
    if is_one_file(&arguments.a, &arguments.b) {
        say!("\n{}", style("A and B are one file: it is compared with itself.").yellow().bold());
    }
    if !unlike.is_empty() {
        say!(
            "\n{}",
            style("These are unlike things; the ratios show all of these differences together:").yellow().bold()
        );
        for difference in unlike {
            say!("  {}: {} | {}", difference.what, Shown(&difference.a), Shown(&difference.b));
        }
    }

    let head = ["", "A", "B", "B / A", "range"].map(str::to_owned);
    let cells: Vec<[String; 5]> = std::iter::once(head).chain(rows.rows.iter().map(cells)).collect();
    let mut lines = columns::lines(&cells, |column| column > 0).into_iter();
    say!("\n{}", style(lines.next().unwrap_or_default()).dim());
    for (row, line) in rows.rows.iter().zip(lines) {
        say!("{line}  {}", style_of(row).apply_to(verdict_text(row)));
    }
    for (letter, names) in [("A", &rows.only_in_a), ("B", &rows.only_in_b)] {
        if !names.is_empty() {
            say!("only in {letter}: {}", Shown(names.join(", ")));
        }
    }
    say!("\n{}", Shown(conclusion(rows)));
    Ok(())
}

fn cells(row: &ComparedNumber) -> [String; 5] {
    let range = row.range.map(|(low, high)| format!("{} to {}", units::ratio(low), units::ratio(high)));
    [
        Shown(&row.name).to_string(),
        row.unit.show(row.a),
        row.unit.show(row.b),
        units::ratio(row.ratio),
        range.unwrap_or_default(),
    ]
}

fn verdict_text(row: &ComparedNumber) -> String {
    match row.verdict {
        Verdict::Larger { .. } if row.better() => "better".to_owned(),
        Verdict::Larger { .. } => "worse".to_owned(),
        Verdict::Noise => "within the noise".to_owned(),
        Verdict::FewRuns { needed } => format!("apart, but from too few runs: {needed} each are needed"),
        Verdict::Once => "measured once".to_owned(),
    }
}

fn style_of(row: &ComparedNumber) -> Style {
    match row.verdict {
        Verdict::Larger { .. } if row.better() => Style::new().green().bold(),
        Verdict::Larger { .. } => Style::new().red().bold(),
        _ => Style::new().dim(),
    }
}

fn conclusion(rows: &Rows) -> String {
    let all: Vec<&ComparedNumber> = rows.rows.iter().filter(|row| row.verdict.counts()).collect();
    let judged = rows.rows.iter().filter(|row| matches!(row.verdict, Verdict::Larger { .. } | Verdict::Noise)).count();
    let list = |better: bool| -> Vec<&str> {
        all.iter().filter(|row| row.better() == better).map(|row| row.name.as_str()).collect()
    };
    let (better, worse) = (list(true), list(false));
    let mut sentences = Vec::new();
    if !better.is_empty() {
        sentences.push(format!("B is better by more than the noise in: {}.", better.join(", ")));
    }
    if !worse.is_empty() {
        sentences.push(format!("B is worse by more than the noise in: {}.", worse.join(", ")));
    }
    match (all.is_empty(), judged) {
        (true, 0) => "Nothing can be told: no row has enough runs. Measure with more runs on each side.".to_owned(),
        (true, judged) => format!("No difference larger than the noise in {judged} rows with enough runs."),
        _ => sentences.join(" "),
    }
}
