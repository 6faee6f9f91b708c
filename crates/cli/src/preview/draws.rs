//! The samples and their draws. A loader makes them, so they are the pixels that training gets.

use super::fields::{self, ShownField};
use super::objects;
use super::picture::Picture;
use super::single_sample::{SingleSample, WithoutImages};
use super::{picture, picture_size};
use crate::backend;
use crate::dataset::NamedDataset;
use crate::error_text;
use gpufeed::decode::{self, DecodeOptions, ReadMode};
use gpufeed::recipe::ViewGroup;
use gpufeed::targets::Objects;
use gpufeed::transforms::{Params, Resize};
use gpufeed::{
    Backend, Cache, DType, DataLoader, Dataset as _, ErrorKind, Label, Layout, LoaderSettings, OnError, Plan, Recipe,
    Result, SampleData,
};
use image::RgbImage;
use std::ops::Range;
use std::sync::Arc;

/// The longest side of an original on the sheet.
const ORIGINAL: u32 = 320;

/// A sample, and what was drawn of it.
pub(super) struct Drawn {
    pub(super) id: u64,
    /// The file's path below the folder, or the data set's name of the sample.
    pub(super) name: String,
    pub(super) class: Option<String>,
    /// (width, height) of the original, orientation applied.
    pub(super) size: Option<(u32, u32)>,
    pub(super) original: Option<RgbImage>,
    /// The objects in the picture of the original, if the data set has a field of objects.
    pub(super) objects: Option<Objects>,
    /// How many objects there are, and of which classes, with the labels of these.
    pub(super) objects_in_words: Vec<(String, Option<i64>)>,
    /// Its fields, by name.
    pub(super) fields: Vec<ShownField>,
    pub(super) draws: Vec<Draw>,
    /// The reason why there are no draws.
    pub(super) error: Option<String>,
}

/// One image of a batch.
pub(super) struct Draw {
    pub(super) epoch: u64,
    /// The name of its group; `None` if the recipe has one list.
    pub(super) group: Option<String>,
    /// Its number in the group.
    pub(super) view: usize,
    pub(super) params: Params,
    /// The bytes from the loader; empty unless they are kept.
    pub(super) bytes: Vec<u8>,
    /// (width, height) of the view.
    pub(super) size: (u32, u32),
    /// The view in the size for the sheet, with its objects.
    pub(super) picture: RgbImage,
    /// The objects in the view.
    pub(super) objects: Option<Objects>,
    /// The values of 16 bits that are black and white in the picture.
    pub(super) range: Option<(f32, f32)>,
}

/// Makes rows with one loader.
pub(super) struct Rows {
    source: Arc<NamedDataset>,
    single: Arc<SingleSample>,
    loader: DataLoader,
    /// The loader's options of decoding, which originals have, too.
    decode: DecodeOptions,
    keep_bytes: bool,
    draw_objects: bool,
}

impl Rows {
    pub(super) fn new(
        source: Arc<NamedDataset>,
        recipe: &Recipe,
        mut settings: LoaderSettings,
        backend: &Backend,
    ) -> Result<Rows> {
        let single = Arc::new(SingleSample::new(Arc::clone(&source.data)));
        // Batches of one sample would mix it with itself.
        let recipe = Recipe { batch_transform: None, ..recipe.clone() };
        // The loader has one sample, and each row another one: those settings stay that make pixels of it.
        (settings.shuffle, settings.order, settings.lanes, settings.shard) = (false, None, None, None);
        settings.cache = Cache::Off;
        let decode = settings.decode_options();
        let builder = DataLoader::builder(Arc::clone(&single)).recipe(recipe).settings(settings);
        let loader = builder.batch_size(1).workers(1).queue_depth(1).on_error(OnError::Fail).build(backend)?;
        Ok(Rows { source, single, loader, decode, keep_bytes: false, draw_objects: true })
    }

    /// If true, draws keep their bytes in addition to their pictures.
    pub(super) fn keep_bytes(self, keep_bytes: bool) -> Self {
        Rows { keep_bytes, ..self }
    }

    /// If false, boxes and keypoints are not drawn on the views.
    pub(super) fn draw_objects(self, draw_objects: bool) -> Self {
        Rows { draw_objects, ..self }
    }

    /// Names the executor that augments. A recipe without shaders has the CPU executor, which the loader's settings say.
    pub(super) fn executor(&self) -> &'static str {
        backend::executor(self.loader.backend(), self.loader.settings().execute)
    }

    /// Makes the row of one sample in each of `epochs`. A failed sample becomes a row with its error; errors of the
    /// device are returned.
    pub(super) fn row(&self, index: usize, epochs: Range<u64>) -> Result<Drawn> {
        self.single.select(index);
        let data = &self.source.data;
        let mut row = Drawn {
            id: data.id(index),
            name: self.source.own_name(index).unwrap_or_else(|| data.name(index)),
            class: None,
            size: None,
            original: None,
            objects: None,
            objects_in_words: Vec::new(),
            fields: Vec::new(),
            draws: Vec::new(),
            error: None,
        };
        let done = self.original(index, &mut row).and_then(|()| self.draw(epochs, &mut row));
        if let Err(error) = done {
            row.error = Some(match error.kind() {
                // The row names the sample.
                ErrorKind::Sample { source, .. } => error_text::describe(source),
                ErrorKind::Device { .. } | ErrorKind::OutOfMemory { .. } => return Err(error),
                _ => error_text::describe(&error),
            });
        }
        Ok(row)
    }

    fn original(&self, index: usize, row: &mut Drawn) -> Result<()> {
        let mut file = Vec::new();
        let sample = self.source.data.read(index, &mut file)?;
        if let Label::Class(class) = sample.label {
            let named = self.source.data.classes().get(class as usize).cloned();
            row.class = Some(named.unwrap_or_else(|| class.to_string()));
        }
        let (width, height) = match sample.data {
            SampleData::Encoded(bytes) => {
                let probe = decode::probe(bytes, &self.decode)?;
                (probe.width, probe.height)
            }
            SampleData::Pixels(pixels) => (pixels.width(), pixels.height()),
        };
        row.size = Some((width, height));
        let fit = f64::from(ORIGINAL) / f64::from(width.max(height));
        let scaled = |side: u32| if fit < 1.0 { ((f64::from(side) * fit).round() as u32).max(1) } else { side };
        let DecodeOptions { exif, truncated, max_pixels, max_decode_bytes, .. } = self.decode;
        let shown = DataLoader::builder(WithoutImages::new(Arc::clone(&self.single)))
            .exif(exif)
            .truncated(truncated)
            .max_pixels(max_pixels)
            .max_decode_bytes(max_decode_bytes)
            .transform(Resize::new((scaled(height), scaled(width))))
            .output(Layout::Nhwc, DType::U8)
            .workers(1)
            .on_error(OnError::Fail)
            .build(&Backend::Cpu)?;
        for batch in shown.epoch(0)? {
            let batch = batch?;
            row.fields = fields::of_sample(&batch);
            row.objects = batch.targets(0).cloned();
            let words = |of: &Objects| objects::words(of, self.source.data.classes());
            row.objects_in_words = row.objects.as_ref().map(words).unwrap_or_default();
            if let Some(group) = batch.groups().next() {
                row.original = picture::pictures(group, ReadMode::Color)?.next().map(|picture| picture.image);
            }
        }
        Ok(())
    }

    fn draw(&self, epochs: Range<u64>, row: &mut Drawn) -> Result<()> {
        let named = !self.loader.recipe().groups.is_empty();
        for batch in self.loader.epochs(epochs)? {
            let batch = batch?;
            for group in batch.groups() {
                let name = named.then(|| group.name().to_owned());
                let bytes = if self.keep_bytes { group.to_host()? } else { Vec::new() };
                let mut images = bytes.chunks_exact((bytes.len() / group.len()).max(1));
                let mut groups = self.loader.recipe().groups.iter();
                let own = groups.find(|of| of.name == group.name());
                let mode = own.map_or(ReadMode::Color, |own| own.read_mode);
                let objects = group.objects();
                let pictures = picture::pictures(group, mode)?;
                for (view, (Picture { image, range }, params)) in pictures.zip(group.params()).enumerate() {
                    let (group, params) = (name.clone(), params.clone());
                    let bytes = images.next().map_or_else(Vec::new, <[u8]>::to_vec);
                    let (size, mut picture) = (image.dimensions(), picture_size::reduce(image));
                    let objects = objects.and_then(|of_views| of_views.get(view)).cloned();
                    if let Some(objects) = objects.as_ref().filter(|_| self.draw_objects) {
                        objects::draw(&mut picture, objects, size);
                    }
                    let epoch = batch.epoch();
                    row.draws.push(Draw { epoch, group, view, params, bytes, size, picture, objects, range });
                }
            }
        }
        Ok(())
    }
}

/// The images that a batch has of each sample: the views of all groups, times the crops of each.
pub(super) fn outputs(source: &NamedDataset, recipe: &Recipe) -> u64 {
    // The loader reports the error of a list that does not compile.
    let lists = recipe.lists();
    let crops = |group| plan(source, &lists, group).map_or(1, |plan| plan.crops()) as u64;
    lists.iter().map(|group| group.views as u64 * crops(group)).sum()
}

/// The plan of a group, or of the one that it follows, whose crops and sizes it has.
fn plan(source: &NamedDataset, lists: &[ViewGroup], group: &ViewGroup) -> Result<Plan> {
    let followed = lists.iter().find(|other| group.follows.as_ref() == Some(&other.name));
    let group = followed.unwrap_or(group);
    let (semantics, output) = (group.semantics.unwrap_or_default(), group.output.unwrap_or_default());
    Plan::compile_as(semantics, group.channels(source.data.channels()), &group.transforms, &output)
}

/// Refuses pictures that do not fit into memory, before anything is allocated. `draws` is their number, divided by the
/// images of a sample; batches have one sample. With `keep_bytes` all bytes from the loader are kept, too.
pub(super) fn check_memory(
    source: &NamedDataset,
    recipe: &Recipe,
    draws: u64,
    keep_bytes: bool,
) -> std::result::Result<(), String> {
    let (mut needed, mut pictures, mut largest) = (0, 0, (0, 0));
    let lists = recipe.lists();
    for group in &lists {
        // The loader will report an error.
        let Ok(plan) = plan(source, &lists, group) else { return Ok(()) };
        let (width, height) = plan.largest_output().unwrap_or_default();
        let area = u64::from(width) * u64::from(height);
        let values = area * u64::from(plan.channels());
        let image = values * group.output.unwrap_or_default().dtype.bytes() as u64;
        let outputs = group.views as u64 * plan.crops() as u64;
        // One batch is being filled, one is ready, and one is with the caller, who also has its bytes and floats. The
        // worker has an intermediate of four floats per pixel.
        needed += outputs * (4 * image + 4 * values) + 16 * area + 3 * area;
        needed += if keep_bytes { draws * outputs * image } else { 0 };
        pictures += draws * outputs;
        if area > u64::from(largest.0) * u64::from(largest.1) {
            largest = (width, height);
        }
    }
    needed += pictures * picture_size::MOST_BYTES;
    let what = format!("{pictures} pictures of {}x{} take", largest.0, largest.1);
    crate::available_memory::check(&what, needed, 4, "`size` in the recipe, --samples or --draws")
}
