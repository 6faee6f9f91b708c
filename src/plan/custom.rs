//! Users' own colour steps in a plan: their functions in the text of a pass, and their native functions for the CPU
//! executor.
//!
//! `CustomColor` (`transforms/custom_color.rs`) is an operator whose op, `Op::Custom`, holds numbers alone; its slot
//! holds the functions. `transforms/snippet.rs` checks its WGSL by itself. Here it goes into the passes, renamed, as
//! opcode 1000 + slot; `cpu/color.rs` calls its native function. `Facts::CUSTOM` has the facts of its step.

use super::Plan;
use crate::color::opcode;
use crate::transforms::CustomColor;
use crate::transforms::snippet::renamed;
use std::collections::BTreeMap;

impl Plan {
    /// The custom step of an opcode.
    pub(crate) fn custom(&self, opcode: u32) -> Option<&CustomColor> {
        self.slots.get(opcode.checked_sub(opcode::CUSTOM)? as usize)?.custom.as_ref()
    }

    /// The custom steps of a stage, by their opcodes.
    fn customs(&self, stage: usize) -> impl Iterator<Item = (u32, &CustomColor)> {
        let slots = (opcode::CUSTOM..).zip(&self.slots).zip(&self.places);
        let slots = slots.filter(move |(_, place)| usize::from(place.stage) == stage);
        slots.filter_map(|((opcode, slot), _)| Some((opcode, slot.custom.as_ref()?)))
    }

    /// The functions that a stage's `color_step` calls for its custom steps: each snippet once, with renamed functions,
    /// and for each slot a function with the signature of the built-in steps.
    pub(super) fn custom_functions(&self, stage: usize) -> String {
        let mut text = String::new();
        let mut prefixes = BTreeMap::new();
        for (opcode, custom) in self.customs(stage) {
            let prefix = prefixes.entry(custom.wgsl()).or_insert_with(|| {
                let prefix = format!("{}_", function(opcode));
                text.push_str(&format!("\n{}\n", renamed(custom.wgsl(), &prefix)));
                prefix
            });
            // A single channel is repeated in all three components; the first component of the result becomes the channel.
            text.push_str(&format!(
                "
fn {}(value: vec4<f32>, step: Step) -> vec4<f32> {{
    let color = {prefix}{}(value.xyz, step.value);
    return vec4(select(color, color.xxx, step.integer_2 == 1u), 1.0);
}}
",
                function(opcode),
                custom.name()
            ));
        }
        text
    }
}

/// The name of a custom step's function in a pass's text.
pub(super) fn function(opcode: u32) -> String {
    format!("custom_{}", opcode - opcode::CUSTOM)
}

#[cfg(test)]
mod tests {
    use crate::plan::pass::Pass;
    use crate::plan::variant::Kernel;
    use crate::plan::wgsl::validate;
    use crate::plan::{Layout, Output, Plan};
    use crate::transforms::{
        ColorJitter, CustomColor, Normalize, RandomGrayscale, RandomResizedCrop, Resize, Transform,
    };

    fn tint() -> Transform {
        let wgsl = "fn tint(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> { return color * parameters.x; }";
        CustomColor::new("tint", wgsl, |color, parameters| color.map(|value| value * parameters[0])).into()
    }

    #[test]
    fn a_text_stands_once_in_a_pass_and_every_slot_has_its_function() {
        let plan = Plan::compile(&[tint(), tint(), Resize::new((8, 8)).into(), tint()], &Output::default()).unwrap();
        let texts = [0, 1].map(|stage| plan.shader(Pass::Stage { stage, kernel: Kernel::Sample }));
        texts.iter().for_each(|text| assert_eq!(text.matches("_tint(color: vec3<f32>").count(), 1, "{text}"));
        assert!(texts[0].contains("case 1000u:") && texts[0].contains("case 1001u:") && !texts[0].contains("1003u"));
        assert!(texts[1].contains("case 1003u:") && !texts[1].contains("1001u"));
    }

    /// A snippet that calls `distance` means WGSL's function, so no function of gpufeed may have that name.
    #[test]
    fn no_function_of_gpufeed_hides_a_built_in_one() {
        let list = vec![
            ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
            RandomResizedCrop::new(24).into(),
            tint(),
            RandomGrayscale::new(0.2).into(),
            ColorJitter::new(0.0, 0.4, 0.0, 0.0).into(),
            Normalize::IMAGENET.into(),
        ];
        let is_built_in = |name: &str| {
            let result = validate(&format!("fn probe_of_a_name() {{ _ = {name}(); }}"));
            result.err().is_none_or(|error| !error.to_string().contains("no definition in scope"))
        };
        assert!(is_built_in("distance") && is_built_in("vec3") && !is_built_in("luma"), "the probe tells them apart");
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let plan = Plan::compile(&list, &Output { layout, ..Output::default() }).unwrap();
            for pass in plan.pass_list() {
                let (module, _) = validate(&plan.shader(pass)).unwrap();
                let names: Vec<_> = module.functions.iter().filter_map(|(_, f)| f.name.clone()).collect();
                assert!(names.len() > 20 && names.iter().any(|name| name == "color_step_0"), "{names:?}");
                let hiding: Vec<_> = names.into_iter().filter(|name| is_built_in(name)).collect();
                assert!(hiding.is_empty(), "{hiding:?}");
            }
        }
    }
}
