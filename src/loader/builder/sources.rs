//! The sources of the groups, and which group follows which one.

use super::Views;
use crate::dataset::Dataset;
use crate::decode::ReadMode;
use crate::error::{Error, Result};
use crate::loader::cache::Cache;
use crate::loader::source::Source;
use crate::plan::{Arrangement, DType, FollowedBy, Output, Outside, Plan, Semantics};
use crate::transforms::{Interpolation, Transform};

/// Where the images of the groups come from, and whose geometry they have.
pub(super) struct Sources {
    /// Each source once; the first one is that of the first group.
    pub(super) list: Vec<Source>,
    /// The source of each group.
    pub(super) of_group: Vec<usize>,
    /// The group that each group follows.
    pub(super) followed: Vec<Option<usize>>,
}

impl Sources {
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for sources that are no fields of images, and for groups that
    /// cannot be followed.
    pub(super) fn new(groups: &[(String, Views)], dataset: &dyn Dataset) -> Result<Sources> {
        let mut sources =
            Sources { list: Vec::new(), of_group: Vec::with_capacity(groups.len()), followed: Vec::new() };
        for (name, views) in groups {
            let source = match (&views.source, views.read_mode) {
                (Some(field), mode) => Source::of_field(dataset.fields(), field, mode)?,
                (None, ReadMode::Color) => Source::OWN,
                (None, mode) => {
                    let reason = format!("{mode:?} of group {name:?} needs a source: a field of images");
                    return Err(Error::argument("read_mode", reason));
                }
            };
            let known = sources.list.iter().position(|known| *known == source);
            sources.of_group.push(known.unwrap_or(sources.list.len()));
            if known.is_none() {
                sources.list.push(source);
            }
        }
        for (number, (name, views)) in groups.iter().enumerate() {
            if views.follows.is_none() && views.interpolation.is_some() {
                let reason = format!("group {name:?} follows none; its operators have interpolations of their own");
                return Err(Error::argument("interpolation", reason));
            }
            if let Some(fill) = views.fill {
                check_fill(name, views, fill)?;
            }
            let followed = views.follows.as_ref().map(|other| followed(groups, number, other));
            sources.followed.push(followed.transpose()?);
        }
        Ok(sources)
    }

    /// Refuses a cache of samples that have images of fields: it would keep one image of each sample.
    pub(super) fn check_cache(&self, cache: Cache) -> Result<()> {
        let names: Vec<_> = self.list.iter().filter_map(Source::name).map(|name| format!("{name:?}")).collect();
        if cache == Cache::Off || names.is_empty() {
            return Ok(());
        }
        let reason = format!(
            "a cache keeps one image of each sample, but groups have images of {}; Cache::Off works",
            names.join(", ")
        );
        Err(Error::argument("cache", reason))
    }
}

/// The number of the group that the group `number` follows.
fn followed(groups: &[(String, Views)], number: usize, other: &str) -> Result<usize> {
    let (name, views) = &groups[number];
    let refuse = |reason: String| Err(Error::argument("follows", format!("group {name:?}: {reason}")));
    let Some(found) = groups.iter().position(|(name, _)| name == other) else {
        let names: Vec<_> = groups.iter().map(|(name, _)| name.as_str()).collect();
        return refuse(format!("there is no group {other:?}; the loader has {}", names.join(", ")));
    };
    let (_, of_other) = &groups[found];
    if found == number {
        return refuse("a group cannot follow itself".to_owned());
    }
    if let Some(third) = &of_other.follows {
        return refuse(format!("{other:?} follows {third:?} itself; follow that one"));
    }
    let (own, its) = (views.recipe.views, of_other.recipe.views);
    if own != its {
        return refuse(format!("it has {own} views, but {other:?}, which it follows, has {its}; both need as many"));
    }
    Ok(found)
}

/// The plan of a group that follows another one.
pub(super) fn follow(
    followed: &Plan,
    views: &Views,
    semantics: Semantics,
    channels: u32,
    output: &Output,
) -> Result<Plan> {
    let interpolation = views.interpolation.unwrap_or(Interpolation::Nearest);
    // Nothing divides numbers of 16 bits.
    let white = if views.read_mode == ReadMode::Gray16 { 1.0 } else { MOST_OF_8_BITS };
    let own = FollowedBy { interpolation, fill: Outside { number: views.fill.unwrap_or(0.0), white } };
    followed.followed_by(&views.recipe.transforms, own, semantics, channels, output)
}

const MOST_OF_8_BITS: f32 = 255.0;
const MOST_OF_16_BITS: f32 = 65535.0;

/// Refuses a fill of a group that follows none, and one that its images cannot have.
fn check_fill(name: &str, views: &Views, fill: f32) -> Result<()> {
    let refuse = |reason: String| Err(Error::argument("fill", format!("group {name:?}: {reason}")));
    if views.follows.is_none() {
        return refuse("it follows none; its operators have fills of their own".to_owned());
    }
    let (images, most) = match views.read_mode {
        ReadMode::Color => ("an image has numbers", MOST_OF_8_BITS),
        ReadMode::Mask => ("a mask has whole numbers", MOST_OF_8_BITS),
        ReadMode::Gray16 => ("gray of 16 bits has numbers", MOST_OF_16_BITS),
    };
    if !(0.0..=most).contains(&fill) || views.read_mode == ReadMode::Mask && fill.fract() != 0.0 {
        return refuse(format!("{fill}; {images} from 0 to {most}"));
    }
    match views.recipe.arrangement {
        Some(Arrangement::Padded { .. }) if fill != 0.0 => refuse(format!(
            "{fill}, but padded batches are filled up with 0; listed ones have no such border, and a fill of 0 works"
        )),
        _ => Ok(()),
    }
}

impl Source {
    /// Checks a plan for images of this source. `own` is the group's own list: of a plan that follows another one the rest
    /// is the other's, whose `Normalize` these images do not go through.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a plan that cannot hold their numbers.
    pub(super) fn check_plan(&self, plan: &Plan, own: &[Transform]) -> Result<()> {
        match self.mode {
            ReadMode::Color => return Ok(()),
            ReadMode::Mask => return check_mask(plan, own),
            ReadMode::Gray16 => {}
        }
        let refuse = |setting: &'static str, reason: String| Err(Error::argument(setting, reason));
        if plan.semantics() == Semantics::Uint8 {
            return refuse(
                "semantics",
                "Uint8 has numbers of 8 bits, but ReadMode::Gray16 gives 16; Float works".into(),
            );
        }
        if let Some(name) = plan.changes_colors() {
            let works = "operators that move pixels, and Normalize, work";
            return refuse(
                "transforms",
                format!("{name} takes 1 for white, but ReadMode::Gray16 gives 0 to 65535; {works}"),
            );
        }
        let is_normalized = own.iter().any(|transform| matches!(transform, Transform::Normalize(_)));
        match plan.output().dtype {
            DType::F32 => Ok(()),
            DType::F16 if is_normalized => Ok(()),
            dtype => {
                refuse("output", format!("{dtype:?} cannot hold ReadMode::Gray16's numbers, 0 to 65535; F32 works"))
            }
        }
    }
}

/// Checks a plan for masks. `own` is the group's own list.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a plan that makes numbers of which a mask has none.
fn check_mask(plan: &Plan, own: &[Transform]) -> Result<()> {
    let refuse = |setting: &'static str, reason: String| Err(Error::argument(setting, reason));
    let own_color = own.iter().find(|transform| matches!(transform, Transform::Normalize(_))).map(Transform::name);
    if let Some(name) = own_color.or(plan.changes_colors()) {
        return refuse(
            "transforms",
            format!("{name} changes colours, but a mask has numbers of classes; operators that move pixels work"),
        );
    }
    if let Some(name) = plan.interpolates() {
        let reason = format!(
            "{name} computes numbers between those of pixels, of which a mask has none; the nearest pixel works, which is \
             the default of groups that follow another one"
        );
        return refuse("interpolation", reason);
    }
    match plan.output().dtype {
        DType::U8 => Ok(()),
        dtype => refuse("output", format!("{dtype:?} divides by 255, but a mask has numbers of classes; U8 works")),
    }
}
