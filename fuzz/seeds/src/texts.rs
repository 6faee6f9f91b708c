//! Makes seeds for the targets of lists and of recipes.

use super::Seed;

pub fn lists() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut add = |kinds: &[u8], name: &str, text: &str| {
        for &kind in kinds {
            // Flags of the target: 0 is .csv, 1 .tsv, 2 .jsonl; 8 detects the header from the first line; 16 means that
            // labels are class names.
            for how in [kind, kind | 4, kind | 8, kind | 24] {
                seeds.push((format!("{name}-{how}"), [&[how], text.as_bytes()].concat()));
            }
        }
    };
    let csv = [
        ("classes", "a,3\na,0\nb/c.jpg,1\n"),
        ("header", "label,path\n7,a\n8,a\n"),
        ("names", "image,class\r\na,\"dog, big\"\r\n\r\na,cat\r\n"),
        ("numbers", "a,1,-2.5\na, 3, 4e1"),
        ("paths", "\u{FEFF}a\nb\n/c"),
    ];
    for (name, text) in csv {
        add(&[0], name, text);
        add(&[1], &format!("tabs-{name}"), &text.replace(',', "\t"));
    }
    add(&[2], "json", "{\"path\": \"a\", \"label\": 3}\n\n{\"label\": 4, \"image\": \"a\", \"more\": [{}]}");
    add(&[2], "json-names", "{\"path\":\"a\",\"label\":\"dog\"}\r\n{\"file\":\"a\",\"cls\":\"cat\"}\r\n");
    add(&[2], "json-numbers", "{\"path\": \"a\", \"label\": [0, 1]}\n{\"path\": \"a\", \"class\": [1, 0.5]}");
    add(&[2], "json-none", "\u{FEFF}{\"path\": \"a\"}\n{\"path\": \"\\u0062\", \"label\": null}");
    seeds
}

pub fn recipes() -> Vec<Seed> {
    let crop = "[[transform]]\ntype = \"RandomResizedCrop\"\nsize = 224\nscale = [0.08, 1.0]\nratio = [0.75, 1.25]\n\
        interpolation = \"Bicubic\"\nantialias = false\n";
    let resize = "[[transform]]\ntype = \"Resize\"\nsize = 40\nmax_size = 60\ninterpolation = \"NearestExact\"\n\
        [[transform]]\ntype = \"CenterCrop\"\nsize = [28, 32]\n";
    let sizes = "[[transform]]\ntype = \"RandomResize\"\nmin_size = 40\nmax_size = 60\n\
        [[transform]]\ntype = \"RandomShortestSize\"\nmin_size = [30, 40]\nmax_size = 50\n\
        [[transform]]\ntype = \"ScaleJitter\"\ntarget_size = [40, 30]\nscale_range = [0.5, 1.5]\n\
        [[transform]]\ntype = \"RandomZoomOut\"\nfill = [0.1, 0.2, 0.3]\nside_range = [1, 2]\np = 0.4\n";
    let pad = "[[transform]]\ntype = \"Pad\"\npadding = [1, 2, 3, 4]\nfill = [0.1, 0.2, 0.3]\npadding_mode = \"Reflect\"\n\
        [[transform]]\ntype = \"RandomCrop\"\nsize = 8\npadding = 4\npad_if_needed = true\n";
    let flips = "[[transform]]\ntype = \"RandomHorizontalFlip\"\n[[transform]]\ntype = \"RandomVerticalFlip\"\np = 1\n";
    let colors = "[[transform]]\ntype = \"ColorJitter\"\nbrightness = 0.4\ncontrast = [0.5, 1.5]\nsaturation = 0\nhue = 0.1\n\
        [[transform]]\ntype = \"RandomGrayscale\"\np = 0.2\n[[transform]]\ntype = \"RandomInvert\"\n\
        [[transform]]\ntype = \"RandomSolarize\"\nthreshold = 0.5\n[[transform]]\ntype = \"RandomPosterize\"\nbits = 4\n\
        [[transform]]\ntype = \"RandomChannelPermutation\"\n\
        [[transform]]\ntype = \"RandomPhotometricDistort\"\nbrightness = [0.8, 1.2]\nhue = [-0.1, 0.1]\np = 0.4\n\
        [[transform]]\ntype = \"AdjustGamma\"\ngamma = 2.2\ngain = 1.1\n\
        [[transform]]\ntype = \"GaussianNoise\"\nmean = 0.1\nsigma = 0.2\nclip = false\n\
        [[transform]]\ntype = \"JPEG\"\nquality = [25, 75]\n\
        [[transform]]\ntype = \"ElasticTransform\"\nalpha = 40\nsigma = [5, 4]\nfill = \"None\"\n";
    let ends = "[[transform]]\ntype = \"RandomErasing\"\nscale = [0.02, 0.33]\nratio = [0.3, 3.3]\nvalue = \"random\"\n\
        [[transform]]\ntype = \"Normalize\"\nmean = [0.5, 0.5, 0.5]\nstd = [0.2, 0.2, 0.2]\n\
        [[transform]]\ntype = \"Grayscale\"\nnum_output_channels = 1\n";
    let crops = "[[transform]]\ntype = \"FiveCrop\"\nsize = 5\n";
    let ten_crops = "[[transform]]\ntype = \"TenCrop\"\nsize = [5, 6]\nvertical_flip = true\n";
    let nested = "[[transform]]\ntype = \"RandomApply\"\np = 0.8\n[[transform.transforms]]\ntype = \"RandomApply\"\n\
        [[transform.transforms.transforms]]\ntype = \"CenterCrop\"\nsize = 5\n";
    let inline = "transform = [{type = \"RandomApply\", transforms = [{type = \"Grayscale\"}]}]\n";
    let mixing = "[[batch_transform]]\ntype = \"RandomChoice\"\np = [1, 0.5, 0]\n\
        [[batch_transform.transforms]]\ntype = \"MixUp\"\nalpha = 0.8\n\
        [[batch_transform.transforms]]\ntype = \"CutMix\"\npartner = \"Reversed\"\n\
        [[batch_transform.transforms]]\ntype = \"Identity\"\n";
    let warps = "[[transform]]\ntype = \"RandomRotation\"\ndegrees = 30\nexpand = true\ncenter = [1.5, 2]\n\
        [[transform]]\ntype = \"RandomAffine\"\ndegrees = [-5, 5]\ntranslate = [0.1, 0.2]\nscale = [0.8, 1.2]\nshear = 3\n\
        shear_y = [1, 2]\nfill = \"None\"\n\
        [[transform]]\ntype = \"RandomPerspective\"\ndistortion_scale = 0.4\ninterpolation = \"Nearest\"\nfill = 0.5\n";
    let neighbors = "[[transform]]\ntype = \"GaussianBlur\"\nkernel_size = [3, 5]\nsigma = [0.1, 2]\n\
        [[transform]]\ntype = \"RandomAdjustSharpness\"\nsharpness_factor = 2\n\
        [[transform]]\ntype = \"RandomAutocontrast\"\n[[transform]]\ntype = \"RandomEqualize\"\np = 0.3\n";
    let policies = "[[transform]]\ntype = \"RandAugment\"\nnum_ops = 3\nmagnitude = 12\nnum_magnitude_bins = 20\n\
        [[transform]]\ntype = \"TrivialAugmentWide\"\n[[transform]]\ntype = \"AutoAugment\"\npolicy = \"Svhn\"\n\
        [[transform]]\ntype = \"RandomChoice\"\np = [1, 0.5]\n\
        [[transform.transforms]]\ntype = \"RandomOrder\"\n\
        [[transform.transforms.transforms]]\ntype = \"RandomInvert\"\n\
        [[transform.transforms]]\ntype = \"RandomEqualize\"\n[[transform]]\ntype = \"ToDtype\"\n";
    let head = "name = \"mine\" # optional\ndescription = '''\nwhat\n'''\nviews = 2\n[output]\nlayout = \"Nhwc\"\ndtype = \"U8\"\n";
    [
        ("crop", [head, crop, flips].concat()),
        ("resize", [resize, colors].concat()),
        ("sizes", [sizes, resize, ends].concat()),
        ("pad", [head, pad, ends].concat()),
        ("crops", [resize, crops].concat()),
        ("ten-crops", [flips, ten_crops].concat()),
        ("nested", [nested, flips].concat()),
        ("warps", [warps, resize].concat()),
        ("policies", ["semantics = \"Uint8\"\n", neighbors, policies, ends].concat()),
        ("mixing", [flips, mixing].concat()),
        ("inline", ["name = \"x\"\n", inline].concat()),
    ]
    .into_iter()
    .map(|(name, text)| (name.to_owned(), text.into_bytes()))
    .collect()
}
