//! The idle time of the machine's cores. It tells cores that other processes use from cores that this process could
//! use.

use std::time::Duration;

/// Linux counts in hundredths of a second, whatever the kernel's own clock.
const TICK_MS: u64 = 10;

/// The idle time since the machine started, summed over its cores, waits for disks included. `None` if the system does
/// not count it.
pub(super) fn idle() -> Option<Duration> {
    if cfg!(target_os = "linux") { idle_of(&std::fs::read_to_string("/proc/stat").ok()?) } else { None }
}

/// The first line: `cpu`, then user, nice, system, idle, waiting for input and output, and others.
fn idle_of(stat: &str) -> Option<Duration> {
    let mut fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().skip(3);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(TICK_MS.checked_mul(ticks()?.checked_add(ticks()?)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cores_and_those_that_wait_for_a_disk() {
        let stat = "cpu  163293 0 10014 27182 585 0 137 4053 0 0\ncpu0 80880 0 4859 14662 207 0 38 1965 0 0\n";
        assert_eq!(idle_of(stat), Some(Duration::from_millis(277_670)));
        for other in ["", "intr 1 2 3", "cpu  1 2 3", "cpu  1 2 3 four 5"] {
            assert_eq!(idle_of(other), None, "{other}");
        }
    }
}
