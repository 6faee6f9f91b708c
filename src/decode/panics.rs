//! Runs other crates' decoders: a panic inside one becomes an error of its file, and nothing is printed.
//!
//! Rust prints a panic before it unwinds, through the process's panic hook. The first decoder that runs puts a hook before
//! the one that is there. It calls that one for every panic, except those of a thread that is inside a decoder, so a
//! program's own hook sees the program's own panics. A hook that the program sets later takes its place; where that one
//! does not call it, it is put before that one again after the first panic that it has missed.
//!
//! With `panic = "abort"` a panic ends the process, so it has to be printed: no hook is set.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::panic_text;

/// How a panic on a thread is to be taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The thread is in no decoder: its panics are the program's.
    Outside,
    /// The next panic becomes an error.
    Decoding,
    /// The hook has seen that panic. A second one before it is caught, in a destructor, ends the process: it is printed.
    Panicked,
}

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::Outside) };
}

/// How often a hook was set. A program that replaces it again and again gets its panics printed in the end.
static HOOKS: AtomicU32 = AtomicU32::new(0);
static SETTING: Mutex<()> = Mutex::new(());
const MOST_HOOKS: u32 = 16;

/// Runs `work`. A panic inside it is not printed; its message is the error.
///
/// Unwind safety: `work` must leave nothing half-written behind that is used again.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let hooks = hooks_at_least(1);
    let before = STATE.replace(State::Decoding);
    let done = catch_unwind(AssertUnwindSafe(work));
    let after = STATE.replace(before);
    done.map_err(|panic| {
        if after == State::Decoding {
            // Another hook has taken the place of ours, unless another thread has set it again by now.
            hooks_at_least(hooks + 1);
        }
        panic_text(panic.as_ref()).to_owned()
    })
}

/// Sets the hook unless it was set `wanted` times, and returns how often it was.
fn hooks_at_least(wanted: u32) -> u32 {
    let wanted = wanted.min(MOST_HOOKS);
    let hooks = HOOKS.load(Ordering::Acquire);
    // A thread that is panicking may not set a hook.
    if hooks >= wanted || cfg!(panic = "abort") || std::thread::panicking() {
        return hooks;
    }
    let _one_at_a_time = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    let hooks = HOOKS.load(Ordering::Acquire);
    if hooks < wanted {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let decoding = STATE.try_with(|state| state.get() == State::Decoding).unwrap_or(false);
            if decoding {
                STATE.set(State::Panicked);
            } else {
                before(panic);
            }
        }));
        HOOKS.store(hooks + 1, Ordering::Release);
    }
    HOOKS.load(Ordering::Acquire)
}
