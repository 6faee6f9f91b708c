//! The groups of a loader: their lists, their plans, and where their images lie in a batch.

use super::{DataLoaderBuilder, Views, mixing};
use crate::advice::{self, Reason};
use crate::backend::Backend;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::Execute;
use crate::loader::group::{ALIGNMENT, Group};
use crate::plan::split::{CacheSplit, Executor};
use crate::plan::{Output, Plan, Semantics, normalized_twice};
use crate::recipe::{Recipe, check_views};

/// The name of the only group of a loader without groups.
const IMAGE: &str = "image";

/// The most groups: their numbers stand beside those of views in the keys of random numbers.
const MOST_GROUPS: usize = 64;

/// The groups, and the bytes of a batch.
pub(super) struct Compiled {
    pub(super) groups: Vec<Group>,
    /// The recipe of each group.
    pub(super) recipes: Vec<Recipe>,
    /// Bytes of all groups' images in host memory.
    pub(super) batch_bytes: u64,
}

impl Compiled {
    /// Bytes of a batch's images in each group.
    pub(super) fn group_bytes(&self, batch_size: usize) -> Vec<u64> {
        let bytes = |group: &Group| (batch_size as u64).saturating_mul(group.sample_bytes() as u64);
        self.groups.iter().map(bytes).collect()
    }
}

impl DataLoaderBuilder {
    /// Adds a group: views of every sample with a list, a size and an output of their own, such as DINO's global and
    /// local crops. A sample is read and decoded once for all groups, and a batch has the images of each
    /// ([`Batch::group`](crate::Batch::group)) under its name.
    ///
    /// The views of the first group draw what those of a loader without groups draw; each other group has random numbers
    /// of its own. Groups take the place of [`transform`](Self::transform), [`recipe`](Self::recipe) and
    /// [`views`](Self::views); [`output`](Self::output) and [`semantics`](Self::semantics) are for the groups that set none.
    /// A [`batch_transform`](Self::batch_transform) needs a loader without groups.
    ///
    /// ```
    /// use gpufeed::transforms::RandomResizedCrop;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat, Views};
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..4 {
    ///     data.push_pixels(9, 9, PixelFormat::Rgb8, vec![class as u8; 243], Label::Class(class))?;
    /// }
    /// let loader = DataLoader::builder(data)
    ///     .group("global", Views::new(2).transform(RandomResizedCrop::new(8)))
    ///     .group("local", Views::new(8).transform(RandomResizedCrop::new(4)))
    ///     .batch_size(4)
    ///     .build(&Backend::Cpu)?;
    /// for batch in loader.epoch(0)? {
    ///     let batch = batch?;
    ///     let shapes: Vec<_> = batch.groups().map(|group| (group.name(), group.shape())).collect();
    ///     assert_eq!(shapes, [("global", [8, 3, 8, 8]), ("local", [32, 3, 4, 4])]);
    /// }
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn group(mut self, name: impl Into<String>, views: Views) -> Self {
        self.groups.push((name.into(), views));
        self
    }

    /// The recipe of each group by its name, with everything that the settings or the defaults decide.
    fn lists(&self) -> Result<Vec<(String, Recipe)>> {
        if self.groups.is_empty() {
            let (output, semantics, views) = (self.form(), self.arithmetic(), self.view_count());
            let recipe = Recipe { output: Some(output), semantics: Some(semantics), views, ..self.recipe.clone() };
            return Ok(vec![(IMAGE.to_owned(), recipe)]);
        }
        let refuse = |reason: String| Err(Error::argument("group", reason));
        if !self.recipe.transforms.is_empty() || self.view_count() != 1 {
            return refuse("the loader has a list or views of its own, too; give these to a group".to_owned());
        }
        if self.groups.len() > MOST_GROUPS {
            return refuse(format!("{}; at most {MOST_GROUPS} work", self.groups.len()));
        }
        for (number, (name, _)) in self.groups.iter().enumerate() {
            if name.is_empty() || name == "label" {
                return refuse(format!("{name:?} is no name for a group"));
            }
            if self.groups[..number].iter().any(|(other, _)| other == name) {
                return refuse(format!("two groups have the name {name:?}"));
            }
            if !self.groups[number].1.recipe.groups.is_empty() {
                return refuse(format!("{name:?} is given a recipe with groups; give that to the loader itself"));
            }
            if self.dataset.fields().iter().any(|field| field.name() == name) {
                return refuse(format!("{name:?} is the name of a field of the data set"));
            }
        }
        let list = |(name, views): &(String, Views)| {
            let recipe = &views.recipe;
            let (output, semantics) =
                (recipe.output.unwrap_or(self.form()), recipe.semantics.unwrap_or(self.arithmetic()));
            (name.clone(), Recipe { output: Some(output), semantics: Some(semantics), ..recipe.clone() })
        };
        Ok(self.groups.iter().map(list).collect())
    }

    /// Compiles the list of each group. Where one has no shaders, the CPU executor augments all.
    pub(super) fn compile(&mut self, backend: &Backend) -> Result<Compiled> {
        let lists = self.lists()?;
        self.check_mixing(&lists)?;
        let mut plans = Vec::with_capacity(lists.len());
        for (name, recipe) in &lists {
            check_views(recipe.views)?;
            let (output, semantics) = (recipe.output.unwrap_or_default(), recipe.semantics.unwrap_or_default());
            let plan = self.plan(semantics, &recipe.transforms, &output);
            plans.push(plan.map_err(|error| if lists.len() > 1 { in_group(name, error) } else { error })?);
        }
        let several = plans.len() > 1;
        let (executor, memory) = (self.executor(backend), self.cache_memory(backend));
        let (mut groups, mut recipes) = (Vec::with_capacity(plans.len()), Vec::with_capacity(plans.len()));
        let (mut first, mut begin) = (0, 0.0);
        for (number, ((name, recipe), plan)) in lists.into_iter().zip(plans).enumerate() {
            let plan = match backend {
                Backend::Gpu(gpu) if executor == Executor::Gpu => {
                    plan.on_device(gpu.caps().traits, self.recipe.batch_transform.is_some())
                }
                _ => plan,
            };
            let size = plan.output_size().ok_or_else(|| plan.sizes_differ())?;
            let outputs = recipe.views * plan.crops();
            let split = CacheSplit::new(plan, executor, memory, self.settings.cache_in_bytes);
            let split = if several { split.storing_sources() } else { split };
            recipes.push(recipe);
            let group = Group { name, number, split, size, outputs, first, begin: begin as usize };
            first += outputs;
            // Computed in floats, because u64 can overflow: 2^22 pixels a side, 2^64 images.
            begin += self.settings.batch_size as f64 * outputs as f64 * group.image_bytes() as f64;
            if several {
                begin = (begin / ALIGNMENT as f64).ceil() * ALIGNMENT as f64;
            }
            groups.push(group);
        }
        let batch_bytes = if begin > u64::MAX as f64 / 64.0 { u64::MAX / 64 } else { begin as u64 };
        Ok(Compiled { groups, recipes, batch_bytes })
    }

    fn plan(
        &mut self,
        semantics: Semantics,
        transforms: &[crate::transforms::Transform],
        output: &Output,
    ) -> Result<Plan> {
        let plan = Plan::compile_as(semantics, self.dataset.channels(), transforms, output)?;
        if let Some((first, second)) = normalized_twice(transforms) {
            tracing::warn!(first, second, "Normalize stands twice in the list, and images are normalised by both");
        }
        let without_shaders = plan.without_shaders();
        if !without_shaders.is_empty() {
            if self.settings.execute == Execute::Gpu {
                let reason = Reason::new(format!("there are no shaders for {}", without_shaders.join(", ")));
                return Err(Error::argument("execute", reason.advise(advice::EXECUTE_AUTO_COPIES)));
            }
            self.settings.execute = Execute::Cpu;
        }
        Ok(plan)
    }

    /// The recipe of the loader, whose groups have these recipes: with a list, or with groups.
    pub(super) fn whole_recipe(&self, recipes: &[Recipe]) -> Recipe {
        let [first, ..] = recipes else { return self.recipe.clone() };
        if self.groups.is_empty() {
            return first.clone();
        }
        let not_float = |semantics: &Semantics| *semantics != Semantics::Float;
        let (output, semantics) = (Some(self.form()), Some(self.arithmetic()));
        // What all groups have is said once.
        let group = |((name, views), recipe): (&(String, Views), &Recipe)| {
            let mut group = views.to_group(name);
            group.output = recipe.output.filter(|own| Some(*own) != output);
            let own = Some(recipe.semantics.unwrap_or_default());
            group.semantics = own.filter(|_| own != semantics);
            group
        };
        let groups = self.groups.iter().zip(recipes).map(group).collect();
        Recipe { groups, output, semantics: semantics.filter(not_float), views: 1, ..self.recipe.clone() }
    }

    fn check_mixing(&self, lists: &[(String, Recipe)]) -> Result<()> {
        let Some(transform) = &self.recipe.batch_transform else { return Ok(()) };
        let [(_, recipe)] = lists else {
            let names: Vec<_> = lists.iter().map(|(name, _)| name.as_str()).collect();
            let reason = format!("the images of one group are mixed, but the loader has {}", names.join(", "));
            return Err(Error::argument("batch_transform", reason));
        };
        mixing::check(transform, &*self.dataset, recipe.output.unwrap_or_default().dtype)
    }
}

/// The error of a group's list, which names the group.
fn in_group(name: &str, error: Error) -> Error {
    let ErrorKind::Argument { setting, reason } = error.kind() else { return error };
    let in_group = Error::argument(setting, format!("group {name:?}: {reason}"));
    error.advice().iter().cloned().fold(in_group, Error::advise)
}
