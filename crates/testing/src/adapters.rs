//! The backends on which tests run: the CPU and every adapter of the machine.

use crate::device::devices;
use crate::images::Source;
use gpufeed::transforms::Params;
use gpufeed::{Backend, Plan, Processor};
use std::sync::LazyLock;

/// A backend, with its name for messages.
pub struct Place {
    pub name: String,
    pub backend: Backend,
}

static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
    let mut places = vec![Place { name: "CPU".to_owned(), backend: Backend::Cpu }];
    places.extend(devices().iter().map(|device| {
        let backend = Backend::Gpu(device.open(device.features()));
        Place { name: device.name.clone(), backend }
    }));
    places
});

/// Returns the CPU backend, then one GPU backend per adapter.
pub fn places() -> &'static [Place] {
    &PLACES
}

impl Place {
    /// Prepares `plan` for this backend; its shaders are compiled here, once.
    pub fn prepare(&self, plan: &Plan) -> Prepared {
        let processor =
            Processor::new(plan, &self.backend).unwrap_or_else(|error| panic!("{}: {error}\n{plan}", self.name));
        Prepared { processor, title: format!("{}: {plan}", self.name) }
    }
}

/// A plan that is compiled for one backend.
pub struct Prepared {
    processor: Processor,
    title: String,
}

impl Prepared {
    /// Runs the plan on `source` with the parameters `params` and returns the output's bytes.
    pub fn bytes(&self, source: &Source, params: &Params) -> Vec<u8> {
        let result = self.processor.run(&[(source.pixels(), params)]);
        result.unwrap_or_else(|error| panic!("{error}: {}\n{params:?}", self.title))
    }

    /// Like [`bytes`](Self::bytes), for a plan whose output type is f32; returns the values.
    pub fn floats(&self, source: &Source, params: &Params) -> Vec<f32> {
        floats(&self.bytes(source, params))
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect()
}
