//! Several thousand JPEGs with one mistake each, the same in every run, keep the rules of
//! `crates/testing/src/jpeg_engine.rs`. The fuzz targets try more inputs.
//!
//! With GPUFEED_FUZZED set to a folder (crates/jpeg/fuzz/corpus/jpeg or fuzz/corpus/decode, as scripts/fuzz.sh leaves
//! them), every input in it is checked, too.

#![allow(clippy::print_stdout)] // the test prints the number of verdicts of each kind
#![allow(clippy::ptr_arg)] // all mutations have one type, including those that keep a file's length

use gpufeed_testing::counting;
use std::sync::Mutex;
use std::time::Duration;

use cpu_time::ThreadTime;
use gpufeed_testing::damaged::{other_files, whole_files};
use gpufeed_testing::dice::Dice;
use gpufeed_testing::jpeg_decode::check;
use gpufeed_testing::jpeg_engine::Verdict;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// Makes tests run one at a time, because the allocator counts for all threads.
static ALONE: Mutex<()> = Mutex::new(());

/// A limit of CPU time that no input reaches: some ten decodes of the largest image, of a million pixels, take a tenth
/// of it in a build without optimisation.
const LONG: Duration = Duration::from_secs(5);

/// Number of mutants made from each file.
const MUTANTS: usize = 4 * KINDS.len();

type Mutation = fn(&mut Vec<u8>, &mut Dice);

const KINDS: [(&str, Mutation); 7] = [
    ("a bit flipped", flip),
    ("a byte of the header replaced", header),
    ("cut", cut),
    ("a marker replaced", marker),
    ("a segment of another length", length),
    ("a stretch moved", stretch),
    ("another frame", frame),
];

fn flip(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = 3 + dice.below(bytes.len() - 3);
    bytes[at] ^= 1 << dice.below(8);
}

/// Returns the offsets of all markers, including those within the scan.
fn markers(bytes: &[u8]) -> Vec<usize> {
    (2..bytes.len() - 1).filter(|&at| bytes[at] == 0xFF && !matches!(bytes[at + 1], 0 | 0xFF)).collect()
}

fn header(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let scan = bytes.windows(2).position(|pair| pair == [0xFF, 0xDA]).unwrap() + 14;
    let at = 3 + dice.below(scan.min(bytes.len()) - 3);
    bytes[at] = dice.byte();
}

fn cut(bytes: &mut Vec<u8>, dice: &mut Dice) {
    bytes.truncate(4 + dice.below(bytes.len() - 4));
    if dice.below(2) == 0 {
        bytes.extend([0xFF, 0xD9]);
    }
}

fn marker(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let places = markers(bytes);
    let at = places[dice.below(places.len())] + 1;
    match dice.below(2) {
        // The marker changes places with another marker of the file.
        0 => bytes.swap(at, places[dice.below(places.len())] + 1),
        _ => bytes[at] = 0xC0 + dice.byte() % 0x40,
    }
}

fn length(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let places: Vec<usize> = markers(bytes).into_iter().filter(|&at| !matches!(bytes[at + 1], 0xD0..=0xD9)).collect();
    let at = places[dice.below(places.len())] + 2;
    let length = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let length = match dice.below(4) {
        0 => length.wrapping_add(1 + dice.below(4) as u16),
        1 => length.wrapping_sub(1 + dice.below(4) as u16),
        2 => dice.below(4) as u16,
        _ => u16::MAX - dice.below(4) as u16,
    };
    bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
}

/// Removes or doubles a range of bytes, or fills it with 0 or 0xFF.
fn stretch(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let from = 3 + dice.below(bytes.len() - 3);
    let end = from + 1 + dice.below((bytes.len() - from).min(40));
    match dice.below(4) {
        0 => drop(bytes.drain(from..end)),
        1 => bytes.splice(from..from, bytes[from..end].to_vec()).for_each(drop),
        2 => bytes[from..end].fill(0),
        _ => bytes[from..end].fill(0xFF),
    }
}

/// Changes the image's size, a component's sampling factors or tables, or the restart interval.
fn frame(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let find = |bytes: &[u8], marker| bytes.windows(2).position(|pair| pair == [0xFF, marker]);
    let sof = find(bytes, 0xC0).or(find(bytes, 0xC1)).or(find(bytes, 0xC2)).unwrap();
    let component = sof + 10 + 3 * dice.below(bytes[sof + 9].into());
    match dice.below(5) {
        0 => bytes[sof + 5 + dice.below(4)] = dice.byte(),
        1 => bytes[sof + 6 + 2 * dice.below(2)] ^= 1 << dice.below(8),
        2 => bytes[component + 1] = [0x11, 0x12, 0x21, 0x22, 0x41, 0x14, 0x42, 0x13, 0x44][dice.below(9)],
        3 => bytes[component + 2] = dice.byte() % 4,
        _ => match find(bytes, 0xDD) {
            Some(dri) => bytes[dri + 5] = dice.byte() % 16,
            None => bytes.splice(2..2, [0xFF, 0xDD, 0, 4, 0, 1 + dice.byte() % 16]).for_each(drop),
        },
    }
}

/// Returns the verdict, and the CPU time of all decodes of the input together.
fn timed(input: &[u8]) -> (Verdict, Duration) {
    let start = ThreadTime::now();
    let verdict = check(input);
    (verdict, start.elapsed())
}

#[test]
fn mutants_are_pixels_or_errors() {
    let _alone = ALONE.lock().unwrap();
    let (mut dice, mut verdicts) = (Dice(6), Vec::new());
    for file in whole_files().into_iter().chain(other_files().into_iter().map(|file| file.jpeg)) {
        for number in 0..MUTANTS {
            let (kind, mutate) = KINDS[number % KINDS.len()];
            let mut input = file.clone();
            mutate(&mut input, &mut dice);
            let mut control = [0; 24];
            control.fill_with(|| dice.byte());
            input.extend(control);
            let (verdict, took) = timed(&input);
            assert!(took < LONG, "{kind}: {took:?}");
            verdicts.push((kind, verdict));
        }
    }
    for (kind, _) in KINDS {
        let count = |verdict| verdicts.iter().filter(|&&(of, this)| of == kind && this == verdict).count();
        let counts = [Verdict::Other, Verdict::Header, Verdict::Declined, Verdict::Part, Verdict::Whole].map(count);
        println!("{kind}: [other, header, declined, part, whole] = {counts:?}");
        // A kind of mistake would test little if the header were always refused.
        assert!(counts[2] > 20 && counts[3] + counts[4] > 10, "{kind}: {counts:?}");
    }
}

#[test]
fn fuzzed_inputs_are_pixels_or_errors() {
    let Some(folder) = std::env::var_os("GPUFEED_FUZZED") else {
        println!("skipped: GPUFEED_FUZZED not set");
        return;
    };
    let _alone = ALONE.lock().unwrap();
    let mut slowest = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let input = std::fs::read(&path).unwrap();
        let (verdict, took) = timed(&input);
        assert!(took < LONG, "{}: {took:?}", path.display());
        slowest.push((took, verdict, input.len(), path));
    }
    println!("{} inputs", slowest.len());
    slowest.sort();
    for (took, verdict, bytes, path) in slowest.iter().rev().take(10) {
        println!("{took:?}, {bytes} bytes, {verdict:?}: {}", path.display());
    }
    assert!(!slowest.is_empty());
}
