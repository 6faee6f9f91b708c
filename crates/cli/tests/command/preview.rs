//! Tests of `gpufeed preview`: the sheet, the parameters as JSON, the replay of one sample, and the errors for wrong
//! arguments.

use crate::words::Run as _;
use gpufeed::transforms::ParamsOp;
use gpufeed::{Backend, DataLoader, Execute, Gpu, ImageFolder, recipe};
use gpufeed_testing::encoded::{encode, with_exif};
use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgb, RgbImage};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        Rgb([(x * 255 / width) as u8, (y * 255 / height) as u8, ((x * 7 + y * 3) % 256) as u8])
    })
}

/// Makes a data set of two classes with a landscape, a portrait, a gray and a tiny image.
fn folder() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let gray = GrayImage::from_fn(90, 60, |x, y| Luma([(x * 2 + y) as u8]));
    let files: [(&str, DynamicImage); 4] = [
        ("cat/landscape.jpg", picture(400, 250).into()),
        ("cat/portrait.png", picture(150, 340).into()),
        ("dog/gray.png", gray.into()),
        ("dog/tiny.png", picture(32, 32).into()),
    ];
    for (name, image) in files {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        image.save(path).unwrap();
    }
    root
}

fn preview(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.current_dir(folder).env("NODEVICE_SELECT", "1").arg("preview").arg(".").args(arguments).run()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn fails(folder: &Path, arguments: &[&str], words: &[&str]) {
    let output = preview(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    assert!(words.iter().all(|word| error.contains(word)), "{arguments:?}: {error}");
}

fn own_recipe(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("own.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// Cuts out of the sheet the place that the JSON gives for a draw.
fn tile(sheet: &RgbImage, draw: &Value) -> RgbImage {
    let [left, top, width, height] =
        ["left", "top", "width", "height"].map(|side| draw["place"][side].as_u64().unwrap() as u32);
    image::imageops::crop_imm(sheet, left, top, width, height).to_image()
}

#[test]
fn the_sheet_holds_the_pixels_of_a_loader() {
    let root = folder();
    own_recipe(
        root.path(),
        "[output]\nlayout = \"Nhwc\"\ndtype = \"U8\"\n[[transform]]\ntype = \"RandomResizedCrop\"\nsize = [180, 200]\n\
         [[transform]]\ntype = \"ColorJitter\"\ncontrast = 0.5\nhue = 0.1\n",
    );
    let arguments = ["--recipe", "own.toml", "--out", "sheet.png", "--draws", "3", "--seed", "5", "--json"];
    let report = json(&preview(root.path(), &arguments));
    let sheet = image::open(root.path().join("sheet.png")).unwrap().to_rgb8();
    let data = ImageFolder::open(root.path()).unwrap();
    let loader = DataLoader::builder(data)
        .recipe(recipe::load(&root.path().join("own.toml").display().to_string()).unwrap())
        .seed(5)
        .shuffle(true)
        .batch_size(2)
        .build(&Backend::Cpu)
        .unwrap();
    let mut compared = 0;
    for batch in loader.epochs(0..3).unwrap() {
        let batch = batch.unwrap();
        let bytes = batch.to_host().unwrap();
        for (place, (id, params)) in batch.ids().iter().zip(batch.params()).enumerate() {
            let draw = &report["samples"][*id as usize]["draws"][batch.epoch() as usize];
            let ops: Vec<ParamsOp> = serde_json::from_value(draw["ops"].clone()).unwrap();
            assert_eq!(ops, params.ops);
            let size = 180 * 200 * 3;
            assert!(tile(&sheet, draw).into_raw() == bytes[place * size..][..size], "sample {id}");
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
    assert_eq!(report["samples"][1]["class"], "cat");
    assert_eq!(report["samples"][1]["name"], "cat/portrait.png");
    assert_eq!(report["samples"][1]["height"], 340);
}

#[test]
fn draws_go_on_below_after_the_columns() {
    let root = folder();
    let sheet = |more: &[&str]| {
        let arguments = [&["--recipe", "cifar-train", "--out", "sheet.png", "--draws", "5", "--json"], more].concat();
        let report = json(&preview(root.path(), &arguments));
        let sheet = image::open(root.path().join("sheet.png")).unwrap().to_rgb8();
        let draws: Vec<Value> = report["samples"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|row| row["draws"].as_array().unwrap().clone())
            .collect();
        let lefts: Vec<u64> = draws[..5].iter().map(|draw| draw["place"]["left"].as_u64().unwrap()).collect();
        let tops: Vec<u64> = draws[..5].iter().map(|draw| draw["place"]["top"].as_u64().unwrap()).collect();
        (draws.iter().map(|draw| tile(&sheet, draw).into_raw()).collect::<Vec<_>>(), lefts, tops)
    };
    let (beside, lefts, tops) = sheet(&[]);
    assert!(lefts.is_sorted_by(|a, b| a < b) && tops.iter().all(|top| *top == tops[0]), "{lefts:?} {tops:?}");
    let (below, lefts, tops) = sheet(&["--columns", "2"]);
    assert!(lefts[0] == lefts[2] && lefts[1] == lefts[3] && lefts[0] == lefts[4] && lefts[0] < lefts[1], "{lefts:?}");
    assert!(tops[0] == tops[1] && tops[1] < tops[2] && tops[2] == tops[3] && tops[3] < tops[4], "{tops:?}");
    assert!(beside == below, "the same pictures in other places");
}

#[test]
fn one_sample_is_replayed_bit_for_bit() {
    let root = folder();
    let arguments = ["--recipe", "imagenet-train-jitter", "--sample", "2", "--epoch", "3", "--seed", "9"];
    let more = [&arguments[..], &["--json", "--raw", "raw.bin", "--out", "one.png"]].concat();
    let report = json(&preview(root.path(), &more));
    assert_eq!(report["samples"].as_array().unwrap().len(), 1);
    assert_eq!(report["samples"][0]["draws"].as_array().unwrap().len(), 1);
    assert_eq!(report["samples"][0]["draws"][0]["epoch"], 3);
    // Runs a training's loader, which shuffles and puts the sample into a batch with others.
    let loader = DataLoader::builder(ImageFolder::open(root.path()).unwrap())
        .recipe(recipe::imagenet_train_jitter())
        .shuffle(true)
        .seed(9)
        .batch_size(4)
        .build(&Backend::Cpu)
        .unwrap();
    let batch = loader.epoch(3).unwrap().next().unwrap().unwrap();
    let place = batch.ids().iter().position(|id| *id == 2).unwrap();
    let (bytes, size) = (batch.to_host().unwrap(), 3 * 224 * 224 * 4);
    let raw = std::fs::read(root.path().join("raw.bin")).unwrap();
    assert!(raw == bytes[place * size..][..size]);
    let ops: Vec<ParamsOp> = serde_json::from_value(report["samples"][0]["draws"][0]["ops"].clone()).unwrap();
    assert_eq!(ops, batch.params()[place].ops);
    // Another epoch or another seed gives other pixels.
    for other in [["--epoch", "4", "--seed", "9"], ["--epoch", "3", "--seed", "8"]] {
        let arguments =
            [&["--recipe", "imagenet-train-jitter", "--sample", "2", "--json", "--raw", "other.bin"], &other[..]];
        json(&preview(root.path(), &arguments.concat()));
        assert!(std::fs::read(root.path().join("other.bin")).unwrap() != raw);
    }
    // Normalize is undone on the sheet: nearly all of a gray photograph's pixels lie between black and white again.
    let sheet = image::open(root.path().join("one.png")).unwrap().to_rgb8();
    let shown = tile(&sheet, &report["samples"][0]["draws"][0]);
    let values = raw.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect::<Vec<f32>>();
    for (at, pixel) in shown.pixels().enumerate() {
        for (channel, (mean, std)) in [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)].into_iter().enumerate() {
            let value = values[channel * 224 * 224 + at] * std + mean;
            assert!((value * 255.0 - f32::from(pixel.0[channel])).abs() <= 0.51, "{value} {pixel:?}");
        }
    }
}

#[test]
fn the_shaders_on_an_adapter_are_asked_for_by_name() {
    let adapters = Gpu::adapters();
    gpufeed_testing::device::require(adapters.clone());
    let root = folder();
    // Whoever asks for shaders gets them from the adapter that `auto` takes, or hears that it takes none.
    let recipe = ["--recipe", "imagenet-train-jitter", "--sample", "1", "--epoch", "3", "--seed", "9", "--json"];
    let output = preview(root.path(), &[&recipe[..], &["--shaders"]].concat());
    if output.status.success() {
        assert_eq!(json(&output)["executor"], "shaders");
    } else {
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains("--adapter"), "{error}");
    }
    if adapters.is_empty() {
        return;
    }
    let Backend::Gpu(gpu) = Backend::gpu("0").unwrap() else { panic!("an adapter") };
    let run = |more: &[&str]| {
        let report = json(&preview(root.path(), &[&recipe[..], &["--raw", "raw.bin"], more].concat()));
        (report["executor"].as_str().unwrap().to_owned(), std::fs::read(root.path().join("raw.bin")).unwrap())
    };
    let (executor, shaders) = run(&["--adapter", "0", "--shaders"]);
    assert_eq!(executor, "shaders");
    let loader = DataLoader::builder(ImageFolder::open(root.path()).unwrap())
        .recipe(recipe::imagenet_train_jitter())
        .seed(9)
        .batch_size(4)
        .execute(Execute::Gpu)
        .build(&Backend::Gpu(gpu.clone()))
        .unwrap();
    let batch = loader.epoch(3).unwrap().next().unwrap().unwrap();
    let size = 3 * 224 * 224 * 4;
    assert!(shaders == batch.to_host().unwrap()[size..][..size]);
    let (executor, native) = run(&[]);
    assert_eq!(executor, "CPU executor");
    let floats = |bytes: &[u8]| bytes.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect::<Vec<_>>();
    let far = floats(&native).iter().zip(floats(&shaders)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(far <= 1e-4, "shaders and native code are {far} apart");
    if gpu.is_software() {
        let (executor, copied) = run(&["--adapter", "0"]);
        assert_eq!(executor, "CPU executor, batches copied up");
        assert!(copied == native);
    }
}

#[test]
fn a_file_of_settings_has_the_seed_and_the_output() {
    let root = folder();
    let recipe = ["--recipe", "imagenet-train-jitter", "--sample", "2", "--json"];
    let raw = |name: &str, more: &[&str]| {
        json(&preview(root.path(), &[&recipe[..], &["--raw", name], more].concat()));
        std::fs::read(root.path().join(name)).unwrap()
    };
    std::fs::write(root.path().join("run.toml"), "seed = 9\nshuffle = true\nbatch_size = 64\ncache = \"host:1M\"\n")
        .unwrap();
    assert!(raw("given.bin", &["--settings", "run.toml"]) == raw("seed.bin", &["--seed", "9"]));
    std::fs::write(root.path().join("half.toml"), "seed = 9\ndtype = \"float16\"\n").unwrap();
    assert_eq!(2 * raw("half.bin", &["--settings", "half.toml"]).len(), raw("seed.bin", &["--seed", "9"]).len());
    std::fs::write(root.path().join("run.toml"), "sed = 9\n").unwrap();
    fails(root.path(), &["--settings", "run.toml"], &["run.toml: line 1: sed: no such setting", "\"seed\""]);
}

#[test]
fn originals_are_decoded_with_the_file_of_settings() {
    let root = tempfile::tempdir().unwrap();
    let jpeg = encode(gpufeed_testing::encoded::picture(90, 60), ImageFormat::Jpeg);
    std::fs::write(root.path().join("turned.jpg"), with_exif(&jpeg, 6)).unwrap();
    std::fs::write(root.path().join("cut.jpg"), &jpeg[..jpeg.len() / 2]).unwrap();
    let shown = |more: &[&str]| {
        let report = json(&preview(root.path(), &[&["--recipe", "imagenet-train", "--json"], more].concat()));
        report["samples"].as_array().unwrap().clone()
    };
    let [cut, turned] = &shown(&[])[..] else { panic!("two samples") };
    assert_eq!((&turned["width"], &turned["height"]), (&60.into(), &90.into()));
    assert!(cut["error"].as_str().unwrap().contains("truncated"), "{cut}");
    std::fs::write(root.path().join("run.toml"), "exif = false\ntruncated = \"fill\"\nexecute = \"cpu\"\n").unwrap();
    for sample in shown(&["--settings", "run.toml"]) {
        assert_eq!((&sample["width"], &sample["height"], &sample["error"]), (&90.into(), &60.into(), &Value::Null));
        assert_eq!(sample["draws"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn tiny_images_are_enlarged_and_views_are_columns() {
    let root = folder();
    let report =
        json(&preview(root.path(), &["--recipe", "cifar-train", "--out", "a.png", "--json", "--samples", "4"]));
    // Every image is cropped to 32x32 pixels and enlarged by five on the sheet, also those larger than 32x32.
    let draw = &report["samples"][3]["draws"][0];
    assert_eq!((draw["place"]["width"].as_u64(), draw["place"]["height"].as_u64()), (Some(160), Some(160)));
    let sheet = image::open(root.path().join("a.png")).unwrap().to_rgb8();
    let shown = tile(&sheet, draw);
    // Each pixel of the crop is a square of 5x5 pixels on the sheet.
    assert!((0..160).all(|x| (0..160).all(|y| shown.get_pixel(x, y) == shown.get_pixel(x / 5 * 5, y / 5 * 5))));
    let report = json(&preview(root.path(), &["--recipe", "two-views", "--json", "--draws", "2", "--samples", "1"]));
    let draws = report["samples"][0]["draws"].as_array().unwrap();
    let columns: Vec<_> = draws.iter().map(|d| (d["epoch"].as_u64().unwrap(), d["view"].as_u64().unwrap())).collect();
    assert_eq!(columns, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_ne!(draws[0]["ops"], draws[1]["ops"]);
    assert!(draws[0]["place"].is_null() && !root.path().join("sheet.png").exists(), "no sheet was asked for");
    let output = preview(root.path(), &["--recipe", "mnist-train"]);
    assert!(output.status.success() && root.path().join("sheet.png").exists());
    assert!(String::from_utf8_lossy(&output.stdout).contains("4 samples, 16 draws"));
}

#[test]
fn a_broken_file_is_a_row_that_says_so() {
    let root = folder();
    std::fs::write(root.path().join("cat/broken.jpg"), b"\xff\xd8\xff\xe0 nothing").unwrap();
    let output = preview(root.path(), &["--json", "--out", "s.png"]);
    let report = json(&output);
    let broken = &report["samples"][0];
    assert_eq!(broken["name"], "cat/broken.jpg");
    assert!(broken["error"].as_str().unwrap().contains("JPEG"), "{broken}");
    assert_eq!(broken["draws"].as_array().unwrap().len(), 0);
    assert_eq!(report["samples"][1]["draws"].as_array().unwrap().len(), 4);
    assert!(String::from_utf8_lossy(&output.stderr).contains("warning:"));
    fails(root.path(), &["--sample", "0"], &["cat/broken.jpg", "JPEG"]);
    // An image that is too small for the recipe has the error in its row of the JSON, too.
    let report = json(&preview(root.path(), &["--json", "--recipe", "augment-only"]));
    assert!(report["samples"][4]["error"].as_str().unwrap().contains("smaller than the crop"), "{report}");
}

#[test]
fn wrong_arguments_are_explained() {
    let root = folder();
    let path = root.path();
    for (name, closest) in [("imagenet", "imagenet-eval"), ("imagenet-trian", "imagenet-train"), ("SimCLR", "simclr")] {
        let output = preview(path, &["--recipe", name]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {error}");
        let advice = format!("did you mean \"{closest}\"?");
        assert!(error.contains(&advice) && error.contains("two-views") && error.contains("TOML"), "{name}: {error}");
    }
    fails(path, &["--recipe", "recipes/none"], &["recipes/none", "No such file"]);
    fails(path, &["--recipe", "none.toml"], &["none.toml"]);
    fails(path, &["--recipe", "cat/portrait.png"], &["cat/portrait.png", "UTF-8"]);
    own_recipe(path, "[[transform]]\ntype = \"RandomInvert\"\np = 2\n");
    fails(path, &["--recipe", "own.toml"], &["own.toml", "line 3", "0 to 1 work"]);
    own_recipe(path, "[[transform]]\ntype = \"RandomResizeCrop\"\n");
    fails(path, &["--recipe", "own.toml"], &["line 2", "did you mean \"RandomResizedCrop\"?"]);
    own_recipe(path, "[[transform]]\ntype = \"RandomCrop\"\nsize = 4\npaddign = 2\n");
    fails(path, &["--recipe", "own.toml"], &["line 4", "did you mean \"padding\"?"]);
    own_recipe(path, "[[transform]]\ntype = \"RandomInvert\"\n");
    fails(path, &["--recipe", "own.toml"], &["transforms", "one size"]);
    fails(path, &["--sample", "4"], &["--sample: 4", "0 to 3"]);
    fails(path, &["--out", "no/such/folder/sheet.png"], &["--out", "no/such/folder/sheet.png"]);
    fails(path, &["--out", "cat"], &["--out: cat: it is a folder"]);
    fails(path, &["--out", "sheet.gif"], &["--out", ".png or .jpg"]);
    std::fs::create_dir(path.join("folder.png")).unwrap();
    fails(path, &["--out", "folder.png"], &["--out", "folder.png"]);
    std::fs::remove_dir(path.join("folder.png")).unwrap();
    fails(path, &["--epoch", "18446744073709551615"], &["--epoch"]);
    own_recipe(path, "views = 64\n[[transform]]\ntype = \"CenterCrop\"\nsize = 8\n");
    fails(path, &["--recipe", "own.toml", "--draws", "64"], &["16384 pictures", "--draws"]);
    fails(path, &["--adapter", "no such adapter"], &["no such adapter"]);
    assert!(!path.join("sheet.png").exists(), "nothing is left behind");
    let elsewhere = tempfile::tempdir().unwrap();
    fails(elsewhere.path(), &[], &["no samples", "looked for .jpg"]);
    let output = Command::new(env!("CARGO_BIN_EXE_gpufeed")).args(["preview", "/no/such/folder"]).run();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/folder"));
    let wrong: [&[&str]; 6] = [
        &["--draws", "0"],
        &["--samples", "0"],
        &["--sample", "1", "--samples", "2"],
        &["--raw", "a"],
        &["--shaders", "--backend", "cpu"],
        &["--shaders", "--settings", "own.toml"],
    ];
    for wrong in wrong {
        assert_eq!(preview(path, wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn every_data_set_can_be_shown() {
    let (root, out) = (folder(), tempfile::tempdir().unwrap());
    let shards = out.path().join("shards");
    let pack = Command::new(env!("CARGO_BIN_EXE_gpufeed"))
        .args(["pack", root.path().to_str().unwrap(), shards.to_str().unwrap()])
        .run();
    assert!(pack.status.success(), "{}", String::from_utf8_lossy(&pack.stderr));
    let arguments = ["--json", "--draws", "2", "--seed", "3"];
    let (files, members) = (json(&preview(root.path(), &arguments)), json(&preview(&shards, &arguments)));
    assert_eq!(members["samples"][1]["name"], "cat/portrait");
    for index in 0..4 {
        let [file, member] = [&files, &members].map(|report| &report["samples"][index]);
        assert_eq!((&file["class"], &file["draws"]), (&member["class"], &member["draws"]), "sample {index}");
    }
    // This data set has pixels of one channel and no image files.
    let digits = out.path().join("digits");
    std::fs::create_dir(&digits).unwrap();
    let header = [&[0u8, 0, 8, 3][..], &3u32.to_be_bytes(), &28u32.to_be_bytes(), &28u32.to_be_bytes()].concat();
    std::fs::write(digits.join("train-images-idx3-ubyte"), [&header[..], &[200; 3 * 784]].concat()).unwrap();
    std::fs::write(digits.join("train-labels-idx1-ubyte"), [0, 0, 8, 1, 0, 0, 0, 3, 5, 6, 7]).unwrap();
    let report = json(&preview(&digits, &["--json", "--recipe", "mnist-train", "--out", "digits.png"]));
    assert_eq!(report["samples"].as_array().unwrap().len(), 3);
    assert_eq!((&report["samples"][2]["class"], &report["samples"][2]["width"]), (&"7".into(), &28.into()));
    assert!(digits.join("digits.png").exists());
}

#[test]
fn recipes_in_bytes_show_what_was_drawn() {
    let root = folder();
    for (recipe, views, kind) in [
        ("imagenet-randaugment", 1, "Policy"),
        ("imagenet-augmix", 1, "Mixture"),
        ("simclr", 2, "GaussianBlur"),
        ("deit", 1, "Policy"),
    ] {
        let arguments = ["--recipe", recipe, "--json", "--out", "s.png", "--samples", "2", "--draws", "6"];
        let report = json(&preview(root.path(), &arguments));
        let draws = report["samples"][1]["draws"].as_array().unwrap();
        assert_eq!(draws.len(), 6 * views, "{recipe}");
        let ops: Vec<ParamsOp> =
            draws.iter().flat_map(|draw| serde_json::from_value::<Vec<_>>(draw["ops"].clone()).unwrap()).collect();
        let found = ops.iter().find(|op| format!("{:?}", op.op).starts_with(kind));
        let words = found.unwrap_or_else(|| panic!("{recipe}: no {kind} in {ops:?}")).op.to_string();
        assert!(words.is_ascii() && words.len() < 400, "{words}");
    }
}
