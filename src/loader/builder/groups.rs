//! The groups of a loader: their lists, their plans, and where their images lie in a batch.

use super::sources::{Sources, follow};
use super::{DataLoaderBuilder, Views, mixing};
use crate::advice::{self, Reason};
use crate::backend::Backend;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::Execute;
use crate::loader::group::{ALIGNMENT, Group, of_source};
use crate::loader::source::Source;
use crate::plan::split::{CacheSplit, Executor};
use crate::plan::{Arrangement, Plan, Semantics, normalized_twice};
use crate::recipe::{IMAGE, Recipe, check_name, check_views, output_of};

/// The most groups: their numbers stand beside those of views in the keys of random numbers.
const MOST_GROUPS: usize = 64;

/// The groups, and the bytes of a batch.
pub(super) struct Compiled {
    pub(super) groups: Vec<Group>,
    /// Where the images of the groups come from; the first one is that of the first group.
    pub(super) sources: Vec<Source>,
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
        // The added group makes the groups differ from those of the named recipe, so the name is removed.
        self.recipe.name.clear();
        self.recipe.description.clear();
        self
    }

    /// The views of each group by its name, with everything that the settings or the defaults decide.
    fn lists(&self) -> Result<Vec<(String, Views)>> {
        if self.groups.is_empty() {
            let (output, semantics, views) = (self.form(), self.arithmetic(), self.view_count());
            let arrangement = Some(self.arranged()).filter(varies);
            let recipe =
                Recipe { output: Some(output), semantics: Some(semantics), arrangement, views, ..self.recipe.clone() };
            return Ok(vec![(IMAGE.to_owned(), Views::of(recipe))]);
        }
        let refuse = |reason: String| Err(Error::argument("group", reason));
        if !self.recipe.transforms.is_empty() || self.view_count() != 1 {
            return refuse("the loader has a list or views of its own, too; give these to a group".to_owned());
        }
        if self.shared.windows(2).any(|two| two[0] != two[1]) {
            let reason = "two recipes with groups differ in the output or the semantics that they say for all of their groups, but \
                          a loader has one of each for all; write them into the groups";
            return Err(Error::argument("recipe", reason));
        }
        if self.groups.len() > MOST_GROUPS {
            return refuse(format!("{}; at most {MOST_GROUPS} work", self.groups.len()));
        }
        for (number, (name, _)) in self.groups.iter().enumerate() {
            check_name(name, self.groups[..number].iter().map(|(other, _)| other.as_str()))?;
            if !self.groups[number].1.recipe.groups.is_empty() {
                return refuse(format!("{name:?} is given a recipe with groups; give that to the loader itself"));
            }
            if self.groups[number].1.recipe.batch_transform.is_some() {
                let reason = format!(
                    "the recipe of group {name:?} mixes batches, which no group does by itself; give the group the recipe's \
                     transforms alone"
                );
                return Err(Error::argument("batch_transform", reason));
            }
            if self.groups[number].1.recipe.mosaic.is_some() {
                let reason = format!("the recipe of group {name:?} has one, which is made for a loader with one list");
                return Err(Error::argument("mosaic", reason));
            }
            // A field of images is no column of a batch.
            let is_source = self.groups[number].1.source.as_ref() == Some(name);
            if !is_source && self.dataset.fields().iter().any(|field| field.name() == name) {
                return refuse(format!(
                    "{name:?} is the name of a field of the data set; a group that is made of this field has it as its source, \
                     and any other group needs another name"
                ));
            }
        }
        let list = |(name, views): &(String, Views)| {
            let recipe = &views.recipe;
            let output = output_of(views.read_mode, recipe.output, self.form());
            let semantics = recipe.semantics.unwrap_or(self.arithmetic());
            let arrangement = recipe.arrangement.or(Some(self.arranged())).filter(varies);
            let recipe = Recipe { output: Some(output), semantics: Some(semantics), arrangement, ..recipe.clone() };
            (name.clone(), Views { recipe, ..views.clone() })
        };
        Ok(self.groups.iter().map(list).collect())
    }

    /// Compiles the list of each group. Where one has no shaders, the CPU executor augments all.
    pub(super) fn compile(&mut self, backend: &Backend) -> Result<Compiled> {
        let lists = self.lists()?;
        self.check_mixing(&lists)?;
        let sources = Sources::new(&lists, &*self.dataset)?;
        sources.check_cache(self.settings.cache)?;
        let plans = self.plans(&lists, &sources)?;
        let several = plans.len() > 1;
        let (executor, memory) = (self.executor(backend), self.cache_memory(backend));
        let (mut groups, mut recipes) = (Vec::<Group>::with_capacity(plans.len()), Vec::with_capacity(plans.len()));
        let (mut first, mut begin) = (0, 0.0);
        for (number, ((name, Views { recipe, .. }), plan)) in lists.into_iter().zip(plans).enumerate() {
            let plan = match backend {
                Backend::Gpu(gpu) if executor == Executor::Gpu => {
                    plan.on_device(gpu.caps().traits, self.recipe.batch_transform.is_some())
                }
                _ => plan,
            };
            let arrangement = recipe.arrangement.unwrap_or_default();
            let framed = arrangement.frame(&plan);
            let (size, frame) = framed.map_err(|error| if several { in_group(&name, error) } else { error })?;
            let plan = plan.framed(frame);
            let outputs = recipe.views * plan.crops();
            let split = CacheSplit::new(plan, executor, memory, self.settings.cache_in_bytes);
            let split = if several { split.storing_sources() } else { split };
            recipes.push(recipe);
            let (source, follows) = (sources.of_group[number], sources.followed[number]);
            let first_of_source = of_source(&groups, source).map(|group| group.outputs).sum();
            let begins = begin as usize;
            let group = Group {
                name,
                number,
                source,
                follows,
                split,
                arrangement,
                size,
                outputs,
                first,
                first_of_source,
                first_by_source: 0,
                begin: begins,
            };
            first += outputs;
            // Computed in floats, because u64 can overflow: 2^22 pixels a side, 2^64 images.
            begin += self.settings.batch_size as f64 * outputs as f64 * group.image_bytes() as f64;
            if several {
                begin = (begin / ALIGNMENT as f64).ceil() * ALIGNMENT as f64;
            }
            groups.push(group);
        }
        let batch_bytes = if begin > u64::MAX as f64 / 64.0 { u64::MAX / 64 } else { begin as u64 };
        let outputs = |source| of_source(&groups, source).map(|group| group.outputs).sum::<usize>();
        let before: Vec<usize> = (0..sources.list.len()).map(|source| (0..source).map(outputs).sum()).collect();
        for group in &mut groups {
            group.first_by_source = before[group.source] + group.first_of_source;
        }
        Ok(Compiled { groups, sources: sources.list, recipes, batch_bytes })
    }

    /// The plan of each group. Those of groups that follow others are made of the others' plans.
    fn plans(&mut self, lists: &[(String, Views)], sources: &Sources) -> Result<Vec<Plan>> {
        let several = lists.len() > 1;
        let of_group = |name: &str, error: Error| if several { in_group(name, error) } else { error };
        let mut plans: Vec<Option<Plan>> = Vec::with_capacity(lists.len());
        for (number, (name, views)) in lists.iter().enumerate() {
            check_views(views.recipe.views)?;
            let source = &sources.list[sources.of_group[number]];
            let plan = match sources.followed[number] {
                None => self.plan(views, source, None).map(Some),
                Some(_) => Ok(None),
            };
            plans.push(plan.map_err(|error| of_group(name, error))?);
        }
        for (number, (name, views)) in lists.iter().enumerate() {
            let Some(followed) = sources.followed[number].and_then(|followed| plans[followed].clone()) else {
                continue;
            };
            let source = &sources.list[sources.of_group[number]];
            let plan = self.plan(views, source, Some(&followed));
            plans[number] = Some(plan.map_err(|error| of_group(name, error))?);
        }
        Ok(plans.into_iter().flatten().collect())
    }

    /// The plan of a group, which may follow another one's.
    fn plan(&mut self, views: &Views, source: &Source, followed: Option<&Plan>) -> Result<Plan> {
        let Recipe { transforms, output, semantics, .. } = &views.recipe;
        let (output, semantics) = (output.unwrap_or_default(), semantics.unwrap_or_default());
        let channels = source.channels(&*self.dataset);
        let plan = match (followed, &self.recipe.mosaic) {
            (Some(followed), _) => follow(followed, views, semantics, channels, &output)?,
            (None, Some(mosaic)) => {
                mosaic.validate()?;
                Plan::compile_of_size(mosaic.canvas(), semantics, channels, transforms, &output)?
            }
            (None, None) => Plan::compile_as(semantics, channels, transforms, &output)?,
        };
        source.check_plan(&plan, transforms)?;
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
        // Settings that all groups share are printed once.
        let group = |((name, views), recipe): (&(String, Views), &Recipe)| {
            let mut group = views.to_group(name);
            group.output = recipe.output.filter(|own| Some(*own) != output);
            let own = Some(recipe.semantics.unwrap_or_default());
            group.semantics = own.filter(|_| own != semantics);
            group.arrangement = Some(recipe.arrangement.unwrap_or_default()).filter(|own| *own != self.arranged());
            group
        };
        let groups = self.groups.iter().zip(recipes).map(group).collect();
        let arrangement = Some(self.arranged()).filter(varies);
        Recipe { groups, output, semantics: semantics.filter(not_float), arrangement, views: 1, ..self.recipe.clone() }
    }

    fn check_mixing(&self, lists: &[(String, Views)]) -> Result<()> {
        let Some(transform) = &self.recipe.batch_transform else { return Ok(()) };
        let [(_, Views { recipe, .. })] = lists else {
            let names: Vec<_> = lists.iter().map(|(name, _)| name.as_str()).collect();
            let reason = format!("the images of one group are mixed, but the loader has {}", names.join(", "));
            return Err(Error::argument("batch_transform", reason));
        };
        if recipe.arrangement.is_some() {
            let reason =
                format!("{} mixes images of one size, but the batches have images of any size", transform.name());
            return Err(Error::argument("arrangement", reason));
        }
        mixing::check(transform, &*self.dataset, recipe.output.unwrap_or_default().dtype)
    }
}

/// True for batches of images whose sizes differ. Lists that have them say so; the others are left without a word.
fn varies(arrangement: &Arrangement) -> bool {
    *arrangement != Arrangement::Uniform
}

/// The error of a group's list, which names the group.
fn in_group(name: &str, error: Error) -> Error {
    let ErrorKind::Argument { setting, reason } = error.kind() else { return error };
    let in_group = Error::argument(setting, format!("group {name:?}: {reason}"));
    error.advice().iter().cloned().fold(in_group, Error::advise)
}
