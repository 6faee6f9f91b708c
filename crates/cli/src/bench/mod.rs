//! `gpufeed bench`: the whole line and each of its parts, on this machine, in numbers.

mod alone;
mod arguments;
mod data;
pub mod dispatches;
mod doubts;
mod first;
mod kernels;
mod line;
mod machine;
mod memory;
mod perturb;
mod photographs;
mod predictions;
mod room;
mod samples;
mod scaling;
mod setup;
mod statistics;
mod summary;
mod sweep;
pub mod timed;
mod trace;
mod turns;
mod upload;

pub(crate) use arguments::Arguments;
use arguments::BackendChoice;

use crate::output::Output;
use crate::render::{html, markdown};
use crate::results::{Data, Kernels, Report, Statistics};
use crate::{DONE, Outcome};
use gpufeed::{DataLoader, recipe};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use samples::Samples;
use scaling::Work;
use setup::Setup;
use std::error::Error;
use std::ffi::OsString;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Parts of `--seconds` for what comes beside the main runs and the sweep.
const OF_PERTURBING: f64 = 1.0;
const OF_MEMORY: f64 = 0.5;
const OF_ALONE: f64 = 0.5;
const OF_KERNELS: f64 = 0.5;
const OF_UPLOAD: f64 = 0.25;

/// Images whose recording is timed.
const RECORDED: u32 = 200_000;

/// Cores that others may keep busy without a note.
const QUIET: f64 = 0.25;

/// `given` are all of the command's arguments.
pub(crate) fn run(arguments: &Arguments, given: &[OsString]) -> Outcome {
    arguments.check()?;
    let workers = arguments.workers();
    let main = workers.last().copied().unwrap_or(1);
    if arguments.first_batch {
        first::print(&Setup::new(arguments)?, main)?;
        return Ok(DONE);
    }
    let outputs = arguments.outputs()?;
    let (report, traced) = measure((arguments, given), &workers, main, outputs.trace.as_ref())?;
    let json = serde_json::to_string_pretty(&report)? + "\n";
    // All of them are tried: what one disk does not take, another may. First what the others can be made of again.
    let written = [
        outputs.json.as_ref().map_or(Ok(()), |output| output.write_all(json)),
        if outputs.use_standard() { Ok(()) } else { summary::print(&report) },
        outputs.html.as_ref().map_or(Ok(()), |output| html::write(&report, output)),
        outputs.markdown.as_ref().map_or(Ok(()), |output| markdown::update(&report, output)),
    ];
    written.into_iter().collect::<Result<(), String>>()?;
    traced.map(|()| DONE)
}

/// What is being measured, on standard error; nothing where that is no terminal.
struct Progress(ProgressBar);

impl Progress {
    fn new(parts: u64) -> Result<Progress, Box<dyn Error>> {
        let bar = ProgressBar::with_draw_target(Some(parts), ProgressDrawTarget::stderr());
        Ok(Progress(bar.with_style(ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}")?)))
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

/// The report, and whether the trace is written: what was measured is not lost with it.
type Measured = (Report, Result<(), Box<dyn Error>>);

fn measure(
    (arguments, given): (&Arguments, &[OsString]),
    workers: &[usize],
    main: usize,
    trace: Option<&Output>,
) -> Result<Measured, Box<dyn Error>> {
    let seconds = arguments.seconds;
    let parts = 5 + if arguments.quick { 0 } else { 4 } + u64::from(trace.is_some());
    let progress = Progress::new(parts)?;
    progress.next("samples");
    let setup = Setup::new(arguments)?;
    let mut report = describe(arguments, &setup, main)?;
    let samples = {
        let one = setup.builder(1).batch_size(1).build(&setup.backend)?;
        let samples = Samples::of(&*setup.source.dataset, one.plan())?;
        room::check((arguments, &setup), &one, &samples, (workers, main))?;
        samples
    };
    progress.next("time to the first batch, in new processes");
    report.time_to_first_batch = first::measure(given)?;

    progress.next("the line");
    let loader = setup.loader(main)?;
    let neighbours = machine::Neighbours::watch();
    let measured = line::measure(&loader, setup.step, seconds)?;
    match neighbours.cores_busy() {
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
    measured.interval.fill(&mut report);
    for row in &mut report.stages {
        row.runs = measured.intervals.iter().filter_map(|interval| interval.seconds(&row.name)).collect();
    }
    let rate = measured.images_per_second.median;
    report.images_per_second = measured.images_per_second;
    report.cpu_seconds_per_image = measured.cpu_seconds_per_image;
    report.cpu_seconds_per_image_runs = measured.cpu_seconds_per_image_runs;
    report.data_stall = measured.data_stall;
    report.files_skipped = measured.interval.failed();
    let image = Duration::from_secs_f64(measured.cpu_seconds_per_image);
    let recording = gpufeed::internals::recording(RECORDED, image).as_secs_f64();
    report.statistics = Statistics {
        sections_per_image: gpufeed::internals::sections(image),
        seconds_per_image: recording,
        share_of_cpu: recording / measured.cpu_seconds_per_image.max(1e-9),
    };

    progress.next("each stage a little slower");
    let seen = (&measured.interval, rate);
    let slowed = perturb::measure(&loader, setup.step, seen, main, OF_PERTURBING * seconds)?;
    perturb::judge(&slowed, &mut report.bottleneck, &mut report.notes);
    if setup.gpu().is_some() {
        report.notes.push("perturbations: the GPU's passes cannot be slowed from outside".to_owned());
    } else {
        report.notes.push("perturbations: nothing is uploaded in this run, so upload was not slowed".to_owned());
    }
    report.perturbations = slowed.into_iter().map(|slowed| slowed.row).collect();

    if arguments.quick {
        let skipped = "not measured: --quick";
        report.notes.push(format!("kernels, upload, alone and memory: {skipped}"));
        report.kernels = Kernels { clock: skipped.to_owned(), rows: Vec::new() };
    } else {
        parts_alone(&setup, &loader, &samples, (main, seconds), &progress, &mut report)?;
    }

    progress.next("numbers of workers");
    let work = Work { plan: loader.plan().clone(), samples: &samples, augment: !setup.shaders() };
    // Its slots and buffers are gone before others are made.
    drop(loader);
    let steps = sweep::measure(&setup, &work, workers, seconds)?;
    report.predictions = predictions::of(&steps, &mut report.notes);
    if steps.len() < 2 {
        report.notes.push("predictions: none, as the sweep has one number of workers (--workers 1,2)".to_owned());
    }
    report.sweep = steps.into_iter().map(|step| step.row).collect();
    doubts::note(&mut report);

    let traced = trace.map_or(Ok(()), |output| {
        progress.next("the trace");
        trace::write(&setup, main, output)
    });
    Ok((report, traced))
}

/// What `--quick` leaves out.
fn parts_alone(
    setup: &Setup,
    loader: &DataLoader,
    samples: &Samples,
    (workers, seconds): (usize, f64),
    progress: &Progress,
    report: &mut Report,
) -> Result<(), Box<dyn Error>> {
    let notes = &mut report.notes;
    progress.next("memory");
    report.memory = memory::measure(setup, loader, OF_MEMORY * seconds, notes)?;
    progress.next("each stage alone");
    report.alone = alone::measure(setup, loader, samples, workers, OF_ALONE * seconds, notes)?;
    progress.next("the kernels");
    report.kernels = kernels::measure(setup, loader.plan(), samples, OF_KERNELS * seconds, notes)?;
    progress.next("the ways in");
    report.upload = upload::measure(setup, OF_UPLOAD * seconds, notes)?;
    Ok(())
}

/// Everything that is known before anything is measured.
fn describe(arguments: &Arguments, setup: &Setup, workers: usize) -> Result<Report, Box<dyn Error>> {
    let mut notes: Vec<String> = setup.source.note.iter().cloned().collect();
    if !setup.step.is_zero() {
        notes.push(format!("the consumer slept {} ms a batch (--emulate-step)", arguments.emulate_step));
    }
    if setup.gpu().is_some_and(|gpu| gpu.is_software()) {
        notes.push("the adapter is a software one: its rates are the CPU's".to_owned());
    }
    let info = setup.gpu().map(|gpu| gpu.info());
    let driver = |info: &gpufeed::wgpu::AdapterInfo| [&*info.driver, &*info.driver_info].join(" ").trim().to_owned();
    Ok(Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        unix_time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        machine: machine::describe(),
        adapter: info.map(|info| info.name.clone()),
        driver: info.map(driver),
        backend: info.map_or("cpu".to_owned(), |info| format!("{:?}", info.backend).to_lowercase()),
        executor: setup.executor().to_owned(),
        recipe: arguments.recipe.clone(),
        recipe_toml: recipe::to_toml(&setup.recipe)?,
        data: Data {
            name: data::name(&arguments.data),
            samples: setup.source.dataset.len(),
            bytes: setup.source.bytes,
            drawn: setup.source.drawn,
        },
        cache: arguments.cache.name(),
        workers,
        batch_size: setup.batch_size,
        notes,
        ..Report::default()
    })
}
