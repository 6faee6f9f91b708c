//! Tests of `gpufeed pack` in parts: what is refused, and what the errors name.

use crate::packing::until;
use crate::packing::{command, fails, folder, json, pack, text, visible};
#[cfg(unix)]
use crate::words::Run as _;
use serde_json::Value;
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A planned source: `source` has 15 samples in three parts.
struct Planned {
    source: TempDir,
    root: TempDir,
}

impl Planned {
    fn new() -> Planned {
        let planned = Planned { source: folder(6), root: tempfile::tempdir().unwrap() };
        assert_eq!(json(&[text(planned.source.path()), text(&planned.out()), "--plan", "--parts", "3"]).0, Some(0));
        planned
    }

    fn out(&self) -> std::path::PathBuf {
        self.root.path().join("packed")
    }

    fn records(&self) -> std::path::PathBuf {
        self.out().join(".gpufeed-pack-parts")
    }

    fn run(&self, more: &[&str]) -> (Option<i32>, Value) {
        json(&[&[text(self.source.path()), text(&self.out())], more].concat())
    }

    fn fails(&self, more: &[&str]) -> String {
        fails(&[&[text(self.source.path()), text(&self.out())], more].concat())
    }

    fn all(&self) {
        for part in ["0/3", "1/3", "2/3"] {
            assert_eq!(self.run(&["--part", part]).0, Some(0));
        }
    }
}

fn has(error: &str, all: &[&str]) {
    assert!(all.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn a_join_too_early_names_what_is_missing() {
    let planned = Planned::new();
    has(&planned.fails(&["--join"]), &["parts 0, 1, 2 of 3 are missing; --part I/3 does one"]);
    planned.run(&["--part", "1/3"]);
    has(&planned.fails(&["--join"]), &["parts 0, 2 of 3 are missing"]);
    planned.run(&["--part", "0/3"]);
    has(&planned.fails(&["--join"]), &["part 2 of 3 is missing"]);
    assert!(!planned.out().join("gpufeed-pack.json").exists());
    planned.run(&["--part", "2/3"]);
    // A shard that was lost or cut since.
    let shard = visible(&planned.out(), "tar").swap_remove(1);
    let bytes = fs::read(&shard).unwrap();
    fs::write(&shard, &bytes[..1024]).unwrap();
    let lost = ["part 1/3 is incomplete: shard-0001-000000.tar is missing or has another length"];
    has(&planned.fails(&["--join"]), &lost);
    fs::remove_file(&shard).unwrap();
    has(&planned.fails(&["--join"]), &lost);
    // The same part again packs what is missing.
    assert_eq!(planned.run(&["--part", "1/3"]).0, Some(0));
    assert_eq!(fs::read(&shard).unwrap(), bytes);
    assert_eq!(planned.run(&["--join", "--verify"]).0, Some(0));
    // After the join, too, a lost shard is named.
    fs::remove_file(&shard).unwrap();
    has(&planned.fails(&["--join"]), &["it was joined, and files are missing"]);
    has(&planned.fails(&[]), &["a pack made in parts, of which shard-0001-000000.tar is missing"]);
}

#[test]
fn foreign_and_doubled_parts_are_named() {
    let (planned, other) = (Planned::new(), Planned::new());
    planned.all();
    other.all();
    let record = |planned: &Planned, part: u32| planned.records().join(format!("part-{part:04}-of-0003.json"));
    let own = fs::read(record(&planned, 1)).unwrap();
    // Another plan's part in the place of the own one. Its source is the same, with other times.
    fs::copy(record(&other, 1), record(&planned, 1)).unwrap();
    has(
        &planned.fails(&["--join"]),
        &["part 1 of 3 is missing", "part-0001-of-0003.json is foreign: part 1/3 of the plan"],
    );
    has(&planned.fails(&["--part", "1/3"]), &["part-0001-of-0003.json: it belongs to another plan; remove it"]);
    fs::write(record(&planned, 1), &own).unwrap();
    // A part's record twice, as where folders of several disks were put together.
    fs::copy(record(&planned, 1), planned.records().join("part-0001-of-0003 (1).json")).unwrap();
    has(&planned.fails(&["--join"]), &["part 1/3 is there twice: part-0001-of-0003 (1).json, part-0001-of-0003.json"]);
    fs::remove_file(planned.records().join("part-0001-of-0003 (1).json")).unwrap();
    // A shard that is none of the parts.
    fs::copy(&visible(&planned.out(), "tar")[0], planned.out().join("zebra.tar")).unwrap();
    has(&planned.fails(&["--join"]), &["zebra.tar: no shard of these parts"]);
    fs::remove_file(planned.out().join("zebra.tar")).unwrap();
    fs::write(planned.records().join("part-0009-of-0003.json"), "{}").unwrap();
    has(&planned.fails(&["--join"]), &["part-0009-of-0003.json: it is no part's record"]);
    fs::remove_file(planned.records().join("part-0009-of-0003.json")).unwrap();
    assert_eq!(planned.run(&["--join", "--verify"]).0, Some(0));
}

#[test]
fn another_plan_is_refused_and_the_same_is_found() {
    let planned = Planned::new();
    let same = planned.run(&["--plan", "--parts", "3"]).1;
    assert_eq!(same["new"], false, "{same}");
    has(&planned.fails(&["--plan", "--parts", "4"]), &["there is a plan of 3 parts"]);
    has(
        &planned.fails(&["--plan", "--parts", "3", "--quality", "80"]),
        &["there is a plan of other settings: --to tar"],
    );
    has(&planned.fails(&["--part", "1/4"]), &["--part 1/4 is one of 4 parts, but the plan in", "has 3"]);
    has(&planned.fails(&[]), &["there is a pack in 3 parts that is not finished (--part does one of them, --join"]);
    planned.all();
    has(&planned.fails(&["--plan", "--parts", "4"]), &["there is a plan of 3 parts"]);
    assert_eq!(planned.run(&["--join"]).0, Some(0));
    assert_eq!(planned.run(&["--plan", "--parts", "3"]).1["plan"], same["plan"]);
    has(&planned.fails(&["--plan", "--parts", "4"]), &["there is the whole pack already"]);
    // Folders with something else in them.
    let one = planned.root.path().join("one");
    let arguments = [text(planned.source.path()), text(&one)];
    assert_eq!(json(&arguments).0, Some(0));
    let plan = [&arguments[..], &["--plan", "--parts", "3"]].concat();
    has(&fails(&plan), &["there is the whole pack already"]);
    fs::remove_file(visible(&one, "tar").remove(0)).unwrap();
    has(&fails(&plan), &["an unfinished pack of one run, which goes on without --plan"]);
    has(&fails(&[&arguments[..], &["--join"]].concat()), &["there is no plan", "--plan --parts N` makes one"]);
    let foreign = planned.root.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("precious.tar"), "years of work").unwrap();
    let error = fails(&[text(planned.source.path()), text(&foreign), "--plan", "--parts", "3"]);
    has(&error, &["precious.tar, of which nothing is known"]);
    let error = fails(&[text(planned.source.path()), text(&planned.root.path().join("none")), "--part", "0/3"]);
    has(&error, &["none: there is no plan", "--plan --parts N` makes one, once for all parts"]);
}

#[test]
fn a_plan_that_was_killed_is_made_again() {
    let planned = Planned::new();
    // A killed plan leaves the mark, some listings, and no plan.
    fs::remove_file(planned.records().join("plan.json")).unwrap();
    fs::remove_file(planned.records().join("listing-0002.jsonl")).unwrap();
    fs::write(planned.records().join("listing-0009.jsonl"), "").unwrap();
    has(&planned.fails(&["--part", "0/3"]), &["there is no plan"]);
    assert_eq!(planned.run(&["--plan", "--parts", "2"]).1["new"], true);
    assert!(!planned.records().join("listing-0009.jsonl").exists());
    for part in ["0/2", "1/2"] {
        assert_eq!(planned.run(&["--part", part]).0, Some(0));
    }
    assert_eq!(planned.run(&["--join", "--verify"]).0, Some(0));
}

#[test]
fn a_plan_that_was_changed_is_noticed() {
    let planned = Planned::new();
    let (plan, listing) = (planned.records().join("plan.json"), planned.records().join("listing-0001.jsonl"));
    let (plan_text, listed) = (fs::read_to_string(&plan).unwrap(), fs::read(&listing).unwrap());
    fs::write(&plan, plan_text.replace("\"parts\":3", "\"parts\":2")).unwrap();
    has(&planned.fails(&["--part", "1/2"]), &["plan.json: it has been changed"]);
    fs::write(&plan, &plan_text).unwrap();
    fs::write(&listing, &listed[..listed.len() / 2]).unwrap();
    has(&planned.fails(&["--part", "1/3"]), &["listing-0001.jsonl: it is not what the plan wrote"]);
    assert_eq!(planned.run(&["--part", "0/3"]).0, Some(0), "parts have listings of their own");
}

#[test]
fn a_source_that_changes_after_the_plan_is_named() {
    let planned = Planned::new();
    let elsewhere = planned.root.path().join("elsewhere");
    has(&fails(&[text(&elsewhere), text(&planned.out()), "--part", "0/3"]), &["elsewhere: there is no such source"]);
    fs::create_dir(&elsewhere).unwrap();
    let another = fails(&[text(&elsewhere), text(&planned.out()), "--part", "0/3"]);
    has(&another, &["elsewhere/cat/0000.x.jpg: it is missing, but in the plan in"]);
    // Its samples are sorted: cat/0000 to cat/0004 are those of the first part.
    let file = planned.source.path().join("cat/0003.x.jpg");
    let (bytes, time) = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
    let touch = |bytes: &[u8], time| {
        fs::write(&file, bytes).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    };
    for (bytes, time) in
        [(&bytes[..], time + std::time::Duration::from_secs(3600)), (&[&bytes[..], b"more"].concat(), time)]
    {
        touch(bytes, time);
        has(
            &planned.fails(&["--part", "0/3"]),
            &["cat/0003.x.jpg: it has changed (its size or time) since the plan in"],
        );
    }
    fs::remove_file(&file).unwrap();
    has(&planned.fails(&["--part", "0/3"]), &["cat/0003.x.jpg: it is missing, but in the plan in"]);
    has(&planned.fails(&["--plan", "--parts", "3"]), &["a plan of another source (15 samples)"]);
    assert_eq!(planned.run(&["--part", "1/3"]).0, Some(0), "other parts' files are as they were");
    touch(&bytes, time);
    planned.all();
    assert_eq!(planned.run(&["--join", "--verify"]).0, Some(0));
}

#[test]
fn shards_that_change_after_the_plan_are_named() {
    let (images, root) = (folder(6), tempfile::tempdir().unwrap());
    let [source, out] = ["source", "out"].map(|name| root.path().join(name));
    assert_eq!(json(&[text(images.path()), text(&source), "--shard-bytes", "20K"]).0, Some(0));
    assert_eq!(json(&[text(&source), text(&out), "--plan", "--parts", "2"]).0, Some(0));
    let part = [text(&source), text(&out), "--part", "0/2"];
    let shards = visible(&source, "tar");
    let [moved, more] = ["moved.tar", "zz.tar"].map(|name| root.path().join(name));
    fs::rename(shards.last().unwrap(), &moved).unwrap();
    has(&fails(&part), &[&format!("{}: it is missing, but in the plan", shards.last().unwrap().display())]);
    fs::rename(&moved, shards.last().unwrap()).unwrap();
    fs::copy(&shards[0], &more).unwrap();
    fs::rename(&more, source.join("zz.tar")).unwrap();
    has(&fails(&part), &["zz.tar: it is not in the plan in"]);
    fs::remove_file(source.join("zz.tar")).unwrap();
    assert_eq!(json(&part).0, Some(0));
    fs::write(&shards[1], fs::read(&shards[1]).unwrap()).unwrap();
    has(&fails(&[text(&source), text(&out), "--part", "1/2"]), &["it has changed (its size or time) since the plan"]);
}

#[test]
fn wrong_arguments_for_parts_are_refused() {
    let (source, out) = (folder(1), tempfile::tempdir().unwrap());
    let out = out.path().join("out");
    for bad in [
        &["--plan"][..],
        &["--plan", "--parts", "0"],
        &["--plan", "--parts", "100001"],
        &["--plan", "--parts", "3", "--part", "0/3"],
        &["--plan", "--parts", "3", "--join"],
        &["--parts", "3"],
        &["--part", "3/3"],
        &["--part", "0/0"],
        &["--part", "2"],
        &["--part", "0/3", "--join"],
        &["--part", "0/3", "--quality", "90"],
        &["--part", "0/3", "--to", "tar"],
        &["--part", "0/3", "--shard-bytes", "1G"],
        &["--part", "0/3", "--split", "train"],
        &["--join", "--prefix", "x"],
        &["--join", "--parts", "3"],
    ] {
        let done = pack(&[&[text(source.path()), text(&out)], bad].concat());
        assert_eq!(done.status.code(), Some(2), "{bad:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    #[cfg(feature = "lmdb")]
    {
        let done = pack(&[text(source.path()), text(&out), "--plan", "--parts", "3", "--to", "lmdb"]);
        let error = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(2) && error.contains("pack what is joined with --to lmdb"), "{error}");
    }
    assert!(!out.exists());
    // No server is asked for what can be written to none.
    for more in [&[][..], &["--plan", "--parts", "3"], &["--part", "0/3"], &["--join"]] {
        let error = fails(&[&[text(source.path()), "https://user:secret@host/packed"], more].concat());
        let says = if cfg!(feature = "remote") { "a web server cannot be written to" } else { "reads from no store" };
        assert!(error.contains("https://host/packed: ") && error.contains(says), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    let inside = source.path().join("cat/packed");
    let error = fails(&[text(source.path()), text(&inside), "--plan", "--parts", "3"]);
    assert!(error.contains("lies in the source") && !inside.exists(), "{error}");
}

#[test]
fn a_part_comes_from_the_variables_of_a_launcher() {
    let planned = Planned::new();
    let run = |variables: &[(&str, &str)], more: &[&str]| {
        let (source, out) = (planned.source.path(), planned.out());
        let mut command = command(&[&[text(source), text(&out), "--part", "auto", "--json"], more].concat());
        for name in ["ID", "MIN", "MAX", "STEP", "COUNT"] {
            command.env_remove(format!("SLURM_ARRAY_TASK_{name}"));
        }
        for name in ["JOB_COMPLETION_INDEX", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_STEP_ID"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        let done = command.run();
        let part = serde_json::from_slice::<Value>(&done.stdout).map(|value| value["part"].as_u64().unwrap());
        part.map_err(|_| String::from_utf8(done.stderr).unwrap())
    };
    let array = |task, most| {
        [
            ("SLURM_ARRAY_TASK_ID", task),
            ("SLURM_ARRAY_TASK_MIN", "0"),
            ("SLURM_ARRAY_TASK_MAX", most),
            ("SLURM_ARRAY_TASK_STEP", "1"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
        ]
    };
    assert_eq!(run(&array("2", "2"), &[]), Ok(2));
    assert_eq!(run(&[("JOB_COMPLETION_INDEX", "1")], &[]), Ok(1));
    assert_eq!(run(&[("JOB_COMPLETION_INDEX", "1")], &["--parts", "3"]), Ok(1));
    has(
        &run(&[("JOB_COMPLETION_INDEX", "1")], &["--parts", "4"]).unwrap_err(),
        &["--parts 4, but the plan in", "has 3"],
    );
    has(&run(&array("0", "3"), &[]).unwrap_err(), &["a task 3, but the plan in", "submit it with --array=0-2"]);
    assert_eq!(run(&[("RANK", "2"), ("WORLD_SIZE", "3")], &[]), Ok(2));
    has(
        &run(&[("RANK", "2"), ("WORLD_SIZE", "4")], &[]).unwrap_err(),
        &["rank 2 of 4 by RANK and WORLD_SIZE", "3 parts"],
    );
    has(&run(&[], &[]).unwrap_err(), &["neither SLURM_ARRAY_TASK_ID"]);
    assert_eq!(planned.run(&["--part", "0/3"]).0, Some(0));
    assert_eq!(planned.run(&["--join", "--verify"]).0, Some(0));
}

/// Two processes that are given the same part at the same time, as engines do when a task takes long or its worker is lost.
#[cfg(unix)]
#[test]
fn a_part_is_done_by_one_process_at_a_time() {
    let (source, root) = (folder(60), tempfile::tempdir().unwrap());
    let out = root.path().join("packed");
    let settings = ["--plan", "--parts", "1", "--quality", "90", "--shard-bytes", "20K"];
    assert_eq!(json(&[&[text(source.path()), text(&out)], &settings[..]].concat()).0, Some(0));
    let part = [text(source.path()), text(&out), "--part", "0/1", "--workers", "1"];
    let mut run = command(&part).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("no shard appears", || !visible(&out, "tar").is_empty());
    assert!(Command::new("kill").args(["-STOP", &run.id().to_string()]).status().unwrap().success());
    let mut second = command(&part).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 60];
    std::io::Read::read_exact(second.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert!(String::from_utf8_lossy(&said).starts_with("note: another process is at work on part 0/1; this one"));
    assert!(second.try_wait().unwrap().is_none());
    // The first one dies instead of going on.
    run.kill().unwrap();
    assert!(!run.wait().unwrap().success());
    assert!(second.wait().unwrap().success());
    assert_eq!(json(&[text(source.path()), text(&out), "--join", "--verify"]).0, Some(0));
}

/// A part that was killed goes on behind its last shard.
#[cfg(unix)]
#[test]
fn a_killed_part_keeps_its_shards() {
    let (source, root) = (folder(60), tempfile::tempdir().unwrap());
    let out = root.path().join("packed");
    let settings = ["--plan", "--parts", "2", "--quality", "90", "--shard-bytes", "20K"];
    assert_eq!(json(&[&[text(source.path()), text(&out)], &settings[..]].concat()).0, Some(0));
    let part = [text(source.path()), text(&out), "--part", "1/2", "--workers", "1"];
    let mut run = command(&part).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("no shards appear", || visible(&out, "tar").len() > 2);
    run.kill().unwrap();
    assert!(!run.wait().unwrap().success());
    let temporary = |folder: &Path| {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".part")).count()
    };
    let (code, summary) = json(&part);
    assert_eq!((code, &summary["part"], &summary["parts"]), (Some(0), &1.into(), &2.into()), "{summary}");
    let (resumed, encoded) = (summary["resumed"].as_u64().unwrap(), summary["encoded"].as_u64().unwrap());
    assert!(resumed > 0 && resumed + encoded == 62, "{summary}");
    assert_eq!(temporary(&out), 0, "what the killed run was writing");
    let (code, again) = json(&[&part[..], &["--verify"]].concat());
    assert_eq!((code, &again["resumed"], &again["verified"]["samples"]), (Some(0), &62.into(), &62.into()), "{again}");
}
