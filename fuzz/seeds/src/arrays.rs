//! Makes seeds for the targets of IDX, CIFAR's binary files, `.npy` and `.npz`.

use super::packed::{gzip, zip};
use super::{Seed, two};

fn idx_file(sizes: &[u32], values: &[u8]) -> Vec<u8> {
    let bytes = sizes.iter().flat_map(|size| size.to_be_bytes());
    [0, 0, 8, sizes.len() as u8].into_iter().chain(bytes).chain(values.iter().copied()).collect()
}

pub fn idx() -> Vec<Seed> {
    let images = idx_file(&[3, 2, 3], &(0..18).collect::<Vec<_>>());
    let labels = idx_file(&[3], &[1, 9, 0]);
    let (no_images, no_labels) = (idx_file(&[0, 28, 28], &[]), idx_file(&[0], &[]));
    let mut seeds = Vec::new();
    for how in 0..4 {
        for (name, images, labels) in [
            ("plain", images.clone(), labels.clone()),
            ("packed", gzip(&images), gzip(&labels)),
            ("none", no_images.clone(), no_labels.clone()),
            ("uneven", images.clone(), no_labels.clone()),
        ] {
            seeds.push((format!("{name}-{how}"), [vec![how], two(&images, &labels)].concat()));
        }
    }
    seeds
}

pub fn cifar() -> Vec<Seed> {
    let lines = |count: u32| (0..count).map(|class| format!("class {class}\n")).collect::<String>();
    let mut seeds = Vec::new();
    for (how, head, classes) in [(0, &[7][..], 10), (1, &[4, 30], 100), (3, &[4, 30], 20)] {
        let record: Vec<u8> = head.iter().copied().chain((0..3072).map(|i| i as u8)).collect();
        let names = lines(classes);
        // Flags of the target: 4 fills up the last record, 8 adds the class names.
        seeds.push((format!("whole-{how}"), [vec![how | 8], two(&record, names.as_bytes())].concat()));
        seeds.push((format!("filled-{how}"), [vec![how | 12], two(head, names.as_bytes())].concat()));
        seeds.push((format!("packed-{how}"), [vec![how], two(&gzip(&record), b"")].concat()));
    }
    seeds
}

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
}

pub fn numpy() -> Vec<Seed> {
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let images = [
        npy("|u1", "(2, 2, 3)", &[9; 12]),
        npy("|u1", "(2, 1, 1, 3)", &[9; 6]),
        npy("<u1", "(2, 3, 5, 4)", &[9; 120]),
        npy("<f4", "(2, 3, 2, 2)", &floats(&[0.5; 24])),
        npy(">f4", "(2, 1, 1)", &[0x3F, 0, 0, 0, 0, 0, 0, 0]),
        npy("|u1", "(0, 28, 28)", &[]),
    ];
    let labels = [
        npy("|u1", "(2,)", &[1, 7]),
        npy("<i8", "(2,)", &[1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]),
        npy(">u2", "(2, 1)", &[0, 1, 0, 7]),
        npy("<f8", "(2, 2)", &[0; 32]),
        npy("<f4", "(2,)", &floats(&[1.0, -2.5])),
        npy("|b1", "(0,)", &[]),
    ];
    let version_2 = [b"\x93NUMPY\x02\0", &[58, 0, 0, 0][..], &images[0][10..]].concat();
    let mut seeds = vec![("version-2".to_owned(), [vec![8], version_2].concat())];
    for (number, (images, labels)) in images.iter().zip(&labels).enumerate() {
        // Flags of the target: 0 is one file, 1 two files, 2 an archive, 3 an archive that the target makes; 8 takes
        // the layout from the shape.
        seeds.push((format!("alone-{number}"), [vec![8], images.clone()].concat()));
        seeds.push((format!("channels-first-{number}"), [vec![0], images.clone()].concat()));
        seeds.push((format!("packed-{number}"), [vec![9], two(&gzip(images), labels)].concat()));
        seeds.push((format!("two-{number}"), [vec![9], two(images, labels)].concat()));
        let made = [two(images, b""), two(labels, b"")].concat();
        seeds.push((format!("made-{number}"), [vec![11], made.clone()].concat()));
        seeds.push((format!("deflated-{number}"), [vec![27], made.clone(), made].concat()));
        let members =
            [("x_train.npy", images), ("y_train.npy", labels), ("x_test.npy", images), ("y_test.npy", labels)];
        let archive = zip(&members[..2 + number % 2 * 2].iter().map(|(n, b)| (*n, (*b).clone())).collect::<Vec<_>>());
        seeds.push((format!("archive-{number}"), [vec![10], archive].concat()));
    }
    seeds
}
