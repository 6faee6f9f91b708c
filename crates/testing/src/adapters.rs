//! Where the tests run: the CPU executor and every adapter of the machine.

use crate::device::devices;
use crate::images::Source;
use gpufeed::transforms::Params;
use gpufeed::{Backend, Plan, Processor};
use std::sync::LazyLock;

/// A backend and its name for messages.
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

/// The CPU, then the adapters.
pub fn places() -> &'static [Place] {
    &PLACES
}

impl Place {
    /// `plan` on this backend: its shaders are compiled here, once.
    pub fn prepare(&self, plan: &Plan) -> Prepared {
        let processor =
            Processor::new(plan, &self.backend).unwrap_or_else(|error| panic!("{}: {error}\n{plan}", self.name));
        Prepared { processor, title: format!("{}: {plan}", self.name) }
    }
}

/// A plan on a backend.
pub struct Prepared {
    processor: Processor,
    title: String,
}

impl Prepared {
    /// What the plan makes of `source` with these parameters.
    pub fn bytes(&self, source: &Source, params: &Params) -> Vec<u8> {
        let result = self.processor.run(&[(source.pixels(), params)]);
        result.unwrap_or_else(|error| panic!("{error}: {}\n{params:?}", self.title))
    }

    /// [`bytes`](Self::bytes) of a plan whose output is f32.
    pub fn floats(&self, source: &Source, params: &Params) -> Vec<f32> {
        floats(&self.bytes(source, params))
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect()
}
