//! Memory that there is for what a command is asked to do. What does not fit is refused before it begins, with the number:
//! a process that the system ends for its memory says nothing.

use crate::report::units;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Address space of a thread's stack, of which it touches little.
const STACK: u64 = 2 << 20;

/// Memory that may still be taken, and by whose word.
#[derive(Debug)]
struct Room {
    bytes: u64,
    whose: &'static str,
}

/// Checks that `needed` bytes and the stacks of so many threads will fit.
///
/// # Errors
/// The sentence for the user: `what` takes the bytes, and `lower` says what to lower.
pub(crate) fn check(what: &str, needed: u64, threads: u64, lower: &str) -> Result<(), String> {
    let mut system = System::new();
    system.refresh_memory();
    let mut rooms = Vec::new();
    if system.available_memory() > 0 {
        rooms.push((Room { bytes: system.available_memory(), whose: "of memory are available" }, needed));
    }
    if let Some(limits) = system.cgroup_limits() {
        rooms.push((Room { bytes: limits.free_memory, whose: "are left to this container" }, needed));
    }
    if let Some(bytes) = address_space(&mut system) {
        let whose = "of address space are left (ulimit -v)";
        rooms.push((Room { bytes, whose }, needed.saturating_add(threads.saturating_mul(STACK))));
    }
    for (Room { bytes, whose }, needed) in rooms {
        if needed > bytes {
            let [needed, bytes] = [needed, bytes].map(|bytes| units::bytes(bytes as f64));
            return Err(format!("{what} about {needed}, but {bytes} {whose}; lower {lower}"));
        }
    }
    Ok(())
}

/// The bytes that a limit on the process's address space leaves; `None` without one.
fn address_space(system: &mut System) -> Option<u64> {
    let limit = limit_in(&std::fs::read_to_string("/proc/self/limits").ok()?)?;
    let pid = sysinfo::get_current_pid().ok()?;
    let what = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
    Some(limit.saturating_sub(system.process(pid)?.virtual_memory()))
}

/// The soft limit on the address space in Linux's list of a process's limits.
fn limit_in(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers() {
        assert_eq!(check("it takes", 1, 1, "nothing"), Ok(()));
        let error = check("a million workers take", 1 << 60, 0, "--workers").unwrap_err();
        assert!(error.starts_with("a million workers take about 1,152,922 TB, but "), "{error}");
        assert!(error.ends_with("; lower --workers"), "{error}");
    }

    #[test]
    fn the_limit_on_the_address_space() {
        let with = |limit: &str| {
            format!(
                "Limit        Soft Limit  Hard Limit  Units\nMax address space         {limit}   unlimited   bytes\n"
            )
        };
        assert_eq!((limit_in(&with("2048000000")), limit_in(&with("unlimited"))), (Some(2_048_000_000), None));
        assert_eq!(limit_in(""), None);
    }
}
