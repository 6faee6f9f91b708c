//! Limits the number of files that a set of shards has open, because the process has a limit.

/// The most shards of a set that stay open. The others are opened for each read.
const HELD: u64 = 64;
/// The most shards that are indexed at once. More would not help, because the disk is the limit.
const THREADS: u64 = 8;
/// The files that a thread has open while it indexes a shard: the shard twice, its index, and the temporary file of the
/// new index.
const OF_A_THREAD: u64 = 4;

/// Returns the number of shards that stay open, and the number of threads that index shards.
///
/// Together they use at most half of the files that the process may open; the rest is for other data sets, the workers
/// and the GPU's driver.
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

/// The limit of open files on Windows is above any number that is used here.
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
