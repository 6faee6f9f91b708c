//! Where the tests run: the CPU executor and every adapter of the machine.

use crate::images::Source;
use gpufeed::transforms::Drawn;
use gpufeed::{Backend, Gpu, Plan, Processor};
use std::sync::LazyLock;

/// A backend and its name for messages.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) backend: Backend,
}

static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
    let mut places = vec![Place { name: "CPU".to_owned(), backend: Backend::Cpu }];
    for (number, name) in Gpu::adapters().into_iter().enumerate() {
        let backend = Backend::gpu(&number.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
        places.push(Place { name, backend });
    }
    if places.len() == 1 {
        let required = std::env::var("GPUFEED_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!required, "GPUFEED_REQUIRE_GPU=1, but there is no adapter");
        println!("skipped: no adapter");
    }
    places
});

/// The CPU, then the adapters: none is an error only with `GPUFEED_REQUIRE_GPU=1`.
pub(crate) fn places() -> &'static [Place] {
    &PLACES
}

impl Place {
    /// `plan` on this backend: its shaders are compiled here, once.
    pub(crate) fn prepare(&self, plan: &Plan) -> Prepared {
        let processor =
            Processor::new(plan, &self.backend).unwrap_or_else(|error| panic!("{}: {error}\n{plan}", self.name));
        Prepared { processor, title: format!("{}: {plan}", self.name) }
    }
}

/// A plan on a backend.
pub(crate) struct Prepared {
    processor: Processor,
    title: String,
}

impl Prepared {
    /// What the plan makes of `source` with these parameters.
    pub(crate) fn bytes(&self, source: &Source, drawn: &Drawn) -> Vec<u8> {
        let result = self.processor.run(&[(source.pixels(), drawn)]);
        result.unwrap_or_else(|error| panic!("{error}: {}\n{drawn:?}", self.title))
    }

    /// [`bytes`](Self::bytes) of a plan whose output is f32.
    pub(crate) fn floats(&self, source: &Source, drawn: &Drawn) -> Vec<f32> {
        floats(&self.bytes(source, drawn))
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect()
}
