//! A plan as data, for programs that run its shaders without this library: `gpufeed explain --json --wgsl` prints it, and
//! `web/` runs it in a browser.

use super::Plan;
use super::declarations::Declarations;
use super::pass::{Pass, Workgroups};
use crate::color::{STEPS, UINT8_STEPS};
use crate::error::Result;
use crate::transforms::{Effect, Transform};
use serde::Serialize;
use std::collections::BTreeMap;

/// All that composing an image's numbers and dispatching the passes needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The transforms with all their arguments.
    pub transforms: Vec<Transform>,
    /// Channels of the images before the first transform.
    pub input_channels: u32,
    /// The op slots: which ops the transforms may emit, and where each stands in its stage.
    pub slots: Vec<SlotDescription>,
    /// The number of stages.
    pub stages: usize,
    /// For each stage, the opcodes that each position of its colour steps can hold. An image's steps stand each at the
    /// first free position that can hold it, and zeros between them. Empty for a stage whose positions hold any.
    pub positions: Vec<Vec<Vec<u32>>>,
    /// The opcode of each colour step, by the name of its WGSL function.
    pub color_steps: BTreeMap<&'static str, u32>,
    /// The passes in the order in which they run.
    pub passes: Vec<PassDescription>,
}

/// One op slot of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlotDescription {
    /// The transform that emits the op.
    pub transform: &'static str,
    /// What the op does, with the arguments that shape shaders.
    effect: Effect,
    /// The number of the stage that has it.
    pub stage: u16,
    /// For ops that move pixels: true if they work on the resize's grid, false if on the source.
    pub on_grid: bool,
    /// For contrast: the number of the stage's statistic that it reads.
    pub statistic: u16,
    /// True if the op gets 8-bit numbers.
    pub uint8: bool,
}

/// One pass of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassDescription {
    /// Its name: `stage 0`, `stage 0, mean 0`, `pack`.
    pub name: String,
    /// The number of its stage; none for `pack`.
    pub stage: Option<usize>,
    /// True if it writes statistics, which binding 2 holds; false if it writes binding 3.
    pub writes_statistics: bool,
    /// How many workgroups it has.
    pub dispatch: Workgroups,
    /// The declarations of its text, as naga reads them.
    #[serde(flatten)]
    pub declarations: Declarations,
    /// Its whole text in WGSL. Where the plan is a GPU's that stores numbers of 16 bits, that of an f16 or bf16 batch
    /// begins with `enable wgpu_int16;`, which browsers lack; the plan of the CPU packs them.
    pub wgsl: String,
}

impl Description {
    /// Describes the plan, pass by pass.
    ///
    /// # Errors
    /// naga's message about a text that is not valid: that of a user's own colour step.
    pub fn of(plan: &Plan) -> Result<Description> {
        let slots = plan.slots.iter().zip(&plan.places).enumerate();
        let slots = slots.map(|(number, (slot, place))| SlotDescription {
            transform: slot.transform,
            effect: slot.effect,
            stage: place.stage,
            on_grid: place.on_grid,
            statistic: place.statistic,
            uint8: plan.is_uint8(number),
        });
        let passes = plan.pass_list().into_iter().map(|pass| {
            let wgsl = plan.shader(pass);
            Ok(PassDescription {
                name: pass.to_string(),
                stage: pass.stage(),
                writes_statistics: matches!(pass, Pass::Tables { .. } | Pass::Statistic { .. }),
                dispatch: plan.workgroups(pass),
                declarations: Declarations::of(&wgsl)?,
                wgsl,
            })
        });
        Ok(Description {
            transforms: plan.transforms.clone(),
            input_channels: plan.input_channels,
            slots: slots.collect(),
            stages: plan.stages.len(),
            positions: plan.stages.iter().map(|stage| stage.positions.distinguished().to_vec()).collect(),
            color_steps: STEPS.iter().chain(UINT8_STEPS).map(|step| (step.name, step.opcode)).collect(),
            passes: passes.collect::<Result<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Output, recipe};

    #[test]
    fn a_plan_is_described_pass_by_pass() {
        let output = Output { dtype: DType::F16, ..Output::default() };
        let plan = Plan::compile(&recipe::resize_crop_256(), &output).unwrap();
        let description = Description::of(&plan).unwrap();
        assert_eq!(description.passes.len(), plan.passes());
        assert!(description.passes.iter().zip(plan.shaders()).all(|(shader, other)| shader.wgsl == other.wgsl));
        let json = serde_json::to_value(&description).unwrap();
        let effects: Vec<&serde_json::Value> =
            json["slots"].as_array().unwrap().iter().map(|slot| &slot["effect"]).collect();
        assert_eq!(*effects[0], serde_json::json!({"Resize": {"interpolation": "Bilinear", "antialias": true}}));
        assert_eq!(json["slots"][3]["effect"], "Crop");
        assert_eq!(json["slots"][3]["on_grid"], true);
        let dispatches: Vec<&serde_json::Value> =
            json["passes"].as_array().unwrap().iter().map(|shader| &shader["dispatch"]).collect();
        let expected = ["{\"groups\":16}", "{\"outputs\":[32,128]}", "{\"words\":256}"];
        assert_eq!(dispatches.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        assert_eq!(json["color_steps"]["contrast"], 2);
        assert_eq!(json["positions"], serde_json::json!([[[1, 2], [1, 2]]]));
    }
}
