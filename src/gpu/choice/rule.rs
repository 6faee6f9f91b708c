//! The rule that has chosen an adapter, as data and as a sentence.
//!
//! All words are those of variables of the environment, which are the same in Rust, the command and Python.

use crate::quote::Shown;
use std::fmt;

/// How an adapter, or the CPU, was chosen: the rule, and what has left out adapters before it. The text is a part of a
/// sentence for people, `LOCAL_RANK=3 takes card 3 of 8 equal ones`.
///
/// ```
/// use gpufeed::{Backend, Rule};
///
/// let (adapter, choice) = Backend::choose()?;
/// println!("{}: {choice}", adapter.map_or("the CPU".to_owned(), |adapter| adapter.get_info().name));
/// if let Rule::LocalRank { rank, cards, .. } = choice.rule {
///     assert!(cards > 0, "rank {rank}");
/// }
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The rule that has chosen.
    pub rule: Rule,
    /// What has left out adapters before the rule, in this order.
    pub narrowed: Vec<Narrowed>,
}

/// A rule that chooses an adapter, or the CPU.
///
/// ```
/// use gpufeed::Rule;
///
/// let rule = Rule::LocalRank { rank: 9, variable: "LOCAL_RANK", cards: 8 };
/// assert_eq!(rule.name(), "local_rank");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The program or a variable has named it.
    Named {
        /// The number, UUID, PCI address, or part of a name.
        name: String,
        /// The variable; `None` if the program has named it.
        variable: Option<&'static str>,
    },
    /// The first in the order discrete, integrated, virtual, with OpenGL after the better APIs.
    Best,
    /// The card of this process's rank among equal cards: those of the name, kind and API of the best one, in the order
    /// of their PCI addresses, or of the variable that lists them. Ranks from `cards` on begin again at the first card.
    LocalRank {
        /// This process's rank on this machine, from 0.
        rank: usize,
        /// The launcher's variable that says so.
        variable: &'static str,
        /// The equal cards: 1 or more.
        cards: usize,
    },
    /// The CPU, for which `GPUFEED_ADAPTER=cpu` asks.
    CpuNamed,
    /// The CPU, because a variable hides every GPU.
    Hidden,
    /// The CPU, because the machine has no adapter, or none but those in software.
    NoHardware,
}

/// What has left out adapters.
///
/// ```
/// use gpufeed::Backend;
///
/// for narrowed in Backend::choose()?.1.narrowed {
///     println!("{:?}={}: {} of {}", narrowed.variable, narrowed.value, narrowed.cards, narrowed.of);
/// }
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Narrowed {
    /// The variable; `None` if the program has given part of a name.
    pub variable: Option<&'static str>,
    /// The variable's value.
    pub value: String,
    /// PCI's number of the vendor whose cards the variable is about; `None` for a name.
    pub vendor: Option<u32>,
    /// The cards that are left.
    pub cards: usize,
    /// The cards there were before.
    pub of: usize,
    /// What is not certain, or was not understood.
    pub doubts: Vec<Doubt>,
}

/// What is not certain, or not understood, in the variable that hides cards.
///
/// ```
/// use gpufeed::Doubt;
///
/// let doubt = Doubt::Partition("MIG-41b36014".to_owned());
/// assert!(doubt.to_string().starts_with("MIG-41b36014 is a part of a card"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// An entry names a part of a card (NVIDIA's MIG), which no graphics API opens. It and those after it are left out.
    Partition(String),
    /// An entry is neither a number nor the UUID of an adapter. It and those after it are left out.
    Unknown(String),
    /// An entry begins the UUIDs of several adapters. It and those after it are left out.
    Ambiguous(String),
    /// An entry is a number from which on there is no adapter. It and those after it are left out.
    Beyond {
        /// The number.
        number: String,
        /// The adapters there are.
        cards: usize,
    },
    /// Numbers are counted by PCI address. CUDA counts unequal cards by their speed, ROCm by its own list.
    Order,
    /// Numbers are counted in the driver's order, because the cards have no PCI addresses.
    NoAddresses,
}

impl Rule {
    /// The rule's name in the command's JSON: `named`, `best`, `local_rank`, `cpu_named`, `hidden`, `no_hardware`.
    pub const fn name(&self) -> &'static str {
        match self {
            Rule::Named { .. } => "named",
            Rule::Best => "best",
            Rule::LocalRank { .. } => "local_rank",
            Rule::CpuNamed => "cpu_named",
            Rule::Hidden => "hidden",
            Rule::NoHardware => "no_hardware",
        }
    }
}

/// A choice by this rule among all adapters.
impl From<Rule> for Choice {
    fn from(rule: Rule) -> Choice {
        Choice { rule, narrowed: Vec::new() }
    }
}

impl Choice {
    /// What is not certain, or was not understood, with the variable before it.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let of = |narrowed: &Narrowed| {
            let given = given(narrowed.variable, &narrowed.value);
            narrowed.doubts.iter().map(|doubt| format!("{given}: {doubt}")).collect::<Vec<_>>()
        };
        self.narrowed.iter().flat_map(of).collect()
    }
}

/// A variable with its value, or a name that the program has given.
fn given(variable: Option<&'static str>, value: &str) -> String {
    match variable {
        Some(variable) => format!("{variable}={}", Shown(value)),
        None => format!("\"{}\"", Shown(value)),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Named { name, variable } => write!(f, "{} names it", given(*variable, name)),
            Rule::Best => {
                f.write_str("the first in this order: discrete, integrated, virtual; OpenGL after the better APIs")
            }
            Rule::LocalRank { rank, variable, cards: 1 } => write!(f, "{variable}={rank} has one card to take"),
            Rule::LocalRank { rank, variable, cards } => {
                write!(f, "{variable}={rank} takes card {} of {cards} equal ones, counted from 0", rank % cards)?;
                if rank >= cards { f.write_str(" (ranks beyond the last card begin again)") } else { Ok(()) }
            }
            Rule::CpuNamed => write!(f, "{}=cpu asks for the CPU", super::ADAPTER_VARIABLE),
            Rule::Hidden => f.write_str("every GPU is hidden"),
            Rule::NoHardware => f.write_str("no GPU has an adapter"),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(f)?;
        for Narrowed { variable, value, cards, of, doubts, .. } in &self.narrowed {
            write!(f, "; {} leaves {cards} of {of}", given(*variable, value))?;
            doubts.iter().try_for_each(|doubt| write!(f, " ({doubt})"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Partition(entry) => {
                write!(f, "{} is a part of a card, which no graphics API opens: give the whole card", Shown(entry))
            }
            Doubt::Unknown(entry) => {
                write!(f, "{} is neither a number nor an adapter's UUID; `gpufeed doctor` lists them", Shown(entry))
            }
            Doubt::Ambiguous(entry) => write!(f, "{} begins several UUIDs: give more of its digits", Shown(entry)),
            Doubt::Beyond { number, cards } => {
                write!(f, "there is no number {}: {cards} such adapters are counted from 0", Shown(number))
            }
            Doubt::Order => f.write_str(
                "numbers are counted by PCI address here; CUDA counts unequal cards by speed unless \
                 CUDA_DEVICE_ORDER=PCI_BUS_ID, ROCm by its own list: UUIDs are certain",
            ),
            Doubt::NoAddresses => {
                f.write_str("numbers are counted in the driver's order here, as the cards have no PCI addresses")
            }
        }
    }
}
