//! Groups of other images of a sample, and groups that follow others: each image is that of its source, on every executor,
//! whatever the workers, the queue, a restart and the ranks.

use super::groups::{assert_same, groups, run};
use gpufeed::dataset::{Field, FieldKind, FieldValue};
use gpufeed::decode::{ReadMode, Scale};
use gpufeed::transforms::{
    CenterCrop, ColorJitter, Interpolation, Normalize, Op, Params, RandomCrop, RandomHorizontalFlip, RandomResizedCrop,
    Resize, Transform,
};
use gpufeed::{
    Backend, BatchGroup, Cache, DataLoader, DataLoaderBuilder, Dataset, InMemory, Label, LastBatch, Result, Sample,
    SampleData, Stage, Views,
};
use gpufeed_testing::pipeline::{encoded, file, picture, places, seen, small_files, within};
use image::{DynamicImage, ImageBuffer, ImageFormat, Luma};

pub(super) const SAMPLES: u32 = 11;

/// What a field of a sample has.
pub(super) enum Stored {
    File(Vec<u8>),
    Text(&'static str),
    Absent,
}

/// Samples with a second camera, `right`, and a `depth` for each pixel of their own image.
pub(super) struct Rig {
    fields: [Field; 3],
    pub(super) samples: Vec<(Vec<u8>, [Stored; 2])>,
}

impl Dataset for Rig {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn read<'a>(&'a self, index: usize, _: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let (own, fields) = &self.samples[index];
        let value = |stored: &'a Stored| match stored {
            Stored::File(file) => FieldValue::Image(SampleData::Encoded(file)),
            Stored::Text(text) => FieldValue::from(*text),
            Stored::Absent => FieldValue::Absent,
        };
        let [right, depth] = fields.each_ref().map(value);
        let sample = Sample::new(SampleData::Encoded(own), Label::Class(index as u32));
        Ok(sample.with_fields(vec![FieldValue::from("a rig"), right, depth]))
    }

    fn name(&self, index: usize) -> String {
        format!("rig {index}")
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }
}

/// Width and height of the sample's own image and of its depth.
pub(super) fn size(number: u32) -> (u32, u32) {
    (30 + number * 7 % 41, 28 + number * 13 % 37)
}

pub(super) fn depth_at(number: u32, x: u32, y: u32) -> u16 {
    (number * 5000 + x * 601 + y * 37) as u16
}

pub(super) fn depth(number: u32, (width, height): (u32, u32)) -> Vec<u8> {
    let pixels = ImageBuffer::from_fn(width, height, |x, y| Luma([depth_at(number, x, y)]));
    encoded(DynamicImage::ImageLuma16(pixels), ImageFormat::Png)
}

/// The right image has another size than the own one.
fn right(number: u32) -> Vec<u8> {
    let (width, height) = size(number);
    encoded(picture(number + 50, width + 5, height + 3), ImageFormat::Png)
}

pub(super) fn rig() -> Rig {
    let fields = [
        Field::new("caption").kind(FieldKind::Text),
        Field::new("right").kind(FieldKind::Image),
        Field::new("depth").kind(FieldKind::Image),
    ];
    let sample = |number: u32| {
        let fields = [right(number), depth(number, size(number))].map(Stored::File);
        (file(number), fields)
    };
    Rig { fields, samples: (0..SAMPLES).map(sample).collect() }
}

fn list() -> Vec<Transform> {
    vec![
        RandomCrop::new(16).into(),
        Resize::new((8, 8)).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
        Normalize::IMAGENET.into(),
    ]
}

fn plain(data: impl Dataset + 'static) -> DataLoaderBuilder {
    DataLoader::builder(data).batch_size(4).shuffle(true).seed(7).workers(2).last_batch(LastBatch::Partial)
}

fn depth_views() -> Views {
    Views::new(2).source("depth").read_mode(ReadMode::Gray16).follows("image")
}

/// A stereo rig whose depth follows the sample's own image.
fn builder() -> DataLoaderBuilder {
    plain(rig())
        .group("image", Views::new(2).transforms(list()))
        .group("right", Views::new(1).source("right").transforms(list()))
        .group("depth", depth_views())
}

/// The pixels of a depth that was cropped, halved and mirrored as its parameters say, by hand.
fn by_hand(id: u64, params: &Params) -> Vec<f32> {
    let [crop, resize, flip @ ..] = &params.ops[..] else { panic!("{params:?}") };
    let Op::Crop { top, left, .. } = crop.op else { panic!("{params:?}") };
    let nearest = Op::Resize { height: 8, width: 8, interpolation: Interpolation::Nearest, antialias: true };
    assert_eq!(resize.op, nearest);
    assert!(flip.len() < 2 && flip.iter().all(|flip| flip.op == Op::HorizontalFlip), "{params:?}");
    let column = |x: u32| if flip.is_empty() { x } else { 7 - x };
    let at = |x: u32, y: u32| f32::from(depth_at(id as u32, left + 2 * column(x), top + 2 * y));
    (0..8).flat_map(|y| (0..8).map(move |x| (x, y))).map(|(x, y)| at(x, y)).collect()
}

fn check_replays(loader: &DataLoader, group: BatchGroup<'_>, place: &str) {
    let alone = (0..group.len())
        .map(|image| loader.replay_in(group.name(), group.ids()[image] as usize, &group.params()[image]).unwrap());
    assert!(alone.flatten().eq(group.to_host().unwrap()), "{place}: {}", group.name());
}

#[test]
fn each_group_has_the_images_of_its_source() {
    within(240, "all places", || {
        for place in places() {
            let loader = place.build(builder());
            let alone = seen(place.build(plain(small_files(SAMPLES)).recipe(list()).views(2)).epoch(2).unwrap());
            let rights: InMemory = (0..SAMPLES).map(|number| (right(number), Label::Class(number))).collect();
            let rights = place.build(plain(rights).recipe(list()));
            let mut batches = 0;
            for (batch, alone) in loader.epoch(2).unwrap().zip(&alone) {
                let batch = batch.unwrap();
                assert!(batch.failures().is_empty());
                let [own, second, followers] = &groups(&batch)[..] else { panic!("three groups") };
                // The own image draws what it draws without other images.
                assert!(own.params == alone.params && own.bytes == alone.bytes, "{}", place.name);
                for (image, (id, params)) in second.ids.iter().zip(&second.params).enumerate() {
                    let (width, height) = size(*id as u32);
                    assert_eq!((params.width, params.height), (width + 5, height + 3));
                    assert!(params.ops != own.params[2 * image].ops, "its numbers are its own");
                    let expected = rights.replay(*id as usize, params).unwrap();
                    assert!(second.image(image) == expected, "{}: {id}", place.name);
                }
                let samples = own.ids.len() / 2;
                assert_eq!((followers.shape, &followers.ids), ([2 * samples, 1, 8, 8], &own.ids));
                let depths = batch.group("depth").unwrap().to_host_f32().unwrap();
                for (image, depths) in depths.chunks(64).enumerate() {
                    let (own, follower) = (&own.params[image], &followers.params[image]);
                    let moves = |op: &Op| matches!(op, Op::Crop { .. } | Op::HorizontalFlip);
                    let moved = |params: &Params| {
                        let ops = params.ops.iter().map(|op| op.op.clone());
                        ops.filter(moves).collect::<Vec<_>>()
                    };
                    assert_eq!(moved(own), moved(follower));
                    assert_eq!(depths, by_hand(followers.ids[image], follower), "{}", place.name);
                }
                batch.groups().for_each(|group| check_replays(&loader, group, &place.name));
                batches += 1;
            }
            assert_eq!(batches, 3);
        }
    });
}

#[test]
fn sources_come_in_any_order_of_groups() {
    within(240, "all places", || {
        for place in places() {
            let crop = |views: usize, side: u32| Views::new(views).transform(RandomCrop::new(side));
            let deep = crop(1, 9).source("depth").read_mode(ReadMode::Gray16);
            let loader = place.build(
                plain(rig())
                    .group("a", crop(2, 12).source("right"))
                    .group("b", crop(1, 10))
                    .group("c", crop(3, 7).source("right").transform(Normalize::IMAGENET))
                    .group("d", deep)
                    .group("e", Views::new(1).follows("b").transform(Normalize::IMAGENET)),
            );
            for batch in loader.epoch(0).unwrap() {
                let batch = batch.unwrap();
                batch.groups().for_each(|group| check_replays(&loader, group, &place.name));
                let [a, b, _, d, e] = &groups(&batch)[..] else { panic!("five groups") };
                assert_eq!(b.params.len(), e.params.len());
                assert_eq!(d.shape[1..], [1, 9, 9]);
                let floats: Vec<f32> = d.bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
                for (image, (id, params)) in d.ids.iter().zip(&d.params).enumerate() {
                    let Op::Crop { top, left, .. } = params.ops[0].op else { panic!("{params:?}") };
                    let at = |pixel: u32| f32::from(depth_at(*id as u32, left + pixel % 9, top + pixel / 9));
                    assert!((0..81).map(at).eq(floats[81 * image..81 * (image + 1)].iter().copied()));
                }
                // The labels are those of the first group.
                assert_eq!(batch.labels().len(), a.ids.len());
            }
        }
    });
}

#[test]
fn a_follower_of_the_same_source_has_its_geometry() {
    within(240, "all places", || {
        let moves =
            || -> Vec<Transform> { vec![RandomResizedCrop::new(12).into(), RandomHorizontalFlip::new(0.5).into()] };
        let colors =
            || -> Vec<Transform> { vec![ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(), Normalize::IMAGENET.into()] };
        for place in places() {
            let expected = seen(place.build(plain(small_files(SAMPLES)).recipe(moves())).epoch(1).unwrap());
            for cache in [Cache::Off, Cache::Host(1 << 20), Cache::Device(1 << 20)] {
                let loader = place.build(
                    plain(small_files(SAMPLES))
                        .group("image", Views::new(1).transforms(moves()).transforms(colors()))
                        .group("clean", Views::new(1).follows("image").interpolation(Interpolation::Bilinear))
                        .cache(cache),
                );
                for _ in 0..2 {
                    for (batch, expected) in run(&loader, 1).iter().zip(&expected) {
                        let clean = &batch[1];
                        assert!(clean.params == expected.params, "{}, {cache:?}", place.name);
                        assert!(clean.bytes == expected.bytes, "{}, {cache:?}", place.name);
                    }
                }
            }
        }
    });
}

#[test]
fn workers_queues_and_restarts_change_no_source() {
    within(400, "all places", || {
        for place in places() {
            let expected = run(&place.build(builder().workers(1)), 1);
            for (workers, depth) in [(1, 1), (2, 3), (7, 2)] {
                let loader = place.build(builder().workers(workers).queue_depth(depth));
                assert_same(&expected, &run(&loader, 1), &format!("{}, {workers} workers", place.name));
            }
            let loader = place.build(builder());
            for batches in 0..expected.len() {
                let mut epoch = loader.epoch(1).unwrap();
                (0..batches).for_each(|_| drop(epoch.next().unwrap().unwrap()));
                let state = epoch.state();
                drop(epoch);
                let rest: Vec<_> = loader.resume(&state).unwrap().map(|batch| groups(&batch.unwrap())).collect();
                assert_same(&expected[batches..], &rest, &format!("{}, resumed", place.name));
            }
        }
    });
}

#[test]
fn ranks_have_the_sources_of_the_whole() {
    let all = |world: usize| {
        let mut images = Vec::new();
        for rank in 0..world {
            for batch in run(&builder().shard(rank, world).build(&Backend::Cpu).unwrap(), 3) {
                for (group, outputs) in batch.iter().zip([2, 1, 2]) {
                    let firsts = (0..group.valid).step_by(outputs);
                    images.extend(firsts.map(|at| (group.name.clone(), group.ids[at], group.image(at).to_vec())));
                }
            }
        }
        images.sort_unstable();
        images.dedup();
        images
    };
    let whole = all(1);
    assert_eq!(whole.len(), 3 * SAMPLES as usize);
    for world in [2, 4] {
        assert!(whole == all(world), "{world} ranks");
    }
}

#[test]
fn a_source_is_decoded_once_and_only_where_it_is_read() {
    let crop = |side: u32| Views::new(1).transform(CenterCrop::new(side));
    let decoded = |builder: DataLoaderBuilder| {
        let loader = builder.build(&Backend::Cpu).unwrap();
        drop(run(&loader, 0));
        loader.stats().stages.iter().find(|stage| stage.stage == Stage::Decode).unwrap().bytes
    };
    let samples = u64::from(SAMPLES);
    let own = || plain(rig()).group("image", crop(16));
    assert_eq!(decoded(own()), samples * 4 * 256);
    let both = own().group("right", crop(12).source("right"));
    assert_eq!(decoded(both.clone()), samples * 4 * (256 + 144));
    // Groups of one source share what is decoded; a depth has four floats a pixel.
    let all = both.group("wide", crop(14).source("right"));
    let all = all.group("depth", Views::new(1).source("depth").read_mode(ReadMode::Gray16).follows("image"));
    assert_eq!(decoded(all), samples * (4 * (256 + 196) + 16 * 256));
    // An own image that no group reads is not decoded.
    assert_eq!(decoded(plain(rig()).group("right", crop(12).source("right"))), samples * 4 * 144);
}

#[test]
fn each_source_has_a_scale_of_its_own() {
    let mut data = rig();
    for (number, (own, [right, deep])) in (0..).zip(&mut data.samples) {
        *own = encoded(picture(number, 100, 80), ImageFormat::Jpeg);
        *right = Stored::File(encoded(picture(number + 50, 400, 320), ImageFormat::Jpeg));
        *deep = Stored::File(depth(number, (100, 80)));
    }
    let resize = |views: Views| views.transform(Resize::new((40, 40)));
    let loader = plain(data)
        .group("image", resize(Views::new(1)))
        .group("right", resize(Views::new(1).source("right")))
        .group("depth", Views::new(1).source("depth").read_mode(ReadMode::Gray16).follows("image"))
        .scaled_decode(true)
        .build(&Backend::Cpu)
        .unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let scales: Vec<Scale> = batch.groups().map(|group| group.params()[0].scale).collect();
    assert_eq!(scales, [Scale::Half, Scale::Eighth, Scale::Full]);
    batch.groups().for_each(|group| check_replays(&loader, group, "scaled"));
}

#[test]
fn explain_names_sources_and_whom_groups_follow() {
    let text = builder().build(&Backend::Cpu).unwrap().explain();
    assert!(text.contains("group right: 1 view of 8x8 of field \"right\"\n"), "{text}");
    assert!(text.contains("group depth: 2 views of 8x8 of field \"depth\", as \"image\"\n"), "{text}");
}
