//! The whole line on real files, in the shape that a comparison with other loaders asks for: a warm-up epoch, then whole
//! epochs until enough seconds have passed; prints one line `RESULT {json}`.
//!
//! It does not measure a cold disk, and a training step that competes for the cores would change it.
//!
//! `cargo bench --bench line -- --data FOLDER --recipe imagenet-train --workers 2 --batch 64 --backend cpu`

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

/// Ready batches at the most; recipe E also holds as many back, so that the output buffers take turns.
const QUEUE_DEPTH: usize = 2;

/// What to measure.
#[derive(Parser)]
struct Arguments {
    /// A recipe of the crate, a TOML file, or one of the letters A to E (E: pixels in memory, compared with the
    /// reference first).
    #[arg(long, default_value = "A")]
    recipe: String,
    #[arg(long, default_value_t = 2)]
    workers: usize,
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// A folder of class folders.
    #[arg(long)]
    data: String,
    #[arg(long, default_value_t = 6.0)]
    min_seconds: f64,
    /// `cpu`, `auto`, or an adapter's number or name.
    #[arg(long, default_value = "cpu")]
    backend: String,
    /// Measures first epochs alone: each with a new loader, without any seek index, which it builds.
    #[arg(long)]
    first_epoch: bool,
    /// Forces the shaders even on a software adapter.
    #[arg(long)]
    force_gpu: bool,
    /// What `cargo bench` passes on.
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
        // As torchvision decodes.
        .exif(Orientation::Ignore)
        // The data's folder stays as it is.
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
    // A GPU may still be at work on what was submitted last.
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

/// The line that a comparison reads.
fn report(images: usize, wall: f64, cpu: f64) {
    println!(
        "RESULT {{\"images_per_s\": {:.1}, \"cpu_ms_per_image\": {:.4}, \"cores_used\": {:.3}, \"images\": {images}}}",
        images as f64 / wall,
        1e3 * cpu / images as f64,
        cpu / wall
    );
}

/// A loader's making counts, too.
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
