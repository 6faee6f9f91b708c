//! Tests of the table of blocks, without a network.

#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges, of one now and then")]

use super::*;
use crate::storage::remote::provider::Provider;
use crate::storage::remote::store::Store;
use crossbeam_channel::{Receiver, bounded};
use object_store::memory::InMemory;
use object_store::path::Path;

/// Makes an object of this many whole blocks, and half a block at its end.
fn object(number: u64, blocks: u64) -> Arc<OpenedObject> {
    let store = Arc::new(Store {
        api: Box::new(InMemory::new()),
        parts: None,
        pages: None,
        provider: Provider::Amazon,
        secrets: Vec::new(),
    });
    let size = blocks * BLOCK + BLOCK / 2;
    let (key, cached) = (Path::default(), std::sync::OnceLock::new());
    Arc::new(OpenedObject {
        number,
        address: String::new(),
        query: 0,
        store,
        key,
        size,
        etag: None,
        modified: None,
        cached,
    })
}

/// Makes a table whose budget is this many blocks.
fn table(blocks: u64) -> BlockTable {
    BlockTable::new(blocks * BLOCK, crate::storage::remote::settings::REQUESTS as usize)
}

/// Returns the blocks of each request that the table starts now.
fn started(table: &mut BlockTable) -> Vec<Range<u64>> {
    std::iter::from_fn(|| table.next()).map(|request| request.blocks).collect()
}

/// Hands the blocks of a request to the table as fetched, and ends the request.
fn come(table: &mut BlockTable, source: &Arc<OpenedObject>, blocks: Range<u64>) {
    for block in blocks {
        let bytes = table.buffer(1);
        table.arrived(BlockKey { object: source.number, block }, Arc::new(bytes));
    }
    table.ended();
}

/// Reads a block. Returns `None` if the block is in memory, else the channel through which it comes later.
fn read(table: &mut BlockTable, source: &Arc<OpenedObject>, block: u64) -> Option<Receiver<Arrival>> {
    let (sender, receiver) = bounded(1);
    match table.want(source, block, || sender) {
        Found::Ready(..) => None,
        Found::Later => Some(receiver),
    }
}

#[test]
fn neighbours_go_in_one_request_and_eight_requests_at_once() {
    let (mut table, a) = (table(1000), object(0, 100));
    for block in 0..100 {
        table.expect(&a, block..block + 1);
    }
    let first = started(&mut table);
    assert_eq!(first, [0..4, 4..8, 8..12, 12..16, 16..20, 20..24, 24..28, 28..32]);
    come(&mut table, &a, 0..4);
    assert_eq!(started(&mut table), [32..36], "another begins when one ends");
}

#[test]
fn objects_are_fetched_in_the_order_in_which_they_are_expected() {
    let mut table = table(100);
    let (a, b) = (object(0, 3), object(1, 3));
    for (source, block) in [(&b, 2), (&a, 0), (&b, 0), (&a, 3), (&b, 1), (&a, 0)] {
        table.expect(source, block..block + 1);
    }
    let requests: Vec<_> =
        std::iter::from_fn(|| table.next()).map(|request| (request.source.number, request.blocks)).collect();
    assert_eq!(requests, [(1, 0..3), (0, 0..1), (0, 3..4)]);
}

#[test]
fn what_is_expected_stays_within_the_budget() {
    let (mut table, a) = (table(6), object(0, 20));
    for block in 0..20 {
        table.expect(&a, block..block + 1);
        table.expect(&a, block..block + 1);
    }
    assert_eq!(started(&mut table), [0..4, 4..6]);
    come(&mut table, &a, 0..4);
    come(&mut table, &a, 4..6);
    assert_eq!((started(&mut table), table.held()), (vec![], 6 * BLOCK), "none has been read");
    assert!(read(&mut table, &a, 0).is_none());
    assert_eq!(started(&mut table), [], "another read of it is expected");
    assert!(read(&mut table, &a, 0).is_none());
    assert_eq!((started(&mut table), table.held()), (vec![6..7], 6 * BLOCK), "the one that was read leaves");
    assert_eq!(table.evicted_unread(), 0);
}

#[test]
fn a_worker_goes_before_the_queue_and_over_the_budget() {
    let (mut table, a) = (table(2), object(0, 20));
    table.expect(&a, 0..4);
    assert_eq!(started(&mut table), [0..2]);
    let waits = read(&mut table, &a, 9).unwrap();
    assert_eq!((started(&mut table), table.held()), (vec![9..10], 3 * BLOCK), "nothing can leave yet");
    come(&mut table, &a, 0..2);
    come(&mut table, &a, 9..10);
    assert!(waits.recv().unwrap().is_ok());
    let _waits = read(&mut table, &a, 12).unwrap();
    assert_eq!((started(&mut table), table.held()), (vec![12..13], 2 * BLOCK), "down to the budget again");
    assert_eq!(table.evicted_unread(), 1, "the read one left, and one that is expected");
}

#[test]
fn the_block_that_is_needed_last_leaves_for_a_worker() {
    let (mut table, a) = (table(3), object(0, 20));
    for block in [5, 1, 3] {
        table.expect(&a, block..block + 1);
    }
    for request in started(&mut table) {
        come(&mut table, &a, request);
    }
    let _waits = read(&mut table, &a, 9).unwrap();
    started(&mut table);
    assert!(read(&mut table, &a, 5).is_none() && read(&mut table, &a, 1).is_none());
    assert!(read(&mut table, &a, 3).is_some());
}

#[test]
fn neighbours_share_a_request_in_whatever_order_they_are_expected() {
    let a = object(0, 20);
    let shuffled = || {
        let mut table = table(20);
        for block in [6, 4, 7, 5, 9] {
            table.expect(&a, block..block + 1);
        }
        table
    };
    assert_eq!(started(&mut shuffled()), [4..8, 9..10]);
    let mut waited_for = shuffled();
    let _waits = read(&mut waited_for, &a, 6).unwrap();
    assert_eq!(started(&mut waited_for), [6..8, 4..6, 9..10], "the block of a worker comes first");
}

#[test]
fn all_who_wait_get_the_block_by_one_request() {
    let (mut table, a) = (table(3), object(0, 3));
    let waiting: Vec<_> = (0..3).map(|_| read(&mut table, &a, 1).unwrap()).collect();
    assert_eq!(started(&mut table), [1..2]);
    let another = read(&mut table, &a, 1).unwrap();
    assert_eq!(started(&mut table), []);
    come(&mut table, &a, 1..2);
    assert!(waiting.iter().chain([&another]).all(|waits| waits.recv().unwrap().is_ok()));
}

#[test]
fn a_failure_goes_to_those_who_wait_and_the_next_read_asks_again() {
    let (mut table, a) = (table(3), object(0, 3));
    table.expect(&a, 0..2);
    assert_eq!(started(&mut table), [0..2]);
    let waits = read(&mut table, &a, 1).unwrap();
    for block in 0..2 {
        table.failed(BlockKey { object: 0, block }, io::ErrorKind::Other, &"why".into());
    }
    table.ended();
    assert_eq!(waits.recv().unwrap().unwrap_err().1.text, "why");
    assert_eq!(table.held(), 0);
    assert!(read(&mut table, &a, 1).is_some());
    assert_eq!(started(&mut table), [1..2]);
}

#[test]
fn a_run_that_begins_forgets_what_another_expected() {
    let (mut table, a) = (table(2), object(0, 20));
    table.expect(&a, 0..9);
    assert_eq!(started(&mut table), [0..2]);
    come(&mut table, &a, 0..2);
    table.forget();
    table.expect(&a, 15..16);
    assert_eq!(started(&mut table), [15..16], "blocks 2 to 8 left the queue, and one of the others memory");
    assert_eq!(table.evicted_unread(), 0);
}

#[test]
fn blocks_whose_reads_never_come_leave_in_the_end() {
    let (mut table, a) = (table(2), object(0, 9000));
    table.expect(&a, 0..2);
    assert_eq!(started(&mut table), [0..2]);
    come(&mut table, &a, 0..2);
    for block in 2..2 + PASSED + 10 {
        table.expect(&a, block..block + 1);
        // The cache on disk has these blocks, so no worker reads them through the table.
        table.passed_by(BlockKey { object: 0, block });
    }
    let last = 2 + PASSED + 10;
    table.expect(&a, last..last + 1);
    assert_eq!(started(&mut table), [last..last + 1]);
}

#[test]
fn the_smallest_budget_still_fetches_one_block_after_the_other() {
    let (mut table, a) = (table(0), object(0, 3));
    table.expect(&a, 0..4);
    for block in 0..4 {
        assert_eq!(started(&mut table), [block..block + 1]);
        come(&mut table, &a, block..block + 1);
        assert!(read(&mut table, &a, block).is_none());
    }
    assert_eq!(table.held(), BLOCK / 2, "the last block is half as long");
}

#[test]
fn memory_of_blocks_that_left_is_used_again() {
    let (mut table, a) = (table(1), object(0, 3));
    table.expect(&a, 0..1);
    started(&mut table);
    let mut bytes = table.buffer(1000);
    bytes.resize(1000, 7);
    let memory = bytes.as_ptr();
    table.arrived(BlockKey { object: 0, block: 0 }, Arc::new(bytes));
    table.ended();
    assert!(read(&mut table, &a, 0).is_none());
    table.expect(&a, 1..2);
    started(&mut table);
    let bytes = table.buffer(1000);
    assert!(bytes.is_empty() && bytes.as_ptr() == memory);
}

#[test]
fn ranges_lie_in_blocks() {
    assert_eq!(blocks_of(&(0..0)), 0..0);
    assert_eq!(blocks_of(&(BLOCK..BLOCK)), 0..0);
    assert_eq!(blocks_of(&(0..BLOCK)), 0..1);
    assert_eq!(blocks_of(&(BLOCK - 1..BLOCK + 1)), 0..2);
    assert_eq!((block_bytes(BLOCK + 5, 0), block_bytes(BLOCK + 5, 1), block_bytes(BLOCK, 1)), (BLOCK, 5, 0));
}
