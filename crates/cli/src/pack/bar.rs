//! Shows the progress bar of `gpufeed pack`, and prints notes, such as that another process is at work.

use console::style;
use gpufeed::Split;
use gpufeed::pack::Event;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// The progress bar of the work under way: packing or comparing samples. It disappears when that work is done.
#[derive(Default)]
pub(super) struct Bar {
    shown: Option<ProgressBar>,
    /// True once the note that another process is at work was printed. It is printed only once.
    waits: bool,
}

impl Bar {
    pub(super) fn hear(&mut self, event: Event) {
        let note = |text: String| crate::output::complain(style("note:").cyan(), text);
        match event {
            Event::OtherSplit { samples, split } => {
                let (what, name) = match split {
                    Split::Train => ("to train on", "train"),
                    Split::Test => ("to test with", "test"),
                };
                note(format!("{samples} samples {what} are left out; --split {name} packs them, into another folder"));
            }
            Event::Waiting { part } if !self.waits => {
                note(format!("another process is at work on part {part}; this one waits for its end"));
                self.waits = true;
            }
            Event::Packed { done, all } => self.show("packed", done, all),
            Event::Compared { done, all } => self.show("compared", done, all),
            _ => {}
        }
    }

    fn show(&mut self, what: &str, done: usize, all: usize) {
        if done == all {
            // The packer repeats this event while the last shard is written or uploaded. No bar is shown during that
            // time.
            self.clear();
            return;
        }
        let bar = self.shown.get_or_insert_with(|| {
            let bar = ProgressBar::new(all as u64).with_position(done as u64);
            let template = format!("{{bar:24}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left");
            // The template is always valid. If it were not, indicatif's default style would be good enough.
            let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = bar.with_style(style);
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        bar.set_position(done as u64);
    }

    fn clear(&mut self) {
        if let Some(bar) = self.shown.take() {
            bar.finish_and_clear();
        }
    }
}

/// Removes the bar from the terminal also if packing ends with an error.
impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}
