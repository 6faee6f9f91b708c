//! The program `gpufeed`. Everything it does is in the library `gpufeed_cli`.

mod mesa;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    mesa::silence();
    // `bench` starts the program again under this name.
    let program = std::env::current_exe().map_or_else(|_| "gpufeed".into(), PathBuf::into_os_string);
    ExitCode::from(gpufeed_cli::run(std::iter::once(program).chain(std::env::args_os().skip(1))))
}
