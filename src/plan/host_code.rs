//! Lists with code of the user's own (`transforms/host_code.rs`): the plan of what stands before it, and the plans of what
//! stands after it.
//!
//! Such a plan has the slots, stages and parameters of the transforms before the code, and the output of the whole list.
//! Its last stage names the code's key. The code decides the size with which the rest goes on, and whether it computes in
//! floats. So the rest's parameters are made when the code has returned (`cpu/host_code.rs`), from the same key and by the
//! places that its transforms have in the whole list. A rest with code is such a plan itself.

use super::crops::Crops;
use super::program::Program;
use super::{DType, Layout, Output, Plan, Semantics};
use crate::advice::FactsAlone;
use crate::error::{Error, Result};
use crate::random::key::child;
use crate::transforms::{HostCode, HostImage, Key, Transform, wrong};
use std::sync::Arc;

/// Where a part of a list begins: the number of transforms before it, and the size of all images there, if they have one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begin {
    pub(super) transforms: usize,
    pub(super) size: Option<(u32, u32)>,
}

/// The code of a plan, and what stands before and after it.
#[derive(Debug)]
pub(crate) struct CodePart {
    pub(crate) code: HostCode,
    /// The code's path, by which its random numbers differ from those of other operators.
    path: u64,
    /// The transforms before the code, whose output is what the code gets.
    pub(crate) before: Plan,
    /// The transforms after it, for 8-bit numbers; the reason why there is none. Code that gets floats returns them as floats.
    bytes: std::result::Result<Plan, String>,
    /// The transforms after it, for floats.
    floats: std::result::Result<Plan, String>,
}

impl CodePart {
    /// Calls the code with an image under the key of its view.
    ///
    /// # Errors
    /// Those of [`HostCode::call`].
    pub(crate) fn call(&self, image: HostImage, key: &Key) -> Result<HostImage> {
        self.code.call(image, key, self.path)
    }

    /// The plan of what stands after the code, for an image of floats or of bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Foreign`](crate::ErrorKind::Foreign) if the transforms after the code do not work on such numbers.
    pub(crate) fn rest(&self, is_float: bool) -> Result<&Plan> {
        let (numbers, plan) = match is_float {
            true => ("floats", &self.floats),
            false => ("8-bit numbers", &self.bytes),
        };
        plan.as_ref().map_err(|reason| wrong(format!("returned {numbers}, but {reason}")))
    }

    /// The program of what stands after the code, for an image of a size.
    ///
    /// # Errors
    /// Those of [`Plan::make_params`], and [`ErrorKind::Foreign`](crate::ErrorKind::Foreign) if the result has not the size
    /// that all images have.
    pub(crate) fn program(&self, rest: &Plan, (width, height): (u32, u32), key: &Key) -> Result<Program> {
        let params = rest.make_params(width, height, key)?;
        let program = Program::compose_ops(rest, (width, height), &params.ops)?;
        let (size, all) = (program.size(), rest.before_code().size);
        match all {
            Some((w, h)) if size != (w, h) => {
                let after = match rest.transforms().first() {
                    None => format!("{width}x{height} pixels, but all images of a batch have {w}x{h}"),
                    Some(first) => {
                        let (is, first) = (format!("{}x{}", size.0, size.1), first.name());
                        format!("{width}x{height} pixels, of which {first} and what follows make {is}, not {w}x{h}")
                    }
                };
                let works = "return images of one size, or put CenterCrop or Resize((height, width)) after the code";
                Err(wrong(format!("returned {after}; {works}")))
            }
            _ => Ok(program),
        }
    }
}

impl Plan {
    /// Compiles a list whose transform number `at` is code.
    pub(super) fn compile_around(
        semantics: Semantics,
        input_channels: u32,
        (transforms, at): (&[Transform], usize),
        output: &Output,
        begin: Begin,
    ) -> Result<Plan> {
        let (list, rest) = (&transforms[..=at], &transforms[at + 1..]);
        let Some(Transform::HostCode(code)) = list.last() else {
            return Err(Error::argument("transforms", "no code stands there"));
        };
        if begin.transforms == 0 && Crops::new(transforms)?.count > 1 {
            let reason = "own code and FiveCrop or TenCrop stand in one list: the crops of an image share what stands before \
                          them; crop in the code, or leave one of the two out";
            return Err(Error::argument("transforms", reason));
        }
        let all_floats = Output { layout: Layout::Nhwc, dtype: DType::F32 };
        let mut before = Plan::compile_stages(semantics, input_channels, list, &all_floats, None, begin)?;
        let is_uint8 = before.is_uint8(before.slots.len() - 1);
        if is_uint8 {
            before.output.dtype = DType::U8;
        }
        let after = Begin { transforms: begin.transforms + at + 1, size: code.fixed_size().or(before.size) };
        let facts = |error: Error| error.in_words_of(&FactsAlone);
        let compile = |semantics| Plan::compile_list(semantics, before.channels, rest, output, None, after);
        let floats = match output.dtype {
            DType::U8 if is_uint8 => {
                Err("batches have 8-bit numbers; return those, or choose a type of floats for the output".to_owned())
            }
            _ => compile(Semantics::Float).map_err(facts),
        };
        let bytes = if is_uint8 { compile(Semantics::Uint8) } else { compile(Semantics::Float) };
        // Code may make floats of bytes, for transforms that work on floats alone.
        let whole = match (&bytes, &floats) {
            (Ok(plan), _) | (_, Ok(plan)) => plan.clone(),
            (Err(_), Err(_)) => return bytes,
        };
        let bytes = bytes.map_err(facts);
        let path = child(0, begin.transforms + at);
        let code = CodePart { code: code.clone(), path, before: before.clone(), bytes, floats };
        let (size, most, channels) = (whole.size, whole.most, whole.channels);
        let transforms = transforms.to_vec();
        Ok(Plan { transforms, size, most, channels, output: *output, code: Some(Arc::new(code)), ..before })
    }

    /// The code of the list; `None` for most lists.
    pub(crate) fn code(&self) -> Option<&CodePart> {
        self.code.as_deref()
    }

    /// The plan of what stands before the code: this plan itself without code.
    pub(crate) fn before_code(&self) -> &Plan {
        self.code().map_or(self, |code| &code.before)
    }

    /// Describes the code and what follows it, for `explain`; nothing without code.
    pub(super) fn describe_code(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(part) = self.code() else { return Ok(()) };
        let numbers = match part.before.output.dtype {
            DType::U8 => "8-bit numbers",
            _ => "floats",
        };
        let channels = part.before.channels;
        let size = part.before.size.map_or("any size".to_owned(), |(width, height)| format!("{width}x{height}"));
        let name = part.code.called();
        write!(f, "  own code: {name}, on the host, in the workers; gets {size}, {channels} channels, {numbers}")?;
        let (calls, time) = part.code.spent();
        match calls {
            0 => writeln!(f)?,
            calls => writeln!(f, "; {:.3} ms an image so far", time.as_secs_f64() * 1e3 / calls as f64)?,
        }
        if let Ok(rest) = part.bytes.as_ref().or(part.floats.as_ref()) {
            if rest.transforms.is_empty() {
                return writeln!(f, "  after it: nothing but the output");
            }
            rest.describe_stages(f, "after it, stage")?;
        }
        Ok(())
    }
}
