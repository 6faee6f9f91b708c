use super::*;
use crate::transforms::CenterCrop;
use crate::{Backend, DataLoader, InMemory, Label, PixelFormat};
use serde_json::{Value, json};
use std::fs;

fn read(value: Value) -> serde_json::Result<LoaderSettings> {
    serde_json::from_value(value)
}

fn written(settings: &LoaderSettings) -> Value {
    serde_json::to_value(settings).unwrap()
}

#[test]
fn the_documentation_has_the_defaults() {
    let (mut said, mut seen, defaults) = (String::new(), 0, written(&LoaderSettings::default()));
    for line in
        include_str!("../settings.rs").lines().map(str::trim).take_while(|line| !line.starts_with("impl Default"))
    {
        if let Some(text) = line.strip_prefix("///") {
            said += text;
        } else if let Some((name, _)) = line.strip_prefix("pub ").and_then(|field| field.split_once(": ")) {
            let (_, default) = said.rsplit_once("Default: ").unwrap_or_else(|| panic!("{name}: no default"));
            let default = default.trim().trim_end_matches('.').trim_matches('`');
            // Some defaults are words, not JSON: they say what a loader does without the setting, which is then null.
            match serde_json::from_str::<Value>(default) {
                Ok(value) => assert_eq!(value, defaults[name], "{name}"),
                Err(_) => assert!(defaults[name].is_null(), "{name}: {default}"),
            }
            seen += 1;
        }
        if !line.starts_with("///") && !line.starts_with("#[serde") {
            said.clear();
        }
    }
    assert_eq!(seen, defaults.as_object().unwrap().len());
}

#[test]
fn each_form_is_read_as_it_is_written() {
    for (name, value) in [
        ("batch_size", json!(256)),
        ("shuffle", json!(true)),
        ("order", json!("full")),
        ("order", json!(["blocks", 256, 4])),
        ("lanes", json!(64)),
        ("shard", json!("auto")),
        ("shard", json!([3, 8])),
        ("last_batch", json!("drop")),
        ("layout", json!("nhwc")),
        ("dtype", json!("float16")),
        ("dtype", json!("bfloat16")),
        ("semantics", json!("uint8")),
        ("on_error", json!("fail")),
        ("on_error", json!("skip")),
        ("on_error", json!(0.5)),
        ("memory_budget", json!("3G")),
        ("memory_budget", json!(1_000_000)),
        ("cache", json!("host:16G")),
        ("cache", json!("device:1000000")),
        ("cache", json!("off")),
        ("execute", json!("cpu")),
        ("exif", json!(false)),
        ("truncated", json!("fill")),
        ("seek_indexes", json!("memory")),
        ("seek_indexes", json!("/var/cache/a.seek")),
        ("read_ahead", json!("512M")),
        ("read_ahead", json!(null)),
        ("remote_cache", json!(["/scratch", "200G"])),
    ] {
        let settings = read(json!({ name: value })).unwrap();
        assert_eq!(written(&settings)[name], value, "{name}");
        assert_eq!(read(written(&settings)).unwrap(), settings);
    }
    // Other forms are read, too, and written in the usual form: those of recipes, of the command's flags, and numbers.
    for (name, given, expected) in [
        ("semantics", json!("Uint8"), json!("uint8")),
        ("dtype", json!("F16"), json!("float16")),
        ("dtype", json!("BF16"), json!("bfloat16")),
        ("layout", json!("Nhwc"), json!("nhwc")),
        ("order", json!("blocks:8:64"), json!(["blocks", 8, 64])),
        ("on_error", json!(0.1), json!("skip")),
        ("slot_bytes", json!(64 << 20), json!("64M")),
    ] {
        assert_eq!(written(&read(json!({ name: given })).unwrap())[name], expected);
    }
}

#[test]
fn bytes_have_units_of_1024() {
    for (text, bytes) in [
        ("16G", 16 << 30),
        ("512m", 512 << 20),
        (" 64 KiB ", 64 << 10),
        ("1.5GB", 3 << 29),
        ("2T", 2 << 40),
        ("4096", 4096),
        ("0", 0),
    ] {
        assert_eq!(read(json!({ "slot_bytes": text })).unwrap().slot_bytes, bytes, "{text}");
    }
    for text in ["much", "", "G", "1.G", ".5G", "-1G", "1 2", "1E", "1GG", "99999999999T", "1e3"] {
        let error = read(json!({ "slot_bytes": text })).unwrap_err().to_string();
        assert!(error.contains("a number of bytes works, or text such as \"16G\""), "{text}: {error}");
    }
    assert!(read(json!({ "slot_bytes": null })).is_err() && read(json!({ "slot_bytes": -1 })).is_err());
}

#[test]
fn wrong_values_say_what_works() {
    for (name, value, words) in [
        ("batch_size", json!("many"), "\"many\"; a whole number works"),
        ("batch_size", json!(2.5), "2.5; a whole number works"),
        ("shuffle", json!(1), "1; true and false work"),
        ("order", json!(["blocks", 8]), "\"full\" and [\"blocks\", 256, 4]"),
        ("order", json!("blocks:0:8"), "\"full\" and [\"blocks\", 256, 4]"),
        ("shard", json!([1]), "\"auto\" and [rank, world] work"),
        ("last_batch", json!("wrap"), "\"wrap\"; \"partial\", \"drop\" and \"pad\" work"),
        ("layout", json!("hwc"), "\"nchw\" and \"nhwc\" work"),
        ("on_error", json!(1.5), "\"skip\", \"fail\" and the share"),
        ("on_error", json!("never"), "\"skip\", \"fail\" and the share"),
        ("cache", json!("16G"), "\"host:16G\", \"device:8G\" and \"off\" work"),
        ("cache", json!("disk:1G"), "\"host:16G\", \"device:8G\" and \"off\" work"),
        ("seek_indexes", json!(3), "3; \"beside\", \"memory\", \"off\" and a path work"),
        ("remote_cache", json!("/scratch"), "a folder and its bound"),
        ("remote_cache", json!(["/scratch", "much"]), "a folder and its bound"),
    ] {
        let error = read(json!({ name: value })).unwrap_err().to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
    assert!(read(json!({ "worker": 2 })).unwrap_err().to_string().starts_with("unknown field `worker`"));
}

#[test]
fn errors_of_files_name_the_line_and_the_key() {
    let root = tempfile::tempdir().unwrap();
    let load = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::write(&path, text).unwrap();
        LoaderSettings::load(&path)
    };
    for (name, text, words) in [
        ("a.toml", "# A run.\n\nworker = 2\n", "a.toml: line 3: worker: no such setting; did you mean \"workers\"?"),
        ("a.toml", "colour = \"red\"\n", "a.toml: line 1: colour: no such setting"),
        ("a.toml", "seed = 1\ncache = \"16G\"\n", "a.toml: line 2: cache: \"16G\"; \"host:16G\", "),
        ("a.toml", "order = [\n  \"blocks\", 8,\n]\n", "order: [\"blocks\",8]; \"full\" and"),
        ("a.toml", "seed = 1\nseed = 2\n", "a.toml: line 2: duplicate key"),
        ("a.toml", "seed = 1\nnonsense\n", "a.toml: line 2: "),
        ("a.json", "{\n  \"seed\": 1,\n  \"worker\": 2\n}\n", "a.json: line 3: worker: no such setting; did you mean"),
        ("a.json", "{\"workers\": \"all\"}", "a.json: line 1: workers: \"all\"; a whole number works"),
        ("a.json", "{\"seed\": 1,\n \"seed\": 2}", "a.json: line 2: seed: stands twice"),
        ("a.json", "[1]", "a.json: line 1: invalid type: sequence, expected a map"),
        ("a.json", "{\"seed\": 1", "a.json: line 1: EOF"),
    ] {
        let error = load(name, text).unwrap_err().to_string();
        assert!(error.starts_with("settings: ") && error.contains(words), "{text}: {error}");
    }
    let absent = LoaderSettings::load(root.path().join("none.toml")).unwrap_err();
    assert!(matches!(absent.kind(), crate::ErrorKind::Io { .. }), "{absent}");

    let both = [
        load("b.toml", "order = [\"blocks\", 8, 64]\nread_ahead = \"512M\"\n").unwrap(),
        load("b.JSON", r#"{"order": ["blocks", 8, 64], "read_ahead": 536870912}"#).unwrap(),
    ];
    assert_eq!(both[0], both[1]);
    assert_eq!((both[0].order, both[0].seed), (Some(Order::Blocks { samples: 8, window: 64 }), 0));
    let base = read(json!({ "seed": 7 })).unwrap();
    fs::write(root.path().join("c.toml"), "shuffle = true\n").unwrap();
    let updated = base.updated(root.path().join("c.toml")).unwrap();
    assert_eq!((updated.seed, updated.shuffle), (7, true));
}

fn data() -> InMemory {
    let mut data = InMemory::new();
    for class in 0..6 {
        data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::Class(class)).unwrap();
    }
    data
}

#[test]
fn a_loader_of_settings_is_that_of_the_methods() {
    let settings = read(json!({
        "batch_size": 2, "shuffle": true, "seed": 9, "order": ["blocks", 2, 1], "lanes": 2, "shard": [1, 2],
        "last_batch": "pad", "views": 3, "dtype": "uint8", "layout": "nhwc", "workers": 1, "queue_depth": 1,
        "exif": false, "on_error": "fail", "seek_indexes": "off",
    }));
    let builder = || DataLoader::builder(data()).transform(CenterCrop::new(2));
    let by_settings = builder().settings(settings.unwrap()).build(&Backend::Cpu).unwrap();
    let by_methods = builder()
        .batch_size(2)
        .shuffle(true)
        .seed(9)
        .order(Order::Blocks { samples: 2, window: 1 })
        .lanes(2)
        .shard(1, 2)
        .last_batch(LastBatch::Pad)
        .views(3)
        .output(Layout::Nhwc, DType::U8)
        .workers(1)
        .queue_depth(1)
        .exif(Orientation::Ignore)
        .on_error(OnError::Fail)
        .seek_indexes(SeekIndexes::Off)
        .build(&Backend::Cpu)
        .unwrap();
    assert_eq!(by_settings.settings(), by_methods.settings());
    assert_eq!(by_settings.explain(), by_methods.explain());
    assert_eq!(by_settings.recipe(), by_methods.recipe());
    // A loader that is built from the settings in force of another loader has the same settings.
    let again = builder().settings(by_settings.settings().clone()).build(&Backend::Cpu).unwrap();
    assert_eq!(again.settings(), by_settings.settings());
}

#[test]
fn a_later_call_replaces_a_setting() {
    let recipe = || {
        crate::recipe::from_toml(
            "views = 2\nsemantics = \"Uint8\"\n[output]\ndtype = \"F16\"\n[[transform]]\ntype = \"CenterCrop\"\nsize = 2\n",
        )
    };
    let built = |builder: crate::DataLoaderBuilder| builder.build(&Backend::Cpu).unwrap().settings().clone();
    let before = built(DataLoader::builder(data()).output(Layout::Nhwc, DType::U8).views(3).recipe(recipe().unwrap()));
    assert_eq!((before.layout, before.dtype, before.views), (Some(Layout::Nchw), Some(DType::F16), Some(2)));
    let after = built(DataLoader::builder(data()).recipe(recipe().unwrap()).output(Layout::Nhwc, DType::U8).views(3));
    assert_eq!((after.layout, after.dtype, after.views), (Some(Layout::Nhwc), Some(DType::U8), Some(3)));
    let kept = built(DataLoader::builder(data()).recipe(recipe().unwrap()).settings(LoaderSettings::default()));
    assert_eq!((kept.dtype, kept.semantics, kept.views), (Some(DType::F16), Some(Semantics::Uint8), Some(2)));
}

#[test]
fn a_share_by_the_launcher_is_in_force_as_numbers() {
    let settings = read(json!({ "shard": "auto" })).unwrap();
    let loader =
        DataLoader::builder(data()).transform(CenterCrop::new(2)).settings(settings).build(&Backend::Cpu).unwrap();
    let shard = loader.shard();
    assert_eq!(loader.settings().shard, Some(ShardChoice::ByHand { rank: shard.rank, world: shard.world }));
    let whole = DataLoader::builder(data()).transform(CenterCrop::new(2)).build(&Backend::Cpu).unwrap();
    assert_eq!(whole.settings().shard, None);
}
