//! Finds differences in the conditions of two reports: their machines and settings. gpufeed's version may differ,
//! because comparing versions is the purpose.

use crate::results::Report;
use crate::units;
use serde::Serialize;

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub(crate) what: &'static str,
    pub(crate) a: String,
    pub(crate) b: String,
}

/// Other work on more cores than this disturbs a measurement.
const DISTURBED: f64 = 0.1;

pub(crate) fn differences(a: &Report, b: &Report) -> Vec<Difference> {
    let mut found: Vec<Difference> = facts(a)
        .into_iter()
        .zip(facts(b))
        .filter(|((_, a), (_, b))| a != b)
        .map(|((what, a), (_, b))| Difference { what, a: shown(a), b: shown(b) })
        .collect();
    let [kernels_a, kernels_b] = [&a.kernels, &b.kernels];
    if ![kernels_a, kernels_b].iter().any(|kernels| kernels.rows.is_empty()) && kernels_a.clock != kernels_b.clock {
        let [a, b] = [kernels_a, kernels_b].map(|kernels| kernels.clock.clone());
        found.push(Difference { what: "clock of the kernels", a, b });
    }
    let busy = [a, b].map(|report| report.machine.other_cores_busy);
    if busy.iter().any(|cores| *cores > DISTURBED) {
        let [a, b] = busy.map(|cores| format!("{} cores", units::number(cores)));
        found.push(Difference { what: "busy with other work", a, b });
    }
    found
}

/// Shows a fact. It is empty if an older report lacks it.
fn shown(fact: String) -> String {
    if fact.is_empty() { "not told".to_owned() } else { fact }
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let (machine, data) = (&report.machine, &report.data);
    // Compares the recipe's text, because its file may have any name.
    let recipe = match report.recipe_toml.trim() {
        "" => report.recipe.clone(),
        toml => one_line(toml),
    };
    vec![
        ("processor", machine.cpu.clone()),
        ("cores", machine.cores.to_string()),
        ("memory", units::bytes(machine.memory_bytes as f64)),
        ("system", machine.os.clone()),
        ("adapter", report.adapter.clone().unwrap_or_else(|| "none".to_owned())),
        ("driver", report.driver.clone().unwrap_or_default()),
        ("backend", report.backend.clone()),
        ("who augments", report.executor.clone()),
        ("recipe", recipe),
        ("data", data.name.clone()),
        ("samples", data.samples.to_string()),
        ("bytes of the data", data.bytes.to_string()),
        ("cache", report.cache.clone()),
        ("set by hand", if report.switches.is_empty() { "nothing".to_owned() } else { report.switches.join(", ") }),
        ("workers", report.workers.to_string()),
        ("batch size", report.batch_size.to_string()),
    ]
}

/// Joins a recipe's lines.
fn one_line(toml: &str) -> String {
    toml.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn versions_and_times_may_differ() {
        let (a, mut b) = (sample(), sample());
        b.version = "0.2.0".into();
        b.unix_time += 1000;
        assert_eq!(differences(&a, &b), []);
    }

    #[test]
    fn settings_and_machines_may_not_differ() {
        let (a, mut b) = (sample(), sample());
        b.workers = 4;
        b.adapter = None;
        b.recipe_toml = b.recipe_toml.replace("0.5", "0.25");
        b.machine.other_cores_busy = 1.5;
        let found = differences(&a, &b);
        let names: Vec<&str> = found.iter().map(|difference| difference.what).collect();
        assert_eq!(names, ["adapter", "recipe", "workers", "busy with other work"]);
        assert_eq!((found[2].a.as_str(), found[2].b.as_str()), ("2", "4"));
    }
}
