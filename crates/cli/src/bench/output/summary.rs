//! Prints the report to the terminal: first the verdict, then the tables of the page.

use crate::columns;
use crate::render::tables::{self, Table};
use crate::results::{Bottleneck, Report};
use crate::units;
use console::style;
use gpufeed::internals::Shown;

fn section(table: &Table) -> Result<(), String> {
    say!("\n{}", style(Shown(table.title)).bold());
    let shown = |row: &[String]| row.iter().map(|cell| Shown(cell).to_string()).collect::<Vec<_>>();
    let head: Vec<String> = table.head.iter().map(|&name| name.to_owned()).collect();
    let rows: Vec<_> = [head].iter().filter(|head| !head.is_empty()).chain(&table.rows).map(|row| shown(row)).collect();
    for (number, line) in columns::lines(&rows, |column| table.is_number(column)).iter().enumerate() {
        let line = style(line.trim_end());
        say!("  {}", if number == 0 && !table.head.is_empty() { line.dim() } else { line });
    }
    if let Some(note) = &table.note {
        say!("  {}", style(Shown(note)).dim());
    }
    Ok(())
}

/// Describes the verdict in one sentence: the limit, the evidence, and the change that would help.
fn verdict(bottleneck: &Bottleneck) -> String {
    let limit = bottleneck.resource.as_ref().map_or("unexplained".to_owned(), |name| format!("limited by {name}"));
    let gain = bottleneck.predicted_gain.map_or(String::new(), |gain| format!(", predicted {}", units::gain(gain)));
    let change = bottleneck.change.as_ref().map_or(String::new(), |change| format!("; {change}{gain}"));
    let refuted = bottleneck.refuted.as_ref().map_or(String::new(), |reason| format!(" (refuted: {reason})"));
    format!("{limit}: {}{change}{refuted}", bottleneck.verdict)
}

/// Prints the settings, the machine, the rate and the verdict.
fn print_head(report: &Report) -> Result<(), String> {
    let adapter = report.adapter.as_deref().map_or(String::new(), |adapter| format!(" on {}", Shown(adapter)));
    say!(
        "{} {}: {}, {}{adapter}; {} workers, batches of {}",
        style("gpufeed").bold(),
        report.version,
        Shown(&report.recipe),
        report.executor,
        report.workers,
        report.batch_size
    );
    let machine = &report.machine;
    say!(
        "{}, {} cores, {}; others kept {:.1} cores busy",
        Shown(&machine.cpu),
        machine.cores,
        Shown(&machine.os),
        machine.other_cores_busy
    );
    say!("{}: {}", Shown(&report.data.name), report.data.describe());
    let rate = &report.images_per_second;
    let rate = format!("{} images/s ({})", units::number(rate.median), rate.describe_runs());
    say!("\n{}", style(rate).bold().green());
    if let Some(unstable) = &report.unstable {
        say!("{}", style(format!("unstable: {unstable}")).yellow());
    }
    say!("{}", Shown(verdict(&report.bottleneck)));
    Ok(())
}

pub(crate) fn print(report: &Report) -> Result<(), String> {
    print_head(report)?;
    tables::measured(report).iter().try_for_each(section)?;
    if !report.notes.is_empty() {
        say!("\n{}", style("Notes").bold());
    }
    for note in &report.notes {
        say!("  · {}", Shown(note));
    }
    Ok(())
}
