//! An order of blocks, as a server sees it: which blocks of a remote set each rank fetches, and in how many requests.
//!
//! The shards are made so that a block of 8 MiB holds eight samples exactly: each member has 1 MiB with its header.

use crate::shard::archive;
use gpufeed::dataset::{RemoteStats, ShardIndexes, TarShards};
use gpufeed::transforms::CenterCrop;
use gpufeed::{Backend, DataLoader, Dataset, Order};
use gpufeed_testing::encoded;
use gpufeed_testing::pipeline::within;
use gpufeed_testing::store_server::StoreServer;
use image::ImageFormat as Codec;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

const MIB: u64 = 1 << 20;
/// Bytes of the blocks that are fetched.
const BLOCK: u64 = 8 * MIB;
/// Samples of a block, and of all shards but the last, which has fewer.
const IN_BLOCK: usize = 8;
const IN_SHARD: usize = 32;
const SHARDS: usize = 6;
/// A multiple of the eight images of a global batch, so that nothing is padded. Each of four lanes has 46 samples, so that
/// the ends between them fall within blocks.
const SAMPLES: usize = 184;
const BLOCKS: usize = SAMPLES / IN_BLOCK;
const LANES: usize = 4;
const GLOBAL_BATCH: usize = 8;

/// A block: its shard, and its number there.
type Block = (usize, u64);

/// Opens the set in the name of a rank.
fn open(server: &StoreServer, indexes: &Path, rank: usize) -> TarShards {
    let address = server.web("bucket/t-{0..5}.tar").replace("http://", &format!("http://rank{rank}:secret@"));
    let builder = TarShards::builder().allow_unlabelled(true).indexes(ShardIndexes::Folder(indexes.into()));
    builder.open(address).unwrap()
}

/// Puts the shards on a server, and their indexes into a folder: who opens the set then has read nothing of it.
fn served(indexes: &Path) -> StoreServer {
    let server = StoreServer::start();
    // A decoder ends at the end of the image, and reads nothing of the zeros.
    let mut image = encoded::encode(encoded::picture(20, 16), Codec::Jpeg);
    image.resize(MIB as usize - 512, 0);
    for shard in 0..SHARDS {
        let numbers = shard * IN_SHARD..SAMPLES.min((shard + 1) * IN_SHARD);
        let names: Vec<_> = numbers.map(|number| format!("{number:04}.jpg")).collect();
        let members: Vec<_> = names.iter().map(|name| (&**name, &image[..])).collect();
        server.put(&format!("bucket/t-{shard}.tar"), archive(&members));
    }
    open(&server, indexes, 0);
    server
}

/// The reads of one rank in an epoch.
struct Read {
    /// The samples of its batches, each with its lane.
    samples: Vec<(u64, usize)>,
    /// The ranges that it asked for, by the server's log: the shard, and the bytes.
    ranges: Vec<(usize, Range<u64>)>,
    stats: RemoteStats,
}

impl Read {
    /// The blocks that its samples lie in, each with the lanes of these samples.
    fn needed(&self) -> BTreeMap<Block, BTreeSet<usize>> {
        let mut needed = BTreeMap::<_, BTreeSet<_>>::new();
        for (id, lane) in &self.samples {
            let (shard, at) = (*id as usize / IN_SHARD, *id as usize % IN_SHARD);
            needed.entry((shard, (at / IN_BLOCK) as u64)).or_default().insert(*lane);
        }
        needed
    }

    /// How often it has fetched each block.
    fn fetched(&self) -> BTreeMap<Block, usize> {
        let mut fetched = BTreeMap::new();
        for (shard, range) in &self.ranges {
            assert_eq!(range.start % BLOCK, 0, "{range:?}");
            for block in range.start / BLOCK..range.end.div_ceil(BLOCK) {
                *fetched.entry((*shard, block)).or_default() += 1;
            }
        }
        fetched
    }
}

/// Reads an epoch with `world` ranks side by side, each with a data set, a loader and `read_ahead` bytes of its own.
fn epoch(
    server: &StoreServer,
    indexes: &Path,
    (order, lanes): (Order, usize),
    world: usize,
    read_ahead: u64,
) -> Vec<Read> {
    let mut ranks = Vec::new();
    for rank in 0..world {
        let before = server.sent();
        let data = open(server, indexes, rank);
        assert!(data.len() == SAMPLES && server.sent() - before < MIB, "nothing of a shard is in memory");
        let user = server.log().last().unwrap().headers["authorization"].clone();
        let builder = DataLoader::builder(data)
            .transform(CenterCrop::new(8))
            .shuffle(true)
            .order(order)
            .batch_size(GLOBAL_BATCH / world)
            .workers(1)
            .shard(rank, world)
            .read_ahead(read_ahead);
        let builder = if order == Order::Full { builder } else { builder.lanes(lanes) };
        ranks.push((user, builder.build(&Backend::Cpu).unwrap()));
    }
    let opened = server.requests();
    let ids = std::thread::scope(|scope| {
        let read = |loader: &DataLoader| -> Vec<u64> {
            loader.epoch(3).unwrap().flat_map(|batch| batch.unwrap().ids().to_vec()).collect()
        };
        let threads: Vec<_> = ranks.iter().map(|(_, loader)| scope.spawn(move || read(loader))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let log = server.log().split_off(opened);
    let mut all = Vec::new();
    for (rank, ((user, loader), ids)) in ranks.iter().zip(ids).enumerate() {
        let lane = |at: usize| (at * world + rank) % lanes;
        let samples = ids.into_iter().enumerate().map(|(at, id)| (id, lane(at))).collect();
        let of_rank = log.iter().filter(|request| request.headers["authorization"] == *user);
        let shard = |key: &str| key["bucket/t-".len()..key.len() - ".tar".len()].parse().unwrap();
        let ranges = of_rank.map(|request| (shard(&request.key), request.range.clone().unwrap())).collect();
        all.push(Read { samples, ranges, stats: loader.stats().remote.clone().unwrap() });
    }
    all
}

#[test]
fn a_block_is_fetched_once_an_epoch_and_by_one_rank_unless_a_lane_ends_in_it() {
    within(120, "the epochs", || {
        let indexes = tempfile::tempdir().unwrap();
        let server = served(indexes.path());
        let order = Order::Blocks { samples: IN_BLOCK, window: 2 };
        for world in [1, 2, 4] {
            // Two windows of every lane of a rank: the one that is read, and the one that comes next.
            let read_ahead = 2 * 2 * (LANES / world) as u64 * BLOCK;
            let ranks = epoch(&server, indexes.path(), (order, LANES), world, read_ahead);
            let mut ids: Vec<_> = ranks.iter().flat_map(|read| &read.samples).map(|(id, _)| *id).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..SAMPLES as u64), "world {world}: each sample once");
            let mut lanes = BTreeMap::<Block, usize>::new();
            let mut by_all = BTreeMap::<Block, usize>::new();
            for (rank, read) in ranks.iter().enumerate() {
                let (fetched, needed) = (read.fetched(), read.needed());
                assert!(fetched.keys().eq(needed.keys()), "rank {rank} of {world}: {fetched:?} instead of {needed:?}");
                for (block, times) in fetched {
                    let of_block = needed[&block].len();
                    assert!(times <= of_block, "rank {rank} of {world}: {block:?} {times} times for {of_block} lanes");
                    *lanes.entry(block).or_default() += of_block;
                    *by_all.entry(block).or_default() += times;
                }
                assert_eq!(read.stats.evicted_unread, 0, "rank {rank} of {world}: {}", read.stats);
            }
            assert_eq!(by_all.len(), BLOCKS);
            // The ends between the lanes lie in three blocks, and the others are of one lane, so they were fetched once.
            let ends: Vec<_> = lanes.iter().filter(|(_, lanes)| **lanes > 1).map(|(block, _)| *block).collect();
            assert_eq!(ends.len(), LANES - 1, "world {world}");
            assert!(ends.iter().all(|block| by_all[block] <= 2), "world {world}: {by_all:?}");
        }
    });
}

#[test]
fn neighbours_of_an_order_of_blocks_share_requests_and_a_full_shuffle_has_one_for_a_sample() {
    within(120, "the epochs", || {
        let indexes = tempfile::tempdir().unwrap();
        let server = served(indexes.path());
        let read = |order, read_ahead| epoch(&server, indexes.path(), (order, 1), 1, read_ahead).remove(0);
        // A block of the order is a shard, four blocks of the server. There is room for all, so that no request begins
        // because one block has left.
        let blocks = read(Order::Blocks { samples: IN_SHARD, window: 1 }, 2 * BLOCKS as u64 * BLOCK);
        assert!(blocks.ranges.len() <= BLOCKS / 2, "{} requests: {}", blocks.ranges.len(), blocks.stats);
        assert_eq!(blocks.stats.bytes, SAMPLES as u64 * MIB);
        let full = read(Order::Full, 8 * BLOCK);
        assert!(full.ranges.len() > SAMPLES / 2 && full.stats.evicted_unread > 0, "{}", full.stats);
    });
}
