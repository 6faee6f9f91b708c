//! Converts a loader's statistics to a dictionary.

use gpufeed::Stats;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;

/// Makes a dictionary of names and values.
macro_rules! dict {
    ($py:expr, $($name:literal: $value:expr),+ $(,)?) => {{
        let dict = PyDict::new($py);
        $(dict.set_item($name, $value)?;)+
        dict
    }};
}

/// Converts the statistics. Times are in seconds.
pub(crate) fn to_python<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let seconds = |time: Duration| time.as_secs_f64();
    let [stages, pools, queues] = [(); 3].map(|()| PyDict::new(py));
    for stage in &stats.stages {
        let (busy, cpu) = (seconds(stage.busy), stage.cpu.map(seconds));
        let row = dict! { py, "items": stage.items, "busy": busy, "cpu": cpu, "bytes": stage.bytes };
        stages.set_item(stage.stage.to_string(), row)?;
    }
    for pool in &stats.pools {
        let [busy, starved, blocked] = [pool.busy, pool.starved, pool.blocked].map(seconds);
        let row = dict! { py, "threads": pool.threads, "busy": busy, "starved": starved, "blocked": blocked };
        pools.set_item(pool.name, row)?;
    }
    for queue in &stats.queues {
        queues.set_item(queue.name, dict! { py, "capacity": queue.capacity, "occupancy": queue.occupancy })?;
    }
    let latency = &stats.latency;
    let [p50, p90, p99, max] = [latency.p50, latency.p90, latency.p99, latency.max].map(seconds);
    let compile = &stats.compile;
    let remote = match &stats.remote {
        Some(remote) => Some(dict! {
            py,
            "requests": remote.requests,
            "bytes": remote.bytes,
            "retries": remote.retries,
            "blocks": remote.blocks,
            "cache_hits": remote.cache_hits,
            "evicted_unread": remote.evicted_unread,
            "waited": seconds(remote.waited),
        }),
        None => None,
    };
    let slots = &stats.slots;
    let slots = dict! {
        py,
        "slots": slots.slots,
        "bytes": slots.bytes,
        "written": slots.written,
        "writing": seconds(slots.writing),
        "copied": slots.copied,
        "copying": seconds(slots.copying),
    };
    Ok(dict! {
        py,
        "workers": stats.workers,
        "cores": stats.cores,
        "images": stats.images,
        "batches": stats.batches,
        "failed": stats.failed,
        "cpu_fallback": stats.cpu_fallback,
        "index_hits": stats.index_hits,
        "other_decoders": stats.other_decoders,
        "cache_hits": stats.cache_hits,
        "bytes_read": stats.bytes_read,
        "bytes_uploaded": stats.bytes_uploaded,
        "bytes_written": stats.bytes_written,
        "running": seconds(stats.running),
        "cpu": seconds(stats.cpu),
        "idle": stats.idle.map(seconds),
        "compile": dict! { py, "compiled": compile.compiled, "kept": compile.kept, "time": seconds(compile.time) },
        "stages": stages,
        "pools": pools,
        "queues": queues,
        "latency": dict! { py, "batches": latency.batches, "p50": p50, "p90": p90, "p99": p99, "max": max },
        "remote": remote,
        "gpu": seconds(stats.gpu.busy),
        "slots": slots,
        "bottleneck": stats.bottleneck().to_string(),
    })
}
