//! Tests [`Packer`] with data sets that are already open: packs them whole and by parts, and stops and resumes packs.
//! The tests of the command pack paths.

use super::*;
#[cfg(feature = "lmdb")]
use crate::dataset::Lmdb;
use crate::dataset::{Dataset, ImageFolder, ImageList, InMemory, Label, ObjectStamp, Sample, Stored, TarShards};
use crate::error::{Error, ErrorKind, Result};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A data set of files in memory that are read slowly. It names its samples, and `file` is the file that it says they
/// are in.
#[derive(Clone)]
struct Slow {
    files: InMemory,
    delay: Duration,
    file: Option<PathBuf>,
}

impl Slow {
    fn new(count: u32, delay: u64) -> Slow {
        let file = |index: u32| (jpeg(index), Label::Class(index % 3));
        Slow { files: (0..count).map(file).collect(), delay: Duration::from_millis(delay), file: None }
    }
}

/// Returns bytes that begin like a JPEG and differ for each number.
fn jpeg(number: u32) -> Vec<u8> {
    [&[0xff, 0xd8, 0xff][..], &number.to_le_bytes(), &[7; 600]].concat()
}

impl Dataset for Slow {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        std::thread::sleep(self.delay);
        self.files.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.files.name(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&self.files)
    }

    fn stored(&self) -> Option<&dyn Stored> {
        Some(self)
    }
}

impl Stored for Slow {
    fn own_name(&self, index: usize) -> Option<String> {
        Some(format!("frames/{index:03}.x.jpg"))
    }

    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
        self.file.iter().for_each(|file| see(file, None));
    }
}

fn settings(change: impl FnOnce(&mut PackSettings)) -> PackSettings {
    let mut settings = PackSettings::default();
    change(&mut settings);
    settings
}

/// Returns settings for shards of about ten samples.
fn small() -> PackSettings {
    settings(|settings| settings.shard_bytes = 24 << 10)
}

/// Returns the names of the tar shards in a folder, sorted, each with the shard's bytes.
fn shards(out: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let tar = entries.filter(|path| path.extension().is_some_and(|end| end == "tar"));
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut all: Vec<_> = tar.map(|path| (name(&path), fs::read(&path).unwrap())).collect();
    all.sort();
    all
}

fn kind(error: &Error) -> &ErrorKind {
    error.kind()
}

#[test]
fn a_pack_that_is_stopped_is_no_data_set_and_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let [whole, stopped] = ["whole", "stopped"].map(|name| root.path().join(name));
    Packer::of(Slow::new(200, 0), &whole).settings(small()).pack().unwrap();
    let stop = |event| match event {
        Event::Packed { done, .. } if done > 50 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let packer = || Packer::of(Slow::new(200, 2), &stopped).settings(small());
    let error = packer().listen(stop).pack().unwrap_err();
    assert!(matches!(kind(&error), ErrorKind::Stopped { .. }), "{error}");
    assert!(
        error.to_string().ends_with("the same call continues after the last sample that is on the disk"),
        "{error}"
    );
    assert!(TarShards::open(&stopped).unwrap_err().to_string().contains("has not finished"));
    let left = |name: &str| fs::read_dir(&stopped).unwrap().any(|entry| entry.unwrap().path().ends_with(name));
    assert!(!fs::read_dir(&stopped).unwrap().any(|entry| entry.unwrap().path().to_string_lossy().ends_with(".part")));
    assert!(!left("gpufeed-pack.json") && shards(&stopped).len() > 2);
    let done = packer().pack().unwrap();
    assert!(done.resumed > 20 && done.resumed + done.kept == 200, "{done:?}");
    assert!(shards(&whole) == shards(&stopped), "other bytes");
    // A complete pack is not packed again.
    let again = packer().settings(settings(|settings| (settings.shard_bytes, settings.verify) = (24 << 10, true)));
    let again = again.pack().unwrap();
    assert_eq!((again.resumed, again.kept, again.verified.unwrap().samples), (200, 0, 200));
}

#[test]
fn events_say_how_far_it_is() {
    let root = tempfile::tempdir().unwrap();
    let mut heard = Vec::new();
    let packer = Packer::of(Slow::new(40, 3), root.path().join("out")).settings(settings(|settings| {
        (settings.workers, settings.verify) = (Some(1), true);
    }));
    let packed = packer.listen(|event| {
        heard.push(event);
        ControlFlow::Continue(())
    });
    packed.pack().unwrap();
    assert_eq!(heard[0], Event::Preparing);
    assert!(heard.contains(&Event::Packed { done: 40, all: 40 }));
    assert_eq!(heard.last(), Some(&Event::Compared { done: 40, all: 40 }));
    let done = heard.iter().filter_map(|event| if let Event::Packed { done, .. } = event { Some(done) } else { None });
    assert!(done.is_sorted() && heard.len() > 4, "{heard:?}");
}

#[test]
fn members_have_the_names_that_a_data_set_knows() {
    let root = tempfile::tempdir().unwrap();
    let key = |out: &Path, index| TarShards::open(out).unwrap().key(index).unwrap().1;
    let out = root.path().join("own");
    Packer::of(Slow::new(3, 0), &out).pack().unwrap();
    assert_eq!(key(&out, 2), "frames/002_x");
    // A subset keeps the names of its samples. A name that comes a second time gets the sample's number appended.
    let out = root.path().join("made");
    Packer::of(Slow::new(3, 0).subset([2, 0]).unwrap().repeat(2).unwrap(), &out).pack().unwrap();
    let keys: Vec<_> = (0..4).map(|index| key(&out, index)).collect();
    assert_eq!(keys, ["frames/002_x", "frames/000_x", "frames/002_x-000000002", "frames/000_x-000000003"]);
    // Samples without a name are named by their number, also beside samples that have names.
    let out = root.path().join("numbers");
    let files: InMemory = (0..2).map(|number| (jpeg(number), Label::None)).collect();
    Packer::of(files.clone().concat(Slow::new(1, 0)).unwrap(), &out).pack().unwrap();
    let shards = TarShards::builder().allow_unlabelled(true).open(&out).unwrap();
    let keys: Vec<_> = (0..3).map(|index| shards.key(index).unwrap().1).collect();
    assert_eq!(keys, ["000000000", "000000001", "frames/000_x"]);
}

#[test]
fn a_source_that_has_changed_is_noticed_by_its_files() {
    let root = tempfile::tempdir().unwrap();
    let (file, out) = (root.path().join("film.mkv"), root.path().join("out"));
    fs::write(&file, "a film").unwrap();
    let packer = || Packer::of(Slow { file: Some(file.clone()), ..Slow::new(5, 0) }, &out);
    packer().pack().unwrap();
    assert_eq!(packer().pack().unwrap().resumed, 5);
    fs::write(&file, "another film").unwrap();
    let error = packer().pack().unwrap_err().to_string();
    assert!(error.contains("of what the source was before its files changed"), "{error}");
    assert!(error.ends_with("; PackSettings::verify = true says which samples differ"), "{error}");
}

#[test]
fn a_path_and_the_data_set_at_it_are_one_source() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (root.path().join("source"), root.path().join("out"));
    for name in ["cat/1.jpg", "dog/2.jpg"] {
        fs::create_dir_all(source.join(name).parent().unwrap()).unwrap();
        fs::write(source.join(name), jpeg(1)).unwrap();
    }
    Packer::new(&source, &out).pack().unwrap();
    assert_eq!(Packer::of(ImageFolder::open(&source).unwrap(), &out).pack().unwrap().resumed, 2);
    // The plan was made of a path, so it lists files, and its parts read these files. An open data set cannot replace
    // the path.
    let parts = root.path().join("parts");
    Packer::new(&source, &parts).plan(2).unwrap();
    let error = Packer::of(ImageFolder::open(&source).unwrap(), &parts).part(0, 2).unwrap_err().to_string();
    assert!(error.contains("the plan lists the files of a path"), "{error}");
    assert_eq!(Packer::new(&source, &parts).part(0, 2).unwrap().unwrap().kept, 1);
}

#[test]
fn nothing_is_packed_into_a_folder_whose_images_are_all_samples() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("source");
    fs::create_dir_all(source.join("cat")).unwrap();
    fs::write(source.join("cat/1.jpg"), jpeg(1)).unwrap();
    let folder = || ImageFolder::open(&source).unwrap();
    let refused = |data: Box<dyn Dataset>, out: &Path| Packer::of(data, out).pack().unwrap_err().to_string();
    let inside = source.join("packed");
    for data in [Box::new(folder()) as Box<dyn Dataset>, Box::new(folder().repeat(2).unwrap())] {
        let error = refused(data, &inside);
        assert!(error.contains("it lies in the source; pack elsewhere"), "{error}");
    }
    let error = refused(Box::new(folder()), root.path());
    assert!(error.contains("the source lies in it"), "{error}");
    // A list may be packed into the folder of its images, because the files that are added there are no samples of the
    // list.
    fs::write(source.join("list.csv"), "path,label\ncat/1.jpg,0\n").unwrap();
    Packer::of(ImageList::open(source.join("list.csv")).unwrap(), &inside).pack().unwrap();
}

#[test]
fn a_part_of_other_samples_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let packer = |first: usize| Packer::of(Slow::new(9, 0).subset(first..first + 4).unwrap(), root.path());
    packer(0).plan(2).unwrap();
    packer(0).part(0, 2).unwrap();
    let error = packer(5).part(1, 2).unwrap_err().to_string();
    assert!(error.contains("the data set has other samples than the plan in "), "{error}");
    packer(0).part(1, 2).unwrap();
    assert_eq!(packer(0).join().unwrap().samples, 4);
}

#[cfg(feature = "lmdb")]
#[test]
fn a_change_of_an_lmdb_that_is_open_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let [stored, out] = ["stored", "out"].map(|name| root.path().join(name));
    let write = |number: u32| {
        let lmdb = settings(|settings| settings.to = PackFormat::Lmdb);
        Packer::of(Slow::new(number, 0), &stored).settings(lmdb).pack().unwrap();
    };
    let pack = || Packer::of(Lmdb::open(&stored).unwrap(), &out).pack();
    write(3);
    pack().unwrap();
    assert_eq!(pack().unwrap().resumed, 3);
    // A loader stores its seek indexes in the LMDB's folder. They change no sample, so they are no change of the
    // source.
    fs::write(stored.join(".gpufeed-seek-index"), "of a loader").unwrap();
    assert_eq!(pack().unwrap().resumed, 3);
    let data = fs::File::options().append(true).open(stored.join("data.mdb")).unwrap();
    data.set_modified(std::time::UNIX_EPOCH).unwrap();
    let error = pack().unwrap_err().to_string();
    assert!(error.contains("of what the source was before its files changed"), "{error}");
}

#[test]
fn a_packer_may_be_sent_to_a_thread() {
    let root = tempfile::tempdir().unwrap();
    let packer = Packer::of(Slow::new(2, 0), root.path().join("out"));
    assert_eq!(std::thread::spawn(move || packer.pack()).join().unwrap().unwrap().samples, 2);
}

#[test]
fn a_data_set_is_packed_by_parts() {
    let root = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| root.path().join(name));
    let packer = |out: &Path| Packer::of(Slow::new(23, 0), out);
    packer(&whole).settings(small()).pack().unwrap();
    let plan = packer(&parts).settings(small()).plan(3).unwrap();
    assert_eq!((plan.samples, plan.parts, plan.new), (23, 3, true));
    assert!(!packer(&parts).settings(small()).plan(3).unwrap().new);
    assert_eq!(packer(&parts).parts().unwrap(), (3, false));
    let error = packer(&parts).join().unwrap_err().to_string();
    assert!(error.ends_with("parts 0, 1, 2 of 3 are missing; Packer::part(I, 3) does one"), "{error}");
    for (part, parts_of) in [(3, 3), (0, 4), (0, 0)] {
        let error = packer(&parts).part(part, parts_of).unwrap_err();
        assert!(matches!(kind(&error), ErrorKind::Argument { setting: "part", .. }), "{error}");
    }
    let other = settings(|settings| settings.quality = Some(7));
    let error = packer(&parts).settings(other).part(0, 3).unwrap_err();
    assert!(matches!(kind(&error), ErrorKind::Argument { setting: "quality", .. }), "{error}");
    for part in [2, 0, 1] {
        let packed = packer(&parts).settings(small()).part(part, 3).unwrap().unwrap();
        assert_eq!((packed.part, packed.parts), (Some(part), Some(3)));
    }
    assert_eq!(packer(&parts).join().unwrap().samples, 23);
    assert!(packer(&parts).part(1, 3).unwrap().is_none());
    assert_eq!(packer(&parts).parts().unwrap(), (3, true));
    let read = |out: &Path| {
        let (data, mut buffer) = (TarShards::open(out).unwrap(), Vec::new());
        let one = |index| (data.key(index).unwrap().1, data.read(index, &mut buffer).unwrap().label);
        (0..data.len()).map(one).collect::<Vec<_>>()
    };
    assert_eq!(read(&whole), read(&parts));
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_made() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    type Change = fn(&mut PackSettings);
    let changes: [(&str, Change); 8] = [
        ("shard_bytes", |settings| settings.shard_bytes = 0),
        ("prefix", |settings| settings.prefix = "a/b".into()),
        ("prefix", |settings| settings.prefix.clear()),
        ("max_side", |settings| settings.max_side = Some(0)),
        ("max_side", |settings| settings.max_side = Some(65536)),
        ("quality", |settings| settings.quality = Some(101)),
        ("workers", |settings| settings.workers = Some(0)),
        ("split", |settings| settings.split = crate::dataset::Split::Test),
    ];
    for (name, change) in changes {
        let error = Packer::of(Slow::new(3, 0), &out).settings(settings(change)).pack().unwrap_err();
        assert!(matches!(kind(&error), ErrorKind::Argument { setting, .. } if *setting == name), "{error}");
    }
    for parts in [0, MOST_PARTS + 1] {
        let error = Packer::of(Slow::new(3, 0), &out).plan(parts).unwrap_err();
        assert!(matches!(kind(&error), ErrorKind::Argument { setting: "parts", .. }), "{error}");
    }
    let error = Packer::of(InMemory::new(), &out).pack().unwrap_err().to_string();
    assert_eq!(error, "the data set: no samples");
    assert!(!out.exists());
}

#[test]
fn settings_of_another_pack_are_named() {
    let root = tempfile::tempdir().unwrap();
    let packer = || Packer::of(Slow::new(3, 0), root.path().join("out"));
    packer().settings(settings(|settings| settings.prefix = "a".into())).pack().unwrap();
    let error = packer().pack().unwrap_err();
    let expected = vec![("to", "tar".into()), ("shard_bytes", "1073741824".into()), ("prefix", "a".into())];
    assert!(matches!(kind(&error), ErrorKind::OtherSettings { what: "a pack", settings, .. } if *settings == expected));
    assert!(error.to_string().contains("other settings: to=tar shard_bytes=1073741824 prefix=a; remove it"), "{error}");
}

#[test]
fn an_error_that_ends_all_leaves_no_sample_out() {
    /// A data set whose sample 20 fails with an error that ends the run.
    struct Ends(Slow);

    impl Dataset for Ends {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
            match index {
                20 => Err(ErrorKind::Fatal { source: "the connection is gone".into() }.into()),
                _ => self.0.read(index, buffer),
            }
        }

        fn name(&self, index: usize) -> String {
            self.0.name(index)
        }

        fn inner(&self) -> Option<&dyn Dataset> {
            Some(&self.0)
        }
    }

    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let error = Packer::of(Ends(Slow::new(30, 0)), &out).settings(small()).pack().unwrap_err();
    assert!(matches!(kind(&error), ErrorKind::Fatal { .. }), "{error}");
    let done = Packer::of(Slow::new(30, 0), &out).settings(small()).pack().unwrap();
    assert!(done.resumed > 0 && done.skipped.is_empty(), "{done:?}");
}
