//! Each stage of the pipeline is made slow in turn: the statistics must name it as the bottleneck, on every backend
//! that has it, and predict the gain from one more worker. The slow stage takes at least ten times as long as the
//! others. Where other processes take the cores away, "unexplained" is a right answer, and the test measures again; to
//! name another resource is always wrong.

#![allow(clippy::print_stdout)]

use gpufeed::transforms::{CustomColor, RandomCrop};
use gpufeed::{
    Bottleneck, DataLoader, DataLoaderBuilder, Dataset, GpuClock, InMemory, Label, Resource, Result, Sample, Stage,
    Stats,
};
use gpufeed_testing::pipeline::{Place, encoded, picture, places, small_files, within};
use image::ImageFormat;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Makes tests run one at a time, because two pipelines would slow each other down.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A data set whose reads sleep for a set time.
#[derive(Debug)]
struct Slow(InMemory, Duration);

impl Dataset for Slow {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        std::thread::sleep(self.1);
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }
}

fn small(dataset: impl Dataset + 'static) -> DataLoaderBuilder {
    DataLoader::builder(dataset).transform(RandomCrop::new(24)).batch_size(4).workers(1).queue_depth(2)
}

/// Returns the statistics of about a second, after the pipeline's start; calls `step` after each batch.
fn steady(loader: &DataLoader, mut step: impl FnMut()) -> Stats {
    let mut batches = loader.epochs(0..u64::MAX).unwrap();
    for _ in 0..6 {
        batches.next().unwrap().unwrap();
        step();
    }
    let (before, start) = (loader.stats(), Instant::now());
    while start.elapsed() < Duration::from_millis(900) {
        batches.next().unwrap().unwrap();
        step();
    }
    loader.stats().since(&before)
}

/// Measures until the statistics name a bottleneck, at most nine times, and panics if it is not `wanted`.
fn check(place: &Place, wanted: Resource, mut look: impl FnMut() -> Stats) -> (Bottleneck, Stats) {
    let mut stats = look();
    for _ in 0..8 {
        if stats.bottleneck().resource.is_some() {
            break;
        }
        println!("{}: again, as {}", place.name, stats.bottleneck());
        stats = look();
    }
    let found = stats.bottleneck();
    assert_eq!(found.resource, Some(wanted), "{}: {found}\n{stats}\n{:#?}", place.name, stats.queues);
    let own = found.utilisation.iter().find(|(resource, _)| *resource == wanted).unwrap().1;
    assert!(own > 0.5, "{}: {:?}", place.name, found.utilisation);
    assert!(found.to_string().contains(&wanted.to_string()), "{found}");
    println!("{}: {found}", place.name);
    (found, stats)
}

#[test]
fn a_slow_disk() {
    let _alone = alone();
    for place in places() {
        let line = |workers| place.build(small(Slow(small_files(40), Duration::from_millis(6))).workers(workers));
        let (one, two) = (line(1), line(2));
        let mut off = f64::NAN;
        for _ in 0..4 {
            let (found, before) = check(place, Resource::Disk, || steady(&one, || ()));
            let change = found.change.unwrap();
            assert_eq!(change.what, "2 workers, whose waits overlap", "{}", place.name);
            let (_, after) = check(place, Resource::Disk, || steady(&two, || ()));
            let measured = after.images_per_second() / before.images_per_second();
            off = (1.0 + change.gain) / measured - 1.0;
            println!("{}: predicted {:.2}, measured {measured:.2}", place.name, 1.0 + change.gain);
            if off.abs() < 0.25 {
                break;
            }
        }
        assert!(off.abs() < 0.25, "{}: off by {off:.2}", place.name);
    }
}

#[test]
fn a_slow_decoder() {
    let _alone = alone();
    // A PNG is decoded whole, whatever the crop.
    let large = |number| (encoded(picture(number, 1600, 1200), ImageFormat::Png), Label::Class(number));
    let data: InMemory = (0..8).map(large).collect();
    for place in places() {
        let loader = place.build(small(data.clone()));
        let (found, _) = check(place, Resource::Cpu, || steady(&loader, || ()));
        assert!(found.reason.contains("decoding"), "{}: {found}", place.name);
    }
}

#[test]
fn a_throttled_upload() {
    let _alone = alone();
    for place in places().iter().skip(1) {
        let loader = place.build(small(small_files(40)));
        loader.delay(Stage::Submit, Duration::from_millis(5));
        check(place, Resource::Upload, || steady(&loader, || ()));
    }
}

#[test]
fn a_slow_kernel() {
    let _alone = alone();
    let wgsl = "
        fn slow(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> {
            var sum = color;
            for (var i = 0u; i < 60000u; i++) {
                sum = fract(sin(sum * 1.7 + vec3(0.1, 0.2, 0.3)) * 9.1);
                sum = fract(sin(sum * 1.3 + vec3(0.3, 0.1, 0.2)) * 7.3);
            }
            return sum;
        }
    ";
    let shaders = || places().iter().filter(|place| place.is_shaders());
    for place in shaders() {
        let step = CustomColor::new("slow", wgsl, |color: [f32; 3], _: [f32; 4]| color);
        let loader = place.build(small(small_files(40)).transform(step));
        let (_, stats) = check(place, Resource::Gpu, || steady(&loader, || ()));
        let gpufeed::Backend::Gpu(gpu) = &place.backend else { panic!("{} has no device", place.name) };
        let has_clock = gpu.device().features().contains(gpufeed::wgpu::Features::TIMESTAMP_QUERY);
        assert_eq!(stats.gpu.clock == GpuClock::Timestamps, has_clock, "{}: {:?}", place.name, stats.gpu);
        assert_eq!(stats.gpu.passes.len(), usize::from(has_clock), "{}: {:?}", place.name, stats.gpu);
    }
}

#[test]
fn a_slow_consumer() {
    let _alone = alone();
    for place in places() {
        let loader = place.build(small(small_files(40)));
        let look = || steady(&loader, || std::thread::sleep(Duration::from_millis(40)));
        let (found, stats) = check(place, Resource::Consumer, look);
        assert_eq!(found.change, None, "{}", place.name);
        assert!(stats.data_stall() < 0.1, "{}: {stats}", place.name);
    }
}

#[test]
fn nothing_has_run() {
    let loader = small(small_files(8)).build(&gpufeed::Backend::Cpu).unwrap();
    let found = loader.stats().bottleneck();
    assert_eq!((found.resource, found.to_string().as_str()), (None, "unexplained: nothing has run yet"));
}

/// With several views, every stage counts each view as an image.
#[test]
fn views_are_images() {
    let _alone = alone();
    for place in places() {
        let loader = place.build(small(small_files(12)).views(3));
        loader.epoch(0).unwrap().for_each(|batch| drop(batch.unwrap()));
        let stats = loader.stats();
        let items: Vec<u64> = stats.stages.iter().map(|stage| stage.items).filter(|items| *items > 0).collect();
        // The last stage is left out, because its last batch is still with the consumer when the run ends.
        assert!(
            stats.images == 36 && items[..items.len() - 1].iter().all(|items| *items == 36),
            "{}: {stats}\n{items:?}",
            place.name
        );
    }
}

/// Every image and byte is counted, and the workers' busy and waiting times add up to those of the run. With fewer
/// epochs the start of the threads would be a gap as long as their work.
#[test]
fn the_books_balance() {
    const EPOCHS: u64 = 30;
    let _alone = alone();
    for place in places() {
        let samples = 40;
        let data = small_files(samples);
        let bytes: usize = {
            let mut buffer = Vec::new();
            let of = |index| match data.read(index, &mut buffer).unwrap().data {
                gpufeed::SampleData::Encoded(bytes) => bytes.len(),
                gpufeed::SampleData::Pixels(_) => 0,
            };
            (0..samples as usize).map(of).sum()
        };
        let loader = place.build(small(data).workers(2));
        let stats = within(60, &place.name, move || {
            loader.epochs(0..EPOCHS).unwrap().for_each(|batch| drop(batch.unwrap()));
            loader.stats()
        });
        let images = EPOCHS * u64::from(samples);
        let at = format!("{}: {stats}", place.name);
        assert_eq!((stats.images, stats.batches, stats.failed), (images, images / 4, 0), "{at}");
        assert_eq!((stats.bytes_read, stats.latency.batches), (EPOCHS * bytes as u64, images / 4), "{at}");
        assert_eq!(stats.bytes_written, images * 24 * 24 * 3 * 4, "{at}");
        let items = |stage| stats.stages.iter().find(|stats| stats.stage == stage).unwrap().items;
        let on_cpu = !place.is_shaders();
        assert_eq!((items(Stage::Read), items(Stage::Decode)), (images, images), "{at}");
        assert_eq!((items(Stage::Augment) == images, items(Stage::Copy) == images), (on_cpu, !on_cpu), "{at}");
        let up = if matches!(place.backend, gpufeed::Backend::Gpu(_)) { images } else { 0 };
        assert_eq!(items(Stage::Submit), up, "{at}");
        assert_eq!(stats.bytes_uploaded > 0, up > 0, "{at}");
        assert!(stats.cpu > Duration::ZERO && stats.latency.p50 <= stats.latency.max, "{at}");
        let workers = stats.pools.iter().find(|pool| pool.name == "workers").unwrap();
        let (sum, most) = (workers.busy + workers.starved + workers.blocked, 2 * stats.running);
        assert!(sum <= most.mul_f64(1.01) && sum > most.mul_f64(0.5), "{at}: {sum:?} of {most:?}");
    }
}
