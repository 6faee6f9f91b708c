//! Compiles transforms into a plan, and makes a small program of it for each image. Never calls wgpu; knows neither
//! files nor threads.
//!
//! [`Plan::compile`] reads a list of transforms once, and distributes the ops that they may emit over stages. For each
//! image [`Plan::make_params`] makes the concrete ops, of which a program has one sampling and a few colour steps per
//! stage. Shaders and native code run the same programs.

// From the list to the stages:
//   fuse.rs           which ops share a stage
//   list_checks.rs    what is checked of a list as a whole: its depth, its channels, the size of its outputs
//   crops.rs          the outputs of FiveCrop and TenCrop: their keys, where they may stand, the pixels that they share
//   following.rs      plans of images with the geometry of others
//   output.rs         the form of a batch in memory; arrangement.rs: how its images lie beside each other
//   semantics.rs      floats, or torchvision's arithmetic on 8-bit numbers, and where these end
// From an image's ops to its program:
//   program.rs        one sampling and a list of colour steps per stage; a mixture begins with a program for each chain
//   sampling.rs       where a stage reads its source; composer.rs composes crops, pads, a resize and flips into it,
//                     read_region.rs says which source pixels it reads; resize_u8.rs has the weights on 8-bit numbers
//   gather.rs         operators that begin a stage, because they need more pixels than one; timm.rs: those of timm
//   mixing.rs         how a finished batch is mixed, as both executors read it
//   custom.rs         users' own colour steps
//   host_code.rs      lists with code of the user's own: what stands before it, and what stands after it
// What runs where:
//   split.rs          divides a plan for a cache: the prefix that every epoch computes alike, the form of its result
//   route.rs          the route of one sample: what is read, what a worker and the executor run, what the cache gets
//   cpu_fallback.rs   which images the CPU executor finishes for the GPU
// The shaders:
//   pass.rs           the passes, and which images take part in each
//   device.rs         what a device decides about them; rows.rs: the rows of outputs of a thread
//   variant.rs        the facts that a pass's text is made of; positions.rs: which steps it can meet at each position
//   wgsl.rs           the text; shader_layout.rs: a stage's program as the text reads it
//   work.rs           the bytes and operations of passes, for the roofline of `gpufeed bench`
//   description.rs    a plan as data, for programs that run it without this library (`gpufeed explain --json --wgsl`);
//                     declarations.rs: what a text declares, as naga reads it

mod arrangement;
pub(crate) mod composer;
pub(crate) mod cpu_fallback;
mod crops;
mod custom;
pub(crate) mod declarations;
pub(crate) mod description;
pub(crate) mod device;
mod following;
mod fuse;
pub(crate) mod gather;
pub(crate) mod host_code;
mod list_checks;
pub(crate) mod mixing;
mod output;
pub(crate) mod pass;
pub(crate) mod positions;
pub(crate) mod program;
mod read_region;
pub(crate) mod resize_u8;
pub(crate) mod route;
mod rows;
pub(crate) mod sampling;
mod semantics;
pub(crate) mod shader_layout;
pub(crate) mod split;
pub(crate) mod timm;
pub(crate) mod variant;
pub(crate) mod wgsl;
pub(crate) mod work;

use crate::advice::{self, Reason};
use crate::error::{Error, Result};
use crate::geometry::{Rect, Scale};
use crate::random::ahead::{Ahead, ImageAhead};
use crate::transforms::params::{Context, FollowBoxes, first_slots};
use crate::transforms::{Effect, JPEG_NAME, Key, Op, Params, Slot, Slots, TIMM_MIX_NAME, Transform, random_paths};
pub use arrangement::Arrangement;
use arrangement::Frame;
use crops::Crops;
use following::Following;
pub(crate) use following::{FollowedBy, Outside};
pub(crate) use fuse::PlanStage;
use fuse::SlotPlace;
use host_code::{Begin, CodePart};
pub use list_checks::normalized_twice;
use list_checks::{check_channels, check_code, depth, output_channels, slot_count};
pub use output::{DType, Layout, Output};
use pass::Pass;
pub use pass::Shader;
use program::Program;
pub use semantics::Semantics;
use std::sync::Arc;

/// A compiled list of transforms: stages, passes, and upper bounds for any image's program.
///
/// ```
/// use gpufeed::transforms::{Key, RandomHorizontalFlip, RandomResizedCrop};
/// use gpufeed::{Output, Plan};
///
/// let plan = Plan::compile(&[RandomResizedCrop::new(224).into(), RandomHorizontalFlip::new(0.5).into()], &Output::default())?;
/// assert_eq!(plan.passes(), 1);
/// let params = plan.make_params(500, 375, &Key { seed: 42, sample: 7, ..Key::default() })?;
/// println!("{plan}\n{params:?}");
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    transforms: Vec<Transform>,
    first_slots: Vec<u16>,
    /// The operations of [`Plan::fixed`]; empty for other plans.
    fixed: Vec<Op>,
    slots: Vec<Slot>,
    places: Vec<SlotPlace>,
    stages: Vec<PlanStage>,
    /// Width and height of every output, if the list fixes them.
    size: Option<(u32, u32)>,
    /// The greatest width and height of an output, if the list bounds them.
    most: Option<(u32, u32)>,
    /// Set for outputs that lie in frames.
    frame: Option<Frame>,
    crops: Crops,
    input_channels: u32,
    channels: u32,
    output: Output,
    /// See [`Plan::on_device`].
    stores_halves: bool,
    /// The rows of a thread, where they are set by hand.
    rows: Option<u32>,
    semantics: Semantics,
    /// The first slot whose op gets floats: 0 with [`Semantics::Float`].
    first_float_slot: usize,
    /// Set for images with the geometry of others.
    following: Option<Following>,
    /// The number of transforms that stand before the list, of which it is the rest.
    before: usize,
    /// Code of the user's own, and what stands before and after it: the slots and stages are those before it.
    code: Option<Arc<CodePart>>,
}

impl Plan {
    /// Compiles a list of transforms for three-channel images.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a wrong argument of a transform, a random number of
    /// channels, three different numbers for one channel (a `mean`, a `fill`), or `DType::U8` after `Normalize`;
    /// [`ErrorKind::Snippet`](crate::ErrorKind::Snippet) for the WGSL of a
    /// [`CustomColor`](crate::transforms::CustomColor).
    pub fn compile(transforms: &[Transform], output: &Output) -> Result<Plan> {
        Plan::compile_for(3, transforms, output)
    }

    /// Compiles a list of transforms for images of 1 or 3 channels.
    ///
    /// # Errors
    /// Those of [`compile`](Self::compile), and [`ErrorKind::Argument`](crate::ErrorKind::Argument) for other channels.
    pub fn compile_for(input_channels: u32, transforms: &[Transform], output: &Output) -> Result<Plan> {
        Plan::compile_as(Semantics::Float, input_channels, transforms, output)
    }

    /// Compiles a list of transforms for images of 1 or 3 channels, in the arithmetic of `semantics`.
    ///
    /// ```
    /// use gpufeed::transforms::{ColorJitter, Normalize};
    /// use gpufeed::{Output, Plan, Semantics};
    ///
    /// let list = [ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(), Normalize::IMAGENET.into()];
    /// let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &Output::default())?;
    /// assert_eq!(plan.semantics(), Semantics::Uint8);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`compile_for`](Self::compile_for), and [`ErrorKind::Argument`](crate::ErrorKind::Argument) for
    /// operators that have no arithmetic on 8-bit numbers.
    pub fn compile_as(
        semantics: Semantics,
        input_channels: u32,
        transforms: &[Transform],
        output: &Output,
    ) -> Result<Plan> {
        Plan::compile_list(semantics, input_channels, transforms, output, None, Begin::default())
    }

    /// Compiles as [`compile_as`](Self::compile_as) does, for images that all have this width and height.
    ///
    /// # Errors
    /// Those of [`compile_as`](Self::compile_as).
    pub(crate) fn compile_of_size(
        size: (u32, u32),
        semantics: Semantics,
        input_channels: u32,
        transforms: &[Transform],
        output: &Output,
    ) -> Result<Plan> {
        let begin = Begin { size: Some(size), ..Begin::default() };
        Plan::compile_list(semantics, input_channels, transforms, output, None, begin)
    }

    /// Compiles a list of which the first transforms may be those of the images that are followed, or the rest of a list.
    fn compile_list(
        semantics: Semantics,
        input_channels: u32,
        transforms: &[Transform],
        output: &Output,
        following: Option<Following>,
        begin: Begin,
    ) -> Result<Plan> {
        match transforms.iter().position(|transform| matches!(transform, Transform::HostCode(_))) {
            Some(at) => Plan::compile_around(semantics, input_channels, (transforms, at), output, begin),
            None => Plan::compile_stages(semantics, input_channels, transforms, output, following, begin),
        }
    }

    /// Compiles a list without code, or with code as its last transform.
    fn compile_stages(
        semantics: Semantics,
        input_channels: u32,
        transforms: &[Transform],
        output: &Output,
        following: Option<Following>,
        begin: Begin,
    ) -> Result<Plan> {
        if input_channels != 1 && input_channels != 3 {
            return Err(Error::argument("channels", format!("{input_channels}; images of 1 or 3 channels work")));
        }
        transforms.iter().try_for_each(Transform::validate)?;
        if transforms.len() + begin.transforms > 255 || depth(transforms) > 7 {
            return Err(Error::argument(
                "transforms",
                "lists of up to 255 transforms work, with RandomApply, RandomChoice and RandomOrder nested up to 7 deep",
            ));
        }
        let count = slot_count(transforms);
        if count > u64::from(u16::MAX) {
            return Err(Error::argument(
                "transforms",
                format!("the list may emit {count} operations; up to {} work", u16::MAX),
            ));
        }
        check_code(transforms)?;
        let mut slots = Slots::behind(begin.size, semantics == Semantics::Uint8);
        transforms.iter().for_each(|transform| slots.add(transform));
        let mut others = 0;
        if let Some(following) = &following {
            following.restrict(&mut slots.list);
            others = following.transforms;
        }
        let channels = output_channels(input_channels, &slots.list)?;
        check_channels(input_channels, &transforms[others..], begin.transforms)?;
        let crops = Crops::new(transforms)?;
        let first_float_slot = semantics::first_float_slot(semantics, &slots.list)?;
        semantics::check_floats(&slots.list, first_float_slot)?;
        if let Some(following) = &following {
            following.fill(&mut slots.list, first_float_slot);
        }
        let (stages, places) = fuse::fuse(&slots.list, first_float_slot);
        let first_slots = first_slots(transforms);
        for (transform, &slot) in transforms.iter().zip(&first_slots).skip(others) {
            let uint8 = usize::from(slot) < first_float_slot;
            transform.validate_range(uint8)?;
            if uint8 {
                transform.validate_uint8()?;
            }
        }
        let plan = Plan {
            transforms: transforms.to_vec(),
            first_slots,
            fixed: Vec::new(),
            places,
            stages,
            size: slots.size,
            most: slots.most,
            frame: None,
            slots: slots.list,
            crops,
            input_channels,
            channels,
            output: *output,
            stores_halves: false,
            rows: None,
            semantics,
            first_float_slot,
            following,
            before: begin.transforms,
            code: None,
        };
        plan.check_u8()?;
        Ok(plan)
    }

    /// A plan of fixed operations, each in a slot of its own; [`make_params`](Self::make_params) returns them for every
    /// image. They are concrete: on one channel an operation uses the first of three numbers, where a transform whose three
    /// numbers differ is refused.
    ///
    /// ```
    /// use gpufeed::transforms::Op;
    /// use gpufeed::{Output, Plan};
    ///
    /// let plan = Plan::fixed(3, &[Op::HorizontalFlip, Op::Brightness { factor: 0.5 }], &Output::default())?;
    /// assert_eq!(plan.make_params(8, 8, &Default::default())?.ops.len(), 2);
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for channels other than 1 or 3, of the images or of an
    /// `Op::Grayscale`, for `Op::Custom` and `Op::HostCode`, or for `DType::U8` after `Normalize`.
    pub fn fixed(input_channels: u32, ops: &[Op], output: &Output) -> Result<Plan> {
        Plan::fixed_as(Semantics::Float, input_channels, ops, output)
    }

    /// A plan of fixed operations, as [`fixed`](Self::fixed) makes it, in the arithmetic of `semantics`. Eight-bit
    /// numbers end before the first `Op::Normalize`, or else at the output.
    ///
    /// # Errors
    /// Those of [`fixed`](Self::fixed), and [`ErrorKind::Argument`](crate::ErrorKind::Argument) for operations that
    /// have no arithmetic on 8-bit numbers.
    pub fn fixed_as(semantics: Semantics, input_channels: u32, ops: &[Op], output: &Output) -> Result<Plan> {
        if ops.iter().any(|op| matches!(op, Op::HostCode { .. })) {
            let reason =
                "own code has no function in an op; compile the transforms, and run their parameters with a processor";
            return Err(Error::argument("ops", reason));
        }
        if ops.iter().any(|op| matches!(op, Op::Custom { .. })) {
            let reason = "a custom colour step has no function of its own; compile the transforms, and run their parameters with a processor";
            return Err(Error::argument("ops", reason));
        }
        if ops.iter().any(|op| matches!(op, Op::Grayscale { channels } if ![1, 3].contains(channels))) {
            return Err(Error::argument("ops", "Grayscale works with 1 or 3 channels"));
        }
        let mut plan = Plan::compile_as(semantics, input_channels, &[], output)?;
        let name = |op: &Op| match op {
            Op::Jpeg { .. } => JPEG_NAME,
            Op::PillowAffine { .. } => "PillowAffine",
            Op::PillowBlur { .. } => "PillowBlur",
            Op::Timm { .. } => "Timm",
            Op::TimmMixture { .. } => TIMM_MIX_NAME,
            _ => "fixed",
        };
        let slot =
            |op: &Op| Slot { transform: name(op), effect: op.effect(), optional: false, size: None, custom: None };
        plan.slots = ops.iter().map(slot).collect();
        plan.channels = output_channels(input_channels, &plan.slots)?;
        plan.first_float_slot = semantics::first_float_slot(semantics, &plan.slots)?;
        semantics::check_floats(&plan.slots, plan.first_float_slot)?;
        (plan.stages, plan.places) = fuse::fuse(&plan.slots, plan.first_float_slot);
        plan.fixed = ops.to_vec();
        plan.check_u8()?;
        Ok(plan)
    }

    fn check_u8(&self) -> Result<()> {
        if self.output.dtype == DType::U8 && self.slots.iter().any(|slot| slot.effect == Effect::Normalize) {
            let reason = Reason::new("8-bit numbers cannot hold the result of Normalize; leave Normalize out");
            return Err(Error::argument("output", reason.advise(advice::FLOAT_OUTPUT)));
        }
        Ok(())
    }

    /// Makes the parameters of one image of `width` × `height` pixels, counted after EXIF orientation is applied. They
    /// depend only on the size and the key.
    ///
    /// A list with `FiveCrop` or `TenCrop` has several outputs: [`Key::view`] says whose parameters are made.
    ///
    /// # Errors
    /// [`ErrorKind::Transform`](crate::ErrorKind::Transform) if an operator cannot work on that size.
    pub fn make_params(&self, width: u32, height: u32, key: &Key) -> Result<Params> {
        self.params_with((width, height), key, None, None)
    }

    /// Makes the parameters as [`make_params`](Self::make_params) does, for an image with these boxes.
    ///
    /// # Errors
    /// Those of [`make_params`](Self::make_params), and those of moving the boxes.
    pub(crate) fn make_params_for(
        &self,
        size: (u32, u32),
        key: &Key,
        boxes: &mut (dyn FollowBoxes + 'static),
    ) -> Result<Params> {
        self.params_with(size, key, None, Some(boxes))
    }

    /// True if the parameters of an image depend on its boxes.
    pub(crate) fn looks_at_objects(&self) -> bool {
        self.transforms.iter().any(Transform::looks_at_objects)
    }

    /// The buffer of random numbers for [`make_params_ahead`](Self::make_params_ahead).
    pub(crate) fn ahead(&self) -> Ahead {
        let mut paths = Vec::new();
        random_paths(&self.transforms, 0, &mut paths);
        Ahead::new(paths, self.crops.count)
    }

    /// Makes the parameters as [`make_params`](Self::make_params) does, with numbers that were made ahead for `key`.
    ///
    /// # Errors
    /// Those of [`make_params`](Self::make_params).
    pub(crate) fn make_params_ahead(&self, size: (u32, u32), key: &Key, ahead: ImageAhead<'_>) -> Result<Params> {
        self.params_with(size, key, Some(ahead), None)
    }

    fn params_with(
        &self,
        (width, height): (u32, u32),
        key: &Key,
        ahead: Option<ImageAhead<'_>>,
        boxes: Option<&mut (dyn FollowBoxes + 'static)>,
    ) -> Result<Params> {
        let mut ops = Vec::with_capacity(self.slots.len());
        let (key, crop) = key.of_view(self.crops.count);
        // Operators draw as they do for the images that are followed.
        let channels = self.following.map_or(self.input_channels, |following| following.channels);
        let mut context = Context::new(key, crop, (width, height), channels, ahead, &mut ops).with_boxes(boxes);
        context.first_float_slot = self.first_float_slot;
        context.make_params_of_rest(self.before, &self.transforms, &self.first_slots)?;
        for (slot, op) in self.fixed.iter().enumerate() {
            context.emit(slot as u16, op.clone())?;
        }
        if let Some(following) = &self.following {
            following.keep(&mut ops, self.first_float_slot);
        }
        Ok(Params { width, height, ops, scale: Scale::Full, mixed: None, mosaic: None })
    }

    /// The region of the source image that the plan reads for these parameters: a crop, and the pixels around it that a
    /// filter needs. Every pixel of the result depends only on this region.
    ///
    /// The region is in pixels of the whole image at full size, EXIF orientation applied, whatever [`Params::scale`]
    /// is.
    ///
    /// ```
    /// use gpufeed::decode::Rect;
    /// use gpufeed::transforms::{CenterCrop, Key};
    /// use gpufeed::{Output, Plan};
    ///
    /// let plan = Plan::compile(&[CenterCrop::new(32).into()], &Output::default())?;
    /// let params = plan.make_params(64, 48, &Key::default())?;
    /// assert_eq!(plan.source_region(&params)?, Rect { left: 16, top: 8, width: 32, height: 32 });
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the parameters do not belong to the plan.
    pub fn source_region(&self, params: &Params) -> Result<Rect> {
        Ok(self.program(params)?.region())
    }

    pub(crate) fn program(&self, params: &Params) -> Result<Program> {
        Program::compose(self, params)
    }

    /// The most dispatches of a chunk of a batch: stages, statistics, and one more if f32 is packed into another type. A
    /// stage that begins with a warp, a blur, sharpness or a policy has several kernels, and those that no image of the
    /// chunk takes are left out. The plan of a loader whose GPU stores numbers of 16 bits packs no f16 or
    /// bf16.
    pub fn passes(&self) -> usize {
        self.pass_list().len()
    }

    /// Width and height of every output, if the list of transforms fixes them.
    pub fn output_size(&self) -> Option<(u32, u32)> {
        self.size
    }

    /// Channels of the output: 1 or 3.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    pub(crate) fn input_channels(&self) -> u32 {
        self.input_channels
    }

    /// Layout and type of the output.
    pub fn output(&self) -> Output {
        self.output
    }

    /// The transforms from which the plan was compiled.
    pub fn transforms(&self) -> &[Transform] {
        &self.transforms
    }

    /// Bytes of one image of the output.
    pub(crate) fn image_bytes(&self, (width, height): (u32, u32)) -> usize {
        width as usize * height as usize * self.channels as usize * self.output.dtype.bytes()
    }

    /// True if making parameters calls functions of the user.
    pub(crate) fn calls_users(&self) -> bool {
        let of_others = self.following.is_some_and(|following| following.calls_users);
        of_others || self.slots.iter().any(|slot| slot.custom.is_some())
    }

    /// True if an image may have an operator that begins a stage.
    pub(crate) fn has_gathers(&self) -> bool {
        self.slots.iter().any(|slot| slot.effect.is_policy() || matches!(slot.effect, Effect::Gather(_)))
    }

    pub(crate) fn stages(&self) -> &[PlanStage] {
        &self.stages
    }

    /// The plan of the stages from `first` on, which read the result of the earlier stages.
    pub(crate) fn after_stage(&self, first: usize) -> Plan {
        let mut plan = self.clone();
        plan.stages.drain(..first);
        for place in &mut plan.places {
            place.stage = place.stage.checked_sub(first as u16).unwrap_or(SlotPlace::NO_STAGE);
        }
        plan
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.size.map_or("any size".to_owned(), |(width, height)| format!("{width}x{height}"));
        let crops = if self.crops() > 1 { format!("{} crops of ", self.crops()) } else { String::new() };
        writeln!(
            f,
            "plan: {} dispatches a chunk, {crops}{size}, {} channels, {:?} {:?}",
            self.passes(),
            self.channels,
            self.output.layout,
            self.output.dtype
        )?;
        self.describe_stages(f, "stage")?;
        if self.packs() {
            writeln!(f, "  pack: f32 -> {:?}", self.output.dtype)?;
        } else if self.stores_halves {
            let dtype = self.output.dtype;
            writeln!(f, "  no packing: the last stage stores {dtype:?}, as shaders store numbers of 16 bits here")?;
        }
        Ok(())
    }
}

impl Plan {
    /// Describes the stages, each after the word `stage`, and code of the user's own.
    fn describe_stages(&self, f: &mut std::fmt::Formatter<'_>, word: &str) -> std::fmt::Result {
        for (i, stage) in self.stages.iter().enumerate() {
            let names = stage.transforms.join(" + ");
            let names = if names.is_empty() { "as it is" } else { &names };
            let rows = self.rows(Pass::Stage { stage: i, kernel: self.kernels(i)[0] });
            write!(f, "  {word} {i}: {names}; up to {} colour steps, {rows} rows a thread", stage.steps)?;
            match stage.statistics {
                0 => writeln!(f)?,
                n => writeln!(f, ", {n} whole-image mean{}", if n == 1 { "" } else { "s" })?,
            }
        }
        self.describe_code(f)
    }
}
