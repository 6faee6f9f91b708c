//! Code of the user's own in a list of transforms: an object of `gpufeed/own_code.py`, which workers call with the pixels of
//! an image. Also measures what the calls cost.

use crate::errors::{code_inside_itself, code_stuck};
use crate::interpreter_end::{attach, call};
use crate::python_dataset::Failed;
use crate::turns::{Refused, Turns};
use gpufeed::transforms::{HostCode, HostImage, HostValues, Key, Numbers};
use gpufeed::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A piece of code.
pub(crate) struct OwnCode {
    /// Has the method `run`.
    object: Py<PyAny>,
    name: String,
    /// Height and width of all images that it returns, if it says so.
    size: Option<(u32, u32)>,
    turns: Turns,
    /// The nanoseconds that the calls were inside Python.
    inside: AtomicU64,
}

/// What `run` returns: the bytes, the width, the height, the channels, and true for floats.
type Returned<'py> = (Bound<'py, PyBytes>, u32, u32, u32, bool);

impl OwnCode {
    pub(crate) fn new(object: Bound<'_, PyAny>, patience: Duration) -> PyResult<OwnCode> {
        let (name, size) = (object.getattr("name")?.extract()?, object.getattr("size")?.extract()?);
        let parts: Vec<(Py<PyAny>, bool)> = object.getattr("parts")?.extract()?;
        let turns = Turns::new(&parts);
        turns.set_patience(patience);
        Ok(OwnCode { object: object.unbind(), name, size, turns, inside: AtomicU64::new(0) })
    }

    pub(crate) fn object(&self) -> &Py<PyAny> {
        &self.object
    }

    /// The transform that calls this code.
    pub(crate) fn transform(self: &Arc<Self>) -> HostCode {
        let own = Arc::clone(self);
        let run = move |image: HostImage, _: &Key, numbers: &mut Numbers| own.run(&image, numbers.below(1 << 63));
        let code = HostCode::new(self.name.as_str(), run);
        match self.size {
            Some(size) => code.size(size),
            None => code,
        }
    }

    /// Waits for the turn, and calls the code.
    fn run(&self, image: &HostImage, seed: u64) -> Result<HostImage, Error> {
        let refused = |refused| match refused {
            Refused::Stops => Failed::Stops,
            Refused::Inside => Failed::Run(code_inside_itself(&self.name)),
            Refused::Stuck(time) => Failed::Run(code_stuck(&self.name, time)),
            Refused::Interrupted(error) => Failed::Run(error),
        };
        let _inside = self.turns.enter().map_err(refused)?;
        let (values, width, height, channels, is_float) = attach(|py| {
            let began = Instant::now();
            let returned = self.called(py, image, seed).map_err(|error| Failed::raised(py, error));
            self.inside.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
            returned
        })?;
        let values = if is_float { HostValues::F32(floats(&values)) } else { HostValues::U8(values) };
        HostImage::new(width, height, channels, values)
    }

    fn called(&self, py: Python<'_>, image: &HostImage, seed: u64) -> PyResult<(Vec<u8>, u32, u32, u32, bool)> {
        let floats: Vec<u8>;
        let (bytes, is_float) = match image.values() {
            HostValues::U8(values) => (values.as_slice(), false),
            HostValues::F32(values) => {
                floats = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
                (floats.as_slice(), true)
            }
            // The library may get other numbers one day.
            _ => return Err(pyo3::exceptions::PyTypeError::new_err("the image has numbers that Python does not know")),
        };
        let bytes = PyBytes::new(py, bytes);
        let arguments = (bytes, image.width(), image.height(), image.channels(), is_float, seed).into_pyobject(py)?;
        let run = self.object.bind(py).getattr("run")?;
        let returned: Returned<'_> = call(&run, &arguments)?.extract()?;
        let (bytes, width, height, channels, is_float) = returned;
        Ok((bytes.as_bytes().to_vec(), width, height, channels, is_float))
    }

    fn inside(&self) -> Duration {
        Duration::from_nanos(self.inside.load(Ordering::Relaxed))
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (floats, _) = bytes.as_chunks::<4>();
    floats.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

/// Code that nothing calls: of a recipe that is only checked.
pub(crate) fn unbound(name: &str) -> HostCode {
    let name_of = name.to_owned();
    HostCode::new(name, move |_, _, _| {
        let reason = format!("{name_of} belongs to a loader");
        Err(ErrorKind::Argument { setting: "transforms", reason }.into())
    })
}

/// Measures what the pieces of code of a run cost in its first epoch.
pub(crate) struct Costs {
    codes: Vec<(Arc<OwnCode>, HostCode)>,
    workers: usize,
    epoch: u64,
    began: Instant,
    /// Calls, their time, and the time inside Python, of each piece before the epoch.
    before: Vec<(u64, Duration, Duration)>,
}

impl Costs {
    pub(crate) fn new(codes: Vec<(Arc<OwnCode>, HostCode)>, workers: usize, epoch: u64) -> Costs {
        let before = codes.iter().map(spent).collect();
        Costs { codes, workers, epoch, began: Instant::now(), before }
    }

    /// Called after each batch, with the epoch of the next batch. At the end of the epoch, returns a sentence for each piece.
    pub(crate) fn sentences(&self, due: u64) -> Option<Vec<String>> {
        if due == self.epoch {
            return None;
        }
        let time = self.began.elapsed().as_secs_f64() * self.workers as f64;
        let sentence = |((code, transform), before): (&(Arc<OwnCode>, HostCode), &(u64, Duration, Duration))| {
            let (calls, all, inside) = spent(&(Arc::clone(code), transform.clone()));
            let (calls, all, inside) = (calls - before.0, all - before.1, inside - before.2);
            let a_call = |time: Duration| time.as_secs_f64() * 1e3 / calls.max(1) as f64;
            let share = 100.0 * (all.as_secs_f64() / time).min(1.0);
            let workers =
                if self.workers == 1 { "the worker's".to_owned() } else { format!("{} workers'", self.workers) };
            format!(
                "gpufeed: {}: {:.2} ms an image in {}, {:.2} of them inside Python and the rest waiting for its turn: {share:.0} % \
                 of {workers} time; one call at a time runs, whatever the number of workers: at most {:.0} images a second",
                code.name,
                a_call(all),
                named(self.epoch),
                a_call(inside),
                1e3 / a_call(inside).max(1e-6),
            )
        };
        Some(self.codes.iter().zip(&self.before).map(sentence).collect())
    }
}

/// The name of an epoch in a warning. A loader like torch's draws the numbers of its epochs at random, 2^32 and more, so that they
/// say nothing to a reader.
fn named(epoch: u64) -> String {
    if epoch < 1 << 32 { format!("epoch {epoch}") } else { "this epoch".to_owned() }
}

fn spent((code, transform): &(Arc<OwnCode>, HostCode)) -> (u64, Duration, Duration) {
    let (calls, all) = transform.spent();
    (calls, all, code.inside())
}
