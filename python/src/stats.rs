//! A loader's statistics as a dictionary.

use gpufeed::Stats;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The statistics; times in seconds.
pub(crate) fn to_python<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (name, count) in [
        ("workers", stats.workers as u64),
        ("cores", stats.cores as u64),
        ("images", stats.images),
        ("batches", stats.batches),
        ("failed", stats.failed),
        ("cpu_fallback", stats.cpu_fallback),
        ("index_hits", stats.index_hits),
        ("other_decoders", stats.other_decoders),
        ("cache_hits", stats.cache_hits),
        ("bytes_read", stats.bytes_read),
        ("bytes_uploaded", stats.bytes_uploaded),
        ("bytes_written", stats.bytes_written),
    ] {
        all.set_item(name, count)?;
    }
    all.set_item("running", stats.running.as_secs_f64())?;
    all.set_item("cpu", stats.cpu.as_secs_f64())?;
    all.set_item("idle", stats.idle.map(|time| time.as_secs_f64()))?;
    let compile = PyDict::new(py);
    compile.set_item("compiled", stats.compile.compiled)?;
    compile.set_item("kept", stats.compile.kept)?;
    compile.set_item("time", stats.compile.time.as_secs_f64())?;
    all.set_item("compile", compile)?;
    let stages = PyDict::new(py);
    for stage in &stats.stages {
        let row = PyDict::new(py);
        row.set_item("items", stage.items)?;
        row.set_item("busy", stage.busy.as_secs_f64())?;
        row.set_item("cpu", stage.cpu.map(|time| time.as_secs_f64()))?;
        row.set_item("bytes", stage.bytes)?;
        stages.set_item(stage.stage.to_string(), row)?;
    }
    all.set_item("stages", stages)?;
    let pools = PyDict::new(py);
    for pool in &stats.pools {
        let row = PyDict::new(py);
        row.set_item("threads", pool.threads)?;
        row.set_item("busy", pool.busy.as_secs_f64())?;
        row.set_item("starved", pool.starved.as_secs_f64())?;
        row.set_item("blocked", pool.blocked.as_secs_f64())?;
        pools.set_item(pool.name, row)?;
    }
    all.set_item("pools", pools)?;
    let queues = PyDict::new(py);
    for queue in &stats.queues {
        let row = PyDict::new(py);
        row.set_item("capacity", queue.capacity)?;
        row.set_item("occupancy", queue.occupancy)?;
        queues.set_item(queue.name, row)?;
    }
    all.set_item("queues", queues)?;
    let latency = PyDict::new(py);
    latency.set_item("batches", stats.latency.batches)?;
    for (name, time) in
        [("p50", stats.latency.p50), ("p90", stats.latency.p90), ("p99", stats.latency.p99), ("max", stats.latency.max)]
    {
        latency.set_item(name, time.as_secs_f64())?;
    }
    all.set_item("latency", latency)?;
    let remote = stats.remote.as_ref().map(|remote| {
        let row = PyDict::new(py);
        for (name, count) in [
            ("requests", remote.requests),
            ("bytes", remote.bytes),
            ("retries", remote.retries),
            ("blocks", remote.blocks),
            ("cache_hits", remote.cache_hits),
            ("evicted_unread", remote.evicted_unread),
        ] {
            row.set_item(name, count)?;
        }
        row.set_item("waited", remote.waited.as_secs_f64())?;
        Ok::<_, PyErr>(row)
    });
    all.set_item("remote", remote.transpose()?)?;
    all.set_item("gpu", stats.gpu.busy.as_secs_f64())?;
    all.set_item("bottleneck", stats.bottleneck().to_string())?;
    Ok(all)
}
