//! Makes all measurements of one run, in order, and puts them into one report.

use super::checks::{bottleneck, consistency};
use super::kernels::{self, upload};
use super::measure::machine::OtherLoad;
use super::measure::pipeline::{self, Measured};
use super::measure::{first_batch, machine, memory, memory_estimate, slowed_stages, worker_sweep};
use super::output::trace;
use super::setup::samples::Samples;
use super::setup::{BenchArguments, Setup, data};
use crate::output::Output;
use crate::results::{Data, Group, Kernels, Report, SCHEMA};
use gpufeed::{DataLoader, LoaderSettings, Plan, Recipe, recipe};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::error::Error;
use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of each measurement, as a share of `--seconds`. The main run and the sweep each take all of `--seconds`.
const SLOWED_STAGES: f64 = 1.0;
const MEMORY: f64 = 0.5;
const KERNELS: f64 = 0.5;
const UPLOAD: f64 = 0.25;

/// Other processes may keep this many cores busy before the report gets a note.
const QUIET: f64 = 0.25;

/// Shows the current measurement on standard error if that is a terminal.
struct Progress(ProgressBar);

impl Progress {
    fn new(parts: u64) -> Result<Progress, Box<dyn Error>> {
        let bar = ProgressBar::with_draw_target(Some(parts), ProgressDrawTarget::stderr());
        Ok(Progress(
            bar.with_style(ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}, {elapsed} so far, {eta} left")?),
        ))
    }

    fn next(&self, part: &'static str) {
        self.0.set_message(part);
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The report of a call of `bench`, and whether its trace was written.
pub(super) struct Finished {
    pub(super) report: Report,
    /// The result of writing the trace. If it failed, the report is still written.
    pub(super) traced: Result<(), Box<dyn Error>>,
}

/// The measurements of one call of `bench`: the settings, and the report so far.
struct Measurements<'a> {
    arguments: &'a BenchArguments,
    setup: &'a Setup,
    /// The number of workers of the main run.
    workers: usize,
    samples: Samples,
    progress: Progress,
    report: Report,
}

/// Makes all measurements. `given` are all arguments of the process. The last of `workers` is the number of the main
/// run.
pub(super) fn run(
    arguments: &BenchArguments,
    given: &[OsString],
    settings: LoaderSettings,
    workers: &[usize],
    main: usize,
    trace: Option<&Output>,
) -> Result<Finished, Box<dyn Error>> {
    let parts = 5 + if arguments.quick { 0 } else { 3 } + u64::from(trace.is_some());
    let progress = Progress::new(parts)?;
    progress.next("samples");
    let setup = &Setup::new(arguments, settings)?;
    let report = describe(arguments, setup, main)?;
    let samples = read_samples(arguments, setup, workers)?;
    let mut run = Measurements { arguments, setup, workers: main, samples, progress, report };

    run.progress.next("time to the first batch, in new processes");
    run.report.time_to_first_batch = first_batch::measure(given)?;
    let loader = setup.loader(main)?;
    run.report.groups = groups(&loader);
    let measured = run.pipeline(&loader)?;
    run.slowed_stages(&loader, &measured)?;
    if arguments.quick {
        let skipped = "not measured: --quick";
        run.report.notes.push(format!("kernels, upload and memory: {skipped}"));
        run.report.kernels = Kernels { clock: skipped.to_owned(), ..Kernels::default() };
    } else {
        run.parts(&loader)?;
    }
    drop(loader);
    run.sweep(workers)?;
    consistency::check(&mut run.report);
    let traced = trace.map_or(Ok(()), |output| {
        run.progress.next("the trace");
        trace::write(setup, main, output)
    });
    Ok(Finished { report: run.report, traced })
}

/// Reads samples into memory, and refuses arguments that do not fit with them.
fn read_samples(arguments: &BenchArguments, setup: &Setup, workers: &[usize]) -> Result<Samples, Box<dyn Error>> {
    let loader = setup.builder(1).batch_size(1).build(&setup.backend)?;
    let samples = Samples::read(&*setup.data.dataset, loader.plan(), setup.settings.decode_options())?;
    memory_estimate::check(arguments, setup, &loader, &samples, workers)?;
    Ok(samples)
}

impl Measurements<'_> {
    /// Makes the main run of the pipeline.
    fn pipeline(&mut self, loader: &DataLoader) -> Result<Measured, Box<dyn Error>> {
        self.progress.next("the pipeline");
        let others = OtherLoad::watch();
        let measured = pipeline::measure(loader, self.setup.step, self.arguments.seconds)?;
        self.note_other_load(others);
        let report = &mut self.report;
        measured.interval.fill(report);
        for row in &mut report.stages {
            row.runs = measured.intervals.iter().filter_map(|interval| interval.seconds(&row.name)).collect();
        }
        report.images_per_second = measured.images_per_second.clone();
        let of_sample: usize = images_of_sample(loader).map(|(_, images)| images).sum();
        report.samples_per_second = Some(report.images_per_second.median / of_sample.max(1) as f64);
        report.cpu_seconds_per_image = measured.cpu_seconds_per_image;
        report.cpu_seconds_per_image_runs = measured.cpu_seconds_per_image_runs.clone();
        report.data_stall = measured.data_stall;
        report.files_skipped = measured.interval.stats.failed;
        Ok(measured)
    }

    fn note_other_load(&mut self, others: OtherLoad) {
        let report = &mut self.report;
        match others.cores_busy() {
            Some(cores) => {
                report.machine.other_cores_busy = cores;
                if cores > QUIET {
                    let what = "so rates are lower than they could be";
                    report.notes.push(format!("machine: other processes kept {cores:.1} cores busy, {what}"));
                }
            }
            None => report
                .notes
                .push("machine: how busy other processes kept it could not be read; the 0 is no number".to_owned()),
        }
    }

    /// Slows each stage, and compares the effect with the statistics' verdict.
    fn slowed_stages(&mut self, loader: &DataLoader, measured: &Measured) -> Result<(), Box<dyn Error>> {
        self.progress.next("each stage a little slower");
        let (seen, rate) = (&measured.interval, measured.images_per_second.median);
        let seconds = SLOWED_STAGES * self.arguments.seconds;
        let slowed = slowed_stages::measure(loader, self.setup.step, seen, rate, self.workers, seconds)?;
        let report = &mut self.report;
        bottleneck::judge(&slowed, &mut report.bottleneck, &mut report.notes);
        report.notes.push(match self.setup.gpu() {
            Some(_) => "perturbations: the GPU's passes cannot be slowed from outside".to_owned(),
            None => "perturbations: nothing is uploaded in this run, so upload was not slowed".to_owned(),
        });
        report.perturbations = slowed.into_iter().map(|slowed| slowed.row).collect();
        Ok(())
    }

    /// Makes the measurements that `--quick` leaves out: memory, kernels, upload.
    fn parts(&mut self, loader: &DataLoader) -> Result<(), Box<dyn Error>> {
        let Measurements { setup, samples, progress, report, .. } = self;
        let (seconds, notes) = (self.arguments.seconds, &mut report.notes);
        progress.next("memory");
        report.memory = memory::measure(setup, loader, MEMORY * seconds, notes)?;
        progress.next("the kernels");
        if let [first, _, ..] = &report.groups[..] {
            notes.push(format!("kernels: the passes of the recipe are those of its first group, {}", first.name));
        }
        report.kernels = kernels::measure(setup, loader.plan(), samples, KERNELS * seconds, notes)?;
        progress.next("the ways in");
        report.upload = upload::measure(setup, UPLOAD * seconds, notes)?;
        Ok(())
    }

    /// Makes the sweep over numbers of workers. The main run's loader was dropped before, so that its slots and buffers
    /// are free for the loaders of the sweep.
    fn sweep(&mut self, workers: &[usize]) -> Result<(), Box<dyn Error>> {
        self.progress.next("numbers of workers");
        self.report.sweep = worker_sweep::measure(self.setup, workers, self.arguments.seconds)?;
        Ok(())
    }
}

/// The groups of a loader with the images that each has of a sample.
fn images_of_sample(loader: &DataLoader) -> impl Iterator<Item = (&str, usize)> {
    let images = |((name, plan), (_, recipe)): ((_, &Plan), (_, &Recipe))| (name, recipe.views * plan.crops());
    loader.plans().zip(loader.recipes()).map(images)
}

/// Describes the groups of a loader; nothing for one with one list.
fn groups(loader: &DataLoader) -> Vec<Group> {
    let describe = |((_, plan), (name, images_per_sample)): ((_, &Plan), (&str, usize))| {
        let (width, height) = plan.largest_output().unwrap_or_default();
        Group { name: name.to_owned(), images_per_sample, height, width }
    };
    let groups: Vec<Group> = loader.plans().zip(images_of_sample(loader)).map(describe).collect();
    if loader.recipe().groups.is_empty() { Vec::new() } else { groups }
}

/// Fills the parts of the report that are known before the measurements.
fn describe(arguments: &BenchArguments, setup: &Setup, workers: usize) -> Result<Report, Box<dyn Error>> {
    let mut notes: Vec<String> = setup.data.note.iter().cloned().collect();
    if crate::dataset::is_remote(&*setup.data.dataset) {
        notes.push(format!(
            "order: {}, as the data are remote (the guide's chapter on the order of samples)",
            setup.order()
        ));
    }
    if let Some(file) = &arguments.settings {
        notes.push(format!("the loaders' settings are those of {}", file.display()));
    }
    if !setup.step.is_zero() {
        notes.push(format!("the consumer slept {} ms a batch (--emulate-step)", arguments.emulate_step));
    }
    if setup.gpu().is_some_and(|gpu| gpu.is_software()) {
        notes.push("the adapter is a software one: its rates are the CPU's".to_owned());
    }
    let info = setup.gpu().map(|gpu| gpu.info());
    let driver = |info: &gpufeed::wgpu::AdapterInfo| [&*info.driver, &*info.driver_info].join(" ").trim().to_owned();
    Ok(Report {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        unix_time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        machine: machine::describe(),
        adapter: info.map(|info| info.name.clone()),
        driver: info.map(driver),
        adapter_pci: setup.gpu().and_then(|gpu| gpu.identity().pci.clone()),
        adapter_uuid: setup.gpu().and_then(|gpu| gpu.identity().uuid.clone()),
        chosen: setup.chosen.clone(),
        backend: info.map_or("cpu".to_owned(), |info| format!("{:?}", info.backend).to_lowercase()),
        executor: setup.executor().to_owned(),
        recipe: arguments.recipe.clone(),
        recipe_toml: recipe::to_toml(&setup.recipe)?,
        data: Data {
            name: data::name(&arguments.data),
            samples: setup.data.dataset.len(),
            bytes: setup.data.bytes,
            drawn: setup.data.drawn,
        },
        cache: setup.cache().to_owned(),
        switches: arguments.switches.clone(),
        workers,
        batch_size: setup.settings.batch_size,
        notes,
        ..Report::default()
    })
}
