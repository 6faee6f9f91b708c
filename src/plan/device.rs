//! What a device decides about the passes of a plan: who gives a batch its type, and the rows of a thread where they are
//! set by hand (`rows.rs` has the rule).

use super::{DType, Plan};

/// What a plan must know of the device that runs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceTraits {
    /// Its shaders store numbers of 16 bits.
    pub(crate) stores_16_bits: bool,
    /// The rows of outputs of a thread; `None` by the rule.
    pub(crate) rows: Option<u32>,
}

impl Plan {
    /// This plan as a device runs it. Where its shaders store numbers of 16 bits, the last stage writes an f16 or bf16
    /// batch itself, without the f32 batch and its packing: 2 bytes an element of traffic instead of 10. Batches that
    /// are mixed are mixed in f32, so they are packed after it. Both ways round in the same integers: the bits are
    /// equal.
    ///
    /// Not u8: a word holds four of them, and no device of wgpu stores a byte.
    pub(crate) fn on_device(mut self, traits: DeviceTraits, mixes: bool) -> Plan {
        let is_of_16_bits = matches!(self.output.dtype, DType::F16 | DType::BF16);
        self.stores_halves = traits.stores_16_bits && !mixes && is_of_16_bits;
        self.rows = traits.rows;
        self
    }

    /// True if the last stage writes the f16 or bf16 of a batch.
    pub(crate) fn stores_halves(&self) -> bool {
        self.stores_halves
    }

    /// True if a pass converts the finished f32 batch to its type.
    pub(crate) fn packs(&self) -> bool {
        self.output.dtype != DType::F32 && !self.stores_halves
    }

    /// Bytes of an element as the last stage writes it.
    pub(crate) fn stored_bytes(&self) -> u64 {
        if self.stores_halves { 2 } else { 4 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;
    use crate::plan::Layout;
    use crate::plan::wgsl::validate;
    use crate::transforms::{Normalize, Resize};

    #[test]
    fn only_halves_that_are_not_mixed_are_stored_by_the_last_stage() {
        let list = [Resize::new((8, 8)).into(), Resize::new((4, 4)).into(), Normalize::IMAGENET.into()];
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for (dtype, stores_16_bits, mixes, expected) in [
                (DType::F16, true, false, (true, false, 2)),
                (DType::F16, true, true, (false, true, 4)),
                (DType::F16, false, false, (false, true, 4)),
                (DType::BF16, true, false, (true, false, 2)),
                (DType::BF16, true, true, (false, true, 4)),
                (DType::BF16, false, false, (false, true, 4)),
                (DType::F32, true, false, (false, false, 4)),
            ] {
                let traits = DeviceTraits { stores_16_bits, rows: None };
                let plan = Plan::compile(&list, &Output { layout, dtype }).unwrap().on_device(traits, mixes);
                let what = format!("{dtype:?}, {stores_16_bits}, {mixes}");
                assert_eq!((plan.stores_halves(), plan.packs(), plan.stored_bytes()), expected, "{what}");
                let shaders = plan.shaders();
                let names: Vec<&str> = shaders.iter().map(|shader| &*shader.pass).collect();
                assert_eq!(
                    names,
                    if plan.packs() { &["stage 0", "stage 1", "pack"][..] } else { &["stage 0", "stage 1"] }
                );
                let asking: Vec<bool> =
                    shaders.iter().map(|shader| shader.wgsl.starts_with("enable wgpu_int16;")).collect();
                assert_eq!(asking[..2], [false, plan.stores_halves()], "{what}");
                shaders.iter().for_each(|shader| drop(validate(&shader.wgsl).unwrap()));
            }
        }
        let bytes = Plan::compile(&list[..1], &Output { dtype: DType::U8, ..Output::default() }).unwrap();
        assert!(bytes.on_device(DeviceTraits { stores_16_bits: true, rows: None }, false).packs());
    }
}
