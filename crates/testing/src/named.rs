//! Calls the reference's operators by the names and arguments of torchvision's `transforms.v2.functional`, as the cases
//! of [`crate::vectors`] have them.

use crate::reference::affine::{Affine, Rotation, affine, rotate};
use crate::reference::byte_resize::resize;
use crate::reference::jpeg::jpeg;
use crate::reference::moved::{crop, erase, five_crop, horizontal_flip, pad, resized_crop, ten_crop, vertical_flip};
use crate::reference::neighborhood::{adjust_sharpness, gaussian_blur, gaussian_noise};
use crate::reference::perspective::{coefficients, perspective};
use crate::reference::pillow;
use crate::reference::pointwise::{
    self, adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation, rgb_to_grayscale,
};
use crate::reference::policy::{mix, operation};
use crate::reference::sampling::{Fill, Filter, elastic};
use crate::reference::statistics::{autocontrast, equalize};
use crate::reference::{Picture, Semantics};
use crate::vectors::{Case, Values};
use gpufeed::transforms::{Interpolation, Op, PaddingMode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The arguments of a call.
struct Arguments<'a>(&'a Value);

impl Arguments<'_> {
    /// # Panics
    /// If the argument is missing or of another type.
    fn get<T: DeserializeOwned>(&self, name: &str) -> T {
        let value = self.0.get(name).cloned().unwrap_or_default();
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{name} in {}: {error}", self.0))
    }

    fn filter(&self) -> Filter {
        match self.get::<String>("interpolation").as_str() {
            "nearest" => Filter::Nearest,
            "bilinear" => Filter::Bilinear,
            other => panic!("no warp reads by {other}"),
        }
    }

    fn interpolation(&self) -> Interpolation {
        match self.get::<String>("interpolation").as_str() {
            "nearest" => Interpolation::Nearest,
            "nearest-exact" => Interpolation::NearestExact,
            "bilinear" => Interpolation::Bilinear,
            "bicubic" => Interpolation::Bicubic,
            other => panic!("no interpolation {other}"),
        }
    }

    fn padding_mode(&self) -> PaddingMode {
        match self.get::<String>("padding_mode").as_str() {
            "constant" => PaddingMode::Constant,
            "edge" => PaddingMode::Edge,
            "reflect" => PaddingMode::Reflect,
            "symmetric" => PaddingMode::Symmetric,
            other => panic!("no padding mode {other}"),
        }
    }

    /// Returns a fill that is one number, or several.
    fn fill(&self) -> Option<Vec<f64>> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Numbers {
            One(f64),
            Several(Vec<f64>),
        }
        self.get::<Option<Numbers>>("fill").map(|fill| match fill {
            Numbers::One(number) => vec![number],
            Numbers::Several(numbers) => numbers,
        })
    }
}

/// Runs the ops of a case. The crops of `five_crop` and `ten_crop`, which are the last ops, stand in the result one
/// after the other.
pub fn run(case: &Case) -> Values {
    let mut pictures = vec![case.picture()];
    for (name, arguments) in &case.ops {
        pictures = pictures.iter().flat_map(|picture| apply(picture, name, arguments, case)).collect();
    }
    let values = pictures.iter().flat_map(|picture| picture.image.planes.iter());
    match pictures[0].semantics {
        Semantics::Float => Values::Floats(values.map(|&value| value as f32).collect()),
        Semantics::Uint8 => Values::Bytes(values.map(|&value| byte(value)).collect()),
    }
}

/// # Panics
/// If the value is not a whole number in 0..=255.
fn byte(value: f64) -> u8 {
    assert!(value.fract() == 0.0 && (0.0..=255.0).contains(&value), "{value} is no byte");
    value as u8
}

fn apply(picture: &Picture, name: &str, arguments: &Value, case: &Case) -> Vec<Picture> {
    let get = Arguments(arguments);
    match name {
        "five_crop" => five_crop(picture, get.get("size")),
        "ten_crop" => ten_crop(picture, get.get("size"), get.get("vertical_flip")),
        "affine" | "rotate" | "perspective" | "elastic" => vec![warp(picture, name, &get, case)],
        "policy" => vec![policy(picture, arguments)],
        "mix" => {
            let chain = |operations: &Vec<Value>| operations.iter().fold(picture.clone(), |p, args| policy(&p, args));
            let chains: Vec<Picture> = get.get::<Vec<Vec<Value>>>("chains").iter().map(chain).collect();
            vec![mix(picture, get.get("m"), &get.get::<Vec<f64>>("weights"), &chains)]
        }
        _ => vec![color(picture, name, &get).unwrap_or_else(|| geometry(picture, name, &get, case))],
    }
}

fn policy(picture: &Picture, arguments: &Value) -> Picture {
    let get = Arguments(arguments);
    operation(picture, &get.get::<String>("id"), get.get("magnitude"), get.filter(), get.fill().as_deref())
}

fn warp(picture: &Picture, name: &str, get: &Arguments<'_>, case: &Case) -> Picture {
    let fill = get.fill();
    let (filter, fill): (Filter, Fill<'_>) = (get.filter(), fill.as_deref());
    match name {
        "affine" => {
            let (angle, translate, scale) = (get.get("angle"), get.get("translate"), get.get("scale"));
            let map = Affine { angle, translate, scale, shear: get.get("shear"), center: get.get("center") };
            affine(picture, &map, filter, fill)
        }
        "rotate" => {
            let rotation = Rotation { angle: get.get("angle"), expand: get.get("expand"), center: get.get("center") };
            rotate(picture, &rotation, filter, fill)
        }
        "perspective" => {
            let given = get.get::<Option<[f64; 8]>>("coefficients");
            let map = given.unwrap_or_else(|| coefficients(get.get("startpoints"), get.get("endpoints")));
            perspective(picture, map, filter, fill)
        }
        _ => {
            let numbers = case.array(&get.0["displacement"]);
            elastic(picture, numbers.as_chunks::<2>().0, filter, fill)
        }
    }
}

/// Returns the op of torchvision's function `name`, if the op has the function's name and arguments: `adjust_gamma` is
/// [`Op::AdjustGamma`].
pub fn op(name: &str, arguments: &Value) -> Option<Op> {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    let name: String = name.split('_').map(word).collect();
    let value = if arguments.as_object()?.is_empty() { json!(name) } else { json!({ name: arguments }) };
    serde_json::from_value(value).ok()
}

/// Returns the name of torchvision's function for an op: the reverse of [`op`].
pub fn function(op: &Op) -> String {
    let text = serde_json::to_value(op).expect("ops are data");
    let name =
        text.as_str().or_else(|| text.as_object()?.keys().next().map(String::as_str)).expect("the name of an op");
    match name {
        "Brightness" | "Contrast" | "Saturation" | "Hue" => format!("adjust_{}", name.to_lowercase()),
        "Grayscale" => "rgb_to_grayscale".to_owned(),
        _ => {
            let words =
                name.chars().map(|c| if c.is_uppercase() { format!("_{}", c.to_lowercase()) } else { c.into() });
            words.collect::<String>()[1..].to_owned()
        }
    }
}

fn color(picture: &Picture, name: &str, get: &Arguments<'_>) -> Option<Picture> {
    Some(match name {
        "adjust_brightness" => adjust_brightness(picture, get.get("brightness_factor")),
        "adjust_contrast" => adjust_contrast(picture, get.get("contrast_factor")),
        "adjust_saturation" => adjust_saturation(picture, get.get("saturation_factor")),
        "adjust_hue" => adjust_hue(picture, get.get("hue_factor")),
        "adjust_sharpness" => adjust_sharpness(picture, get.get("sharpness_factor")),
        "autocontrast" => autocontrast(picture),
        "equalize" => equalize(picture),
        "rgb_to_grayscale" => rgb_to_grayscale(picture, get.get("num_output_channels")),
        "normalize" => picture.normalize(&get.get::<Vec<f64>>("mean"), &get.get::<Vec<f64>>("std")),
        "to_float" => picture.to_float(),
        "jpeg" => jpeg(picture, get.get("quality")),
        "pillow_affine" => {
            let interpolation = get.get::<String>("interpolation");
            pillow::affine(picture, get.get("matrix"), &interpolation, &get.get::<Vec<f64>>("fill"))
        }
        "pillow_blur" => pillow::gaussian_blur(picture, get.get("radius")),
        "gaussian_blur" => gaussian_blur(picture, get.get("kernel_size"), get.get("sigma")),
        _ => return op(name, get.0).and_then(|op| pointwise::apply(picture, &op)),
    })
}

fn geometry(picture: &Picture, name: &str, get: &Arguments<'_>, case: &Case) -> Picture {
    let corner = || (get.get("top"), get.get("left"));
    let cropped = || (get.get("height"), get.get("width"));
    match name {
        "resize" => resize(picture, get.get("size"), get.interpolation(), get.get("antialias")),
        "resized_crop" => {
            let (interpolation, antialias) = (get.interpolation(), get.get("antialias"));
            resized_crop(picture, corner(), cropped(), get.get("size"), interpolation, antialias)
        }
        "crop" => crop(picture, corner(), cropped()),
        "pad" => pad(picture, get.get("padding"), get.padding_mode(), &get.fill().unwrap_or(vec![0.0])),
        "horizontal_flip" => horizontal_flip(picture),
        "vertical_flip" => vertical_flip(picture),
        "erase" => {
            let (corner, size) = ((get.get("i"), get.get("j")), (get.get("h"), get.get("w")));
            erase(picture, corner, size, &get.get::<Vec<f64>>("v"))
        }
        "gaussian_noise" => {
            let normals = case.array(&get.0["noise"]);
            gaussian_noise(picture, get.get("mean"), get.get("sigma"), get.get("clip"), &normals)
        }
        other => panic!("the reference has no operator {other:?}"),
    }
}
