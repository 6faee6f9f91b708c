//! The roofs of GPUs by their vendors' data sheets.

use super::Roofs;

/// The share of its memory's rate by the data sheet at which a GPU copies. An H200 copies at 4.3 of 4.8 TB/s.
pub(super) const COPIES: f64 = 0.85;

/// A GPU.
pub(super) struct Card {
    pub(super) name: &'static str,
    /// An adapter's name has all these words,
    words: &'static [&'static str],
    /// and none of these, which name another card of the family.
    other: &'static [&'static str],
    /// GB/s of its memory.
    pub(super) memory: f64,
    /// The lanes for 32-bit floats, and the clock in GHz: each lane multiplies and adds in a cycle. RDNA 3 can issue two
    /// of them at once where the compiler finds pairs; that is not counted.
    pub(super) lanes: u32,
    pub(super) clock: f64,
    /// GB/s of the bus from the host's memory, about 0.85 of what it is called; `None` where the GPU shares that memory.
    pub(super) bus: Option<f64>,
}

/// The bus of PCI Express 5.0 with 16 lanes, and of 4.0.
const PCIE_5: Option<f64> = Some(55.0);
const PCIE_4: Option<f64> = Some(27.0);

pub(super) const CARDS: [Card; 8] = [
    Card { name: "H200", words: &["h200"], other: &["nvl"], memory: 4_800.0, lanes: 16_896, clock: 1.98, bus: PCIE_5 },
    Card {
        name: "H100 SXM",
        words: &["h100"],
        other: &["pcie", "nvl"],
        memory: 3_350.0,
        lanes: 16_896,
        clock: 1.98,
        bus: PCIE_5,
    },
    Card {
        name: "RTX 4090",
        words: &["rtx", "4090"],
        other: &["laptop"],
        memory: 1_008.0,
        lanes: 16_384,
        clock: 2.52,
        bus: PCIE_4,
    },
    Card {
        name: "RX 7900 XTX",
        words: &["7900", "xtx"],
        other: &[],
        memory: 960.0,
        lanes: 6_144,
        clock: 2.5,
        bus: PCIE_4,
    },
    Card { name: "M3 Max", words: &["m3", "max"], other: &[], memory: 400.0, lanes: 5_120, clock: 1.4, bus: None },
    Card { name: "Arc A770", words: &["a770"], other: &[], memory: 560.0, lanes: 4_096, clock: 2.1, bus: PCIE_4 },
    // DDR5-5600, two channels of 64 bits.
    Card { name: "Radeon 780M", words: &["780m"], other: &[], memory: 89.6, lanes: 768, clock: 2.7, bus: None },
    // LPDDR4x-4267, 128 bits; 96 units.
    Card { name: "Iris Xe", words: &["iris", "xe"], other: &["max"], memory: 68.3, lanes: 768, clock: 1.35, bus: None },
];

impl Card {
    /// True if an adapter's name is that of this card.
    pub(super) fn is(&self, adapter: &str) -> bool {
        let adapter = adapter.to_lowercase();
        let names: Vec<&str> = adapter.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let has = |word: &&str| names.contains(word);
        self.words.iter().all(has) && !self.other.iter().any(has)
    }

    pub(super) fn gflop_per_second(&self) -> f64 {
        2.0 * f64::from(self.lanes) * self.clock
    }

    pub(super) fn roofs(&self) -> Roofs {
        Roofs {
            source: format!("the data sheet of {}", self.name),
            gb_per_second: COPIES * self.memory,
            gflop_per_second: self.gflop_per_second(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_found_by_the_names_that_drivers_give_them() {
        let names = [
            ("NVIDIA H200", Some("H200")),
            ("NVIDIA H100 80GB HBM3", Some("H100 SXM")),
            ("NVIDIA H100 PCIe", None),
            ("NVIDIA GeForce RTX 4090", Some("RTX 4090")),
            ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
            ("AMD Radeon RX 7900 XTX (RADV NAVI31)", Some("RX 7900 XTX")),
            ("Apple M3 Max", Some("M3 Max")),
            ("Apple M3", None),
            ("Intel(R) Arc(tm) A770 Graphics (DG2)", Some("Arc A770")),
            ("AMD Radeon 780M (RADV PHOENIX)", Some("Radeon 780M")),
            ("Intel(R) Iris(R) Xe Graphics (TGL GT2)", Some("Iris Xe")),
            ("Intel(R) Iris(R) Xe MAX Graphics (DG1)", None),
            ("llvmpipe (LLVM 15.0.6, 256 bits)", None),
        ];
        for (adapter, expected) in names {
            assert_eq!(CARDS.iter().find(|card| card.is(adapter)).map(|card| card.name), expected, "{adapter}");
        }
    }
}
