//! `RUST_LOG`, which every subcommand follows.

use crate::words::Run as _;
use std::process::{Command, Output};

/// Explains a recipe with this `RUST_LOG`, on a data set that gives a warning: a link that leads back to its own folder.
fn explained(log: Option<&str>) -> Output {
    let root = tempfile::tempdir().unwrap();
    let class = root.path().join("cat");
    std::fs::create_dir(&class).unwrap();
    image::RgbImage::new(300, 300).save(class.join("a.png")).unwrap();
    std::os::unix::fs::symlink(&class, class.join("back")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    command.args(["explain", "--backend", "cpu", "--data"]).arg(root.path()).env_remove("RUST_LOG");
    command.env("NO_COLOR", "1");
    if let Some(log) = log {
        command.env("RUST_LOG", log);
    }
    command.run()
}

fn errors(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn rust_log_chooses_what_is_printed() {
    for none in [None, Some("")] {
        assert!(errors(&explained(none)).contains("warning: link not followed"));
    }
    for all in ["debug", "warn", "gpufeed=warn", "gpufeed=trace,wgpu_core=off"] {
        let text = errors(&explained(Some(all)));
        assert!(text.contains("WARN gpufeed::dataset::folder::walk: link not followed"), "{all}: {text}");
        assert!(!text.contains("warning:"), "{all}: {text}");
    }
    for silent in ["off", "error", "wgpu_core=debug"] {
        assert!(!errors(&explained(Some(silent))).contains("link"), "{silent}");
    }
    // A text that cannot be parsed is a warning, and the other warnings are printed as before.
    let text = errors(&explained(Some("gpufeed=loud")));
    assert!(text.contains("warning: RUST_LOG=gpufeed=loud") && text.contains("warning: link"), "{text}");
}

/// The events of wgpu are records of another crate.
#[test]
fn rust_log_shows_what_wgpu_says() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpufeed"));
    let output = command.args(["doctor"]).env("RUST_LOG", "wgpu_core=debug,wgpu_hal=debug,wgpu=debug").run();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("wgpu"), "{text}");
}
