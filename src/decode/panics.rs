//! Runs decoders, most of them other crates': a panic inside one becomes an error of its file, and nothing is printed.
//!
//! Rust prints a panic before it unwinds, through the process's panic hook. The first decoder that runs puts a hook before
//! the one that is there. It calls that one for every panic, except those of a thread that is inside a decoder, so a
//! program's own hook sees the program's own panics. A hook that the program sets later takes its place: that one sees
//! decoders' panics, too, unless it calls the hook before it.
//!
//! With `panic = "abort"` a panic ends the process, so it has to be printed: no hook is set.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

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

/// Runs `work`. A panic inside it is not printed; its message is the error.
///
/// Unwind safety: `work` must leave nothing half-written behind that is used again.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    set_hook_once();
    let before = STATE.replace(State::Decoding);
    let done = catch_unwind(AssertUnwindSafe(work));
    STATE.set(before);
    done.map_err(|panic| panic_text(panic.as_ref()).to_owned())
}

fn set_hook_once() {
    static SET: Once = Once::new();
    // A thread that is panicking may not set a hook.
    if cfg!(panic = "abort") || std::thread::panicking() {
        return;
    }
    SET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let decoding = STATE.try_with(|state| state.get() == State::Decoding).unwrap_or(false);
            if decoding {
                STATE.set(State::Panicked);
            } else {
                before(panic);
            }
        }));
    });
}
