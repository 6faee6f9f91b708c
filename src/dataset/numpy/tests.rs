//! Reading arrays of every type, whole and damaged.

use super::*;
use crate::ErrorKind;
use crate::dataset::{Dataset, Label, PixelFormat};
use std::fs;
use std::io::{Cursor, Write};
use zip::write::{SimpleFileOptions, ZipWriter};

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
}

fn npz(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn images(&self, bytes: &[u8]) -> Result<Arrays> {
        Numpy::open(self.write("x.npy", bytes))
    }

    /// Reads labels of two images.
    fn labels(&self, bytes: &[u8]) -> Result<Arrays> {
        let images = self.write("x.npy", &npy("|u1", "(2, 1, 1)", &[0; 2]));
        Numpy::new().npy(images, Some(self.write("y.npy", bytes)))
    }
}

fn refused(result: Result<Arrays>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DataFile { .. }), "{error}");
    error.to_string()
}

fn label(data: Result<Arrays>) -> Label {
    data.unwrap().read(1, &mut Vec::new()).unwrap().label
}

#[test]
fn what_is_called_test_is_the_second_part() {
    let files = Files::new();
    let images = |count: u8| npy("|u1", &format!("({count}, 1, 1)"), &vec![0; count.into()]);
    let labels = |count: u8| npy("|u1", &format!("({count},)"), &vec![1; count.into()]);
    let part = |x: &str| (x.to_owned(), x.replace("images", "labels").replace('x', "y"));
    for (train, test) in [("x_train", "x_test"), ("train_images", "test_images")] {
        let (train, test) = (part(train), part(test));
        let members = [(&*train.0, images(3)), (&*train.1, labels(3)), (&*test.0, images(2)), (&*test.1, labels(2))];
        let opened = crate::dataset::open(files.write("x.npz", &npz(&members))).unwrap();
        assert_eq!((opened.train.len(), opened.test.map(|test| test.len())), (3, Some(2)));
        // A test part of images without labels is not used.
        let opened = crate::dataset::open(files.write("x.npz", &npz(&members[..3]))).unwrap();
        assert_eq!((opened.train.len(), opened.test.is_some()), (3, false));
    }
}

#[test]
fn images_of_every_type_and_shape() {
    let files = Files::new();
    let shape = |descr: &str, shape: &str, values: &[u8]| {
        let data = files.images(&npy(descr, shape, values)).unwrap();
        (data.len(), data.height(), data.width(), data.format())
    };
    assert_eq!(shape("|u1", "(2, 3, 4)", &[0; 24]), (2, 3, 4, PixelFormat::R8));
    assert_eq!(shape("|u1", "(2, 5, 4, 3)", &[0; 120]), (2, 5, 4, PixelFormat::Rgb8));
    assert_eq!(shape("|u1", "(2, 3, 5, 6)", &[0; 180]), (2, 5, 6, PixelFormat::Rgb8));
    assert_eq!(shape("|u1", "(1, 5, 6, 4)", &[0; 120]), (1, 5, 6, PixelFormat::Rgba8));
    assert_eq!(shape("<f4", "(1, 1, 4, 4)", &[0; 64]), (1, 4, 4, PixelFormat::F32 { channels: 1 }));
    for (descr, bytes) in [("<f4", 0.25f32.to_le_bytes()), (">f4", 0.25f32.to_be_bytes())] {
        assert_eq!(files.images(&npy(descr, "(1, 1, 1)", &bytes)).unwrap().pixels(), 0.25f32.to_ne_bytes());
    }
    let open = files.write("open.npy", &npy("|u1", "(1, 3, 2, 3)", &(0..18).collect::<Vec<_>>()));
    let layout = |layout| Numpy::new().layout(layout).npy(&open, None::<&Path>).unwrap();
    assert_eq!(layout(Layout::Nhwc).pixels()[..4], [0, 1, 2, 3]);
    assert_eq!(layout(Layout::Nchw).pixels()[..4], [0, 6, 12, 1]);
    assert!(refused(Numpy::open(&open)).contains("channels may be second or last; set which with Numpy::new().layout"));
}

#[test]
fn labels_of_every_type() {
    let files = Files::new();
    for descr in ["|u1", "|i1", "<u2", ">i2", "<i4", ">u4", "<i8", ">u8", "|b1"] {
        let size: usize = descr[2..].parse().unwrap();
        let mut one = vec![0; size];
        one[if descr.starts_with('>') { size - 1 } else { 0 }] = 1;
        assert_eq!(
            label(files.labels(&npy(descr, "(2,)", &[vec![0; size], one].concat()))),
            Label::Class(1),
            "{descr}"
        );
        let most = refused_or_class(files.labels(&npy(descr, "(2, 1)", &[vec![0; size], vec![255; size]].concat())));
        let expected = match (&descr[1..2], size) {
            ("i", _) => "label 1 is negative, but classes count from 0".to_owned(),
            (_, 8) => "label 1 is 18446744073709551615, but classes go up to 4294967295".to_owned(),
            _ => format!("{:?}", Label::Class((u64::MAX >> (64 - 8 * size)) as u32)),
        };
        assert!(most.ends_with(&expected), "{descr}: {most}");
    }
    let floats: Vec<u8> = [0.5f32, 1.0, 2.0, 3.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(label(files.labels(&npy("<f4", "(2, 2)", &floats))), Label::from(vec![2.0, 3.0]));
    assert_eq!(label(files.labels(&npy("<f4", "(2,)", &floats[..8]))), Label::from(vec![1.0]));
    let doubles: Vec<u8> = [0.5f64, -1.5].iter().flat_map(|value| value.to_be_bytes()).collect();
    assert_eq!(label(files.labels(&npy(">f8", "(2,)", &doubles))), Label::from(vec![-1.5]));
    assert!(refused(files.labels(&npy("<f4", "(2,)", &[255; 8]))).contains("label 0 is NaN"));
    for (number, says) in [
        (16_777_217.0, "label 1: f32, which labels of numbers have, does not hold 16777217"),
        (1e40, "outside the range"),
    ] {
        let doubles: Vec<u8> = [0.5f64, number].iter().flat_map(|value| value.to_le_bytes()).collect();
        let error = refused(files.labels(&npy("<f8", "(2,)", &doubles)));
        assert!(error.contains(says), "{error}");
    }
    assert!(refused(files.labels(&npy("<f2", "(2,)", &[0; 4]))).contains("labels.astype(numpy.float32)"));
    assert!(
        refused(files.labels(&npy("<i4", "(3,)", &[0; 12])))
            .contains("labels of shape [3] and type int32, but there are 2")
    );
    assert!(refused(files.labels(&npy("<i4", "(2, 2)", &[0; 16]))).contains("labels of shape [2, 2]"));
}

fn refused_or_class(data: Result<Arrays>) -> String {
    match data {
        Ok(data) => format!("{:?}", data.read(1, &mut Vec::new()).unwrap().label),
        Err(error) => error.to_string(),
    }
}

#[test]
fn refuses_what_is_no_array_of_images() {
    let files = Files::new();
    let images = |descr: &str, shape: &str, values: &[u8]| refused(files.images(&npy(descr, shape, values)));
    assert!(
        images("<f8", "(1, 1, 1)", &[0; 8]).contains("images of float64; save them as images.astype(numpy.float32)")
    );
    assert!(images("<i4", "(1, 1, 1)", &[0; 4]).contains("images of int32; bytes from 0 to 255"));
    assert!(images("|u1", "(4,)", &[0; 4]).contains("images of shape [4]: they have 3 dimensions"));
    assert!(images("|u1", "(1, 2, 2, 2)", &[0; 8]).contains("neither the second nor the last"));
    assert!(images("|u1", "(1, 0, 2)", &[]).contains("height 0"));
    assert!(images("|u1", "(1099511627776, 2, 2)", &[0; 8]).contains("the file has 8 more"));
    assert!(images("|u1", "(1099511627776, 1099511627776, 2)", &[0; 8]).contains("larger than any file"));
    let fortran = String::from_utf8_lossy(&npy("|u1", "(2, 1, 1)", b"ab")).replace("False", "True ").into_bytes();
    let fortran: Vec<u8> = [b"\x93", &fortran[3..]].concat();
    assert!(refused(files.images(&fortran)).contains("numpy.ascontiguousarray(images)"));
    assert!(refused(files.images(b"\x89PNG\r\n\x1a\n........")).contains("byte 0: not a .npy array"));
    let whole = npy("|u1", "(2, 1, 1)", &[0; 2]);
    for end in 0..whole.len() {
        refused(files.images(&whole[..end]));
    }
    refused(files.images(&[&whole[..], &[0]].concat()));
}

#[test]
fn archives_by_known_and_by_given_names() {
    let files = Files::new();
    let (x, y) = (npy("|u1", "(2, 1, 1)", &[5, 6]), npy("<i8", "(2,)", &[[0; 8], [3, 0, 0, 0, 0, 0, 0, 0]].concat()));
    for (images, labels) in NAMES {
        let path = files.write("data.npz", &npz(&[("other", y.clone()), (images, x.clone()), (labels, y.clone())]));
        assert_eq!(label(Numpy::open(&path)), Label::Class(3), "{images}");
    }
    let path = files.write("data.npz", &npz(&[("a", x.clone()), ("b", y.clone())]));
    let error = refused(Numpy::open(&path));
    assert!(
        error.contains("no images and labels of a known name; it has ") && error.contains("npz(path, images"),
        "{error}"
    );
    let data = Numpy::new().npz(&path, "a", Some("b")).unwrap();
    assert_eq!((data.pixels(), data.name(1)), (&[5, 6][..], format!("{}, a, image 1", path.display())));
    assert_eq!(label(Numpy::new().npz(&path, "a", None)), Label::None);
    assert!(refused(Numpy::new().npz(&path, "a", Some("c"))).contains("no array c; it has "));
}

#[test]
fn damaged_archives() {
    let files = Files::new();
    let whole = npz(&[("x", npy("|u1", "(2, 8, 8)", &[7; 128])), ("y", npy("|u1", "(2,)", &[0; 2]))]);
    let read = |bytes: &[u8]| Numpy::open(files.write("data.npz", bytes));
    read(&whole).unwrap();
    for end in 0..whole.len() {
        refused(read(&whole[..end]));
    }
    // The packed values of x: every change of them is noticed, at least by their checksum.
    for at in 40..80 {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        refused(read(&damaged));
    }
    // Headers with a shape that is larger or smaller than the data.
    let asks = |shape: &str| npz(&[("x", npy("|u1", shape, &[7; 128])), ("y", npy("|u1", "(2,)", &[0; 2]))]);
    assert!(refused(read(&asks("(2, 8, 1099511627776)"))).contains("cannot hold more than"));
    assert!(refused(read(&asks("(2, 8, 9)"))).contains("the file ends after 128"));
    assert!(refused(read(&asks("(2, 8, 7)"))).contains("x.npy, byte "));
}
