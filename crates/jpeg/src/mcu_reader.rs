//! Reads a scan's data MCU by MCU, across restart markers.

use crate::bits::BitReader;
use crate::frame::MAX_COMPONENTS;
use crate::index::IndexEntry;
use crate::stuffing::UnstuffedData;

/// MCUs `start..end` of a row of MCUs.
#[derive(Clone, Copy)]
pub(crate) struct McuRange {
    pub(crate) row: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The state that the entropy decoder carries from one MCU to the next, until a restart marker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    /// The last DC coefficient of each of the scan's components.
    pub(crate) predictors: [i16; MAX_COMPONENTS],
    /// Blocks that the last end-of-band symbol of a progressive scan still covers.
    pub(crate) end_of_band: u32,
}

/// Reads unstuffed data MCU by MCU across restart markers.
pub(crate) struct McuReader<'a> {
    data: &'a UnstuffedData,
    pub(crate) bits: BitReader<'a>,
    pub(crate) carried: Carried,
    /// MCUs in a restart interval; 0 if there are no restart markers.
    restart_interval: usize,
    /// MCUs before the next restart marker.
    pub(crate) mcus_to_restart: usize,
    /// Number of the current restart interval, counted from the start of the data, and the bit offset of its end.
    interval: usize,
    interval_end: usize,
}

impl<'a> McuReader<'a> {
    /// Starts at MCU number `mcu` of the scan, with the state of `entry`.
    pub(crate) fn new(data: &'a UnstuffedData, restart_interval: usize, mcu: usize, entry: IndexEntry) -> Option<Self> {
        let mut bits = BitReader::new(data.bytes(), 0);
        bits.skip_bits((entry.bit_offset % 8) as u32)?;
        let mcus_to_restart =
            if restart_interval == 0 { usize::MAX } else { restart_interval - mcu % restart_interval };
        let (_, end) = data.interval(0)?;
        Some(McuReader {
            data,
            bits,
            carried: Carried { predictors: entry.predictors, end_of_band: 0 },
            restart_interval,
            mcus_to_restart,
            interval: 0,
            interval_end: 8 * end,
        })
    }

    /// Moves to the next restart interval if the current one has ended.
    pub(crate) fn process_restart(&mut self) -> Option<()> {
        if self.mcus_to_restart == 0 {
            self.interval += 1;
            let (start, end) = self.data.interval(self.interval)?;
            self.bits = BitReader::new(self.data.bytes(), start);
            self.interval_end = 8 * end;
            self.carried = Carried::default();
            self.mcus_to_restart = self.restart_interval;
        }
        Some(())
    }

    /// Reads a range by calling `read_part` for each part of it that lies in one restart interval.
    pub(crate) fn read(
        &mut self,
        mut range: McuRange,
        mut read_part: impl FnMut(&mut BitReader<'a>, &mut Carried, McuRange) -> Option<()>,
    ) -> Option<()> {
        while range.start < range.end {
            self.process_restart()?;
            let end = range.end.min(range.start.saturating_add(self.mcus_to_restart));
            read_part(&mut self.bits, &mut self.carried, McuRange { end, ..range })?;
            if self.bits.position() > self.interval_end {
                return None;
            }
            if self.restart_interval > 0 {
                self.mcus_to_restart -= end - range.start;
            }
            range.start = end;
        }
        Some(())
    }
}
