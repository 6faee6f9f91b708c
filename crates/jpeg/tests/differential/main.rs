//! Compares random files with Pillow: whole, regions, scales, indexes, damage. `scripts/test-jpeg.sh` makes the files and
//! sets GPUFEED_JPEG_FILES to their folder.

#![allow(clippy::print_stdout)] // prints what was compared

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpufeed_jpeg::Decoder;
use gpufeed_testing::golden;

mod compare;
mod listed;

use compare::{Verdict, compare};
use listed::{AXES, Expected, Listed};

/// Files of the report that are described one by one.
const SHOWN: usize = 20;

#[test]
fn random_files_equal_pillow() {
    let Some(folder) = golden::folder("GPUFEED_JPEG_FILES") else { return };
    let files = listed::read(&folder);
    assert!(!files.is_empty(), "{} lists no file", folder.display());
    let mut verdicts = compare_all(&files);
    verdicts.sort_by_key(|(number, _)| *number);

    print_tables(&files, &verdicts);
    let wrong: Vec<_> = verdicts.iter().filter(|(_, verdict)| *verdict != Verdict::Right).collect();
    let (mut report, mut shown) = (String::new(), String::new());
    for (place, (number, verdict)) in wrong.iter().enumerate() {
        let what = match verdict {
            Verdict::Refused(reason) => format!("refused: {reason}"),
            Verdict::Different(what) => what.clone(),
            Verdict::Right => continue,
        };
        let file = files[*number].describe();
        writeln!(report, "{file}\n    {what}").unwrap();
        if place < SHOWN {
            // Scan scripts and tables can be long.
            writeln!(shown, "{}\n    {what}", file.chars().take(400).collect::<String>()).unwrap();
        }
    }
    let path = folder.join("wrong.txt");
    std::fs::write(&path, &report).unwrap();
    print!("{shown}");
    println!("{} files, {} right", files.len(), files.len() - wrong.len());
    assert!(wrong.is_empty(), "{} of {} files are wrong; {} has all of them", wrong.len(), files.len(), path.display());
}

/// What became of each file, in no order. A decoder serves many files, as in a worker.
fn compare_all(files: &[Listed]) -> Vec<(usize, Verdict)> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let (mut decoder, mut verdicts) = (Decoder::default(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(number) else { return verdicts };
            verdicts.push((number, compare(&mut decoder, file)));
        }
    };
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// For each value of each axis: files that are right, that differ, that are refused, and of which no pixels
/// are expected; then the reasons of refusals. A
/// file with two changed headers counts for both.
fn print_tables(files: &[Listed], verdicts: &[(usize, Verdict)]) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (axis, title) in AXES.iter().enumerate() {
        let mut rows: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
        for (number, verdict) in verdicts {
            let file = &files[*number];
            let values: BTreeSet<&str> = file.axes[axis].split('+').collect();
            for value in values {
                let row = rows.entry(value).or_default();
                match verdict {
                    Verdict::Right if matches!(file.expected, Expected::Any | Expected::Unfilled) => row[3] += 1,
                    Verdict::Right => row[0] += 1,
                    Verdict::Different(_) => row[1] += 1,
                    Verdict::Refused(_) => row[2] += 1,
                }
            }
        }
        println!("\n{title:36} {:>7} {:>10} {:>8} {:>15}", "right", "different", "refused", "not compared");
        // There are hundreds of samplings. Those with most that is wrong are enough.
        let mut rows: Vec<_> = rows.iter().collect();
        if *title == "sampling" {
            rows.sort_by_key(|(_, [_, different, refused, _])| Reverse(different + refused));
            rows.truncate(12);
        }
        for (value, [right, different, refused, any]) in rows {
            println!("{value:36} {right:7} {different:10} {refused:8} {any:15}");
        }
    }
    for (_, verdict) in verdicts {
        if let Verdict::Refused(reason) = verdict {
            *reasons.entry(reason.split(" (").next().unwrap_or_default()).or_default() += 1;
        }
    }
    println!();
    for (reason, count) in reasons {
        println!("refused {count:6}: {reason}");
    }
    println!();
}
