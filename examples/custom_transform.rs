//! Defines a custom colour step, which is fused like the built-in ones: a WGSL function for the GPU, an equal Rust
//! function for the CPU, and a closure that draws each image's parameters. The example runs both and prints by how much
//! they differ.
//!
//! `cargo run --release --example custom_transform`

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod procedural;

use gpufeed::transforms::{CustomColor, Normalize, Op, RandomHorizontalFlip, RandomResizedCrop};
use gpufeed::{Backend, DataLoader, Execute, Gpu, ImageFolder};
use std::{error::Error, path::Path};

fn main() {
    if let Err(error) = run() {
        eprintln!("custom_transform: {error}");
        std::process::exit(1);
    }
}

/// Returns a split-toning step: dark colours move towards one colour, light ones towards the opposite colour.
fn split_tone() -> CustomColor {
    // The parameters are the strength, and the shift of dark colours in red, green and blue. Colours arrive in [0, 1],
    // and the step itself must clamp its result. Helper functions and constants may have any name.
    let wgsl = "
        fn luminance(color: vec3<f32>) -> f32 {
            return dot(color, vec3(0.299, 0.587, 0.114));
        }

        fn split_tone(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> {
            let shadow = 1.0 - 2.0 * luminance(color);
            return clamp(color + parameters.x * shadow * parameters.yzw, vec3(0.0), vec3(1.0));
        }
    ";
    // The Rust function computes the same as the WGSL; the CPU executor compiles it into its loop over rows.
    let native = |color: [f32; 3], [amount, r, g, b]: [f32; 4]| {
        let shadow = 1.0 - 2.0 * (color[0] * 0.299 + color[1] * 0.587 + color[2] * 0.114);
        let [cr, cg, cb] = color;
        [cr + amount * shadow * r, cg + amount * shadow * g, cb + amount * shadow * b]
            .map(|value| value.clamp(0.0, 1.0))
    };
    // Random numbers come from the generator that the closure gets, so they are the same on every machine.
    CustomColor::new("split_tone", wgsl, native).draw(|numbers| {
        let amount = numbers.uniform(0.1, 0.4) as f32;
        let mut shift = || numbers.uniform(-1.0, 1.0) as f32;
        let parameters = [amount, shift(), shift(), shift()];
        numbers.chance(0.75).then_some(parameters) // a quarter of the images stays as it is
    })
}

fn loader(folder: &Path, backend: &Backend, execute: Execute) -> gpufeed::Result<DataLoader> {
    DataLoader::builder(ImageFolder::open(folder)?)
        .transform(RandomResizedCrop::new(96))
        .transform(RandomHorizontalFlip::new(0.5))
        .transform(split_tone())
        .transform(Normalize::IMAGENET)
        .batch_size(8)
        .shuffle(true)
        .seed(7)
        .execute(execute)
        .build(backend) // a snippet that does not compile is reported here, with its line, on the CPU too
}

fn run() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder = procedural::write(temporary.path(), 4)?;
    let on_cpu = loader(&folder, &Backend::Cpu, Execute::Cpu)?;
    println!("{}", on_cpu.plan());

    let batch = on_cpu.epoch(0)?.next().ok_or("no batch")??;
    for (id, params) in batch.ids().iter().zip(batch.params()) {
        let parameters = params.ops.iter().find_map(|params| match params.op {
            Op::Custom { parameters } => Some(parameters),
            _ => None,
        });
        match parameters {
            Some([amount, r, g, b]) => println!("sample {id:2}: {amount:.2} of ({r:+.2}, {g:+.2}, {b:+.2})"),
            None => println!("sample {id:2}: left as it is"),
        }
    }

    if Gpu::adapters().is_empty() {
        println!("no adapter: nothing to compare the native function with");
        return Ok(());
    }
    // Any adapter is enough here, also a software one, because `Execute::Gpu` runs the shaders on it.
    let on_gpu = loader(&folder, &Backend::gpu("0")?, Execute::Gpu)?;
    let mut largest = 0.0f32;
    for (ours, theirs) in on_cpu.epoch(0)?.zip(on_gpu.epoch(0)?) {
        let (ours, theirs) = (ours?.to_host_f32()?, theirs?.to_host_f32()?);
        largest = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(largest, f32::max);
    }
    println!("largest difference between the CPU and {}: {largest:.1e}", on_gpu.backend());
    Ok(())
}
