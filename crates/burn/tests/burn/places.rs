//! The backends of these tests: the CPU with Burn's `flex`, and every GPU adapter with a device that gpufeed and Burn
//! share.

use burn::tensor::Device;
use gpufeed::{Backend, DataLoader, DataLoaderBuilder, Execute, Gpu};
use gpufeed_burn::GpuExt;
use std::sync::LazyLock;

#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) backend: Backend,
    pub(crate) device: Device,
    pub(crate) execute: Execute,
}

static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
    let cpu =
        Place { name: "CPU, flex".to_owned(), backend: Backend::Cpu, device: Device::flex(), execute: Execute::Auto };
    let mut places = vec![cpu];
    for device in gpufeed_testing::device::devices() {
        let (gpu, burn) = Gpu::for_burn(&device.adapter).unwrap_or_else(|error| panic!("{}: {error}", device.name));
        let backend = Backend::Gpu(gpu);
        for (how, execute) in [("shaders", Execute::Gpu), ("copied up", Execute::Cpu)] {
            let name = format!("{}, {how}", device.name);
            places.push(Place { name, backend: backend.clone(), device: burn.clone(), execute });
        }
    }
    places
});

pub(crate) fn places() -> &'static [Place] {
    &PLACES
}

/// Returns the places whose batches are on a GPU.
pub(crate) fn gpus() -> impl Iterator<Item = (&'static Place, &'static Gpu)> {
    places().iter().filter_map(|place| match &place.backend {
        Backend::Gpu(gpu) => Some((place, gpu)),
        _ => None,
    })
}

impl Place {
    pub(crate) fn build(&self, builder: DataLoaderBuilder) -> DataLoader {
        builder.execute(self.execute).build(&self.backend).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}
