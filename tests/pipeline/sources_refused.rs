//! Sources that cannot be: settings are refused by name when a loader is built, samples while it runs.

use super::sources::{Stored, depth, rig, size};
use gpufeed::decode::ReadMode;
use gpufeed::transforms::{CenterCrop, ColorJitter, Interpolation, Normalize, RandomCrop, Transform};
use gpufeed::{
    Backend, Cache, DType, DataLoader, DataLoaderBuilder, Dataset, ErrorKind, Failure, Field, FieldKind, FieldValue,
    Label, Layout, OnError, PixelFormat, Pixels, Sample, SampleData, Semantics, Views,
};
use gpufeed_testing::pipeline::{encoded, places, within};
use image::ImageFormat;

fn crop() -> Transform {
    CenterCrop::new(8).into()
}

fn image() -> DataLoaderBuilder {
    DataLoader::builder(rig()).batch_size(11).workers(2).group("image", Views::new(1).transform(crop()))
}

fn deep() -> Views {
    Views::new(1).source("depth").read_mode(ReadMode::Gray16)
}

fn all(data: super::sources::Rig) -> DataLoaderBuilder {
    DataLoader::builder(data)
        .batch_size(11)
        .workers(2)
        .group("image", Views::new(1).transform(crop()))
        .group("right", Views::new(1).source("right").transform(crop()))
        .group("depth", deep().follows("image"))
}

#[test]
fn a_loader_refuses_sources_that_cannot_be() {
    let follower = || Views::new(1).follows("image");
    for (builder, says) in [
        (
            image().group("up", Views::new(1).source("up")),
            "source: the data set has no field \"up\"; it has caption (text)",
        ),
        (
            image().group("t", Views::new(1).source("caption")),
            "the values of \"caption\" are text, but images are needed",
        ),
        (image().group("b", Views::new(1).read_mode(ReadMode::Gray16)), "Gray16 of group \"b\" needs a source"),
        (image().group("right", Views::new(1).transform(crop())), "\"right\" is the name of a field of the data set"),
        (
            image().group("b", Views::new(1).follows("c")),
            "group \"b\": there is no group \"c\"; the loader has image, b",
        ),
        (image().group("b", Views::new(1).follows("b")), "a group cannot follow itself"),
        (image().group("b", follower()).group("c", Views::new(1).follows("b")), "\"b\" follows \"image\" itself"),
        (image().group("b", Views::new(2).follows("image")), "it has 2 views, but \"image\", which it follows, has 1"),
        (image().group("b", follower().transform(RandomCrop::new(4))), "group \"b\": RandomCrop stands in the list"),
        (image().group("b", Views::new(1).interpolation(Interpolation::Nearest)), "group \"b\" follows none"),
        (
            image().group("depth", deep().transforms([crop(), ColorJitter::new(0.1, 0.1, 0.1, 0.1).into()])),
            "takes 1 for white",
        ),
        (image().group("depth", deep().transform(crop()).semantics(Semantics::Uint8)), "Uint8 has numbers of 8 bits"),
        (image().group("depth", deep().transform(crop()).output(Layout::Nchw, DType::F16)), "F16 cannot hold"),
        (
            image().group("r", Views::new(1).source("right").transform(crop())).cache(Cache::Host(1)),
            "images of \"right\"",
        ),
    ] {
        let text = builder.build(&Backend::Cpu).unwrap_err().to_string();
        assert!(text.contains(says), "{says}: {text}");
    }
    // A group may have the name of the field of its images.
    let loader = image().group("right", Views::new(1).source("right").transform(crop())).build(&Backend::Cpu);
    assert!(loader.is_ok());
}

/// The other group's `Normalize` is left out of a follower, whose numbers stay too large for 16 bits.
#[test]
fn halves_hold_depths_that_their_own_list_normalizes() {
    let half = |depth: Views| {
        let image = Views::new(1).transforms([crop(), Normalize::IMAGENET.into()]);
        let depth = depth.follows("image").output(Layout::Nchw, DType::F16);
        DataLoader::builder(rig()).group("image", image).group("depth", depth).build(&Backend::Cpu)
    };
    let text = half(deep()).unwrap_err().to_string();
    assert!(text.contains("group \"depth\": ") && text.contains("F16 cannot hold"), "{text}");
    half(deep().transform(Normalize::new([32768.0; 3], [32768.0; 3]))).unwrap();
}

#[test]
fn a_sample_whose_source_is_bad_fails_by_name() {
    within(240, "all places", || {
        for place in places() {
            let mut data = rig();
            data.samples[2].1[1] = Stored::File(encoded(image::GrayImage::new(size(2).0, size(2).1), ImageFormat::Png));
            data.samples[3].1[0] = Stored::Absent;
            data.samples[5].1[1] = Stored::File(depth(5, (33, 44)));
            if let Stored::File(file) = &mut data.samples[7].1[0] {
                file.truncate(file.len() / 2);
            }
            data.samples[9].1[0] = Stored::Text("right of it");
            let (width, height) = size(5);
            let sizes = format!(
                "follows: the image of group \"depth\" has 33x44 pixels, but that of \"image\", which it follows, has {width}x{height}"
            );
            let expected = [
                (
                    2,
                    "cannot decode PNG: \"depth\": ReadMode::Gray16 reads gray of 16 bits, but this is Grayscale of 8 bits",
                ),
                (3, "fields: the sample has no \"right\""),
                (5, &*sizes),
                (7, "truncated PNG: \"right\": "),
                (9, "fields: \"right\" of the sample is text, but of the data set images"),
            ];
            let loader = place.build(all(data).shuffle(false).on_error(OnError::Skip { max_share: 1.0 }));
            let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
            assert_eq!(batch.len(), 11);
            for (id, says) in expected {
                let failure = batch.failures().iter().find(|failure| failure.id == id).unwrap();
                let text = failure.error.to_string();
                // Its index is one of the first group's images, as those of labels and ids are.
                let stands = |failure: &Failure| failure.id == id && failure.batch_index as u64 == id;
                assert!(batch.failures().iter().any(stands), "{}: {id}", place.name);
                assert!(text.starts_with(says), "{}: {says}: {text}", place.name);
            }
            // The others, and those that stand in for the failed ones, are whole.
            for group in batch.groups() {
                assert!(group.ids().iter().all(|id| expected.iter().all(|(failed, _)| failed != id)));
            }
            assert!(batch.failures().iter().all(|failure| expected.iter().any(|(id, _)| *id == failure.id)));
        }
    });
}

#[test]
fn a_run_may_end_with_the_first_bad_source() {
    let mut data = rig();
    data.samples[4].1[0] = Stored::File(vec![1, 2, 3]);
    let loader = all(data).on_error(OnError::Fail).build(&Backend::Cpu).unwrap();
    let error = loader.epoch(0).unwrap().next().unwrap().unwrap_err();
    let ErrorKind::Sample { id, source, .. } = error.kind() else { panic!("{error}") };
    assert_eq!(*id, 4);
    assert!(matches!(source.kind(), ErrorKind::Decode { .. }), "{source}");
    assert!(source.to_string().contains("\"right\": none of"), "{source}");
}

/// A sample whose depth has three channels of floats.
struct Colours([Field; 1], Vec<u8>);

impl Dataset for Colours {
    fn len(&self) -> usize {
        1
    }

    fn read<'a>(&'a self, _: usize, _: &'a mut Vec<u8>) -> gpufeed::Result<Sample<'a>> {
        let pixels = |format, bytes: &'a [u8]| Pixels::new(8, 8, format, bytes).map(SampleData::Pixels);
        let depth = pixels(PixelFormat::F32 { channels: 3 }, &self.1)?;
        let image = pixels(PixelFormat::Rgb8, &self.1[..8 * 8 * 3])?;
        Ok(Sample::new(image, Label::None).with_fields(vec![FieldValue::Image(depth)]))
    }

    fn name(&self, index: usize) -> String {
        format!("sample {index}")
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn fields(&self) -> &[Field] {
        &self.0
    }
}

#[test]
fn depth_of_three_channels_is_refused_by_the_mode_that_reads_one() {
    let data = Colours([Field::new("depth").kind(FieldKind::Image)], vec![0; 8 * 8 * 12]);
    let loader = DataLoader::builder(data)
        .group("image", Views::new(1).transform(crop()))
        .group("depth", deep().transform(crop()));
    let loader = loader.batch_size(1).on_error(OnError::Fail).build(&Backend::Cpu).unwrap();
    let error = loader.epoch(0).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(
        error.contains("read_mode: ") && error.contains("Gray16 reads one channel, but the image has 3"),
        "{error}"
    );
}
