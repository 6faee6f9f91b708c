//! Mixed batches of samples whose labels are vectors, such as the rows of a one-hot matrix: labels are mixed as torchvision
//! mixes them, λ of the own one and 1 - λ of the partner's.

use gpufeed::transforms::{BatchTransform, CenterCrop, CutMix, Identity, MixUp};
use gpufeed::{Backend, Batch, DataLoader, InMemory, Label, PixelFormat};

const CLASSES: usize = 3;

fn data(label: impl Fn(usize) -> Label) -> InMemory {
    let mut data = InMemory::new();
    for number in 0..4 {
        data.push_pixels(8, 8, PixelFormat::Rgb8, vec![60 * number as u8; 192], label(number)).unwrap();
    }
    data
}

fn one_hot(number: usize) -> Label {
    let row: Vec<f32> = (0..CLASSES).map(|class| f32::from(class == number % CLASSES)).collect();
    row.into()
}

fn batch(data: InMemory, transform: impl Into<BatchTransform>) -> Batch {
    let builder = DataLoader::builder(data).transform(CenterCrop::new(8)).batch_size(4).batch_transform(transform);
    builder.build(&Backend::Cpu).unwrap().epoch(0).unwrap().next().unwrap().unwrap()
}

#[test]
fn one_hot_rows_are_mixed_as_classes_are() {
    for transform in [BatchTransform::from(MixUp::new(0.8)), CutMix::new(1.0).into(), Identity {}.into()] {
        let rows = batch(data(one_hot), transform.clone()).soft_labels(CLASSES).unwrap();
        let classes = batch(data(|number| Label::Class((number % CLASSES) as u32)), transform);
        assert_eq!(rows, classes.soft_labels(CLASSES).unwrap());
    }
}

#[test]
fn any_vectors_are_mixed() {
    let values = |number: usize| [0.1 * number as f32, 0.7, -3.0 / (number + 1) as f32];
    let mixed = batch(data(|number| values(number).to_vec().into()), MixUp::new(0.8));
    let lambda = batch(data(|number| Label::Class(number as u32)), MixUp::new(0.8)).mixed().unwrap();
    let expected: Vec<f32> = lambda
        .iter()
        .flat_map(|&(own, partner, lambda)| {
            let (own, partner) = (values(own as usize), values(partner as usize));
            (0..3).map(move |at| partner[at] * (1.0 - lambda) as f32 + own[at] * lambda as f32)
        })
        .collect();
    assert_eq!(mixed.soft_labels(3).unwrap(), expected);
    assert_eq!(mixed.mixed(), None);
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let mixed = batch(data(one_hot), MixUp::new(0.8));
    let error = mixed.soft_labels(5).unwrap_err().to_string();
    assert_eq!(error, "num_classes: 5, but a sample has a vector of 3 numbers as its label");
    let both = |number: usize| if number == 2 { Label::Class(1) } else { one_hot(number) };
    let error = batch(data(both), MixUp::new(0.8)).soft_labels(CLASSES).unwrap_err().to_string();
    assert_eq!(error, "dataset: the labels of a batch differ: Multi([1.0, 0.0, 0.0]) and Class(1)");
}
