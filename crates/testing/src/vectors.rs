//! torchvision's results for fixed arguments, as `tests/golden/transforms.json` and the larger set beside the folder
//! `GPUFEED_SHARED` have them, and their comparison with those of any implementation.

use crate::compare::{Tally, within_except};
use crate::golden;
use crate::images::Source;
use crate::reference::{Picture, Semantics};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The values of an image, or of several, plane by plane.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Bytes(Vec<u8>),
    Floats(Vec<f32>),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Values::Bytes(bytes) => bytes.len(),
            Values::Floats(floats) => floats.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An image, a list of torchvision's functions, and what they make of it.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub group: String,
    /// Names and arguments of torchvision's `transforms.v2.functional`. Beside them: `policy`, an operation of a
    /// policy; `mix`, AugMix; `to_float`, `to_dtype(torch.float32, scale=True)`.
    pub ops: Vec<(String, Value)>,
    /// What the input is; the output may be floats though the input is bytes.
    pub semantics: Semantics,
    pub input: Arc<Input>,
    /// Channels, height and width, after the number of images where there are several.
    pub shape: Vec<usize>,
    /// The distance of the rows that `output` has: 1, in the committed subset more for large outputs.
    pub rows: usize,
    /// torchvision's values.
    pub output: Values,
    /// For each value of `output`, whether a last bit of torch's arithmetic decides it.
    pub unsure: Vec<bool>,
    /// The number of values that are another level where saturation's and sharpness's multiply-add is rounded twice.
    pub fused: usize,
    vectors: Arc<Vec<u8>>,
}

/// Planes of bytes.
#[derive(Debug)]
pub struct Input {
    /// Channels, height, width.
    pub shape: (usize, usize, usize),
    pub planes: Vec<u8>,
}

#[derive(Deserialize)]
struct Manifest {
    inputs: Vec<NamedSlice>,
    cases: Vec<Entry>,
}

#[derive(Deserialize)]
struct NamedSlice {
    name: String,
    offset: usize,
    shape: (usize, usize, usize),
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    group: String,
    dtype: String,
    input: String,
    ops: Vec<(String, Value)>,
    output: Slice,
    unsure: Option<Unsure>,
    #[serde(default)]
    fused: usize,
    #[serde(default = "every_row")]
    rows: usize,
}

fn every_row() -> usize {
    1
}

#[derive(Deserialize)]
struct Slice {
    offset: usize,
    shape: Vec<usize>,
    dtype: String,
}

#[derive(Deserialize)]
struct Unsure {
    offset: usize,
}

/// Returns the folder of the larger set, which is beside the folder that `GPUFEED_SHARED` names, as
/// [`golden::folder`] does.
///
/// # Panics
/// If the variable is set and the folder is missing; where golden data is required and there is none.
pub fn shared() -> Option<PathBuf> {
    let folder = golden::folder("GPUFEED_SHARED")?.join("../transforms");
    assert!(folder.is_dir(), "{} is not there", folder.display());
    Some(folder)
}

/// Reads all cases of a folder: `manifest.json`, `inputs.bin`, `vectors.bin`.
///
/// # Panics
/// If a file is missing or is not as this module expects it.
pub fn open(folder: &Path) -> Vec<Case> {
    let read = |name| std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    parse(&read("manifest.json"), &read("inputs.bin"), read("vectors.bin"))
}

/// Reads the cases of a manifest; `inputs` and `vectors` are what its offsets point into.
///
/// # Panics
/// If one of them is not as this module expects it.
pub fn parse(manifest: &[u8], inputs: &[u8], vectors: Vec<u8>) -> Vec<Case> {
    let manifest: Manifest = serde_json::from_slice(manifest).expect("the manifest is as this module expects it");
    let vectors = Arc::new(vectors);
    let input = |slice: NamedSlice| {
        let (channels, height, width) = slice.shape;
        let planes = inputs[slice.offset..][..channels * height * width].to_vec();
        (slice.name, Arc::new(Input { shape: slice.shape, planes }))
    };
    let inputs: HashMap<String, Arc<Input>> = manifest.inputs.into_iter().map(input).collect();
    manifest.cases.into_iter().map(|entry| case(entry, &inputs, &vectors)).collect()
}

fn case(entry: Entry, inputs: &HashMap<String, Arc<Input>>, vectors: &Arc<Vec<u8>>) -> Case {
    let Entry { name, group, dtype, input, ops, output, unsure, fused, rows } = entry;
    let semantics = match dtype.as_str() {
        "u8" => Semantics::Uint8,
        "f32" => Semantics::Float,
        other => panic!("{name}: {other}"),
    };
    let output_rows = output.shape[output.shape.len() - 2];
    let count = output.shape.iter().product::<usize>() / output_rows.max(1) * output_rows.div_ceil(rows);
    let values = match output.dtype.as_str() {
        "u8" => Values::Bytes(vectors[output.offset..][..count].to_vec()),
        "f32" => Values::Floats(floats(&vectors[output.offset..], count)),
        other => panic!("{name}: {other}"),
    };
    // One bit for each value, the most significant first.
    let bit = |Unsure { offset }: &Unsure, i: usize| vectors[offset + i / 8] >> (7 - i % 8) & 1 == 1;
    let unsure = (0..count).map(|i| unsure.as_ref().is_some_and(|unsure| bit(unsure, i))).collect();
    let (input, vectors) = (Arc::clone(&inputs[&input]), Arc::clone(vectors));
    Case { name, group, ops, semantics, input, shape: output.shape, rows, output: values, unsure, fused, vectors }
}

fn floats(bytes: &[u8], count: usize) -> Vec<f32> {
    bytes.as_chunks::<4>().0[..count].iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

impl Case {
    /// The input in the case's semantics.
    pub fn picture(&self) -> Picture {
        Picture::from_planes(self.input.shape, &self.input.planes, self.semantics)
    }

    /// The input's bytes with interleaved channels.
    pub fn source(&self) -> Source {
        let (channels, height, width) = self.input.shape;
        let plane = height * width;
        let bytes = (0..channels * plane).map(|i| self.input.planes[i % channels * plane + i / channels]).collect();
        Source { width: width as u32, height: height as u32, channels: channels as u32, bytes }
    }

    /// The numbers that an argument stands for: a displacement field, normal numbers.
    ///
    /// # Panics
    /// If the argument is not a reference to floats.
    pub fn array(&self, argument: &Value) -> Vec<f64> {
        let slice = Slice::deserialize(argument).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        assert_eq!(slice.dtype, "f32", "{}", self.name);
        floats(&self.vectors[slice.offset..], slice.shape.iter().product()).into_iter().map(f64::from).collect()
    }

    /// The semantics of a group of cases, for titles.
    pub fn title(&self) -> String {
        format!("{} {:?}", self.group, self.semantics)
    }

    /// Whether a warp reads the nearest pixel: an unsure value may then be the neighbouring pixel's.
    pub fn reads_nearest(&self) -> bool {
        let nearest = |arguments: &Value| arguments["interpolation"] == "nearest";
        let operations = |arguments: &Value| -> Vec<Value> {
            let chains = arguments["chains"].as_array().into_iter().flatten();
            chains.filter_map(Value::as_array).flatten().cloned().collect()
        };
        self.ops.iter().any(|(_, arguments)| nearest(arguments) || operations(arguments).iter().any(nearest))
    }

    /// Takes those of an implementation's values that `output` has.
    fn selected(&self, values: &Values) -> Values {
        let [.., height, width] = self.shape[..] else { panic!("{}: no height and width", self.name) };
        let kept = |i: usize| (i / width % height).is_multiple_of(self.rows);
        fn pick<T: Copy>(values: &[T], kept: impl Fn(usize) -> bool) -> Vec<T> {
            values.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, value)| *value).collect()
        }
        match values {
            Values::Bytes(bytes) => Values::Bytes(pick(bytes, kept)),
            Values::Floats(floats) => Values::Floats(pick(floats, kept)),
        }
    }

    /// Compares an implementation's values with torchvision's. Returns the greatest difference of what is sure.
    ///
    /// Floats may differ by `bar`, those that are unsure by anything. Bytes are equal; those that are unsure may be one
    /// level off, and any level where a warp reads the nearest pixel. If `rounded_twice`, as many as `fused` counts may
    /// be one level off.
    pub fn compare(&self, actual: &Values, bar: f64, rounded_twice: bool) -> Result<f64, String> {
        let count: usize = self.shape.iter().product();
        if actual.len() != count {
            return Err(format!("{} values instead of {count}", actual.len()));
        }
        match (&self.output, self.selected(actual)) {
            (Values::Floats(expected), Values::Floats(actual)) => {
                let expected: Vec<f64> = expected.iter().copied().map(f64::from).collect();
                within_except(&self.unsure, &expected, &actual, bar)
            }
            (Values::Bytes(expected), Values::Bytes(actual)) => {
                self.compare_bytes(expected, &actual, if rounded_twice { self.fused } else { 0 })
            }
            _ => Err("bytes instead of floats, or floats instead of bytes".to_owned()),
        }
    }

    fn compare_bytes(&self, expected: &[u8], actual: &[u8], allowed: usize) -> Result<f64, String> {
        let (nearest, mut one_off) = (self.reads_nearest(), 0);
        for (i, (expected, actual)) in expected.iter().zip(actual).enumerate() {
            let difference = expected.abs_diff(*actual);
            match self.unsure[i] {
                true if difference > 1 && !nearest => {
                    return Err(format!("value {i} is {actual}, not about {expected}"));
                }
                false if difference > 1 => return Err(format!("value {i} is {actual}, not {expected}")),
                false => one_off += usize::from(difference),
                true => {}
            }
        }
        match one_off {
            0 => Ok(0.0),
            _ if one_off <= allowed => Ok(1.0),
            _ => Err(format!("{one_off} values are one level off, {allowed} may be")),
        }
    }
}

/// Compares an implementation with torchvision, case by case: each as [`Case::compare`] does, with the case's `bar`.
/// Returns the tally and the number of cases that the implementation left out by `None`.
pub fn compare(
    cases: &[Case],
    bar: impl Fn(&Case) -> f64,
    rounded_twice: bool,
    mut implementation: impl FnMut(&Case) -> Option<Values>,
) -> (Tally, usize) {
    let (mut tally, mut left_out) = (Tally::default(), 0);
    for case in cases {
        match implementation(case) {
            Some(actual) => tally.add(&case.title(), &case.name, case.compare(&actual, bar(case), rounded_twice)),
            None => left_out += 1,
        }
    }
    (tally, left_out)
}
