//! Parts of the library for other members of its workspace: gpufeed-burn, the command, the benches, the fixtures of
//! tests, and the fuzz targets. They may change at any time.

pub use crate::advice::every_piece;
pub use crate::backend::choose_among;
pub use crate::cpu::measure::{Native, mix};
pub use crate::dataset::addresses_of;
pub use crate::dataset::folder::endings::NOT_DECODED;
pub use crate::dataset::folder::walk::{BEHIND_LINKS, LINKS_TO_A_FOLDER};
pub use crate::dataset::in_order::InOrder;
pub use crate::decode::panics::caught;
pub use crate::decode::tiff::TiffPixels;
pub use crate::error::{sample_called, share_failed};
pub use crate::gpu::exported::Trial;
pub use crate::gpu::measure::{RecordedDispatch, Rig, StagingRing, draw, draw_many, on_device};
pub use crate::gpu::staging_memory::StagingMemory;
pub use crate::gpu::switches::{SWITCHES, Switches, switched};
pub use crate::gpu::{Attached, Clock, DeviceMemory, Fault, Mock, Verdict, attached, mocked, run_checked};
pub use crate::loader::mixed::soft_labels;
pub use crate::loader::run::{RunStop, stops, stops_with};
pub use crate::loader::settings::given as settings_of;
pub use crate::plan::normalized_twice;
pub use crate::plan::work::{TAP_OPERATIONS, Work, work};
pub use crate::quote::{Shown, ShownLines};
pub use crate::storage::local::atomic_file::{folder_of, replace};

/// The places of objects in images that are turned by their EXIF orientation.
pub mod object_places {
    use crate::targets::{Objects, TargetsOrientation};

    /// Gives objects places in their image as it is shown, of this (width, height), as a loader does. Returns the image in which
    /// their places were.
    ///
    /// # Errors
    /// The reason for which a loader leaves out the sample.
    pub fn settle(objects: &mut Objects, shown: (u32, u32), orientation: u8) -> Result<TargetsOrientation, String> {
        crate::objects::settle(objects, shown, orientation)
    }
}

/// Objects of JSON documents, for the fuzz target that reads them.
pub mod object_documents {
    use crate::targets::Objects;

    /// Reads the objects of a document.
    ///
    /// # Errors
    /// The reason, with the key or the number of the object.
    pub fn read(text: &str) -> Result<Objects, String> {
        crate::objects::from_json(text)
    }

    /// Writes objects as a document that [`read`] reads.
    ///
    /// # Errors
    /// The name of values with infinity or NaN.
    pub fn written(objects: &Objects) -> Result<String, String> {
        crate::objects::to_json(objects)
    }
}

pub mod regular_file {
    pub use crate::storage::local::regular_file::{open, read, read_to_string};
}

/// Why GPUs of this machine have no adapter.
pub mod missing {
    pub use crate::gpu::missing::{Facts, Finding, Node, PciDevice, Signs, find, warning};
}

/// Returns the part of [`DataLoader::memory`](crate::DataLoader::memory) that the workers take between the stages of the
/// plan.
pub fn memory_of_workers(loader: &crate::DataLoader) -> u64 {
    loader.memory_of_workers()
}

/// Orders whose lists the caller gives epoch by epoch, for the Python package: its samplers run on the caller's thread.
pub mod given_orders {
    use crate::error::Result;
    use crate::{DataLoader, Orders};

    /// An order of `len` indices in each epoch, or of `len` batches. `whole` is false if ranks have lists of their own; `name`
    /// is the order in words.
    pub fn new(len: usize, batches: bool, whole: bool, name: String) -> Orders {
        Orders::given(len, batches, whole, name)
    }

    /// Gives the indices of an epoch, before the run comes to it.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for what is no order of the loader.
    pub fn give_samples(loader: &DataLoader, epoch: u64, indices: Vec<usize>) -> Result<()> {
        loader.sampler().give_samples(epoch, indices)
    }

    /// Gives the batches of an epoch, before the run comes to it.
    ///
    /// # Errors
    /// Those of [`give_samples`].
    pub fn give_batches(loader: &DataLoader, epoch: u64, batches: Vec<Vec<usize>>) -> Result<()> {
        loader.sampler().give_batches(epoch, batches)
    }

    /// True if the list of the epoch is there.
    pub fn knows(loader: &DataLoader, epoch: u64) -> bool {
        loader.sampler().knows(epoch)
    }

    /// The indices that an order has in an epoch.
    ///
    /// # Errors
    /// Those of the order.
    pub fn indices(orders: &Orders, samples: usize, seed: u64, epoch: u64) -> Result<Vec<usize>> {
        let sampler = crate::Sampler::new(samples, samples)?.seed(seed).orders(orders.clone())?;
        let order = sampler.try_epoch(epoch)?;
        Ok((0..order.batches())
            .flat_map(|batch| order.batch(batch).map(|position| position.index).collect::<Vec<_>>())
            .collect())
    }
}

/// Arithmetic of operators on given random numbers, for the tests against torchvision's results: no seed gives these.
pub mod given {
    pub use crate::cpu::gather::elastic::{given_bytes as elastic_bytes, given_floats as elastic_floats};

    /// Returns the displacements of `ElasticTransform`, along x and along y in pixels.
    pub fn elastic_field(size: (u32, u32), alpha: [f64; 2], sigma: [f64; 2], key: [u32; 2]) -> [Vec<f32>; 2] {
        let elastic = crate::elastic::Elastic { alpha, sigma, key, nearest: false, fill: None };
        crate::cpu::gather::elastic::whole_field(&elastic, size).expect("tests give small images")
    }

    /// Adds noise made of `normals` to values in \[0, 1\].
    pub fn gaussian_noise(values: &mut [f32], normals: &[f32], mean: f64, sigma: f64, clip: bool) {
        use crate::color::gaussian_noise::noisy;
        let values = values.iter_mut().zip(normals);
        values.for_each(|(value, &normal)| *value = noisy(*value, normal, mean as f32, sigma as f32, clip));
    }

    /// Adds noise made of `normals` to whole numbers.
    pub fn gaussian_noise_u8(bytes: &mut [u8], normals: &[f32], mean: f64, sigma: f64) {
        use crate::color::gaussian_noise::noisy_u8;
        let [mean, sigma] = [mean, sigma].map(|share| (255.0 * share) as f32);
        let noisy = |byte: u8, normal: f32| noisy_u8(f32::from(byte), normal, mean, sigma) as u8;
        bytes.iter_mut().zip(normals).for_each(|(byte, &normal)| *byte = noisy(*byte, normal));
    }
}

/// The shaders of all possible plans, for the tests that check all of them.
pub mod shaders {
    use crate::color::Step;
    pub use crate::color::{ColorStep, STEPS, UINT8_STEPS};
    use crate::gpu::mix_dispatches::Parameters;
    use crate::plan::Plan;
    pub use crate::plan::description::Description;
    use crate::plan::device::DeviceTraits;
    use crate::plan::pass::Pass;
    use crate::plan::sampling::Axis;
    use crate::plan::shader_layout::{GatherNumbers, Image};
    use crate::plan::split::{CacheMemory, CacheSplit, Executor};
    pub use crate::plan::variant::{ColorFacts, Kernel, KernelFacts, PassSource, PassTarget, SamplingFacts, Variant};
    pub use crate::plan::wgsl::{FILTERS, UNROLLED_STEPS, validate};
    pub mod opcode {
        pub const CONTRAST: u32 = crate::color::opcode::CONTRAST;
        pub const CONTRAST_U8: u32 = crate::color::opcode::CONTRAST_U8;
        pub const HUE: u32 = crate::color::opcode::HUE;
    }

    /// Bytes of the struct that Rust writes for the pass that mixes batches.
    pub const MIX_BYTES: usize = size_of::<Parameters>();

    /// Returns the passes of a plan: their names, and the facts that generate their texts.
    pub fn passes(plan: &Plan) -> Vec<(String, Variant)> {
        plan.pass_list().into_iter().map(|pass: Pass| (pass.to_string(), plan.variant(pass))).collect()
    }

    /// Returns the plan as a GPU runs it whose shaders store numbers of 16 bits.
    pub fn storing_16_bits(plan: &Plan) -> Plan {
        plan.clone().on_device(DeviceTraits { stores_16_bits: true, rows: None }, false)
    }

    /// Returns the plan whose kernels run for samples cached as floats.
    pub fn cached(plan: &Plan) -> Plan {
        CacheSplit::new(plan.clone(), Executor::Gpu, Some(CacheMemory::Device), false).plan_for_kernels().0
    }

    /// Returns the structs that Rust writes for a pass of `steps` colour steps: names, bytes, and true for structs in
    /// arrays.
    pub fn structs(steps: u32) -> [(&'static str, usize, bool); 3] {
        [("Axis", size_of::<Axis>(), false), ("Step", size_of::<Step>(), true), ("Image", Image::bytes(steps), true)]
    }

    /// Returns the structs of a stage that may begin with an operator, with room for `weights` weights of a blur.
    pub fn structs_with_operator(steps: u32, weights: u32) -> [(&'static str, usize, bool); 4] {
        let [axis, step, _] = structs(steps);
        let image = Image::bytes_with_gather(steps, weights);
        [axis, step, ("Gather", size_of::<GatherNumbers>(), false), ("Image", image, true)]
    }
}
