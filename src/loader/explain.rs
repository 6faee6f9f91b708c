//! The description of a loader, for people.

use super::DataLoader;
use super::cache::CacheStore;
use super::group::Group;
use super::mosaic::LoaderMosaic;
use super::pipeline::Pipeline;
use crate::dataset::Field;
use crate::launcher::Shard;
use crate::plan::{Arrangement, normalized_twice};
use crate::transforms::{BatchTransform, Transform};

const MIB: u64 = 1 << 20;

impl DataLoader {
    /// Describes the plan with its passes, the executor, the batches, and the memory of a run; known before any run.
    pub fn explain(&self) -> String {
        let pipeline = &*self.pipeline;
        let scaled = if pipeline.settings.scaled_decode {
            "JPEGs at 1/2, 1/4 or 1/8 where the first stage reduces them by as much; pixels differ from those at full size"
        } else {
            "off"
        };
        let several = pipeline.groups.len() > 1;
        let mut plans = String::new();
        for (group, recipe) in pipeline.groups.iter().zip(&self.recipes) {
            if several {
                let (name, views, (width, height)) = (&group.name, group.views(), group.size);
                let noun = if views == 1 { "view" } else { "views" };
                let of = pipeline.sources[group.source]
                    .name()
                    .map_or_else(String::new, |name| format!(" of field {name:?}"));
                let followed = group.follows.map(|followed| &pipeline.groups[followed].name);
                let follows = followed.map_or_else(String::new, |name| format!(", as {name:?}"));
                plans += &format!("group {name}: {views} {noun} of {width}x{height}{of}{follows}\n");
            }
            let (plan, _) = group.split.plan_for_kernels();
            plans += &format!("{plan}{}{}", arrangement(group), twice(&recipe.transforms));
        }
        let views = match (several, pipeline.first().views(), pipeline.first().plan().crops()) {
            (true, ..) => format!(" with {} images each", pipeline.outputs),
            (false, 1, 1) => String::new(),
            (false, views, 1) => format!(" with {views} views each"),
            (false, 1, crops) => format!(" with {crops} crops each"),
            (false, views, crops) => format!(" with {views} views of {crops} crops each"),
        };
        let an_image: Vec<_> = pipeline.groups.iter().map(|group| group.image_bytes().to_string()).collect();
        format!(
            "{plans}{}runs on: {}\n{}{}{}cache: {}\nscaled decode: {scaled}\nseek indexes: {}\norder: {}\n{}{}{} samples, {} batches of {}{views}, {} workers, {} ready batches at most\nout: {} bytes an image, {:.1} MiB a batch\n{}",
            mosaic(pipeline) + &mixing(pipeline),
            pipeline.execution.executor().describe(),
            shaders(pipeline),
            pipeline.remote.describe(),
            shard(pipeline),
            cache(pipeline),
            pipeline.decoder.seek_indexes(),
            pipeline.sampler.describe(),
            data(pipeline),
            fields(pipeline),
            pipeline.dataset.len(),
            self.len(),
            pipeline.settings.batch_size,
            pipeline.workers,
            pipeline.settings.queue_depth,
            an_image.join(" and "),
            pipeline.batch_bytes as f64 / MIB as f64,
            self.budget
        )
    }
}

/// The line of images whose sizes differ; nothing where all have one.
fn arrangement(group: &Group) -> String {
    let (width, height) = group.size;
    match group.arrangement {
        Arrangement::Uniform => String::new(),
        Arrangement::Padded { multiple_of, .. } => {
            format!(
                "sizes differ: padded to the largest of a batch, in multiples of {multiple_of}, at most {width}x{height}\n"
            )
        }
        Arrangement::Listed { .. } => format!("sizes differ: each image by itself, at most {width}x{height}\n"),
    }
}

/// The line of a list with two `Normalize`; nothing for others.
fn twice(transforms: &[Transform]) -> String {
    let line =
        |(first, second)| format!("warning: Normalize at {first} and at {second}: images are normalised by both\n");
    normalized_twice(transforms).map(line).unwrap_or_default()
}

/// The line of a mosaic; nothing without one.
fn mosaic(pipeline: &Pipeline) -> String {
    let line = |LoaderMosaic { mosaic, .. }: &LoaderMosaic| {
        let (size, (width, height)) = (mosaic.size, mosaic.canvas());
        format!(
            "mosaic: images of four samples, each of up to {size} pixels a side, on {width}x{height}; the list gets what it reads of it\n"
        )
    };
    pipeline.mosaic.as_ref().map(line).unwrap_or_default()
}

/// The line of a batch transform; nothing without one.
fn mixing(pipeline: &Pipeline) -> String {
    let name = |transform: &BatchTransform| format!("mixing: {transform}; once over each finished batch, in place\n");
    pipeline.batch_transform.as_ref().map(name).unwrap_or_default()
}

/// The line of compiled shaders; nothing without shaders.
fn shaders(pipeline: &Pipeline) -> String {
    let line = |compile| format!("shaders: {compile}\n");
    pipeline.execution.executor().compile().map(line).unwrap_or_default()
}

/// The `shard:` line: the rank, the world, and the variables that set them. Empty unless a shard is set.
fn shard(pipeline: &Pipeline) -> String {
    if pipeline.shard == Shard::WHOLE { String::new() } else { format!("shard: {}\n", pipeline.shard) }
}

/// The lines of what the data set noticed; nothing if it noticed nothing.
fn data(pipeline: &Pipeline) -> String {
    pipeline.dataset.notices().iter().map(|notice| format!("data: {notice}\n")).collect()
}

/// The `fields:` line; nothing without fields.
fn fields(pipeline: &Pipeline) -> String {
    match &pipeline.fields[..] {
        [] => String::new(),
        fields => format!("fields: {}\n", fields.iter().map(Field::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn cache(pipeline: &Pipeline) -> String {
    if matches!(pipeline.cache, CacheStore::Off) {
        return "off".to_owned();
    }
    let ((memory, budget), (samples, bytes)) = (pipeline.cache.memory(), pipeline.cache.usage());
    format!(
        "{}, {memory}, up to {} MiB; samples without room stream; {samples} samples in {} MiB now",
        pipeline.first().split.stored_as(),
        budget / MIB,
        bytes / MIB
    )
}
