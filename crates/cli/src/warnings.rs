//! Shows each of the loader's warnings once on standard error, or, with `RUST_LOG`, the events that this variable
//! chooses, wgpu's among them. On request it also passes all of the loader's spans to a recorder.

use crate::output;
use gpufeed::internals::Shown;
use std::collections::HashSet;
use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, OnceLock, PoisonError};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_log::{LogTracer, NormalizeEvent as _};
use tracing_subscriber::filter::Targets;

/// The most different warnings that are shown, because thousands of files may be damaged.
const MOST: usize = 20;

/// The environment variable that chooses events: a level, or `TARGET=LEVEL` with commas between them.
const VARIABLE: &str = "RUST_LOG";

/// The process's subscriber. Prints warnings or the chosen events, and passes everything on to a recorder if there is
/// one.
struct Warnings {
    shown: Mutex<HashSet<String>>,
    /// The events that `RUST_LOG` chooses; `None` without that variable.
    chosen: Option<Targets>,
}

type Recorder = Box<dyn Subscriber + Send + Sync>;

/// The recorder is separate because a process's subscriber can be set only once, and a trace begins after all
/// measurements.
static RECORDER: OnceLock<Recorder> = OnceLock::new();

/// Shows warnings from now on.
pub(crate) fn show() {
    let chosen = chosen();
    if let Some(level) = chosen.as_ref().map(most) {
        // wgpu writes records of the crate `log`, which become events here. Fails where the process has a logger.
        let level = level.into_level().map_or(log::LevelFilter::Off, |level| match level {
            Level::ERROR => log::LevelFilter::Error,
            Level::WARN => log::LevelFilter::Warn,
            Level::INFO => log::LevelFilter::Info,
            Level::DEBUG => log::LevelFilter::Debug,
            Level::TRACE => log::LevelFilter::Trace,
        });
        let _ = LogTracer::init_with_filter(level);
    }
    // Fails if the process already has a subscriber, which then stays.
    let _ = tracing::subscriber::set_global_default(Warnings { shown: Mutex::default(), chosen });
}

/// The events that `RUST_LOG` chooses; `None` if it is not set or empty. A text that cannot be parsed is a warning, and `None`.
fn chosen() -> Option<Targets> {
    let text = std::env::var_os(VARIABLE).filter(|text| !text.is_empty())?;
    let text = text.to_string_lossy();
    let parsed = text.parse::<Targets>();
    let refuse = |error| {
        let advice = "a level (error, warn, info, debug, trace, off) works, or TARGET=LEVEL,TARGET=LEVEL";
        let reason = Shown(format!("{VARIABLE}={text}: {error}; {advice}"));
        output::complain(console::style("warning:").yellow().bold(), reason);
    };
    parsed.inspect_err(|error| refuse(error.to_string())).ok()
}

/// The most detailed level that some target has.
fn most(chosen: &Targets) -> LevelFilter {
    let levels = chosen.iter().map(|(_, level)| level).chain(chosen.default_level());
    levels.max().unwrap_or(LevelFilter::OFF)
}

/// Passes all spans and events to `recorder` from now on.
pub(crate) fn record(recorder: Recorder) {
    if RECORDER.set(recorder).is_ok() {
        tracing::callsite::rebuild_interest_cache();
    }
}

fn warns(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && *metadata.level() <= Level::WARN
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let recorded = metadata.target().starts_with("gpufeed") && RECORDER.get().is_some();
        recorded || self.prints(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let printed = self.chosen.as_ref().map_or(LevelFilter::WARN, most);
        Some(if RECORDER.get().is_some() { LevelFilter::TRACE } else { printed })
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        // Without a recorder no span is enabled.
        RECORDER.get().map_or(Id::from_u64(1), |recorder| recorder.new_span(span))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        recorded(|recorder| recorder.record(span, values));
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        recorded(|recorder| recorder.record_follows_from(span, follows));
    }

    fn event(&self, event: &Event<'_>) {
        recorded(|recorder| recorder.event(event));
        let record = event.normalized_metadata();
        let metadata = record.as_ref().unwrap_or(event.metadata());
        if self.prints(metadata) {
            let mut line = Line::default();
            event.record(&mut line);
            let line = format!("{}{}", line.message, line.fields);
            match self.chosen {
                Some(_) => print_chosen(metadata, &line),
                None => self.print(line),
            }
        }
    }

    fn enter(&self, span: &Id) {
        recorded(|recorder| recorder.enter(span));
    }

    fn exit(&self, span: &Id) {
        recorded(|recorder| recorder.exit(span));
    }

    fn clone_span(&self, span: &Id) -> Id {
        RECORDER.get().map_or_else(|| span.clone(), |recorder| recorder.clone_span(span))
    }

    fn try_close(&self, span: Id) -> bool {
        RECORDER.get().is_some_and(|recorder| recorder.try_close(span))
    }
}

fn recorded(then: impl FnOnce(&Recorder)) {
    if let Some(recorder) = RECORDER.get() {
        then(recorder);
    }
}

fn print_chosen(metadata: &Metadata<'_>, line: &str) {
    let level = match *metadata.level() {
        Level::ERROR => console::style("ERROR").red(),
        Level::WARN => console::style("WARN").yellow(),
        Level::INFO => console::style("INFO").green(),
        Level::DEBUG => console::style("DEBUG").blue(),
        Level::TRACE => console::style("TRACE").dim(),
    };
    output::complain(level, format!("{}: {line}", Shown(metadata.target())));
}

impl Warnings {
    /// Returns true if an event of this kind is printed. Spans are not printed; `gpufeed bench --trace` writes them.
    fn prints(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && match &self.chosen {
                Some(chosen) => chosen.would_enable(metadata.target(), metadata.level()),
                None => metadata.target().starts_with("gpufeed") && warns(metadata),
            }
    }

    fn print(&self, line: String) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() > MOST || !shown.insert(line.clone()) {
            return;
        }
        let line = if shown.len() > MOST { "there are more warnings, which are not shown".to_owned() } else { line };
        output::complain(console::style("warning:").yellow().bold(), line);
    }
}

/// An event's message, and the text of its fields.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Names of files may contain control characters.
        let value = Shown(format_args!("{value:?}"));
        match field.name() {
            "message" => self.message = value.to_string(),
            // The place in the source of a record of the crate `log`.
            name if name.starts_with("log.") => (),
            name => {
                let _ = write!(self.fields, "; {name}: {value}");
            }
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
