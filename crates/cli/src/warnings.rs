//! Shows each of the loader's warnings once on standard error. On request it also passes all of the loader's spans to a
//! recorder.

use crate::output;
use gpufeed::internals::Shown;
use std::collections::HashSet;
use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, OnceLock, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The most different warnings that are shown, because thousands of files may be damaged.
const MOST: usize = 20;

/// The process's subscriber. Prints warnings, and passes everything on to a recorder if there is one.
struct Warnings {
    shown: Mutex<HashSet<String>>,
}

type Recorder = Box<dyn Subscriber + Send + Sync>;

/// The recorder is separate because a process's subscriber can be set only once, and a trace begins after all
/// measurements.
static RECORDER: OnceLock<Recorder> = OnceLock::new();

/// Shows warnings from now on.
pub(crate) fn show() {
    // Fails if the process already has a subscriber, which then stays.
    let _ = tracing::subscriber::set_global_default(Warnings { shown: Mutex::default() });
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
        metadata.target().starts_with("gpufeed") && (warns(metadata) || RECORDER.get().is_some())
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(if RECORDER.get().is_some() { Level::TRACE } else { Level::WARN }.into())
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
        if warns(event.metadata()) {
            let mut line = Line::default();
            event.record(&mut line);
            self.print(format!("{}{}", line.message, line.fields));
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

impl Warnings {
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
            name => {
                let _ = write!(self.fields, "; {name}: {value}");
            }
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
