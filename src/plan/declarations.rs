//! The declarations of a shader's text, as naga reads them, for programs that run the text without this library: they
//! fill its buffers by these numbers, and type none of them again.

use super::wgsl;
use crate::error::{ErrorKind, Result};
use naga::{ArraySize, Expression, Handle, Literal, ScalarKind, Type, TypeInner};
use serde::Serialize;
use std::collections::BTreeMap;

/// The structs, constants, bindings and workgroup that a shader's text declares.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Declarations {
    /// The name of the entry point.
    pub entry_point: String,
    /// Invocations of a workgroup along x, y and z.
    pub workgroup_size: [u32; 3],
    /// The numbers of the storage buffers' bindings in group 0.
    pub bindings: Vec<u32>,
    /// The module's constants that are whole numbers or true and false (1 and 0).
    pub constants: BTreeMap<String, i64>,
    /// The structs that it declares.
    pub structs: BTreeMap<String, Struct>,
}

/// A struct as it stands in a buffer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Struct {
    /// Its size in bytes, padding included.
    pub bytes: u32,
    /// Its fields in their order.
    pub fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// Its name in the text.
    pub name: String,
    /// Bytes from the beginning of the struct.
    pub offset: u32,
    /// `u32`, `i32`, `f32`, or the name of a struct: the type of each element.
    #[serde(rename = "type")]
    pub element: String,
    /// Elements of a vector or an array; 1 for others.
    pub count: u32,
    /// Bytes from an element to the next.
    pub stride: u32,
}

impl Declarations {
    /// Reads the declarations of a valid shader.
    ///
    /// # Errors
    /// naga's message with its line.
    pub fn of(text: &str) -> Result<Declarations> {
        let (module, _) = wgsl::validate(text)?;
        let entry = module.entry_points.first().ok_or_else(|| ErrorKind::Device {
            stage: "shader validation",
            reason: "the text has no entry point".to_owned(),
        })?;
        let constants = module.constants.iter().filter_map(|(_, constant)| {
            let value = match &module.global_expressions[constant.init] {
                Expression::Literal(Literal::U32(value)) => i64::from(*value),
                Expression::Literal(Literal::I32(value)) => i64::from(*value),
                Expression::Literal(Literal::AbstractInt(value)) => *value,
                Expression::Literal(Literal::Bool(value)) => i64::from(*value),
                _ => return None,
            };
            Some((constant.name.clone()?, value))
        });
        let structs = module.types.iter().filter_map(|(_, Type { name, inner })| {
            let TypeInner::Struct { members, span } = inner else { return None };
            let fields = members.iter().filter_map(|member| {
                let (element, count, stride) = elements(&module, member.ty)?;
                Some(Field { name: member.name.clone()?, offset: member.offset, element, count, stride })
            });
            Some((name.clone()?, Struct { bytes: *span, fields: fields.collect() }))
        });
        let mut bindings: Vec<u32> =
            module.global_variables.iter().filter_map(|(_, variable)| Some(variable.binding?.binding)).collect();
        bindings.sort_unstable();
        Ok(Declarations {
            entry_point: entry.name.clone(),
            workgroup_size: entry.workgroup_size,
            bindings,
            constants: constants.collect(),
            structs: structs.collect(),
        })
    }
}

/// The type of a field's elements, their number, and the bytes from one to the next. `None` for types that no struct of
/// our shaders has.
fn elements(module: &naga::Module, of: Handle<Type>) -> Option<(String, u32, u32)> {
    let scalar = |scalar: naga::Scalar| match scalar.kind {
        ScalarKind::Uint => Some(format!("u{}", 8 * scalar.width)),
        ScalarKind::Sint => Some(format!("i{}", 8 * scalar.width)),
        ScalarKind::Float => Some(format!("f{}", 8 * scalar.width)),
        _ => None,
    };
    match &module.types[of].inner {
        TypeInner::Scalar(it) => Some((scalar(*it)?, 1, it.width.into())),
        TypeInner::Vector { size, scalar: it } => Some((scalar(*it)?, *size as u32, it.width.into())),
        TypeInner::Struct { span, .. } => Some((module.types[of].name.clone()?, 1, *span)),
        TypeInner::Array { base, size: ArraySize::Constant(count), stride } => {
            let (element, 1, _) = elements(module, *base)? else { return None };
            Some((element, count.get(), *stride))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::Step;
    use crate::plan::sampling::Axis;
    use crate::plan::shader_layout::Image;
    use crate::recipe;
    use crate::{Output, Plan};

    #[test]
    fn a_stage_declares_what_rust_writes() {
        let plan = Plan::compile(&recipe::imagenet_train_jitter(), &Output::default()).unwrap();
        for shader in plan.shaders() {
            let found = Declarations::of(&shader.wgsl).unwrap();
            let bytes = |name: &str| found.structs[name].bytes as usize;
            assert_eq!((bytes("Axis"), bytes("Step")), (size_of::<Axis>(), size_of::<Step>()));
            assert_eq!(bytes("Image"), Image::bytes(7));
            let steps = found.structs["Image"].fields.iter().find(|field| field.name == "steps").unwrap();
            let expected = ("Step", 7, size_of::<Step>(), size_of::<Image>());
            assert_eq!((&*steps.element, steps.count, steps.stride as usize, steps.offset as usize), expected);
            let y = found.structs["Image"].fields.iter().find(|field| field.name == "y").unwrap();
            assert_eq!((y.offset as usize, &*y.element), (std::mem::offset_of!(Image, y), "Axis"));
            assert_eq!(found.structs["Step"].fields[4].count, 4);
            assert_eq!(found.workgroup_size, [wgsl::GROUP.0, wgsl::GROUP.1, 1]);
            assert_eq!(
                (found.constants["PARTIALS"], found.constants["LINEAR_ANTIALIASES"]),
                (wgsl::PARTIALS.into(), 1)
            );
            assert_eq!((&*found.entry_point, &found.bindings[..2]), ("main", &[0, 1][..]));
        }
    }

    #[test]
    fn a_wrong_text_is_refused() {
        assert!(Declarations::of("fn main() {").is_err());
        assert!(Declarations::of("const A: u32 = 1u;").unwrap_err().to_string().contains("entry point"));
    }
}
