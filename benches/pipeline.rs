//! Measures the whole pipeline on real files, in the way that comparisons with other loaders need: one warm-up epoch,
//! then whole epochs for at least `--min-seconds` seconds. Prints one line `RESULT {json}`.
//!
//! The benchmark does not measure a cold disk. A training step, which it does not run, would compete for the cores and
//! change the rate.
//!
//! `cargo bench --bench pipeline -- --data FOLDER --recipe imagenet-train --workers 2 --batch 64 --backend cpu`

#![allow(clippy::print_stdout)]

mod resident;

use clap::Parser;
use cpu_time::ProcessTime;
use gpufeed::decode::{Orientation, SeekIndexes};
use gpufeed::{Backend, DataLoader, DataLoaderBuilder, Dataset, Execute, ImageFolder, Recipe, recipe};
use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

/// The most batches that the loader has ready. With recipe E the benchmark also holds this many batches at a time, so
/// that the loader must use several output buffers in turn.
const QUEUE_DEPTH: usize = 2;

/// The command line arguments of the benchmark.
#[derive(Parser)]
struct Arguments {
    /// The name of a built-in recipe, a TOML file, or one of the letters A to E. E augments pixels in memory; the
    /// warm-up epoch compares them with the reference.
    #[arg(long, default_value = "A")]
    recipe: String,
    #[arg(long, default_value_t = 2)]
    workers: usize,
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// The data set: a folder with one subfolder for each class.
    #[arg(long)]
    data: String,
    #[arg(long, default_value_t = 6.0)]
    min_seconds: f64,
    /// `cpu`, `auto`, or the number or name of a GPU adapter.
    #[arg(long, default_value = "cpu")]
    backend: String,
    /// Measures only first epochs. Each has a new loader, which has no seek index and builds one.
    #[arg(long)]
    first_epoch: bool,
    /// Forces the shaders even on a software adapter.
    #[arg(long)]
    force_gpu: bool,
    /// The flag that `cargo bench` passes to every benchmark; ignored.
    #[arg(long, hide = true)]
    bench: bool,
}

fn chosen(name: &str) -> gpufeed::Result<Recipe> {
    match name {
        "A" => recipe::named("imagenet-train"),
        "B" => recipe::named("resize-crop-256"),
        "C" => recipe::named("resize-crop-224"),
        "D" => recipe::named("resize-jitter-gray"),
        "E" => recipe::named("augment-only"),
        name => recipe::load(name),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let backend = match arguments.backend.as_str() {
        "cpu" => Backend::Cpu,
        "auto" => Backend::auto()?,
        name => Backend::gpu(name)?,
    };
    let resident = arguments.recipe == "E";
    let dataset: Arc<dyn Dataset> = if resident {
        Arc::new(resident::open(&arguments.data)?)
    } else {
        Arc::new(ImageFolder::open(&arguments.data)?)
    };
    let builder = DataLoader::builder(Arc::clone(&dataset))
        .recipe(chosen(&arguments.recipe)?)
        .batch_size(arguments.batch)
        .workers(arguments.workers)
        .shuffle(true)
        .queue_depth(QUEUE_DEPTH)
        // torchvision also ignores the EXIF orientation.
        .exif(Orientation::Ignore)
        // Keeps the seek indexes in memory, so that no file is written into the data's folder.
        .seek_indexes(SeekIndexes::Memory)
        .execute(if arguments.force_gpu { Execute::Gpu } else { Execute::Auto });
    if arguments.first_epoch {
        return first_epochs(&builder, &backend, arguments.min_seconds);
    }
    let loader = builder.build(&backend)?;
    println!("{backend}\n{}", loader.explain());
    let mut check = resident::Check::default();
    for batch in loader.epoch(0)? {
        let batch = batch?;
        if resident {
            check.images(&dataset, &batch)?;
        }
    }
    let mut held = VecDeque::with_capacity(QUEUE_DEPTH);
    let (start, cpu) = (Instant::now(), ProcessTime::now());
    let (mut images, mut epoch) = (0, 1);
    while epoch < 3 || start.elapsed().as_secs_f64() < arguments.min_seconds {
        for batch in loader.epoch(epoch)? {
            let batch = batch?;
            images += batch.len();
            if resident {
                check.buffer(&batch);
                held.truncate(QUEUE_DEPTH - 1);
                held.push_front(batch);
            }
        }
        epoch += 1;
    }
    // Waits for the GPU, which may not have finished the last submission.
    if let Backend::Gpu(gpu) = &backend {
        gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
    }
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    println!("{}", loader.stats());
    if resident {
        println!("{}", check.finish(&loader, QUEUE_DEPTH));
    }
    report(images, wall, cpu);
    Ok(())
}

/// Prints the line that the comparison scripts read.
fn report(images: usize, wall: f64, cpu: f64) {
    println!(
        "RESULT {{\"images_per_s\": {:.1}, \"cpu_ms_per_image\": {:.4}, \"cores_used\": {:.3}, \"images\": {images}}}",
        images as f64 / wall,
        1e3 * cpu / images as f64,
        cpu / wall
    );
}

/// Measures first epochs, each with a new loader. The time to build the loader is included.
fn first_epochs(builder: &DataLoaderBuilder, backend: &Backend, seconds: f64) -> Result<(), Box<dyn Error>> {
    let (start, cpu, mut images) = (Instant::now(), ProcessTime::now(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        for batch in builder.clone().build(backend)?.epoch(0)? {
            images += batch?.len();
        }
    }
    report(images, start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    Ok(())
}
