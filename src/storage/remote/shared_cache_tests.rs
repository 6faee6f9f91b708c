//! Tests of the cache on disk that several processes share while they read from one server; some processes are killed.
//! A child process runs this test program again, and two environment variables tell it the server and the folder.

use super::*;
use gpufeed_testing::dice::Dice;
use gpufeed_testing::pipeline::is_full;
use gpufeed_testing::store_server::{Fault, StoreServer};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const FOLDER: &str = "GPUFEED_TEST_FOLDER";
const SERVER: &str = "GPUFEED_TEST_SERVER";
const BLOCKS: u64 = 8;
/// Bytes of the object. Its last block is shorter than the others.
const SIZE: u64 = BLOCKS * BLOCK - 1234;
/// Bytes of one read: more than a leaf of the cache, and no divisor of a block's length, so that some reads need two
/// blocks.
const READ: u64 = 100_000;

/// A child process that is killed when this value is dropped.
struct Killed(Child);

impl Killed {
    fn ends_well(mut self) {
        assert!(self.0.wait().unwrap().success(), "a process read other bytes, or could not read");
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn child(test: &str, folder: &Path, address: &str) -> Killed {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("storage::remote::shared_cache_tests::{test}"), "--exact"]).stdout(Stdio::null());
    Killed(command.env(FOLDER, folder).env(SERVER, address).spawn().unwrap())
}

/// In a child process, reads the whole object, compares its bytes with the expected ones, and returns true. In the
/// parent process, does nothing and returns false.
fn is_child() -> bool {
    let (Some(folder), Ok(address)) = (std::env::var_os(FOLDER), std::env::var(SERVER)) else { return false };
    let folder = Path::new(&folder);
    let expected = fs::read(folder.join("object")).unwrap();
    let remote = Remote::new(&RemoteOptions::new().cache(folder.join("cache"), 1 << 30)).unwrap();
    let object = remote.object(remote.head(&address).unwrap());
    object.expect(0..u64::MAX);
    object.remote().fetch_expected();
    let mut buffer = Vec::new();
    for begin in (0..SIZE).step_by(READ as usize) {
        let end = SIZE.min(begin + READ);
        buffer.resize((end - begin) as usize, 0);
        object.read_exact(&mut buffer, begin).unwrap();
        assert!(buffer == expected[begin as usize..end as usize], "other bytes at {begin}");
    }
    true
}

/// Starts a server with an object, and writes the object's bytes into the file `object` of the folder, too. Returns the
/// server, and the address of the object.
fn server(folder: &Path) -> (StoreServer, String) {
    let mut dice = Dice(9);
    let mut bytes: Vec<u8> = (0..SIZE.div_ceil(8)).flat_map(|_| dice.bits().to_le_bytes()).collect();
    bytes.truncate(SIZE as usize);
    fs::write(folder.join("object"), &bytes).unwrap();
    let server = StoreServer::start();
    server.put("bucket/object", bytes);
    let address = server.web("bucket/object");
    (server, address)
}

#[test]
fn two_processes_have_each_block_from_the_server_once() {
    if is_child() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = server(folder.path());
    // Each read is delayed, so that both processes have started before the first block is in the cache.
    server.script(|request| if request.reads() { Fault::Delay(Duration::from_millis(30)) } else { Fault::None });
    let test = "two_processes_have_each_block_from_the_server_once";
    let children = [(); 2].map(|()| child(test, folder.path(), &address));
    children.into_iter().for_each(Killed::ends_well);
    assert_eq!(server.sent(), SIZE);
}

#[test]
fn processes_that_are_killed_while_they_fetch_leave_no_wrong_byte() {
    if is_child() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = server(folder.path());
    let test = "processes_that_are_killed_while_they_fetch_leave_no_wrong_byte";
    let mut dice = Dice(4);
    let kills = if is_full() { 100 } else { 10 };
    for kill in 0..kills {
        // Every fifth time, removes the cache, because it soon has all blocks, and then nothing is fetched.
        if kill % 5 == 4 {
            // On a slow machine, the folder may not exist: no process may have come so far as to make it.
            let removed = fs::remove_dir_all(folder.path().join("cache"));
            assert!(
                removed.as_ref().err().is_none_or(|error| error.kind() == std::io::ErrorKind::NotFound),
                "{removed:?}"
            );
        }
        let mut children: Vec<_> = (0..1 + kill % 2).map(|_| child(test, folder.path(), &address)).collect();
        sleep(Duration::from_millis(20 + dice.below(300) as u64));
        for child in &mut children {
            child.0.kill().unwrap();
            let status = child.0.wait().unwrap();
            // A child that has ended before the kill has read all blocks without an error. Any other child was killed,
            // and had found no wrong byte until then.
            assert!(status.success() || status.code().is_none(), "{status}");
        }
    }
    child(test, folder.path(), &address).ends_well();
    let sent = server.sent();
    child(test, folder.path(), &address).ends_well();
    assert_eq!(server.sent(), sent, "all of it is on the disk");
}
