//! Tests that a resumed run continues exactly where it stopped, that the model learns, that a wrong checkpoint is
//! refused, and that the data stall is the time spent waiting.
//!
//! The tests use Burn's flex backend and a small data set in memory.

use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{Device, Int, Tensor};
use clap::Parser;
use gpufeed::{Backend, Dataset, InMemory, Label, PixelFormat, Sample};
use gpufeed_trainer::data::Data;
use gpufeed_trainer::history::EpochResults;
use gpufeed_trainer::options::Options;
use gpufeed_trainer::progress::Display;
use gpufeed_trainer::{Summary, checkpoint, optimizer};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Serialises the tests, because flex has one random number generator for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const SIDE: u32 = 20;
const CLASSES: [&str; 4] = ["across", "down", "falling", "rising"];

/// Draws images of stripes in four directions, which are the classes, with added noise.
fn stripes(count: u32, salt: u32) -> InMemory {
    let mut data = InMemory::new().with_classes(CLASSES);
    for number in 0..count {
        let class = number % 4;
        let noise = |i: u32| (i + 1).wrapping_mul(salt * 7919 + number * 104_729 + 1).wrapping_mul(0x9e37_79b1) >> 26;
        let pixels = (0..SIDE * SIDE * 3).map(|i| {
            let (x, y) = (i / 3 % SIDE, i / 3 / SIDE);
            let along = [y, x, x + y, x + SIDE - y][class as usize];
            (along / 3 % 2 * 120 + noise(i)) as u8
        });
        data.push_pixels(SIDE, SIDE, PixelFormat::Rgb8, pixels.collect::<Vec<_>>(), Label::Class(class)).unwrap();
    }
    data
}

/// Returns a data set of 52 training images: with batches of 8, an epoch has 6 steps.
fn small() -> Data {
    Data::new(stripes(52, 1), stripes(20, 2)).unwrap()
}

fn options(out: &Path, more: &[&str]) -> Options {
    let fixed = "train --size 16 --width 4 --batch-size 8 --epochs 3 --warmup 0.5 --log-every 4 --workers 2 --out";
    let out = out.to_str().unwrap();
    Options::parse_from(fixed.split(' ').chain([out]).chain(more.iter().copied()))
}

fn train(options: &Options, data: &Data) -> Result<Summary, String> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let place = (Backend::Cpu, Device::flex());
    gpufeed_trainer::run_on(options, data, place, Display::new(true), &AtomicBool::new(false))
        .map_err(|error| error.to_string())
}

/// Returns the trace of a run in several `parts`, and its rows without their times.
fn traced(out: &Path, parts: &[&[&str]]) -> (Vec<String>, Vec<EpochResults>) {
    let trace = out.join("trace.jsonl");
    let mut rows = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let mut more = vec!["--trace", trace.to_str().unwrap()];
        more.extend(*part);
        let summary = train(&options(out, &more), &small()).unwrap();
        assert_eq!(summary.stopped, number + 1 < parts.len());
        rows = summary.rows;
    }
    rows.iter_mut().for_each(|row| row.time = Default::default());
    (std::fs::read_to_string(trace).unwrap().lines().map(str::to_owned).collect(), rows)
}

#[test]
fn a_run_stopped_twice_and_resumed_is_the_uninterrupted_one() {
    for optimizer in ["adam", "sgd"] {
        let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (lines, rows) = traced(whole.path(), &[&["--optimizer", optimizer]]);
        assert_eq!(lines.len(), 18);
        assert_eq!(rows.len(), 3);
        assert!(rows[2].train.loss < rows[0].train.loss, "{rows:?}");

        // Stops within an epoch, after step 8, then at the last step of an epoch, step 12.
        let same = ["--optimizer", optimizer];
        let first = [&same[..], &["--stop-after", "8"]].concat();
        let second = [&same[..], &["--resume", "--stop-after", "4"]].concat();
        let third = [&same[..], &["--resume"]].concat();
        let (resumed_lines, resumed_rows) = traced(parts.path(), &[&first, &second, &third]);
        assert_eq!(lines, resumed_lines);
        assert_eq!(rows, resumed_rows);
    }
}

/// A data set that calls `each` before each read.
struct Before<F> {
    data: InMemory,
    each: F,
}

impl<F: Fn() + Send + Sync> Dataset for Before<F> {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> gpufeed::Result<Sample<'a>> {
        (self.each)();
        self.data.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.data.name(index)
    }

    fn classes(&self) -> &[String] {
        self.data.classes()
    }
}

#[test]
fn a_run_that_breaks_off_goes_on_from_its_last_checkpoint() {
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (lines, _) = traced(whole.path(), &[&[]]);
    // An epoch has 6 steps. Reading fails after the images of the first 11 steps; one worker reads them in order.
    let reads = AtomicUsize::new(0);
    let each = move || assert!(reads.fetch_add(1, Ordering::Relaxed) < 11 * 8, "broken on purpose");
    let data = Data::new(Before { data: stripes(52, 1), each }, stripes(20, 2)).unwrap();
    let error = train(&options(parts.path(), &["--checkpoint-every", "5", "--workers", "1"]), &data).unwrap_err();
    assert!(error.contains("broken on purpose"), "{error}");
    // The resumed run continues at step 10, the step of the last checkpoint, not at step 6, where an epoch ended, or at
    // step 11.
    let (rest, _) = traced(parts.path(), &[&["--resume"]]);
    assert_eq!(lines[10..], rest);
}

/// A run without `--resume` does not overwrite an unfinished run.
#[test]
fn an_unfinished_run_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    train(&options(folder.path(), &["--stop-after", "8"]), &small()).unwrap();
    let error = train(&options(folder.path(), &[]), &small()).unwrap_err();
    assert!(error.contains("epoch 2") && error.contains("--resume") && error.contains("--out"), "{error}");
    train(&options(folder.path(), &["--resume"]), &small()).unwrap();
    train(&options(folder.path(), &["--stop-after", "1"]), &small()).unwrap();
}

#[test]
fn the_seed_decides_everything() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, again, other] =
        [(0, "5", "1"), (1, "5", "2"), (2, "6", "1")].map(|(folder, seed, workers): (usize, &str, &str)| {
            traced(folders[folder].path(), &[&["--seed", seed, "--workers", workers]])
        });
    assert_eq!(first, again);
    assert_ne!(first.1, other.1);
}

#[test]
fn a_checkpoint_of_another_run_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let resume = |more: &[&str], data: &Data| {
        let more = [&["--resume"], more].concat();
        train(&options(out, &more), data).unwrap_err()
    };
    let missing = resume(&[], &small());
    assert!(missing.contains("there is no checkpoint") && missing.contains("--out"), "{missing}");

    train(&options(out, &["--stop-after", "2"]), &small()).unwrap();
    for (more, name) in [
        (&["--batch-size", "4"][..], "--batch-size was 8, is 4"),
        (&["--seed", "9"], "--seed was 0, is 9"),
        (&["--model", "linear"], "--model was \"cnn\", is \"linear\""),
        (&["--lr", "0.5"], "--lr was \"0.003\", is \"0.5\""),
        (&["--set-seed", "1"], "--set-seed was 0, is 1"),
    ] {
        let error = resume(more, &small());
        assert!(error.contains(name), "{error}");
    }
    let fewer = Data::new(stripes(48, 1), stripes(20, 2)).unwrap();
    assert!(resume(&[], &fewer).contains("--data (its training images) was 52, is 48"));
    let fewer = Data::new(stripes(52, 1), stripes(16, 2)).unwrap();
    assert!(resume(&[], &fewer).contains("--data (its validation images) was 20, is 16"));

    let path = checkpoint::path(out);
    let bytes = std::fs::read(&path).unwrap();
    let (head, tail) = (bytes[..20].to_vec(), bytes[..bytes.len() - 1].to_vec());
    for broken in [Vec::new(), head, tail, b"{}\n".to_vec()] {
        std::fs::write(&path, broken).unwrap();
        let error = resume(&[], &small());
        assert!(error.contains("is no whole checkpoint") && error.contains("delete it"), "{error}");
    }
    std::fs::write(&path, bytes).unwrap();
    train(&options(out, &["--resume", "--stop-after", "1"]), &small()).unwrap();
}

#[test]
fn data_stall_is_the_share_of_waiting() {
    let pause = Duration::from_millis(5);
    let run = |pause: Duration, model: &str| {
        let out = tempfile::tempdir().unwrap();
        let slow = Before { data: stripes(52, 1), each: move || std::thread::sleep(pause) };
        let data = Data::new(slow, stripes(20, 2)).unwrap();
        let options = options(out.path(), &["--workers", "1", "--epochs", "1", "--model", model]);
        train(&options, &data).unwrap().rows[0].time
    };
    // One worker takes 5 ms for each of 48 images, and a linear model almost no time for a batch.
    let slow = run(pause, "linear");
    assert!(slow.whole >= pause * 48, "{slow:?}");
    assert!((60.0..=100.0).contains(&slow.stall()), "{slow:?}");
    // The time that is not waiting is the model's own.
    assert!(slow.whole - slow.waiting < pause * 24, "{slow:?}");
    let fast = run(Duration::ZERO, "cnn");
    assert!(fast.stall() < 0.6 * slow.stall(), "{fast:?} {slow:?}");
    assert!(fast.handing > Duration::ZERO && fast.hand_over() < 50.0, "{fast:?}");
}

#[test]
fn a_folder_is_split_by_class_and_seed() {
    let folder = tempfile::tempdir().unwrap();
    for (class, count) in [("a", 10), ("b", 5), ("c", 2)] {
        let class = folder.path().join(class);
        std::fs::create_dir(&class).unwrap();
        (0..count).for_each(|number| std::fs::write(class.join(format!("{number}.jpg")), b"not read").unwrap());
    }
    let split = |seed: &str| {
        let data = ["train", "--val-share", "0.2", "--seed", seed, "--data", folder.path().to_str().unwrap()];
        let data = Data::open(&Options::parse_from(data)).unwrap();
        let ids = |set: &dyn Dataset| (0..set.len()).map(|index| set.id(index)).collect::<Vec<_>>();
        (ids(&*data.train), ids(&*data.val))
    };
    let (train, val) = split("1");
    let of_class =
        |ids: &[u64]| [0..10, 10..15, 15..17].map(|class| ids.iter().filter(|id| class.contains(*id)).count());
    assert_eq!(of_class(&train), [8, 4, 1]);
    assert_eq!(of_class(&val), [2, 1, 1]);
    let refused = |share: &str| {
        let data = ["train", "--val-share", share, "--data", folder.path().to_str().unwrap()];
        Data::open(&Options::parse_from(data)).err().map(|error| error.to_string())
    };
    // With any share, at least one image of each class is left for training.
    assert_eq!(refused("0.99"), None);
    std::fs::remove_file(folder.path().join("c/1.jpg")).unwrap();
    assert!(refused("0.2").unwrap().contains("c has 1 image"));
    std::fs::write(folder.path().join("c/1.jpg"), b"not read").unwrap();
    // A folder with `train` and `test` is refused, because they are not classes.
    std::fs::create_dir(folder.path().join("train")).unwrap();
    assert!(refused("0.2").unwrap().contains("no val"));
    std::fs::remove_dir(folder.path().join("train")).unwrap();

    let mut all = [train.clone(), val.clone()].concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..17));
    assert_eq!(split("1"), (train.clone(), val));
    assert_ne!(split("2").0, train);
}

#[test]
fn data_of_other_formats_is_taken_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    // Each part has two gray images of 2x1 pixels with the classes 7 and 2, in MNIST's format. The folder's name says
    // that the files are MNIST's.
    let digits = folder.path().join("MNIST");
    std::fs::create_dir(&digits).unwrap();
    for stem in ["train", "t10k"] {
        let file = |kind: &str| digits.join(format!("{stem}-{kind}-ubyte"));
        let images = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20, 30, 40];
        std::fs::write(file("images-idx3"), images).unwrap();
        std::fs::write(file("labels-idx1"), [0, 0, 8, 1, 0, 0, 0, 2, 7, 2]).unwrap();
    }
    let open = |path: &std::path::Path, share: &str| {
        let data = ["train", "--val-share", share, "--data", path.to_str().unwrap()];
        Data::open(&Options::parse_from(data))
    };
    let mnist = open(&digits, "0.2").unwrap();
    assert_eq!((mnist.train.len(), mnist.val.len(), mnist.train.channels()), (2, 2, 1));
    assert_eq!(mnist.train.classes()[7], "7 - seven");

    // Classes without names are named by their numbers. A data set without parts is split.
    let list = folder.path().join("list.csv");
    std::fs::write(&list, "path,label\n1.jpg,0\n2.jpg,1\n3.jpg,2\n4.jpg,1\n").unwrap();
    (1..5).for_each(|number| std::fs::write(folder.path().join(format!("{number}.jpg")), b"not decoded").unwrap());
    let data = open(&list, "0.25").unwrap();
    assert_eq!((data.train.len(), data.val.len()), (3, 1));
    assert!(data.train.classes() == ["0", "1", "2"] && data.val.classes() == ["0", "1", "2"]);
    assert!(open(&folder.path().join("nothing.npz"), "0.2").err().unwrap().to_string().contains("nothing.npz"));
}

#[test]
fn the_set_of_shapes_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["train", "--set-train", "2", "--set-val", "1", "--set-folder", folder.path().to_str().unwrap()];
    let open = || Data::open(&Options::parse_from(options));
    let data = open().unwrap();
    assert_eq!((data.train.len(), data.val.len()), (20, 10));
    let names = || std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(names().len(), 1);
    // The second call uses the existing set, and notices a file that was deleted meanwhile.
    let written = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let first = written(&names()[0].join("train/ring/0001.jpg"));
    open().unwrap();
    assert_eq!(written(&names()[0].join("train/ring/0001.jpg")), first);
    std::fs::remove_file(names()[0].join("train/ring/0001.jpg")).unwrap();
    let error = open().err().unwrap().to_string();
    assert!(error.contains("19 images of 20") && error.contains("delete it"), "{error}");
}

#[test]
fn smoothed_labels_give_the_loss_of_the_formula() {
    let (logits, classes, smoothing) = ([[2.0f32, -1.0, 0.5], [0.0, 3.0, -2.0]], [0, 2], 0.1);
    let expected = logits.iter().zip(classes).map(|(row, class)| {
        let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
        let of = |c: usize| f64::from(row[c]) - sum.ln();
        -(0.9 * of(class as usize) + 0.1 / 3.0 * (0..3).map(of).sum::<f64>()) / 2.0
    });
    let device = Device::flex();
    let loss = CrossEntropyLossConfig::new().with_smoothing(Some(smoothing)).init(&device);
    let loss = loss.forward(Tensor::from_data(logits, &device), Tensor::<1, Int>::from_data(classes, &device));
    let difference = f64::from(loss.into_scalar::<f32>()) - expected.sum::<f64>();
    assert!(difference.abs() < 1e-6, "{difference}");
}

#[test]
fn the_learning_rate_rises_and_falls() {
    let rates: Vec<f64> = (0..20).map(|step| optimizer::learning_rate(0.5, 4.0, step, 20)).collect();
    assert_eq!(rates[..5], [0.125, 0.25, 0.375, 0.5, 0.5]);
    assert!(rates[4..].is_sorted_by(|a, b| a > b), "{rates:?}");
    assert!((rates[12] - 0.25).abs() < 1e-12 && rates[19] < 0.01, "{rates:?}");
    assert_eq!(optimizer::learning_rate(0.5, 0.0, 0, 20), 0.5);
}
