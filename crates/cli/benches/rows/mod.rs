//! Rows of one criterion group, and a table of their results: bytes moved, GB/s, and the share of the rate of the row
//! whose name begins with `copy`.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Throughput};
use std::time::Duration;

/// A row of the table.
struct Row {
    name: &'static str,
    bytes: u64,
    /// Seconds of one batch, for each of criterion's samples.
    seconds: Vec<f64>,
}

pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The rows of one criterion group, with their results.
pub(crate) struct Rows<'a> {
    pub(crate) group: BenchmarkGroup<'a, WallTime>,
    rows: Vec<Row>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(group: BenchmarkGroup<'a, WallTime>) -> Self {
        Rows { group, rows: Vec::new() }
    }

    /// Measures a row. `work` does the given number of batches and returns the time that they took.
    pub(crate) fn add(&mut self, name: &'static str, bytes: u64, mut work: impl FnMut(u64) -> Duration) {
        let mut seconds = Vec::new();
        self.group.throughput(Throughput::BytesDecimal(bytes));
        self.group.bench_function(name, |bencher| {
            bencher.iter_custom(|batches| {
                let time = work(batches);
                seconds.push(time.as_secs_f64() / batches as f64);
                time
            });
        });
        if !seconds.is_empty() {
            self.rows.push(Row { name, bytes, seconds });
        }
    }

    pub(crate) fn table(&self) {
        let rate = |row: &Row| row.bytes as f64 / median(&row.seconds) / 1e9;
        let copy = self.rows.iter().find(|row| row.name.starts_with("copy")).map(rate);
        println!("\n| | MB | ms | GB/s | of the copy |\n|---|---|---|---|---|");
        for row in &self.rows {
            let (name, megabytes, milliseconds) = (row.name, row.bytes as f64 / 1e6, 1e3 * median(&row.seconds));
            let share = copy.map_or("not run".to_owned(), |copy| format!("{:.0} %", 100.0 * rate(row) / copy));
            println!("| {name} | {megabytes:.1} | {milliseconds:.3} | {:.2} | {share} |", rate(row));
        }
    }
}
