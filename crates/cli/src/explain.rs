//! `gpufeed explain`: what a recipe becomes, before anything runs.

use crate::backend::{BackendChoice, Opened};
use crate::bench::procedural;
use crate::dataset::FieldArguments;
use crate::{DONE, Outcome, dataset, to_stdout};
use clap::builder::RangedU64ValueParser;
use gpufeed::internals::{Shown, shaders};
use gpufeed::{Backend, DataLoader, Dataset, Execute, Field, LoaderSettings, Plan};
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Says what a recipe becomes: its plan, passes and dispatches, threads and memory.
///
/// Nothing is decoded and nothing is measured. Without --data the numbers are those of one drawn picture.
#[derive(clap::Args)]
pub(crate) struct ExplainArguments {
    /// A recipe by its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "imagenet-train")]
    recipe: String,
    /// A data set in any format, or the address of one in a store or on a web server
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    #[command(flatten)]
    fields: FieldArguments,
    /// Where batches go
    #[arg(long, value_enum, default_value = "auto")]
    backend: BackendChoice,
    /// The adapter with this number, UUID or PCI address, or the first with this in its name; instead of --backend
    #[arg(long, value_name = "N|NAME", conflicts_with = "backend")]
    adapter: Option<String>,
    /// The shaders' plan even on a software adapter, where the CPU executor is faster
    #[arg(long)]
    shaders: bool,
    /// Images in a batch
    #[arg(long, value_name = "N", default_value = "64", value_parser = RangedU64ValueParser::<usize>::new().range(1..=65_536))]
    batch_size: usize,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    workers: Option<usize>,
    /// A TOML or JSON file of a loader's settings, which stands in the place of the options for them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["shaders", "batch_size", "workers"])]
    settings: Option<PathBuf>,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
    /// Prints the text of each pass's shader; with --json, adds the shaders with their declarations and op slots
    #[arg(long)]
    wgsl: bool,
}

pub(crate) fn run(arguments: &ExplainArguments) -> Outcome {
    let recipe = crate::recipe(&arguments.recipe)?;
    let data: Arc<dyn Dataset> = match &arguments.data {
        Some(path) => dataset::open_with(path, &arguments.fields)?.data,
        None if arguments.fields.are_given() => return Err(crate::conflict("--fields needs --data").into()),
        None => procedural::one(&arguments.recipe)?,
    };
    let Opened { backend, chosen } = arguments.backend.open(arguments.adapter.as_deref(), arguments.shaders)?;
    let mut settings = LoaderSettings::default();
    settings.batch_size = arguments.batch_size;
    settings.workers = arguments.workers;
    settings.execute = if arguments.shaders { Execute::Gpu } else { Execute::Auto };
    if let Some(file) = &arguments.settings {
        settings = settings.updated(file)?;
    }
    let loader = DataLoader::builder(data).recipe(recipe).settings(settings).build(&backend)?;
    let passes = passes(&loader);
    if arguments.json {
        let mut value = json(&loader, &passes, chosen.as_deref());
        if arguments.wgsl {
            value["shaders"] = serde_json::to_value(shaders::Description::of(loader.plan())?)?;
            for ((_, plan), group) in loader.plans().zip(value["groups"].as_array_mut().into_iter().flatten()) {
                group["shaders"] = serde_json::to_value(shaders::Description::of(plan)?)?;
            }
        }
        to_stdout(|out| writeln!(out, "{value:#}"))?;
    } else if arguments.wgsl {
        to_stdout(|out| {
            passes.iter().try_for_each(|(name, variant)| writeln!(out, "// {name}\n{}\n", variant.text()))
        })?;
    } else {
        let chosen = chosen.map_or_else(String::new, |chosen| format!("; {}", Shown(chosen)));
        say!("backend: {backend}{chosen}\n{}", loader.explain());
    }
    Ok(DONE)
}

/// The passes of all groups with their names, which have the group's name in front where there are several.
fn passes(loader: &DataLoader) -> Vec<(String, shaders::Variant)> {
    let several = loader.plans().count() > 1;
    let of_group = |(group, plan): (&str, &Plan)| {
        let named = |(name, variant)| (if several { format!("{}, {name}", Shown(group)) } else { name }, variant);
        shaders::passes(plan).into_iter().map(named).collect::<Vec<_>>()
    };
    loader.plans().flat_map(of_group).collect()
}

fn json(loader: &DataLoader, passes: &[(String, shaders::Variant)], chosen: Option<&str>) -> serde_json::Value {
    let plan = loader.plan();
    let identity = if let Backend::Gpu(gpu) = loader.backend() { Some(gpu.identity()) } else { None };
    let names: Vec<&str> = passes.iter().map(|(name, _)| name.as_str()).collect();
    let groups = loader.plans().zip(loader.recipes()).map(|((name, plan), (_, recipe))| {
        json!({
            "name": name,
            "views": recipe.views,
            "crops": plan.crops(),
            "plan": plan.to_string(),
            "dispatches": plan.passes(),
            "output": output(plan),
        })
    });
    let field = |field: &Field| {
        let kind = field.values().map(|kind| kind.to_string());
        json!({ "name": field.name(), "kind": kind, "text": field.to_string() })
    };
    json!({
        "backend": loader.backend().to_string(),
        "adapter": identity,
        "chosen": chosen,
        // Of the first group, where there are several.
        "plan": plan.to_string(),
        "passes": names,
        "dispatches": plan.passes(),
        "output": output(plan),
        "groups": groups.collect::<Vec<_>>(),
        "fields": loader.dataset().fields().iter().map(field).collect::<Vec<_>>(),
        "data": loader.dataset().notices().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "samples": loader.dataset().len(),
        "batches": loader.len(),
        "memory_bytes": loader.memory(),
        "recipe": loader.recipe().to_toml().ok(),
        "settings": loader.settings(),
        "text": loader.explain(),
    })
}

/// The size, the form and the type of the images of a plan.
fn output(plan: &Plan) -> serde_json::Value {
    let output = plan.output();
    json!({
        "size": plan.output_size().map(|(width, height)| [height, width]),
        "channels": plan.channels(),
        "layout": format!("{:?}", output.layout),
        "dtype": format!("{:?}", output.dtype),
    })
}
