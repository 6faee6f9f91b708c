//! A table of all operators (transforms) that a recipe can have, one row for each, with arguments to test it. Tests,
//! random lists of transforms and the seed inputs of fuzz targets are made from this table. The row of a new operator
//! goes to the end.

/// An operator and arguments to test it. Arguments are written as in an inline table of a TOML recipe, as in
/// `gamma = 0.45, gain = 1.25`.
#[derive(Debug)]
pub struct Operator {
    pub name: &'static str,
    /// The functions of torchvision that the operator calls, by their names in `tests/golden/`. Empty for an operator
    /// that only chooses among other operators.
    pub functions: &'static [&'static str],
    /// Lists of arguments that work. The first one usually has only the required arguments, so it is often empty.
    /// Together the examples give every argument a value other than its default, unless only the default works.
    pub examples: &'static [&'static str],
    /// Arguments that are errors, because they are out of range or of a wrong type.
    pub refused: &'static [Refused],
}

/// Arguments that a recipe refuses: the arguments, the key that the error names, and a part of the error's text.
type Refused = (&'static str, &'static str, &'static str);

const fn row(
    name: &'static str,
    functions: &'static [&'static str],
    examples: &'static [&'static str],
    refused: &'static [Refused],
) -> Operator {
    Operator { name, functions, examples, refused }
}

/// The number of rows that were in the table first. The random lists (`lists.rs`) and the frozen files
/// (`tests/frozen/`) name the operators of these rows in their own code. The operators of later rows, with their
/// examples, get into both from this table.
pub const FIRST: usize = 42;

/// The operators that have no arithmetic on floats.
pub const UINT8_ALONE: [&str; 6] =
    ["JPEG", "PillowGaussianBlur", "TimmAugMix", "TimmAugmentOp", "TimmAutoAugment", "TimmRandAugment"];

/// The operators that leave pixels alone, or look at boxes, which most data sets of tests have not.
pub const OF_OBJECTS: [&str; 9] = [
    "BBoxSafeRandomCrop",
    "ClampBoundingBoxes",
    "ClampKeyPoints",
    "ConvertBoundingBoxFormat",
    "RandomIoUCrop",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "SanitizeVisibility",
    "SetClampingMode",
];

impl Operator {
    /// Returns the TOML text of a recipe that has this operator alone, with these arguments.
    pub fn recipe(&self, arguments: &str) -> String {
        let comma = if arguments.is_empty() { "" } else { ", " };
        format!("transform = [{{ type = \"{}\"{comma}{arguments} }}]\n", self.name)
    }

    /// Returns the TOML text of one recipe for each example. The recipe has this operator alone.
    pub fn recipes(&self) -> impl Iterator<Item = String> {
        self.examples.iter().map(|arguments| self.recipe(arguments))
    }

    /// Returns all examples as transforms of the library.
    #[cfg(feature = "gpufeed")]
    pub fn transforms(&self) -> Vec<gpufeed::transforms::Transform> {
        let read = |text: String| gpufeed::recipe::from_toml(&text).unwrap_or_else(|error| panic!("{text}{error}"));
        self.recipes().flat_map(|text| read(text).transforms).collect()
    }
}

/// Returns the examples of the operator `name` as transforms of the library.
#[cfg(feature = "gpufeed")]
pub fn examples(name: &str) -> Vec<gpufeed::transforms::Transform> {
    let found = OPERATORS.iter().find(|operator| operator.name == name);
    found.unwrap_or_else(|| panic!("no row of {name}")).transforms()
}

/// The names of the operations from which RandAugment and the other augmentation policies choose.
pub const OPERATIONS: [&str; 15] = [
    "Identity",
    "ShearX",
    "ShearY",
    "TranslateX",
    "TranslateY",
    "Rotate",
    "Brightness",
    "Color",
    "Contrast",
    "Sharpness",
    "Posterize",
    "Solarize",
    "AutoContrast",
    "Equalize",
    "Invert",
];

#[rustfmt::skip]
pub const OPERATORS: &[Operator] = &[
    row("AdjustGamma", &["adjust_gamma"], &["gamma = 2.2", "gamma = 0.45, gain = 1.25"], &[
        ("gamma = -0.1", "gamma", "a finite number >= 0 works"),
        ("gamma = nan", "gamma", "a finite number >= 0 works"),
        ("gamma = inf", "gamma", "a finite number >= 0 works"),
        ("gamma = 1, gain = nan", "gain", "a finite number works"),
        ("gamma = 'dark'", "gamma", "a finite number >= 0 works"),
        ("gamma = 1, gain = [1, 2]", "gain", "a finite number works"),
    ]),
    row("AugMix", &["mix"], &[
        "",
        "severity = 5, mixture_width = 2, chain_depth = 3, alpha = 0.5, all_ops = false, interpolation = 'Nearest', \
         fill = [0.1, 0.2, 0.3]",
    ], &[]),
    row("AutoAugment", &OPERATIONS, &[
        "",
        "policy = 'Cifar10', interpolation = 'Bilinear', fill = 0.5",
        "policy = 'Svhn'",
    ], &[]),
    row("CenterCrop", &["center_crop"], &["size = 20", "size = [20, 22]"], &[
        ("size = 0", "size", "1 to 4194304 work"),
        ("size = [8, 0]", "size", "1 to 4194304 work"),
        ("size = 4194305", "size", "1 to 4194304 work"),
        ("size = 'big'", "size", "[height, width], each 1 to 4194304, works"),
        ("size = -1", "size", "[height, width], each 1 to 4194304, works"),
        ("size = 1.5", "size", "[height, width], each 1 to 4194304, works"),
    ]),
    row("ColorJitter", &["adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue"], &[
        "",
        "brightness = 0.1, contrast = [0.5, 1.5], saturation = 0.3, hue = [-0.1, 0.2]",
        "brightness = 0.4, contrast = [0.5, 1.75], hue = [-0.1, 0.2]",
    ], &[
        ("brightness = -0.1", "brightness", "a value >= 0 or a range 0 <= least <= greatest works"),
        ("contrast = [1.5, 0.5]", "contrast", "a value >= 0 or a range 0 <= least <= greatest works"),
        ("saturation = [-1, 1]", "saturation", "a value >= 0 or a range 0 <= least <= greatest works"),
        ("saturation = inf", "saturation", "a value >= 0 or a range 0 <= least <= greatest works"),
        ("hue = 0.6", "hue", "a value in [0, 0.5] or a range in [-0.5, 0.5] works"),
        ("hue = [-0.6, 0]", "hue", "a value in [0, 0.5] or a range in [-0.5, 0.5] works"),
        ("hue = nan", "hue", "a value in [0, 0.5] or a range in [-0.5, 0.5] works"),
        ("contrast = 'a', hue = 'a'", "contrast", "0 <= least <= greatest works"),
        ("hue = 'a'", "hue", "in [-0.5, 0.5] works"),
    ]),
    row("ElasticTransform", &["elastic"], &[
        "",
        "alpha = [30.0, 20.5], sigma = [3.0, 2.5], interpolation = 'Nearest', fill = [0.1, 0.2, 0.3]",
    ], &[
        ("sigma = -5.0", "sigma", "more than 0 to 100,000 work, or 0 for both axes"),
        ("alpha = nan", "alpha", "-1,000,000 to 1,000,000 work"),
        ("alpha = [1, 2, 3]", "alpha", "a number or [x, y], each -1,000,000 to 1,000,000, works"),
    ]),
    row("FiveCrop", &["five_crop"], &["size = 18", "size = [18, 19]"], &[
        ("size = 0", "size", "1 to 4194304 work"),
        ("size = 'big'", "size", "[height, width], each 1 to 4194304, works"),
    ]),
    row("GaussianBlur", &["gaussian_blur"], &["kernel_size = 23", "kernel_size = 5, sigma = [0.5, 1.5]"], &[]),
    row("GaussianNoise", &["gaussian_noise"], &["", "mean = -0.5, sigma = 0.25, clip = false"], &[
        ("sigma = -0.1", "sigma", "0 to 1,000,000 work"),
        ("sigma = nan", "sigma", "0 to 1,000,000 work"),
        ("mean = inf", "mean", "-1,000,000 to 1,000,000 work"),
        ("clip = 0", "clip", "true and false work"),
    ]),
    row("Grayscale", &["rgb_to_grayscale"], &["", "num_output_channels = 3"], &[
        ("num_output_channels = 2", "num_output_channels", "1 or 3 work"),
    ]),
    row("JPEG", &["jpeg"], &["quality = 50", "quality = [25, 75]"], &[
        ("quality = 50.5", "quality", "1 <= least <= greatest <= 100 works"),
    ]),
    row("Normalize", &["normalize"], &[
        "mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225]",
        "mean = [0.485, 0.1307, 1e-7], std = [0.229, -1.0, 3e10]",
    ], &[
        ("mean = [0, 0, nan], std = [1, 1, 1]", "mean", "finite numbers work"),
        ("mean = [0, 0, 0], std = [1, 0, 1]", "std", "finite numbers other than 0 work"),
        ("mean = [0, 0, 0], std = [1, inf, 1]", "std", "finite numbers other than 0 work"),
        ("mean = 0.5, std = [1, 1, 1]", "mean", "three finite numbers work"),
        ("mean = [0, 0, 0], std = [1, 1]", "std", "three finite numbers other than 0 work"),
    ]),
    row("Pad", &["pad"], &[
        "padding = 3",
        "padding = [1, 2, 3, 4], fill = [0.1, 0.2, 0.3], padding_mode = 'Reflect'",
        "padding = [1, 2], padding_mode = 'Symmetric'",
    ], &[
        ("padding = [1, 4194305]", "padding", "up to 4194304 work"),
        ("padding = 1, fill = [inf, 0, 0]", "fill", "finite numbers work"),
    ]),
    row("RandAugment", &OPERATIONS, &[
        "",
        "num_ops = 3, magnitude = 12, num_magnitude_bins = 20, interpolation = 'Bilinear', fill = [0.1, 0.2, 0.3]",
    ], &[]),
    row("RandomAdjustSharpness", &["adjust_sharpness"], &[
        "sharpness_factor = 2.0",
        "sharpness_factor = 0.5, p = 0.25",
    ], &[]),
    row("RandomAffine", &["affine"], &[
        "degrees = 15.0",
        "degrees = [1.0, 2.0], translate = [0.1, 0.2], scale = [0.8, 1.25], shear = 10.0, shear_y = [-3.0, 4.0], \
         interpolation = 'Bilinear', fill = [0.1, 0.2, 0.3], center = [1.0, 2.5]",
    ], &[]),
    row("RandomApply", &[], &[
        "transforms = [{ type = 'RandomInvert' }]",
        "p = 0.6, transforms = [{ type = 'ColorJitter', brightness = 0.4, hue = 0.5 }, { type = 'RandomApply', \
         p = 0.4, transforms = [{ type = 'RandomSolarize', threshold = 0.3 }] }]",
    ], &[
        ("transforms = []", "transforms", "1 to 255 work"),
        ("transforms = 3", "transforms", "1 to 255 tables"),
    ]),
    row("RandomAutocontrast", &["autocontrast"], &["", "p = 0.25"], &[]),
    row("RandomChannelPermutation", &["permute_channels"], &[""], &[]),
    row("RandomChoice", &[], &[
        "transforms = [{ type = 'RandomEqualize', p = 0.3 }, { type = 'RandAugment' }, { type = 'RandomInvert', \
         p = 1.0 }]",
        "transforms = [{ type = 'RandomEqualize', p = 0.3 }, { type = 'RandAugment' }, { type = 'RandomInvert', \
         p = 1.0 }], p = [0.5, 0.0, 2.0]",
    ], &[]),
    row("RandomCrop", &["pad", "crop"], &[
        "size = [28, 27], padding = [2, 3], fill = [0.7, 0.7, 0.7], pad_if_needed = true",
        "size = 26, padding_mode = 'Symmetric'",
        "size = 20, padding = [5, 6], pad_if_needed = true, padding_mode = 'Reflect'",
    ], &[
        ("size = [0, 8]", "size", "1 to 4194304 work"),
        ("size = 8, padding = 4194305", "padding", "up to 4194304 work"),
        ("size = 8, fill = [0, nan, 0]", "fill", "finite numbers work"),
        ("size = [1, 2, 3]", "size", "[height, width], each 1 to 4194304, works"),
        ("size = 8, padding = [1, 2, 3]", "padding", "each 0 to 4194304, works"),
        ("size = 8, pad_if_needed = 1", "pad_if_needed", "true and false work"),
        ("size = 8, padding_mode = 'Mirror'", "padding_mode", "Constant, Edge, Reflect and Symmetric work"),
    ]),
    row("RandomEqualize", &["equalize"], &["", "p = 0.25"], &[]),
    row("RandomErasing", &["erase"], &[
        "",
        "p = 0.55, scale = [0.1, 0.2], ratio = [0.5, 2.0], value = [0.1, 0.9, 0.5]",
        "p = 0.65, value = 'random'",
        "p = 0.75, scale = [0.1, 0.5], ratio = [0.5, 1.5], value = [0.25, -1.5, 2.0]",
        "p = 1.0, value = 0.25",
        "p = 0.85, value = 'random_color', count = [2, 3]",
    ], &[
        ("scale = [0.1, 1.1]", "scale", "0 <= least <= greatest <= 1 works"),
        ("scale = [0.3, 0.2]", "scale", "0 <= least <= greatest <= 1 works"),
        ("ratio = [0, 1]", "ratio", "0 < least <= greatest works"),
        ("value = nan", "value", "finite numbers work"),
        ("value = [0, inf, 0]", "value", "finite numbers work"),
        ("value = 'noise'", "value", "\"random_color\" works"),
        ("value = [1, 2]", "value", "\"random_color\" works"),
        ("count = [0, 2]", "count", "1 <= least <= greatest <= 100 works"),
        ("count = [3, 2]", "count", "1 <= least <= greatest <= 100 works"),
        ("count = [1, 101]", "count", "1 <= least <= greatest <= 100 works"),
        ("count = 3", "count", "1 <= least <= greatest <= 100 works"),
        ("scale = [-0.1, 0.5]", "scale", "0 <= least <= greatest <= 1 works"),
    ]),
    row("RandomGrayscale", &["rgb_to_grayscale"], &["", "p = 0.75"], &[
        ("p = 'often'", "p", "0 to 1 work"),
    ]),
    row("RandomHorizontalFlip", &["horizontal_flip"], &["", "p = 0.25"], &[
        ("p = 'often'", "p", "0 to 1 work"),
    ]),
    row("RandomInvert", &["invert"], &["", "p = 0.625"], &[]),
    row("RandomOrder", &[], &[
        "transforms = [{ type = 'RandomEqualize', p = 0.3 }, { type = 'RandAugment' }, { type = 'RandomInvert', \
         p = 1.0 }]",
    ], &[]),
    row("RandomPerspective", &["perspective"], &[
        "",
        "distortion_scale = 0.75, p = 0.25, interpolation = 'Nearest', fill = 'None'",
    ], &[]),
    row("RandomPhotometricDistort", &["photometric"], &[
        "",
        "brightness = [0.8, 1.3], contrast = [0.6, 1.4], saturation = [0.7, 1.6], hue = [-0.1, 0.2], p = 0.9",
    ], &[
        ("brightness = [-0.1, 1]", "brightness", "0 <= least <= greatest works"),
        ("contrast = [-0.1, 0.6]", "contrast", "0 <= least <= greatest works"),
        ("contrast = [1, inf]", "contrast", "0 <= least <= greatest works"),
        ("saturation = [1, 0.5]", "saturation", "0 <= least <= greatest works"),
        ("hue = [-0.6, 0]", "hue", "-0.5 <= least <= greatest <= 0.5 works"),
        ("hue = [0, nan]", "hue", "-0.5 <= least <= greatest <= 0.5 works"),
        ("contrast = 0.5", "contrast", "0 <= least <= greatest works"),
        ("hue = 0.1", "hue", "[least, greatest] in [-0.5, 0.5] works"),
        ("hue = [-0.1, 0.6]", "hue", "-0.5 <= least <= greatest <= 0.5 works"),
    ]),
    row("RandomPosterize", &["posterize"], &["bits = 4", "bits = 3, p = 0.75"], &[
        ("bits = 9", "bits", "0 to 8 work"),
        ("bits = -1", "bits", "0 to 8 work"),
        ("p = 0.5, bits = 1.5", "bits", "0 to 8 work"),
    ]),
    row("RandomResize", &["resize"], &[
        "min_size = 120, max_size = 240",
        "min_size = 90, max_size = 110, interpolation = 'NearestExact', antialias = false",
    ], &[
        ("min_size = 0, max_size = 8", "min_size", "1 to 4194304 work"),
        ("min_size = 8, max_size = 8", "max_size", "more than min_size = 8, up to 4194304, work"),
        ("min_size = 8, max_size = 4194305", "max_size", "more than min_size = 8, up to 4194304, work"),
        ("min_size = [8], max_size = 9", "min_size", "1 to 4194304 pixels work"),
        ("min_size = 8, max_size = -1", "max_size", "greater than min_size works"),
    ]),
    row("RandomResizedCrop", &["resized_crop"], &[
        "size = 90",
        "size = [25, 24], scale = [0.3, 0.9], ratio = [0.9, 1.3], antialias = false",
        "size = [50, 60], scale = [0.2, 0.9], ratio = [0.5, 1.5], interpolation = 'Bicubic'",
    ], &[
        ("size = 0", "size", "1 to 4194304 work"),
        ("size = 8, scale = [-0.1, 1]", "scale", "0 <= least <= greatest works"),
        ("size = 8, scale = [0.9, 0.1]", "scale", "0 <= least <= greatest works"),
        ("size = 8, scale = [0, inf]", "scale", "0 <= least <= greatest works"),
        ("size = 8, ratio = [0, 1]", "ratio", "0 < least <= greatest works"),
        ("size = 8, ratio = [2, 1]", "ratio", "0 < least <= greatest works"),
        ("size = 8, ratio = [1, inf]", "ratio", "0 < least <= greatest works"),
        ("size = 8, scale = 0.5", "scale", "0 <= least <= greatest works"),
        ("size = 8, interpolation = 'Linear'", "interpolation", "Nearest, NearestExact, Bilinear and Bicubic work"),
    ]),
    row("RandomRotation", &["rotate"], &[
        "degrees = 30.0",
        "degrees = [-5.0, 90.0], interpolation = 'Bilinear', expand = true, center = [7.5, 9.0], fill = 0.25",
    ], &[]),
    row("RandomShortestSize", &["resize"], &[
        "min_size = [180, 240, 320]",
        "min_size = [100, 150], max_size = 160, interpolation = 'NearestExact', antialias = false",
    ], &[
        ("min_size = []", "min_size", "1 or more work"),
        ("min_size = [8, 0]", "min_size", "1 to 4194304 work"),
        ("min_size = 4194305", "min_size", "1 to 4194304 work"),
        ("min_size = 8, max_size = 0", "max_size", "1 to 4194304 work"),
        ("min_size = [8, 'a']", "min_size", "a list of them, each 1 to 4194304, works"),
        ("min_size = 8, max_size = 1.5", "max_size", "1 to 4194304 pixels work"),
    ]),
    row("RandomSolarize", &["solarize"], &["threshold = 0.5", "threshold = 0.25, p = 0.875"], &[
        ("threshold = 1.1", "threshold", "0 to 1 work"),
        ("threshold = -0.1", "threshold", "0 to 1 work"),
        ("threshold = nan", "threshold", "0 to 1 work"),
    ]),
    row("RandomVerticalFlip", &["vertical_flip"], &["", "p = 0.125"], &[]),
    row("RandomZoomOut", &["pad"], &["", "fill = [0.1, 0.2, 0.3], side_range = [1.25, 1.5], p = 0.75"], &[
        ("side_range = [0.9, 2]", "side_range", "1 <= least <= greatest works"),
        ("side_range = [2, 1.5]", "side_range", "1 <= least <= greatest works"),
        ("side_range = [1, nan]", "side_range", "1 <= least <= greatest works"),
        ("fill = [0, nan, 0]", "fill", "finite numbers work"),
        ("side_range = 2", "side_range", "1 <= least <= greatest works"),
    ]),
    row("Resize", &["resize"], &[
        "size = [40, 50], interpolation = 'Bicubic', antialias = false",
        "size = 30, max_size = 44, interpolation = 'NearestExact'",
        "size = [70, 80]",
    ], &[
        ("size = 0", "size", "1 to 4194304 work"),
        ("size = [8, 4194305]", "size", "1 to 4194304 work"),
        ("size = 8, max_size = 8", "max_size", "more than size = 8, up to 4194304, work"),
        ("size = 8, max_size = 4194305", "max_size", "more than size = 8, up to 4194304, work"),
        ("size = [8, 8], max_size = 9", "max_size", "only if size is a short side"),
        ("size = 8, antialias = 'yes'", "antialias", "true and false work"),
        ("size = 8, max_size = -4", "max_size", "greater than size works"),
    ]),
    row("ScaleJitter", &["resize"], &[
        "target_size = [300, 200]",
        "target_size = [80, 90], scale_range = [0.5, 1.5], interpolation = 'NearestExact', antialias = false",
    ], &[
        ("target_size = [8, 0]", "target_size", "1 to 4194304 work"),
        ("target_size = [8, 8], scale_range = [0, 1]", "scale_range", "0 < least <= greatest works"),
        ("target_size = [8, 8], scale_range = [2, 1]", "scale_range", "0 < least <= greatest works"),
        ("target_size = [8, 8], scale_range = [1, inf]", "scale_range", "0 < least <= greatest works"),
        ("target_size = 8", "target_size", "[width, height], each 1 to 4194304, works"),
        ("target_size = [8, 8], scale_range = 2", "scale_range", "0 < least <= greatest works"),
    ]),
    row("TenCrop", &["ten_crop"], &["size = 17", "size = [15, 16], vertical_flip = true"], &[
        ("size = [8, 0]", "size", "1 to 4194304 work"),
        ("size = 8, vertical_flip = 1", "vertical_flip", "true and false work"),
        ("size = 8, vertical_flip = 'yes'", "vertical_flip", "true and false work"),
    ]),
    row("ToDtype", &["to_float"], &["", "dtype = 'F32', scale = true"], &[]),
    row("TrivialAugmentWide", &OPERATIONS, &[
        "",
        "num_magnitude_bins = 11, interpolation = 'Bilinear', fill = 0.5",
    ], &[]),
    row("PillowGaussianBlur", &["pillow_blur"], &["radius = [0.1, 2.0]", "radius = [3, 5.5]"], &[
        ("radius = [2, 1]", "radius", "0 <= least <= greatest <= 1,000,000 works"),
        ("radius = [-1, 1]", "radius", "0 <= least <= greatest <= 1,000,000 works"),
        ("radius = [0, 2e6]", "radius", "0 <= least <= greatest <= 1,000,000 works"),
        ("radius = 2", "radius", "[least, greatest] with 0 <= least <= greatest <= 1,000,000 works"),
    ]),
    row("TimmAugMix", &[], &[
        "ops = [{ name = 'Rotate' }, { name = 'Equalize', prob = 0.75 }]",
        "alpha = 0.5, width = 2, depth = 3, blended = true, ops = [{ name = 'ShearX', prob = 1.0, magnitude = 3.0, \
         uniform = true }, { name = 'SolarizeIncreasing', prob = 1.0 }]",
    ], &[
        ("ops = []", "ops", "1 to 255 work"),
        ("ops = [{ name = 'Blur' }]", "ops", "1 to 255 tables with a name each work"),
        ("ops = [{ name = 'Rotate' }], width = 0", "width", "1 to 64 work"),
        ("ops = [{ name = 'Rotate' }], depth = 0", "depth", "1 to 64 work, and -1 for 1 to 3 at random"),
        ("ops = [{ name = 'Rotate' }], alpha = 0", "alpha", "a finite number > 0 works"),
        ("ops = [{ name = 'Rotate' }], blended = 1", "blended", "true and false work"),
    ]),
    row("TimmAugmentOp", &[], &[
        "name = 'SolarizeAdd'",
        "name = 'TranslateX', prob = 0.75, magnitude = 9.0, magnitude_std = 0.5, magnitude_max = 12.0, interpolation = \
         ['Nearest'], fill = [1.0, 20.0, 255.0], translate_const = 9.0, translate_pct = 0.3",
        "name = 'GaussianBlurRand', prob = 1.0, magnitude = 8.0, uniform = true",
    ], &[
        ("name = 'Cutout'", "name", "a name of timm's NAME_TO_OP works"),
        ("name = 'Rotate', prob = 1.5", "prob", "0 to 1 work"),
        ("name = 'Rotate', magnitude = nan", "magnitude", "to 1000000 work"),
        ("name = 'Rotate', magnitude_std = -1.0", "magnitude_std", "0 to 1000000 work"),
        ("name = 'Rotate', magnitude_max = 0.0", "magnitude_max", "more than 0, up to 1,000, works"),
        ("name = 'Rotate', uniform = 1", "uniform", "true and false work"),
        ("name = 'Rotate', interpolation = []", "interpolation", "a list of Nearest, Bilinear and Bicubic works"),
        ("name = 'Rotate', interpolation = ['NearestExact']", "interpolation", "Nearest, Bilinear and Bicubic works"),
        ("name = 'Rotate', fill = [0.0, 0.0, 256.0]", "fill", "three numbers from 0 to 255 work"),
        ("name = 'Rotate', translate_const = inf", "translate_const", "to 1000000 work"),
        ("name = 'Rotate', translate_pct = nan", "translate_pct", "to 1000000 work"),
    ]),
    row("TimmAutoAugment", &[], &[
        "policy = [[{ name = 'PosterizeOriginal', prob = 0.4, magnitude = 8.0 }, { name = 'Rotate' }], [{ name = \
         'AutoContrast' }]]",
    ], &[
        ("policy = []", "policy", "1 to 255 work"),
        ("policy = [[]]", "policy", "1 to 255 work"),
        ("policy = [{ name = 'Rotate' }]", "policy", "1 to 255 lists of 1 to 16 tables with a name each work"),
    ]),
    row("TimmRandAugment", &[], &[
        "ops = [{ name = 'TranslateYRel' }, { name = 'SharpnessIncreasing' }]",
        "num_layers = 1, choice_weights = [0.75, 0.25], ops = [{ name = 'Desaturate' }, { name = 'GaussianBlur' }]",
    ], &[
        ("ops = [{ name = 'Rotate' }], num_layers = 17", "num_layers", "0 to 16 work"),
        ("ops = [{ name = 'Rotate' }], choice_weights = [1, 2]", "choice_weights", "one each works"),
        ("ops = [{ name = 'Rotate' }], choice_weights = [0]", "choice_weights", "of which one is more than 0"),
        ("ops = [{ name = 'Rotate' }], choice_weights = [1]", "choice_weights", "num_layers = 2 needs as many"),
        ("ops = 'Rotate'", "ops", "1 to 255 tables with a name each work"),
    ]),
    row("CenterCropOrPad", &["pad", "crop"], &[
        "size = 40",
        "size = [60, 20], fill = [0.1, 0.2, 0.3]",
        "size = 45, padding_mode = 'Reflect'",
    ], &[
        ("size = 0", "size", "1 to 4194304 work"),
        ("size = 8, fill = [0, nan, 0]", "fill", "finite numbers work"),
        ("size = 8, padding_mode = 'Mirror'", "padding_mode", "Constant, Edge, Reflect and Symmetric work"),
    ]),
    row("RandomCropOrPad", &["pad", "crop"], &[
        "size = 30",
        "size = [55, 25], fill = [0.1, 0.2, 0.3]",
        "size = 41, padding_mode = 'Reflect'",
    ], &[
        ("size = [8, 0]", "size", "1 to 4194304 work"),
        ("size = 8, fill = [0, inf, 0]", "fill", "finite numbers work"),
    ]),
    row("RandomPad", &["pad"], &["size = 50", "size = [40, 60], fill = [0.1, 0.2, 0.3]"], &[
        ("size = 4194305", "size", "1 to 4194304 work"),
        ("size = 8, fill = 3", "fill", "three finite numbers work"),
    ]),
    row("ResizeKeepRatio", &["resize"], &[
        "size = 40",
        "size = [30, 50], longest = 1.0, interpolation = 'Bicubic', antialias = false",
        "size = 44, longest = 0.25, random_scale_prob = 0.5, random_scale_range = [0.4, 1.0], random_scale_area = true, \
         random_aspect_prob = 0.75, random_aspect_range = [0.8, 1.25]",
    ], &[
        ("size = 0", "size", "1 to 4194304 work"),
        ("size = 8, longest = 1.5", "longest", "0 to 1 work"),
        ("size = 8, random_scale_prob = nan", "random_scale_prob", "0 to 1 work"),
        ("size = 8, random_aspect_prob = -0.5", "random_aspect_prob", "0 to 1 work"),
        ("size = 8, random_scale_range = [0, 1]", "random_scale_range", "0 < least <= greatest works"),
        ("size = 8, random_aspect_range = [1, 0.5]", "random_aspect_range", "0 < least <= greatest works"),
        ("size = 8, random_scale_area = 1", "random_scale_area", "true and false work"),
    ]),
    row("TrimBorder", &["crop"], &["border_size = 2"], &[
        ("border_size = -1", "border_size", "0 to 2097151 pixels work"),
        ("border_size = 2097152", "border_size", "0 to 2097151 pixels work"),
    ]),
    row("ClampBoundingBoxes", &[], &[""], &[]),
    row("ClampKeyPoints", &[], &[""], &[]),
    row("ConvertBoundingBoxFormat", &[], &["format = 'cxcywh'", "format = 'xywh'"], &[
        ("format = 'yxyx'", "format", "xyxy, xywh and cxcywh work"),
        ("format = 3", "format", "xyxy, xywh and cxcywh work"),
    ]),
    row("SanitizeBoundingBoxes", &[], &["", "min_size = 2.5, min_area = 30"], &[
        ("min_size = 0.5", "min_size", "a finite number >= 1 works"),
        ("min_size = nan", "min_size", "a finite number >= 1 works"),
        ("min_area = inf", "min_area", "a finite number >= 1 works"),
        ("min_area = 'much'", "min_area", "a finite number >= 1 works"),
    ]),
    row("SanitizeKeyPoints", &[], &[""], &[]),
    row("RandomIoUCrop", &[], &[
        "",
        "min_scale = 0.5, max_scale = 0.9, min_aspect_ratio = 0.75, max_aspect_ratio = 1.5, sampler_options = [0.25, 1], trials = 9",
    ], &[
        ("min_scale = 0", "min_scale", "0 < min_scale <= max_scale <= 1 works"),
        ("max_scale = 1.5", "min_scale", "0 < min_scale <= max_scale <= 1 works"),
        ("min_aspect_ratio = 3", "min_aspect_ratio", "0 < min_aspect_ratio <= max_aspect_ratio works"),
        ("sampler_options = [0.5]", "sampler_options", "numbers >= 0 work, one of them 1 or more"),
        ("sampler_options = [-0.5, 1]", "sampler_options", "numbers >= 0 work, one of them 1 or more"),
        ("trials = 0", "trials", "1 to 10000 work"),
        ("trials = 'many'", "trials", "1 to 10000 work"),
    ]),
    row("SetClampingMode", &[], &["clamping_mode = 'none'"], &[
        ("clamping_mode = 'rough'", "clamping_mode", "soft and none work"),
    ]),
    row("Letterbox", &["resize", "pad"], &[
        "size = 40",
        "size = [50, 64], scaleup = false, fill = [0.1, 0.2, 0.3], interpolation = 'Bicubic'",
        "size = [70, 44], center = false, interpolation = 'Nearest', antialias = false",
    ], &[
        ("size = 0", "size", "1 to 4194304 work"),
        ("size = 8, fill = [0, nan, 0]", "fill", "finite numbers work"),
        ("size = 8, fill = 114", "fill", "three finite numbers work"),
        ("size = 8, scaleup = 1", "scaleup", "true and false work"),
        ("size = 8, center = 'no'", "center", "true and false work"),
    ]),
    row("BBoxSafeRandomCrop", &["crop", "resize"], &[
        "",
        "erosion_rate = 0.4, size = [40, 30], interpolation = 'Bicubic', antialias = false",
    ], &[
        ("erosion_rate = 1.5", "erosion_rate", "0 to 1 work"),
        ("erosion_rate = nan", "erosion_rate", "0 to 1 work"),
        ("erosion_rate = 'much'", "erosion_rate", "0 to 1 work"),
        ("size = [8, 0]", "size", "1 to 4194304 work"),
    ]),
    row("SanitizeVisibility", &[], &["min_visibility = 0.25"], &[
        ("min_visibility = 1.5", "min_visibility", "0 to 1 work"),
        ("min_visibility = nan", "min_visibility", "0 to 1 work"),
        ("min_visibility = 'most'", "min_visibility", "0 to 1 work"),
    ]),
    row("PadIfSmaller", &["pad"], &[
        "size = 60",
        "size = [70, 20], fill = [0.1, 0.2, 0.3]",
        "size = [58, 64], padding_mode = 'Reflect'",
    ], &[
        ("size = 0", "size", "1 to 4194304 work"),
        ("size = 8, fill = [0, nan, 0]", "fill", "finite numbers work"),
        ("size = 8, padding_mode = 'Wrap'", "padding_mode", "Constant, Edge, Reflect and Symmetric work"),
    ]),
    row("FixedSizeCrop", &["crop", "pad"], &[
        "size = 40",
        "size = [70, 20], fill = [0.1, 0.2, 0.3]",
        "size = [30, 60], padding_mode = 'Edge'",
    ], &[
        ("size = [8, 0]", "size", "1 to 4194304 work"),
        ("size = 8, fill = [0, nan, 0]", "fill", "finite numbers work"),
        ("size = 8, padding_mode = 'Wrap'", "padding_mode", "Constant, Edge, Reflect and Symmetric work"),
    ]),
    row("RandomSizeCrop", &["crop"], &["min_size = 20, max_size = 40", "min_size = 64, max_size = 64"], &[
        ("min_size = 0, max_size = 8", "min_size", "1 to 4194304 work"),
        ("min_size = 9, max_size = 8", "max_size", "8 is less than min_size, 9"),
        ("min_size = 9, max_size = 'all'", "max_size", "a number of pixels from min_size on works"),
    ]),
];
