use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Operator, Slot, Slots, snippet};
use crate::error::Result;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use std::sync::Arc;

/// The native twin on a row of three planes. Arguments: parameters, true for one channel, the row.
type Native = dyn Fn([f32; 4], bool, &mut [f32]) + Send + Sync;
/// Returns the parameters of one image; `None` leaves the image unchanged.
type Draw = dyn Fn(&mut Numbers) -> Option<[f32; 4]> + Send + Sync;

/// A colour step of your own: a function in WGSL, and the same function in Rust. It is fused into the plan's passes
/// like the built-in ones.
///
/// ```
/// use gpufeed::transforms::{CustomColor, Key, Normalize, Resize};
/// use gpufeed::{Backend, Output, PixelFormat, Pixels, Plan, Processor};
///
/// let gamma = CustomColor::new(
///     "gamma",
///     "fn gamma(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> {
///          return pow(color, vec3(parameters.x));
///      }",
///     |color, parameters| color.map(|value| value.powf(parameters[0])),
/// )
/// .draw(|numbers| Some([numbers.uniform(0.5, 2.0) as f32, 0.0, 0.0, 0.0]));
///
/// let plan = Plan::compile(&[Resize::new((8, 8)).into(), gamma.into(), Normalize::IMAGENET.into()], &Output::default())?;
/// assert_eq!(plan.passes(), 1);
/// let params = plan.make_params(16, 16, &Key { seed: 42, ..Key::default() })?;
/// let pixels = Pixels::new(16, 16, PixelFormat::Rgb8, &[127; 16 * 16 * 3])?;
/// let image = Processor::new(&plan, &Backend::Cpu)?.run(&[(pixels, &params)])?;
/// # assert_eq!(image.len(), 3 * 8 * 8 * 4);
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # The function
///
/// It receives the colour of one pixel and the image's four parameters, and returns the new colour. It must not depend
/// on anything else: gpufeed decides whether it runs before or after a crop or a flip. Colours are floats, in \[0, 1\]
/// unless a bicubic `Resize` (which overshoots) or a `Normalize` comes before. The result is neither clamped nor
/// checked; the built-in steps clamp theirs to \[0, 1\].
///
/// For an image of one channel, all three components have its value, and the first component of the result becomes the
/// channel.
///
/// # The WGSL text
///
/// It defines `fn name(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32>`, and may have further functions,
/// constants, structs and aliases. Their names may equal those of other snippets or of gpufeed. Variables outside
/// functions, bindings, overrides, extensions, entry points, barriers and derivatives are refused. Loops should be
/// short: a thread runs the function for many pixels, one after the other.
///
/// # The native twin
///
/// The CPU executor calls it: on [`Backend::Cpu`](crate::Backend::Cpu), on software adapters by default, and for images
/// that the CPU finishes for the GPU (`Stats::cpu_fallback`). gpufeed cannot check that it computes the same as the
/// WGSL; compare a few images with [`Processor`](crate::Processor), as `examples/custom_transform.rs` does. Several
/// workers call it at once, for a pixel at a time. A panic in it, or in the closure of the parameters, ends the run
/// with an error that names the sample.
///
/// # Not data
///
/// Two `CustomColor` are equal if one is a clone of the other. Functions cannot be serialised: serialising a list with
/// a `CustomColor` is an error, and so is reading `"type": "CustomColor"`. Add it to a deserialised list with
/// [`DataLoaderBuilder::transform`](crate::DataLoaderBuilder::transform).
#[derive(Clone)]
pub struct CustomColor {
    name: &'static str,
    wgsl: Arc<str>,
    native: Arc<Native>,
    draw: Arc<Draw>,
}

impl CustomColor {
    /// Makes a colour step of the function `name` in the text `wgsl` and its `native` twin. It applies to every image,
    /// with parameters 0.
    ///
    /// Nothing is checked here: `DataLoaderBuilder::build` and [`Plan::compile`](crate::Plan::compile) check it, on
    /// every backend, and return [`ErrorKind::Snippet`](crate::ErrorKind::Snippet) with naga's message and the line in
    /// `wgsl`.
    pub fn new(
        name: &'static str,
        wgsl: impl Into<Arc<str>>,
        native: impl Fn([f32; 3], [f32; 4]) -> [f32; 3] + Send + Sync + 'static,
    ) -> Self {
        // One indirect call per row lets the compiler optimise the loop together with the function.
        let row = move |parameters: [f32; 4], one_channel: bool, planes: &mut [f32]| {
            let (red, rest) = planes.split_at_mut(planes.len() / 3);
            let (green, blue) = rest.split_at_mut(red.len());
            for ((r, g), b) in red.iter_mut().zip(green).zip(blue) {
                let color = native([*r, *g, *b], parameters);
                [*r, *g, *b] = if one_channel { [color[0]; 3] } else { color };
            }
        };
        CustomColor { name, wgsl: wgsl.into(), native: Arc::new(row), draw: Arc::new(|_| Some([0.0; 4])) }
    }

    /// Sets a closure that makes the parameters of each image; `None` leaves the image unchanged.
    ///
    /// Parameters must be finite. Take random numbers only from the given generator: then they depend on seed, epoch
    /// and sample alone, like those of every transform.
    pub fn draw(self, draw: impl Fn(&mut Numbers) -> Option<[f32; 4]> + Send + Sync + 'static) -> Self {
        CustomColor { draw: Arc::new(draw), ..self }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn wgsl(&self) -> &str {
        &self.wgsl
    }

    /// Runs the native twin on a row of three planes.
    pub(crate) fn run(&self, parameters: [f32; 4], one_channel: bool, planes: &mut [f32]) {
        (self.native)(parameters, one_channel, planes);
    }
}

impl Operator for CustomColor {
    const NAME: &'static str = "CustomColor";

    fn validate(&self) -> Result<()> {
        snippet::check(self.name, &self.wgsl)
    }

    fn slots(&self, slots: &mut Slots) {
        let (optional, custom) = (slots.optional, Some(self.clone()));
        slots.list.push(Slot { transform: self.name, effect: Effect::Custom, optional, size: None, custom });
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let Some(parameters) = (self.draw)(numbers) else { return Ok(()) };
        if parameters.iter().any(|parameter| !parameter.is_finite()) {
            let reason = format!("its closure drew the parameters {parameters:?}; parameters must be finite");
            return Err(context.error(self.name, reason));
        }
        context.emit(0, Op::Custom { parameters })
    }
}

impl std::fmt::Debug for CustomColor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CustomColor").field(&self.name).finish()
    }
}

impl PartialEq for CustomColor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.native, &other.native) && Arc::ptr_eq(&self.draw, &other.draw)
    }
}

/// Always returns an error, which names the step.
impl Serialize for CustomColor {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        let reason = "is a function in Rust and cannot be written; leave it out, and add it after reading the list";
        Err(ser::Error::custom(format!("the custom colour step \"{}\" {reason}", self.name)))
    }
}

/// Always returns an error.
impl<'de> Deserialize<'de> for CustomColor {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("CustomColor is a function in Rust and cannot be read; add it after reading the list"))
    }
}
