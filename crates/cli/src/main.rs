//! The command `gpufeed`; the library `gpufeed_cli` is all of it.

mod mesa;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    mesa::silence();
    // `bench` starts the program again by this name.
    let program = std::env::current_exe().map_or_else(|_| "gpufeed".into(), PathBuf::into_os_string);
    ExitCode::from(gpufeed_cli::run(std::iter::once(program).chain(std::env::args_os().skip(1))))
}
