//! How many files a set of shards may have open, of those that the process may.

/// The most shards of a set that stay open; the others are opened for each read.
const HELD: u64 = 64;
/// The most that are indexed at once: the disk is what limits.
const THREADS: u64 = 8;
/// Files that a thread has open while it indexes a shard: the shard, twice, its index and the file that becomes it.
const OF_A_THREAD: u64 = 4;

/// Shards that stay open, and threads that index them.
///
/// Both together are at most half of the files that the process may have open: other data sets, the workers and the GPU's
/// driver want theirs.
pub(super) fn share() -> (usize, usize) {
    of(limit())
}

fn of(limit: u64) -> (usize, usize) {
    let quarter = limit / 4;
    (quarter.min(HELD) as usize, (quarter / OF_A_THREAD).clamp(1, THREADS) as usize)
}

#[cfg(unix)]
fn limit() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Windows has none that a data set meets.
#[cfg(not(unix))]
fn limit() -> u64 {
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn few_files_are_shared_out() {
        for (limit, share) in
            [(u64::MAX, (64, 8)), (1024, (64, 8)), (256, (64, 8)), (32, (8, 2)), (16, (4, 1)), (3, (0, 1))]
        {
            assert_eq!(of(limit), share, "{limit}");
        }
    }
}
