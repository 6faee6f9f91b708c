//! Refusals: of operators that move no boxes, when the loader is built; of objects with numbers that are not finite, sample by sample.

use gpufeed::dataset::{Field, FieldKind, FieldValue};
use gpufeed::targets::{BoxFormat, Objects};
use gpufeed::transforms::{
    AugMix, AutoAugment, CenterCrop, FiveCrop, HostCode, MixUp, Pad, PaddingMode, RandAugment, RandomApply, RandomCrop,
    RandomIoUCrop, TenCrop, Transform,
};
use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat, Semantics};

fn data(boxes: &[[f32; 4]]) -> InMemory {
    let mut data = InMemory::new().with_fields([Field::new("objects").kind(FieldKind::Objects)]);
    for (number, each) in boxes.iter().enumerate() {
        data.push_pixels(8, 8, PixelFormat::Rgb8, vec![9; 192], Label::Class(number as u32)).unwrap();
        data.push_fields([FieldValue::from(Objects::of_boxes(BoxFormat::Xyxy, vec![*each]))]).unwrap();
    }
    data
}

#[test]
fn operators_that_move_no_boxes_are_refused_when_the_loader_is_built() {
    let refused = |transforms: Vec<Transform>| {
        let whole = [transforms, vec![CenterCrop::new(8).into()]].concat();
        let builder = DataLoader::builder(data(&[[0.0, 0.0, 1.0, 1.0]])).recipe(whole).semantics(Semantics::Uint8);
        builder.build(&Backend::Cpu).unwrap_err().to_string()
    };
    let code = HostCode::new("mine", |image, _, _| Ok(image));
    for (transform, reason) in [
        (AutoAugment::default().into(), "AutoAugment cannot move the objects of \"objects\": operations of a policy"),
        (
            RandomApply::new(0.5, [Transform::from(RandAugment::default())]).into(),
            "RandAugment cannot move the objects",
        ),
        (AugMix::default().into(), "AugMix cannot move the objects"),
        (
            Pad::new(2).padding_mode(PaddingMode::Reflect).into(),
            "Pad cannot move the objects of \"objects\": its padding shows",
        ),
        (
            RandomCrop::new(8).padding_mode(PaddingMode::Edge).pad_if_needed(true).into(),
            "RandomCrop cannot move the objects",
        ),
        (FiveCrop::new(4).into(), "FiveCrop cannot move the objects of \"objects\": its crops share no box"),
        (TenCrop::new(4).into(), "TenCrop cannot move the objects"),
        (Transform::from(code), "HostCode cannot move the objects of \"objects\": nobody knows whether your code"),
    ] {
        let error = refused(vec![transform]);
        assert!(error.contains(reason), "{error}");
    }
    let mixed = DataLoader::builder(data(&[[0.0; 4]])).transform(CenterCrop::new(8)).batch_transform(MixUp::default());
    let error = mixed.build(&Backend::Cpu).unwrap_err().to_string();
    assert!(error.contains("MixUp shows a second image, to which the objects of \"objects\" do not belong"), "{error}");
    let two = ["a", "b"].map(|name| Field::new(name).kind(FieldKind::Objects).optional());
    let mut data = InMemory::new().with_fields(two);
    data.push_pixels(8, 8, PixelFormat::Rgb8, vec![9; 192], Label::None).unwrap();
    data.push_fields([FieldValue::Absent, FieldValue::Absent]).unwrap();
    let error = DataLoader::builder(data).transform(CenterCrop::new(8)).build(&Backend::Cpu).unwrap_err().to_string();
    assert!(
        error.contains("\"a\" and \"b\" are objects of the samples' own images; one field of objects works"),
        "{error}"
    );
}

#[test]
fn a_crop_by_boxes_needs_a_field_of_objects() {
    let mut data = InMemory::new();
    data.push_pixels(8, 8, PixelFormat::Rgb8, vec![9; 192], Label::None).unwrap();
    let transforms: Vec<Transform> =
        vec![RandomApply::new(0.5, [Transform::from(RandomIoUCrop::new())]).into(), CenterCrop::new(8).into()];
    let error = DataLoader::builder(data).recipe(transforms).build(&Backend::Cpu).unwrap_err().to_string();
    assert!(error.contains("RandomApply looks at boxes, but the data set has no field of objects"), "{error}");
}

#[test]
fn a_box_of_no_numbers_fails_its_sample() {
    let boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, f32::NAN, 1.0, 1.0], [1.0, 1.0, f32::INFINITY, 2.0], [1.0, 1.0, 2.0, 2.0]];
    let on_error = gpufeed::OnError::Skip { max_share: 1.0 };
    let loader = DataLoader::builder(data(&boxes)).transform(CenterCrop::new(8)).batch_size(4).on_error(on_error);
    let loader = loader.build(&Backend::Cpu).unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let mut failed: Vec<(u64, String)> =
        batch.failures().iter().map(|failure| (failure.id, failure.error.to_string())).collect();
    failed.sort();
    failed.dedup();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(
        failed[0].1.contains("the box of object 0 is [0.0, NaN, 1.0, 1.0]: four finite numbers work"),
        "{failed:?}"
    );
    assert!(failed[1].1.contains("the box of object 0 is [1.0, 1.0, inf, 2.0]"), "{failed:?}");
    for image in 0..4 {
        let left = if batch.ids()[image] == 0 { 0.0 } else { 1.0 };
        assert_eq!(batch.targets(image).unwrap().boxes()[0][0], left);
    }
}

#[test]
fn objects_of_unequal_length_are_refused() {
    let objects = || Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0; 4]; 2]);
    let error = objects().with_labels(vec![1]).unwrap_err().to_string();
    assert!(error.contains("\"labels\" has 1 values, but the image has 2 objects"), "{error}");
    let error = objects().with_labels(vec![1, 2]).unwrap().with_labels(vec![1, 2]).unwrap_err().to_string();
    assert!(error.contains("two values have the name \"labels\""), "{error}");
    let error =
        objects().with_values("bbox", gpufeed::targets::ObjectValues::Integers(vec![1, 2])).unwrap_err().to_string();
    assert!(error.contains("\"bbox\" is the name of something else in documents and batches"), "{error}");
    let error = objects().with_keypoints(3, vec![[0.0; 2]; 6], vec![0; 5]).unwrap_err().to_string();
    assert!(
        error.contains("2 objects with 3 keypoints each have 6 keypoints, but there are 6 and the visibility of 5"),
        "{error}"
    );
    let many = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0; 4]; 65_536]);
    let mut data = InMemory::new().with_fields([Field::new("objects").kind(FieldKind::Objects)]);
    data.push_pixels(8, 8, PixelFormat::Rgb8, vec![9; 192], Label::None).unwrap();
    data.push_fields([FieldValue::from(many)]).unwrap();
    let loader = DataLoader::builder(data).transform(CenterCrop::new(8)).batch_size(1).build(&Backend::Cpu).unwrap();
    let error = loader.epoch(0).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(error.contains("65536 objects; up to 65535 work in one image"), "{error}");
}
