//! Groups of views: each is what its list alone gives, on every executor, whatever the workers, the queue, the cache, a
//! restart and the ranks; a sample is decoded once for all of them.

use gpufeed::transforms::{
    CenterCrop, ColorJitter, CutMix, FiveCrop, GaussianBlur, Key, Normalize, Params, RandomCrop, RandomHorizontalFlip,
    RandomResizedCrop, Resize, Transform,
};
use gpufeed::{
    Backend, Batch, Cache, ColumnValues, DType, DataLoader, DataLoaderBuilder, FieldKind, FieldValue, InMemory, Label,
    LastBatch, Layout, PixelFormat, Semantics, Stage, Views, recipe,
};
use gpufeed_testing::pipeline::{encoded, picture, places, seen, small_files, within};

const SAMPLES: u32 = 11;

fn global() -> Vec<Transform> {
    vec![
        RandomResizedCrop::new(20).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
        Normalize::IMAGENET.into(),
    ]
}

fn local() -> Vec<Transform> {
    vec![RandomResizedCrop::new(9).scale(0.05, 0.4).into(), GaussianBlur::new(5).into()]
}

fn plain() -> DataLoaderBuilder {
    DataLoader::builder(small_files(SAMPLES)).batch_size(4).shuffle(true).seed(7).workers(2)
}

/// A loader of DINO's kind.
fn builder() -> DataLoaderBuilder {
    plain()
        .group("global", Views::new(2).transforms(global()))
        .group("local", Views::new(3).transforms(local()).output(Layout::Nhwc, DType::U8).semantics(Semantics::Uint8))
}

/// A group of a batch as plain values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) shape: [usize; 4],
    pub(super) valid: usize,
    pub(super) ids: Vec<u64>,
    pub(super) params: Vec<Params>,
    pub(super) bytes: Vec<u8>,
}

impl Seen {
    pub(super) fn image(&self, number: usize) -> &[u8] {
        let bytes = self.bytes.len() / self.ids.len();
        &self.bytes[number * bytes..(number + 1) * bytes]
    }
}

pub(super) fn groups(batch: &Batch) -> Vec<Seen> {
    let group = |group: gpufeed::BatchGroup<'_>| Seen {
        name: group.name().to_owned(),
        shape: group.shape(),
        valid: group.valid(),
        ids: group.ids().to_vec(),
        params: group.params().to_vec(),
        bytes: group.to_host().unwrap(),
    };
    batch.groups().map(group).collect()
}

pub(super) fn run(loader: &DataLoader, epoch: u64) -> Vec<Vec<Seen>> {
    loader.epoch(epoch).unwrap().map(|batch| groups(&batch.unwrap())).collect()
}

/// Panics with the first difference, without printing bytes.
pub(super) fn assert_same(left: &[Vec<Seen>], right: &[Vec<Seen>], what: &str) {
    assert_eq!(left.len(), right.len(), "{what}: batches");
    for (number, (a, b)) in left.iter().zip(right).enumerate() {
        for (a, b) in a.iter().zip(b) {
            let at = format!("{what}, batch {number}, {}", a.name);
            assert_eq!((&a.name, a.shape, &a.ids), (&b.name, b.shape, &b.ids), "{at}");
            assert!(a.params == b.params, "{at}: parameters");
            let differ: Vec<_> = (0..a.ids.len()).filter(|&image| a.image(image) != b.image(image)).collect();
            assert!(differ.is_empty(), "{at}: images {differ:?}");
        }
        assert_eq!(a.len(), b.len());
    }
}

#[test]
fn each_group_is_what_its_list_gives() {
    within(240, "all places", || {
        for place in places() {
            let loader = place.build(builder());
            // The first group draws what a loader of its list alone draws.
            let alone = seen(place.build(plain().recipe(global()).views(2)).epoch(2).unwrap());
            let batches = run(&loader, 2);
            assert_eq!(batches.len(), alone.len());
            for (batch, alone) in batches.iter().zip(&alone) {
                let [first, second] = &batch[..] else { panic!("two groups") };
                assert_eq!((&*first.name, first.shape), ("global", alone.shape));
                assert!(first.params == alone.params && first.bytes == alone.bytes, "{}", place.name);
                let samples = first.ids.len() / 2;
                assert_eq!((&*second.name, second.shape), ("local", [3 * samples, 9, 9, 3]));
                for sample in 0..samples {
                    let views: Vec<_> = (0..3).map(|view| second.image(3 * sample + view)).collect();
                    assert!(views[0] != views[1] && views[1] != views[2], "{}", place.name);
                    assert_eq!(second.ids[3 * sample], first.ids[2 * sample]);
                }
                let [of_first, of_second] = [first, second].map(|group| (group.ids[0] as usize, &group.params[0]));
                let again = loader.replay(of_first.0, of_first.1).unwrap();
                assert!(again == first.image(0), "{}", place.name);
                let again = loader.replay_in("local", of_second.0, of_second.1).unwrap();
                assert!(again == second.image(0), "{}", place.name);
            }
            let error = loader.replay_in("loco", 0, &batches[0][0].params[0]).unwrap_err().to_string();
            assert!(error.contains("no group \"loco\"; the loader has global, local"), "{error}");
        }
    });
}

#[test]
fn groups_of_one_list_have_random_numbers_of_their_own() {
    let two = plain()
        .group("first", Views::new(1).transforms(global()))
        .group("second", Views::new(1).transforms(global()))
        .build(&Backend::Cpu)
        .unwrap();
    for batch in run(&two, 0) {
        for image in 0..batch[0].ids.len() {
            assert!(batch[0].params[image] != batch[1].params[image]);
        }
    }
}

#[test]
fn workers_queues_caches_and_restarts_change_nothing() {
    within(400, "all places", || {
        for place in places() {
            let expected = [0, 1].map(|epoch| run(&place.build(builder().workers(1)), epoch));
            for (workers, depth, cache) in [
                (1, 1, Cache::Host(1 << 20)),
                (2, 1, Cache::Device(1 << 20)),
                (7, 4, Cache::Off),
                (3, 2, Cache::Host(20_000)),
                (3, 2, Cache::Device(20_000)),
            ] {
                let what = format!("{}, {workers} workers, {cache:?}", place.name);
                let loader = place.build(builder().workers(workers).queue_depth(depth).cache(cache));
                for (epoch, expected) in (0..).zip(&expected) {
                    assert_same(expected, &run(&loader, epoch), &what);
                }
                if cache == Cache::Device(1 << 20) || cache == Cache::Host(1 << 20) {
                    assert_eq!(loader.cached().0, u64::from(SAMPLES), "{what}");
                }
            }
            let loader = place.build(builder());
            for batches in 0..expected[1].len() {
                let mut epoch = loader.epoch(1).unwrap();
                (0..batches).for_each(|_| drop(epoch.next().unwrap().unwrap()));
                let state = epoch.state();
                drop(epoch);
                let rest: Vec<_> = loader.resume(&state).unwrap().map(|batch| groups(&batch.unwrap())).collect();
                assert_same(&expected[1][batches..], &rest, &format!("{}, resumed", place.name));
            }
        }
    });
}

#[test]
fn ranks_have_the_images_of_the_whole() {
    let image = |batch: &[Seen], group: usize, outputs: usize| -> Vec<(u64, Vec<u8>)> {
        let group = &batch[group];
        let of = |number: usize| (group.ids[number], group.image(number).to_vec());
        // A sample that fills up a share draws other numbers than at its own place.
        (0..group.valid).step_by(outputs).map(of).collect()
    };
    let all = |worlds: Vec<DataLoader>| {
        let batches: Vec<_> = worlds.iter().flat_map(|loader| run(loader, 3)).collect();
        [(0, 2), (1, 3)].map(|(group, outputs)| {
            let mut images: Vec<_> = batches.iter().flat_map(|batch| image(batch, group, outputs)).collect();
            images.sort_unstable();
            images.dedup();
            images
        })
    };
    let build = |rank, world| builder().shard(rank, world).build(&Backend::Cpu).unwrap();
    let whole = all(vec![build(0, 1)]);
    assert_eq!(whole[0].len(), SAMPLES as usize);
    for world in [2, 4] {
        assert!(whole == all((0..world).map(|rank| build(rank, world)).collect()), "{world} ranks");
    }
}

#[test]
fn crops_types_and_last_batches() {
    within(240, "all places", || {
        for place in places() {
            for last in [LastBatch::Partial, LastBatch::Pad] {
                let crops = [Resize::new(24).into(), FiveCrop::new((8, 9)).into()];
                let loader = place.build(
                    plain()
                        .last_batch(last)
                        .group("crops", Views::new(1).transforms(crops).output(Layout::Nchw, DType::F16))
                        .group("one", Views::new(1).transform(CenterCrop::new(12)))
                        .group("two", Views::new(2).transform(RandomCrop::new(7)).output(Layout::Nhwc, DType::U8)),
                );
                let epoch: Vec<Batch> = loader.epoch(0).unwrap().map(Result::unwrap).collect();
                let samples = if last == LastBatch::Pad { 4 } else { 3 };
                let batch = epoch.last().unwrap();
                let shapes: Vec<_> =
                    batch.groups().map(|group| (group.shape(), group.dtype(), group.crops())).collect();
                let expected = [
                    ([5 * samples, 3, 8, 9], DType::F16, 5),
                    ([samples, 3, 12, 12], DType::F32, 1),
                    ([2 * samples, 7, 7, 3], DType::U8, 1),
                ];
                assert_eq!(shapes, expected, "{}", place.name);
                assert_eq!((batch.valid(), batch.labels().len(), batch.samples()), (15, 5 * samples, samples));
                assert!(batch.groups().map(|group| group.valid()).eq([15, 3, 6]));
                for group in batch.groups() {
                    let alone = (0..group.len()).map(|image| {
                        loader.replay_in(group.name(), group.ids()[image] as usize, &group.params()[image]).unwrap()
                    });
                    assert!(alone.flatten().eq(group.to_host().unwrap()), "{}: {}", place.name, group.name());
                }
            }
        }
    });
}

#[test]
fn a_sample_is_decoded_once() {
    let file = encoded(picture(3, 600, 400), image::ImageFormat::Jpeg);
    let data = || (0..6).map(|_| (file.clone(), Label::None)).collect::<InMemory>();
    let loader = |builder: DataLoaderBuilder| builder.batch_size(2).build(&Backend::Cpu).unwrap();
    let decoded = |loader: DataLoader| {
        drop(run(&loader, 0));
        loader.stats().stages.iter().find(|stage| stage.stage == Stage::Decode).unwrap().bytes
    };
    let whole = || vec![Resize::new((20, 20)).into()];
    let once = decoded(loader(DataLoader::builder(data()).recipe(whole())));
    let groups = DataLoader::builder(data()).group("a", Views::new(1).transforms(whole()));
    let groups = groups.group("b", Views::new(4).transform(RandomResizedCrop::new(10)));
    assert_eq!(decoded(loader(groups)), once);
}

#[test]
fn fields_stand_beside_groups() {
    let mut data = InMemory::new().with_fields([gpufeed::Field::new("caption").kind(FieldKind::Text)]);
    for number in 0..5_u8 {
        data.push_pixels(12, 12, PixelFormat::Rgb8, vec![number; 432], Label::Class(number.into())).unwrap();
        data.push_fields([FieldValue::from(format!("number {number}"))]).unwrap();
    }
    let loader = DataLoader::builder(data)
        .group("a", Views::new(2).transform(CenterCrop::new(8)))
        .group("b", Views::new(1).transform(CenterCrop::new(4)))
        .batch_size(5)
        .shuffle(true)
        .build(&Backend::Cpu)
        .unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let texts = batch.group("b").unwrap().ids().iter().map(|id| Some(format!("number {id}"))).collect();
    assert_eq!(*batch.column("caption").unwrap().values(), ColumnValues::Text(texts));
    assert_eq!(batch.labels().len(), 10);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let error = |builder: DataLoaderBuilder| builder.build(&Backend::Cpu).unwrap_err().to_string();
    let views = || Views::new(1).transform(CenterCrop::new(8));
    let two = || plain().group("a", views()).group("b", views());
    for (builder, says) in [
        (two().group("a", views()), "two groups have the name \"a\""),
        (two().group("", views()), "\"\" is no name for a group"),
        (two().group("label", views()), "\"label\" is no name for a group"),
        (two().transform(CenterCrop::new(8)), "the loader has a list or views of its own"),
        (two().views(2), "the loader has a list or views of its own"),
        (two().batch_transform(CutMix::new(1.0)), "the images of one group are mixed, but the loader has a, b"),
        (plain().group("a", Views::new(0).transform(CenterCrop::new(8))), "views: 0; 1 to 64 work"),
        (two().group("c", Views::new(1)), "size"),
        (
            two().group("c", Views::new(1).recipe(recipe::named("deit").unwrap())),
            "batch_transform: the recipe of group \"c\" mixes batches",
        ),
        (two().group("c", views().transform(ColorJitter::new(-1.0, 0.0, 0.0, 0.0))), "group \"c\": "),
    ] {
        let text = error(builder);
        assert!(text.contains(says), "{says}: {text}");
    }
    let many = (0..65).fold(plain(), |builder, number| builder.group(format!("g{number}"), views()));
    assert!(error(many).contains("65; at most 64 work"));
    let loader = two().build(&Backend::Cpu).unwrap();
    assert!(loader.explain().contains("group b: 1 view of 8x8\n"), "{}", loader.explain());
    let names: Vec<_> = loader.recipes().map(|(name, recipe)| (name, recipe.views)).collect();
    assert_eq!(names, [("a", 1), ("b", 1)]);
    let key = Key { seed: 7, epoch: 0, sample: 0, occurrence: 0, view: 0 };
    assert!(loader.plan().make_params(30, 30, &key).is_ok());
}
