//! The Huffman tables of a scan. They are kept from file to file, because many files have the same tables.

use crate::band_table::BandTable;
use crate::error::Result;
use crate::frame::{Frame, MAX_COMPONENTS, Scan};
use crate::huffman::{AcTable, DcTable};
use crate::mcus::ComponentDecoder;

/// The tables of each component of a scan.
#[derive(Debug, Default)]
pub(crate) struct HuffmanTables {
    dc: [DcTable; MAX_COMPONENTS],
    ac: [AcTable; MAX_COMPONENTS],
    /// The table of a progressive scan of AC coefficients.
    pub(crate) band: BandTable,
    /// For each component of the scan the index of its tables.
    slots: [usize; MAX_COMPONENTS],
}

impl HuffmanTables {
    /// Builds the tables of a scan of a frame that has all components in it, or of one of several scans.
    pub(crate) fn build(&mut self, scan: &Scan<'_>, with_skip_lookup: bool) -> Result<()> {
        let count = scan.component_indices().len();
        if let (1.., Some(spec)) = (scan.band.first, scan.ac[0]) {
            return self.band.build(spec);
        }
        for i in 0..count {
            // Both chroma components have the same tables in nearly all files.
            let shares_tables = i == 2 && scan.ac[2] == scan.ac[1] && scan.dc[2] == scan.dc[1];
            self.slots[i] = if shares_tables { 1 } else { i };
            if shares_tables {
                continue;
            }
            if let Some(spec) = scan.dc[i] {
                self.dc[i].build(spec)?;
            }
            if let Some(spec) = scan.ac[i] {
                self.ac[i].build(spec, with_skip_lookup)?;
            }
        }
        Ok(())
    }

    /// Returns the tables for each component of a scan, in the order of the scan. Unused elements repeat component 0.
    pub(crate) fn component_decoders(&self, frame: &Frame, scan: &Scan<'_>) -> [ComponentDecoder<'_>; MAX_COMPONENTS] {
        std::array::from_fn(|position| {
            let position = if position < scan.component_indices().len() { position } else { 0 };
            let (mcu_width, mcu_height) = frame.mcu_blocks(scan.component_indices()[position], scan);
            let slot = self.slots[position];
            ComponentDecoder { mcu_width, mcu_height, dc: &self.dc[slot], ac: &self.ac[slot] }
        })
    }
}
