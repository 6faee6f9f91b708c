//! The choices about the work on a GPU that a rule makes, set by hand: no one changes a bit of a batch.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use super::{Line, lines, misbehaving_with};
use gpufeed::internals::{Mock, SWITCHES, Switches, switched};
use gpufeed::transforms::Resize;
use gpufeed::{DataLoader, Dataset, Execute, Gpu, InMemory, Label, PixelFormat, Result, Sample, wgpu};
use gpufeed_testing::device::Device;
use gpufeed_testing::pipeline::{Seen, assert_same, loader_devices, seen};
use gpufeed_testing::watch::alone;
use std::time::Duration;

/// The device with the switch `text`; an error if it cannot do that.
fn with(gpu: Gpu, text: &str) -> Result<Gpu> {
    let mut switches = Switches::default();
    switches.set(text).unwrap();
    switched(gpu, &switches)
}

#[test]
fn no_switch_changes_a_bit() {
    alone(1200, "switches", || {
        for device in loader_devices() {
            let lines = lines();
            let whole = device.open(device.features());
            let expected: Vec<_> = lines.iter().map(|line| line.batches(&whole, Execute::Gpu).unwrap()).collect();
            for (name, values, _) in SWITCHES {
                for value in values.split('|') {
                    let text = format!("{name}={value}");
                    match with(device.open(device.features()), &text) {
                        Ok(gpu) => same(device, &text, &lines, &gpu, &expected),
                        Err(error) => println!("{}: {error}", device.name),
                    }
                }
            }
        }
    });
}

fn same(device: &Device, text: &str, lines: &[Line], gpu: &Gpu, expected: &[Vec<Seen>]) {
    for (line, expected) in lines.iter().zip(expected) {
        let what = format!("{}: {text}: {}", device.name, line.name);
        let found = line.batches(gpu, Execute::Gpu);
        assert_same(expected, &found.unwrap_or_else(|error| panic!("{what}: {error}")), &what);
    }
}

/// The number of samples, and of those in a batch.
const SAMPLES: u32 = 8;
const BATCH: usize = 4;

/// Large images that take a while to come.
struct Slow(InMemory);

impl Slow {
    /// No staging slot of 16 MiB has room for two of these images.
    fn new() -> Slow {
        let mut data = InMemory::new();
        for number in 0..SAMPLES {
            let bytes: Vec<u8> = (0..1500u32 * 1500 * 3).map(|i| ((i * (number + 3)) >> 7) as u8).collect();
            data.push_pixels(1500, 1500, PixelFormat::Rgb8, bytes, Label::Class(number)).unwrap();
        }
        Slow(data)
    }
}

impl Dataset for Slow {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&self.0)
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        std::thread::sleep(Duration::from_millis(30));
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }
}

/// Where the device has done its work before the next slot is full, two slots are one submission: fewer submissions, the
/// same batches, in place and copied.
#[test]
fn slots_are_merged_where_the_device_waits() {
    alone(300, "merged slots", || {
        for device in loader_devices() {
            let in_place = wgpu::Features::MAPPABLE_PRIMARY_BUFFERS;
            for features in [device.features(), device.features() - in_place] {
                let run = |text: &str| {
                    let (gpu, mock) = misbehaving_with(device, features, false, Mock::default());
                    let gpu = with(gpu, text).unwrap();
                    let loader = DataLoader::builder(Slow::new()).transform(Resize::new((64, 64))).batch_size(BATCH);
                    let loader =
                        loader.workers(1).slot_bytes(16 << 20).execute(Execute::Gpu).build(&gpu.into()).unwrap();
                    let before = mock.submissions.calls();
                    let batches = seen(loader.epochs(0..2).unwrap());
                    let slots = loader.stats().slots.slots;
                    assert_eq!((slots, loader.stats().cpu_fallback), (2 * u64::from(SAMPLES), 0), "{}", device.name);
                    // Reading a batch back is a submission, too.
                    let submissions = mock.submissions.calls() - before - batches.len() as u64;
                    (batches, submissions, slots)
                };
                let (expected, each, slots) = run("slots=1");
                assert_eq!(each, slots, "{}: each slot is a submission", device.name);
                let (found, merged, _) = run("slots=2");
                assert_same(&expected, &found, &device.name);
                assert!(merged < each && merged >= slots / 2, "{}: {merged} submissions of {slots} slots", device.name);
                println!("{}: {slots} slots in {each} submissions, merged in {merged}", device.name);
            }
        }
    });
}
