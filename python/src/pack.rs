//! Packs a data set for `gpufeed.pack`, whose keywords `gpufeed/packing.py` has checked.

use crate::dataset::Dataset;
use crate::errors;
use crate::process::guard;
use gpufeed::ErrorKind;
use gpufeed::pack::{Event, PackSettings, Packer};
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The source: a path or an address, or a data set that is open.
#[derive(FromPyObject)]
pub(crate) enum Source {
    Data(Py<Dataset>),
    Path(PathBuf),
}

/// Packs with these settings, which are JSON. Calls `listener` with the name of what is under way, the number of
/// samples that are done, and the number of all. Returns the result as JSON, or `null` for a part that was joined
/// already. Also returns the number of samples in the source's other split.
#[pyfunction]
#[pyo3(signature = (source, out, settings, plan, part, join, listener))]
#[expect(clippy::too_many_arguments, reason = "Python calls it with names")]
pub(crate) fn pack(
    py: Python<'_>,
    source: Source,
    out: PathBuf,
    settings: &str,
    plan: Option<usize>,
    part: Option<(usize, usize)>,
    join: bool,
    listener: Option<Py<PyAny>>,
) -> PyResult<(String, usize)> {
    let refused = |error: serde_json::Error| {
        errors::to_python(py, &ErrorKind::Argument { setting: "settings", reason: error.to_string() }.into())
    };
    let settings: PackSettings = serde_json::from_str(settings).map_err(refused)?;
    let data = match &source {
        Source::Data(data) => Some(data.get().dataset()?),
        Source::Path(_) => None,
    };
    guard(py, || {
        let (mut raised, mut other_split) = (None, 0);
        let done = py.detach(|| {
            let packer = match (data, source) {
                (Some(data), _) => Packer::of(data, out),
                (None, Source::Path(path)) => Packer::new(path, out),
                (None, Source::Data(_)) => unreachable!("its data set was taken"),
            };
            let packer = packer.settings(settings).listen(|event| {
                if let Event::OtherSplit { samples, .. } = event {
                    other_split = samples;
                }
                Python::attach(|py| hear(py, listener.as_ref(), event)).map_or_else(
                    |error| {
                        raised = Some(error);
                        ControlFlow::Break(())
                    },
                    ControlFlow::Continue,
                )
            });
            match (plan, part, join) {
                (Some(parts), ..) => packer.plan(parts).map(|plan| serde_json::json!(plan)),
                (_, Some((part, parts)), _) => packer.part(part, parts).map(|packed| serde_json::json!(packed)),
                (.., true) => packer.join().map(|packed| serde_json::json!(packed)),
                _ => packer.pack().map(|packed| serde_json::json!(packed)),
            }
        });
        match (raised, done) {
            (Some(raised), _) => Err(raised),
            (None, done) => Ok((done.map_err(|error| errors::to_python(py, &error))?.to_string(), other_split)),
        }
    })
}

/// Passes an event to the listener. Ctrl-C and the listener may raise.
fn hear(py: Python<'_>, listener: Option<&Py<PyAny>>, event: Event) -> PyResult<()> {
    py.check_signals()?;
    let (what, done, all) = match event {
        Event::Packed { done, all } => ("packed", done, all),
        Event::Compared { done, all } => ("compared", done, all),
        _ => return Ok(()),
    };
    listener.map_or(Ok(()), |listener| listener.call1(py, (what, done, all)).map(|_| ()))
}
