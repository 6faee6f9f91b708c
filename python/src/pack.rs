//! Does the work of Python's `gpufeed.pack`. `gpufeed/packing.py` has checked the keywords before.

use crate::dataset::{Dataset, packed};
use crate::errors;
use crate::process::guard;
use gpufeed::ErrorKind;
use gpufeed::pack::{Event, PackSettings, Packer};
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// What is packed: the data set at a path or an address, or a data set that is open already.
#[derive(FromPyObject)]
pub(crate) enum Source {
    Data(Py<Dataset>),
    Path(PathBuf),
}

/// Makes a plan of `plan` parts, packs one part, joins all parts, or packs everything, with `settings` as JSON. Calls
/// `listener` with "packed" or "compared", the number of samples that are done, and the number of all samples. Returns
/// the result as JSON (`null` for a part, if the parts were joined already), and the number of samples in the source's
/// other split, which is not packed.
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
        Source::Data(data) => Some(packed::as_packed(py, data.get().dataset()?)?),
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

/// Passes the progress in an event to the listener. Fails if the listener raises an exception, or on Ctrl-C.
fn hear(py: Python<'_>, listener: Option<&Py<PyAny>>, event: Event) -> PyResult<()> {
    py.check_signals()?;
    let (what, done, all) = match event {
        Event::Packed { done, all } => ("packed", done, all),
        Event::Compared { done, all } => ("compared", done, all),
        _ => return Ok(()),
    };
    listener.map_or(Ok(()), |listener| listener.call1(py, (what, done, all)).map(|_| ()))
}
