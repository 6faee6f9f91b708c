//! `gpufeed pack` into a bucket that is not our own: moto as S3, which `scripts/test-remote.sh` starts.

use gpufeed::dataset::TarShards;
use gpufeed::{Dataset, Label, SampleData};
use gpufeed_testing::encoded;
use image::ImageFormat as Codec;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Sends a request without a body to the server, and returns the answer.
fn request(method: &str, path: &str) -> String {
    let server = std::env::var("GPUFEED_TEST_S3")
        .expect("GPUFEED_TEST_S3 is not set: scripts/test-remote.sh starts the server")
        .replace("http://", "");
    let mut stream = TcpStream::connect(&server).unwrap();
    // The server believes any signature, but wants one before it changes an object.
    let key = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=none";
    let headers = format!("Host: {server}\r\nAuthorization: {key}\r\nContent-Length: 0\r\nConnection: close");
    write!(stream, "{method} /{path} HTTP/1.1\r\n{headers}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1.1 20"), "{method} {path}: {answer}");
    answer
}

/// Makes a bucket, and returns its address.
fn bucket(name: &str) -> String {
    request("PUT", name);
    format!("s3://{name}")
}

/// Returns the keys of all objects of a bucket.
fn keys(bucket: &str) -> Vec<String> {
    let answer = request("GET", &format!("{bucket}?list-type=2"));
    answer.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next()).map(str::to_owned).collect()
}

fn command(arguments: &[&str], scratch: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.arg("pack").args(arguments);
    if !arguments.contains(&"--scratch") && arguments[1].contains("://") {
        command.arg("--scratch").arg(scratch);
    }
    command
}

fn pack(arguments: &[&str], scratch: &Path) -> Output {
    command(arguments, scratch).output().unwrap()
}

/// Runs `gpufeed pack --json`, which has to succeed, and returns the summary.
fn json(arguments: &[&str], scratch: &Path) -> Value {
    let out = pack(&[arguments, &["--json"]].concat(), scratch);
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {error}");
    serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{error}"))
}

fn fails(arguments: &[&str], scratch: &Path) -> String {
    let out = pack(arguments, scratch);
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stdout));
    String::from_utf8(out.stderr).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Makes a folder of two classes with `each` JPEGs in each.
fn folder(each: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (class, name) in [(0, "cat"), (1, "wild dog")] {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        for number in 0..each {
            let jpeg = encoded::encode(encoded::picture(120 + number % 50, 90 + class), Codec::Jpeg);
            fs::write(path.join(format!("{number:04}.jpg")), jpeg).unwrap();
        }
    }
    folder
}

/// A set as a reader sees it: the names of the classes, then each sample's key, file and label.
type Seen = (Vec<String>, Vec<(String, Vec<u8>, Label)>);

fn seen(set: impl AsRef<Path>) -> Seen {
    let set = TarShards::open(set).unwrap();
    let mut buffer = Vec::new();
    let samples = (0..set.len()).map(|index| {
        let sample = set.read(index, &mut buffer).unwrap();
        let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
        (set.key(index).unwrap().1, bytes.to_vec(), sample.label)
    });
    (set.classes().to_vec(), samples.collect())
}

/// Returns a number in 0..1 that is another one in each run.
fn fraction() -> f64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

/// Kills a process with SIGKILL. Returns true if it had not ended by itself.
fn kill(mut run: Child) -> bool {
    let _ = run.kill();
    !run.wait().unwrap().success()
}

fn spawn(arguments: &[&str], scratch: &Path) -> Child {
    command(arguments, scratch).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// One run, with a shard so large that it is uploaded in parts.
#[test]
fn a_pack_in_a_bucket_is_what_it_is_in_a_folder() {
    let (source, out) = (folder(20), tempfile::tempdir().unwrap());
    for number in 0..4u8 {
        let mut picture = b"P6\n2000 1500\n255\n".to_vec();
        picture.extend((0..9_000_000u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 24) as u8 ^ number));
        fs::write(source.path().join(format!("cat/large-{number}.ppm")), picture).unwrap();
    }
    let (here, address) = (out.path().join("here"), format!("{}/sets/train", bucket("whole")));
    let scratch = out.path().join("scratch");
    let local = json(&[text(source.path()), text(&here)], &scratch);
    let arguments = [text(source.path()), &address, "--verify"];
    let remote = json(&arguments, &scratch);
    assert_eq!((&remote["out"], &remote["verified"]["different"]), (&address.as_str().into(), &Value::Array(vec![])));
    for key in ["samples", "classes", "shards", "kept", "bytes_packed"] {
        assert_eq!(local[key], remote[key], "{key}: {remote}");
    }
    assert!(local["bytes_packed"].as_u64() > Some(32 << 20), "{local}");
    assert!(seen(&here) == seen(format!("{address}/")), "other samples");
    let expected = [".shard-000000.tar.gpufeed-index", "classes.json", "gpufeed-pack.json", "shard-000000.tar"];
    assert_eq!(keys("whole"), expected.map(|name| format!("sets/train/{name}")));
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "files are left on this machine");
    // There is nothing left to do, and nothing is written.
    let again = json(&arguments[..2], &scratch);
    assert_eq!((&again["resumed"], &again["bytes_packed"]), (&remote["samples"], &0.into()), "{again}");
    let other = fails(&[&arguments[..2], &["--prefix", "other"]].concat(), &scratch);
    assert!(other.contains("other settings") && other.contains(&address), "{other}");
}

/// Two of three parts are killed: one at any moment, one when it has uploaded a shard, which another machine then does.
#[test]
fn killed_parts_in_a_bucket_make_what_one_run_makes() {
    let (source, out) = (folder(60), tempfile::tempdir().unwrap());
    let (here, address) = (out.path().join("here"), format!("{}/train", bucket("parts")));
    let [scratch, elsewhere] = ["scratch", "elsewhere"].map(|name| out.path().join(name));
    let settings = ["--shard-bytes", "16K", "--quality", "90"];
    let one = json(&[&[text(source.path()), text(&here)], &settings[..]].concat(), &scratch);
    let planned = [&[text(source.path()), &address, "--plan", "--parts", "3"], &settings[..]].concat();
    assert_eq!(json(&planned, &scratch)["new"], true);
    assert_eq!(json(&planned, &scratch)["new"], false);
    let part = |number: &'static str| [text(source.path()), &address, "--workers", "1", "--part", number];

    let start = Instant::now();
    json(&part("0/3"), &scratch);
    let duration = start.elapsed();
    let run = spawn(&part("1/3"), &scratch);
    std::thread::sleep(duration.mul_f64(0.9 * fraction()));
    kill(run);
    let run = spawn(&part("2/3"), &scratch);
    let start = Instant::now();
    while !keys("parts").iter().any(|key| key == "train/shard-0002-000001.tar") {
        assert!(start.elapsed() < Duration::from_secs(100), "no shard comes");
    }
    assert!(kill(run), "the part ended too early to be killed");
    let error = TarShards::open(&address).unwrap_err().to_string();
    assert!(error.contains("train/: `gpufeed pack` has not finished it"), "{error}");
    let error = fails(&[text(source.path()), &address, "--join"], &scratch);
    assert!(error.contains(&format!("{address}: it cannot be joined")) && error.contains("missing"), "{error}");
    let error = fails(&[&[text(source.path()), &address], &settings[..]].concat(), &scratch);
    assert!(error.contains("a pack in 3 parts that is not finished"), "{error}");

    json(&part("1/3"), &scratch);
    // The journal in the bucket says where another machine goes on.
    let summary = json(&part("2/3"), &elsewhere);
    assert!(summary["resumed"].as_u64() > Some(0) && summary["encoded"].as_u64() > Some(0), "{summary}");
    let again = json(&part("2/3"), &scratch);
    assert_eq!(again["resumed"], again["samples"]);
    let joined = json(&[text(source.path()), &address, "--join", "--verify"], &scratch);
    assert_eq!((&joined["samples"], &joined["verified"]["different"]), (&one["samples"], &Value::Array(vec![])));
    assert!(seen(&here) == seen(format!("{address}/")), "other samples");
    let keys = keys("parts");
    assert!(!keys.iter().any(|key| key.contains("pack-parts") || key.contains("unfinished")), "{keys:?}");
    let indexes = keys.iter().filter(|key| key.ends_with(".gpufeed-index")).count();
    assert_eq!(Some(indexes as u64), joined["shards"].as_u64(), "{keys:?}");
    let again = json(&[text(source.path()), &address, "--join"], &scratch);
    assert_eq!((&again["resumed"], &json(&part("1/3"), &scratch)["joined"]), (&one["samples"], &true.into()));
}

#[test]
fn a_join_in_a_bucket_names_what_is_missing() {
    let (source, out) = (folder(6), tempfile::tempdir().unwrap());
    let address = bucket("missing");
    let join = [text(source.path()), &address, "--join"];
    let error = fails(&join, out.path());
    assert!(error.contains(&format!("{address}: there is no plan")), "{error}");
    json(&[text(source.path()), &address, "--plan", "--parts", "3"], out.path());
    for number in ["0/3", "2/3"] {
        json(&[text(source.path()), &address, "--part", number], out.path());
    }
    let error = fails(&join, out.path());
    assert!(error.contains("it cannot be joined: part 1 of 3 is missing; --part I/3 does one"), "{error}");
    json(&[text(source.path()), &address, "--part", "1/3"], out.path());
    request("DELETE", "missing/shard-0002-000000.tar");
    let error = fails(&join, out.path());
    assert!(error.contains("part 2/3 is incomplete: shard-0002-000000.tar is missing"), "{error}");
    json(&[text(source.path()), &address, "--part", "2/3"], out.path());
    request("PUT", "missing/stranger.tar");
    let error = fails(&join, out.path());
    assert!(error.contains("stranger.tar: no shard of these parts"), "{error}");
    request("DELETE", "missing/stranger.tar");
    assert_eq!(json(&join, out.path())["samples"], 12);
}

#[test]
fn a_bucket_that_is_not_there_is_named() {
    let (source, out) = (folder(1), tempfile::tempdir().unwrap());
    for more in [&[][..], &["--plan", "--parts", "2"], &["--part", "0/2"], &["--join"]] {
        let error = fails(&[&[text(source.path()), "s3://nowhere/train"], more].concat(), out.path());
        assert!(error.contains("s3://nowhere/train: there is no such bucket; make it"), "{error}");
    }
    let error = fails(&[text(source.path()), "https://user:hush-hush@localhost/train?hush-hush"], out.path());
    assert!(error.contains("https://localhost/train: a web server cannot be written to"), "{error}");
    assert!(!error.contains("hush"), "{error}");
}

/// A limit on the size of files simulates a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_on_the_way_to_a_bucket_is_named() {
    let (source, out) = (folder(30), tempfile::tempdir().unwrap());
    let (address, scratch) = (format!("{}/train", bucket("full")), out.path().join("scratch"));
    let arguments = [text(source.path()), &address];
    let packing = command(&arguments, &scratch);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$@\"", "sh"]).arg(packing.get_program());
    let run = limited.args(packing.get_args()).output().unwrap();
    let error = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{error}");
    let begin = format!("error: {}/gpufeed-upload-", scratch.display());
    assert!(error.starts_with(&begin) && error.contains(".shard-000000.tar.part: File too large"), "{error}");
    assert!(
        error.contains("(--scratch names another folder") && error.contains("the same command continues"),
        "{error}"
    );
    let own = fs::read_dir(&scratch).unwrap().next().unwrap().unwrap().path();
    let left: Vec<_> = fs::read_dir(own).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !text(name.as_ref()).ends_with(".part")), "{left:?} take the room that is wanted");
    assert_eq!(json(&arguments, &scratch)["samples"], 60);
}
