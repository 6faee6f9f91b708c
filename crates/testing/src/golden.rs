//! Golden data that tests read when they run: that of the repository, and what is not in it, files and verdicts of a
//! development machine and of CI. `CONTRIBUTING.md`, "Tests", has the variables.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns the path of a file or folder of the repository. Where the test programs were copied to another machine,
/// `GPUFEED_REPOSITORY` names a folder that has it.
pub fn committed(path: &str) -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("GPUFEED_REPOSITORY").map_or_else(built, PathBuf::from).join(path)
}

/// Returns the folder that a variable names. Where it is not set, prints that nothing was checked.
///
/// # Panics
/// If the variable names no folder; if it is not set, but golden data is [required](is_required).
#[expect(clippy::print_stdout, reason = "tests print what they leave out")]
pub fn folder(variable: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from) else {
        assert!(
            !is_required(std::env::var_os("GPUFEED_REQUIRE_GOLDEN"), std::env::var_os("CI")),
            "0 checked: {variable} is not set, but CI needs this data; name its folder, or set GPUFEED_REQUIRE_GOLDEN=0 \
             where there is none"
        );
        println!("0 checked: {variable} is not set");
        return None;
    };
    assert!(folder.is_dir(), "0 checked: {variable} is {}, which is no folder", folder.display());
    Some(folder)
}

/// True if a test fails without its data: `GPUFEED_REQUIRE_GOLDEN` decides, by 1 or 0; where it is not set, `CI=true`
/// does.
fn is_required(required: Option<OsString>, ci: Option<OsString>) -> bool {
    match required {
        Some(required) if !required.is_empty() => required != "0",
        _ => ci.is_some_and(|ci| ci == "true" || ci == "1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_data_is_required_in_ci_unless_it_is_said_otherwise() {
        let required = |required: &str, ci: &str| {
            let [required, ci] = [required, ci].map(|text| (text != "-").then(|| OsString::from(text)));
            is_required(required, ci)
        };
        for (ci, expected) in [("-", false), ("", false), ("false", false), ("true", true), ("1", true)] {
            assert_eq!([required("-", ci), required("", ci)], [expected; 2], "CI={ci}");
            assert_eq!([required("0", ci), required("1", ci), required("true", ci)], [false, true, true], "CI={ci}");
        }
    }
}
