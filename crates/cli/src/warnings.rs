//! Shows each of the loader's warnings once on standard error. With `RUST_LOG` it shows the events that this variable
//! chooses instead, wgpu's among them. On request it also passes all of the loader's spans to a recorder. Programs such
//! as the Python package show warnings themselves: for them it collects the warnings while no command runs.

use crate::output;
use gpufeed::internals::Shown;
use std::collections::{HashSet, VecDeque};
use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_chrome::ChromeLayer;
use tracing_log::{AsLog as _, LogTracer, NormalizeEvent as _};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry, reload};

/// The most warnings with different texts that are shown, because thousands of files may be damaged.
const MOST: usize = 20;

/// The environment variable that chooses events: a level, or `TARGET=LEVEL` with commas between them.
const VARIABLE: &str = "RUST_LOG";

/// Prints warnings or the chosen events, or collects warnings.
#[derive(Default)]
struct Warnings {
    shown: Mutex<HashSet<String>>,
}

/// The layer that writes a trace. It is `None` until [`record`], because a process can set its subscriber only once,
/// and a trace begins after all measurements.
static RECORDER: OnceLock<reload::Handle<Option<Recorder>, Registry>> = OnceLock::new();

type Recorder = ChromeLayer<Registry>;

/// Makes [`Warnings`] and a recorder the process's subscriber. Returns false if the process has another one, which stays.
fn install() -> bool {
    let (recorder, handle) = reload::Layer::new(None);
    let subscriber = tracing_subscriber::registry().with(recorder).with(Warnings::default());
    tracing::subscriber::set_global_default(subscriber).is_ok() && RECORDER.set(handle).is_ok()
}

/// The events that `RUST_LOG` chooses; `None` without that variable. The variable is read when the first command
/// begins.
static CHOSEN: OnceLock<Option<Targets>> = OnceLock::new();

/// The number of commands that run. While one runs, warnings are printed.
static COMMANDS: AtomicUsize = AtomicUsize::new(0);

/// The collected warnings, among them those that [`collected`] has not returned yet; `None` if nothing is collected.
static COLLECTED: Mutex<Option<Collected>> = Mutex::new(None);

/// The most warnings that wait, and the most that are remembered so that none is repeated. The oldest are forgotten.
const MOST_COLLECTED: usize = 100;

#[derive(Default)]
struct Collected {
    known: VecDeque<String>,
    waiting: VecDeque<String>,
    /// True if warnings were left out since the last waiting one was taken.
    more: bool,
}

impl Collected {
    fn add(&mut self, line: String) {
        if self.known.contains(&line) {
            return;
        }
        if self.waiting.len() == MOST_COLLECTED {
            self.more = true;
            return;
        }
        if self.known.len() == MOST_COLLECTED {
            self.known.pop_front();
        }
        self.known.push_back(line.clone());
        self.waiting.push_back(line);
    }

    fn take(&mut self) -> Option<String> {
        let more = || "there are more warnings, which are not shown".to_owned();
        self.waiting.pop_front().or_else(|| std::mem::take(&mut self.more).then(more))
    }
}

fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Warnings that are not collected, by their module and the name of a field. An empty text stands for any field.
static LEFT_OUT: OnceLock<&[(&str, &str)]> = OnceLock::new();

/// Collects the loader's warnings from now on, while no command runs, unless the process has another subscriber.
/// Warnings that `left_out` names, by their module and a field (an empty text for any), are not even formatted.
pub fn collect(left_out: &'static [(&'static str, &'static str)]) {
    let left_out = LEFT_OUT.set(left_out);
    if left_out.is_ok() && install() {
        *unpoisoned(&COLLECTED) = Some(Collected::default());
    }
}

fn is_collected(metadata: &Metadata<'_>) -> bool {
    let has = |field: &str| field.is_empty() || metadata.fields().field(field).is_some();
    let left_out =
        LEFT_OUT.get().is_none_or(|all| all.iter().any(|(of, field)| metadata.target() == *of && has(field)));
    is_warning(metadata) && !left_out
}

/// Returns the next collected warning. A warning that was given several times is returned once.
pub fn collected() -> Option<String> {
    unpoisoned(&COLLECTED).as_mut()?.take()
}

/// While this value lives, warnings are printed.
pub(crate) struct Showing;

impl Drop for Showing {
    fn drop(&mut self) {
        COMMANDS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Prints warnings until the returned value is dropped.
pub(crate) fn show() -> Showing {
    COMMANDS.fetch_add(1, Ordering::Relaxed);
    let chosen = CHOSEN.get_or_init(chosen);
    if let Some(level) = chosen.as_ref().map(most) {
        // wgpu writes records of the crate `log`, which become events here. This fails if the process has another
        // logger.
        let _ = LogTracer::init_with_filter(level.as_log());
    }
    if !install() {
        // The subscriber may be the one that collects. It now knows which events are chosen.
        tracing::callsite::rebuild_interest_cache();
    }
    Showing
}

fn chosen_targets() -> Option<&'static Targets> {
    CHOSEN.get().and_then(Option::as_ref)
}

/// Returns the events that `RUST_LOG` chooses; `None` if it is not set or empty. If its text cannot be parsed, warns,
/// and returns `None`.
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

/// Returns the most detailed level that a target has.
fn most(chosen: &Targets) -> LevelFilter {
    let levels = chosen.iter().map(|(_, level)| level).chain(chosen.default_level());
    levels.max().unwrap_or(LevelFilter::OFF)
}

/// Passes all spans and events of gpufeed to `recorder` from now on.
pub(crate) fn record(recorder: Recorder) {
    // Without a handle the process has another subscriber.
    if let Some(handle) = RECORDER.get() {
        let _ = handle.reload(recorder);
    }
}

fn records() -> bool {
    RECORDER.get().is_some_and(|handle| handle.with_current(Option::is_some).unwrap_or(false))
}

fn warns(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && *metadata.level() <= Level::WARN
}

impl<S: Subscriber> Layer<S> for Warnings {
    /// Returns true if a warning or the recorder needs the event: this answer counts for both.
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        prints(metadata) || is_warning(metadata) || (metadata.target().starts_with("gpufeed") && records())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let printed = chosen_targets().map_or(LevelFilter::WARN, |chosen| most(chosen).max(LevelFilter::WARN));
        Some(if records() { LevelFilter::TRACE } else { printed })
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let record = event.normalized_metadata();
        let metadata = record.as_ref().unwrap_or(event.metadata());
        let text = || {
            let mut line = Line::default();
            event.record(&mut line);
            format!("{}{}", line.message, line.fields)
        };
        if COMMANDS.load(Ordering::Relaxed) > 0 {
            match chosen_targets() {
                _ if !prints(metadata) => {}
                Some(_) => print_chosen(metadata, &text()),
                None => self.print(text()),
            }
        } else if is_collected(metadata) {
            // Formats before the lock is taken, because formatting an error may take other locks.
            let text = text();
            if let Some(collected) = unpoisoned(&COLLECTED).as_mut() {
                collected.add(text);
            }
        }
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

/// Returns true if a command prints an event of this kind. Spans are not printed; `gpufeed bench --trace` writes them.
fn prints(metadata: &Metadata<'_>) -> bool {
    metadata.is_event()
        && match chosen_targets() {
            Some(chosen) => chosen.would_enable(metadata.target(), metadata.level()),
            None => is_warning(metadata),
        }
}

/// Returns true for the loader's own warnings.
fn is_warning(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("gpufeed") && warns(metadata)
}

impl Warnings {
    fn print(&self, line: String) {
        let mut shown = unpoisoned(&self.shown);
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
            // Records of the crate `log` carry their file and line in fields `log.*`. The warning leaves them out.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_collected_has_bounds_and_goes_on() {
        let mut collected = Collected::default();
        let all = |collected: &mut Collected| std::iter::from_fn(|| collected.take()).collect::<Vec<_>>();
        let text = |number: usize| format!("file {number}");
        (0..3).chain(0..3).for_each(|number| collected.add(text(number)));
        assert_eq!(all(&mut collected), [0, 1, 2].map(text));
        collected.add(text(1));
        assert!(all(&mut collected).is_empty(), "it was said");

        (3..1000).for_each(|number| collected.add(text(number)));
        let said = all(&mut collected);
        assert_eq!(said.len(), MOST_COLLECTED + 1);
        assert_eq!((&said[0], &said[99]), (&text(3), &text(102)));
        assert_eq!(said[100], "there are more warnings, which are not shown");

        // A text that was given long ago is given again.
        collected.add(text(2000));
        collected.add(text(1));
        collected.add(text(102));
        assert_eq!(all(&mut collected), [2000, 1].map(text));
        assert_eq!(collected.known.len(), MOST_COLLECTED);
    }
}
