//! Checks that a command's work fits into the available memory, before the work begins. A process that the system kills
//! for its memory cannot explain itself; this check can, with numbers.

use crate::units;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Address space of a thread's stack. Threads touch little of it, so it counts against `ulimit -v` alone.
const STACK: u64 = 2 << 20;

/// A bound on the memory that this process may still take.
#[derive(Debug)]
struct Limit {
    bytes: u64,
    /// The second half of the error's sentence, which names the source of the bound.
    source: &'static str,
}

/// Checks that `needed` bytes, and the stacks of `threads` threads, fit.
///
/// # Errors
/// A sentence for the user: `what` takes the bytes, and `lower` names the options to lower.
pub(crate) fn check(what: &str, needed: u64, threads: u64, lower: &str) -> Result<(), String> {
    let mut system = System::new();
    system.refresh_memory();
    let mut limits = Vec::new();
    if system.available_memory() > 0 {
        limits.push((Limit { bytes: system.available_memory(), source: "of memory are available" }, needed));
    }
    if let Some(container) = system.cgroup_limits() {
        limits.push((Limit { bytes: container.free_memory, source: "are left to this container" }, needed));
    }
    if let Some(bytes) = address_space(&mut system) {
        let source = "of address space are left (ulimit -v)";
        limits.push((Limit { bytes, source }, needed.saturating_add(threads.saturating_mul(STACK))));
    }
    for (Limit { bytes, source }, needed) in limits {
        if needed > bytes {
            let [needed, bytes] = [needed, bytes].map(|bytes| units::bytes(bytes as f64));
            return Err(format!("{what} about {needed}, but {bytes} {source}; lower {lower}"));
        }
    }
    Ok(())
}

/// Returns the bytes left below the limit on the process's address space; `None` without a limit.
fn address_space(system: &mut System) -> Option<u64> {
    let limit = limit_in(&std::fs::read_to_string("/proc/self/limits").ok()?)?;
    let pid = sysinfo::get_current_pid().ok()?;
    let what = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
    Some(limit.saturating_sub(system.process(pid)?.virtual_memory()))
}

/// Finds the soft limit on the address space in the text of `/proc/self/limits`.
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
