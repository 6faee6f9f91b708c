//! The time of staging slots: of writing them, and of their copies on the device.

use std::fmt;
use std::time::Duration;

/// The staging slots through which pixels reach a GPU that augments, in [`Stats`](crate::Stats); zeros where the CPU
/// executor augments. On a discrete GPU they tell whether its memory is written to at the rate of the bus.
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// let slots = loader.stats().slots;
/// println!("{slots}");
/// if let Some(rate) = slots.write_rate() {
///     println!("a worker writes {:.1} GB/s", rate / 1e9);
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotStats {
    /// Slots that were submitted.
    pub slots: u64,
    /// Bytes of the samples in them.
    pub bytes: u64,
    /// Bytes whose writing was timed: of samples shorter than 50 µs one in eight, of others all.
    pub written: u64,
    /// The time in which the workers wrote `written`, summed over them.
    pub writing: Duration,
    /// Bytes whose copy on the device was timed, by its timestamps. 0 if it has none, or if shaders read slots in place.
    pub copied: u64,
    /// The time of these copies.
    pub copying: Duration,
}

impl SlotStats {
    /// Bytes a second that one worker writes; `None` if no write was timed.
    pub fn write_rate(&self) -> Option<f64> {
        rate(self.written, self.writing)
    }

    /// Bytes a second that the device copies; `None` if no copy was timed.
    pub fn copy_rate(&self) -> Option<f64> {
        rate(self.copied, self.copying)
    }

    /// The mean time of writing a slot, summed over the workers.
    pub fn write_time(&self) -> Option<Duration> {
        self.of_a_slot(self.write_rate())
    }

    /// The mean time of a slot's copy on the device.
    pub fn copy_time(&self) -> Option<Duration> {
        self.of_a_slot(self.copy_rate())
    }

    /// The time of a slot of the mean size at this rate.
    fn of_a_slot(&self, rate: Option<f64>) -> Option<Duration> {
        let bytes = self.bytes as f64 / self.slots.max(1) as f64;
        rate.map(|rate| Duration::from_secs_f64(bytes / rate))
    }

    pub(super) fn since(&self, earlier: &SlotStats) -> SlotStats {
        SlotStats {
            slots: self.slots.saturating_sub(earlier.slots),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            written: self.written.saturating_sub(earlier.written),
            writing: self.writing.saturating_sub(earlier.writing),
            copied: self.copied.saturating_sub(earlier.copied),
            copying: self.copying.saturating_sub(earlier.copying),
        }
    }
}

fn rate(bytes: u64, time: Duration) -> Option<f64> {
    (bytes > 0 && !time.is_zero()).then(|| bytes as f64 / time.as_secs_f64())
}

impl fmt::Display for SlotStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.bytes as f64 / self.slots.max(1) as f64 / f64::from(1 << 20);
        write!(f, "{} slots of {mib:.1} MiB", self.slots)?;
        for (what, time, rate) in
            [("written", self.write_time(), self.write_rate()), ("copied", self.copy_time(), self.copy_rate())]
        {
            if let (Some(time), Some(rate)) = (time, rate) {
                write!(f, ", {what} in {time:.1?} ({:.1} GB/s)", rate / 1e9)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_a_slot_of_the_mean_size() {
        let earlier = SlotStats { slots: 1, bytes: 1 << 20, ..SlotStats::default() };
        let now = SlotStats {
            slots: 5,
            bytes: 9 << 20,
            written: 1 << 20,
            writing: Duration::from_millis(2),
            copied: 8 << 20,
            copying: Duration::from_millis(1),
        };
        let slots = now.since(&earlier);
        assert_eq!((slots.slots, slots.bytes), (4, 8 << 20));
        assert_eq!(slots.write_time().map(|time| time.as_micros()), Some(4000));
        assert_eq!(slots.copy_time().map(|time| time.as_micros()), Some(250));
        assert_eq!(slots.to_string(), "4 slots of 2.0 MiB, written in 4.0ms (0.5 GB/s), copied in 250.0µs (8.4 GB/s)");
        let none = SlotStats::default();
        assert_eq!(
            (none.write_rate(), none.copy_time(), none.to_string()),
            (None, None, "0 slots of 0.0 MiB".to_owned())
        );
    }
}
