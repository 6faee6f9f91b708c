//! The variables by which CUDA and ROCm hide cards and number them anew. Each is about its vendor's cards alone.
//!
//! Values are read as the vendors' runtimes read them: a list of numbers and of UUIDs, which may be abbreviated; the first
//! entry that is none of these ends the list. So an empty value, `-1`, and Slurm's `NoDevFiles` hide all cards. HIP takes an
//! empty value for none; here it hides all, as whoever wrote it meant.

use super::rule::{Doubt, Narrowed};
use super::{Card, Verdict};
use crate::gpu::identity::{AMD, NVIDIA};

/// The variables of a vendor, in the order in which each narrows what the one before it has left. HIP reads
/// `CUDA_VISIBLE_DEVICES`, too, which is not followed: on a machine with both vendors' cards it means NVIDIA's.
const VARIABLES: [(u32, &[&str]); 2] =
    [(NVIDIA, &["CUDA_VISIBLE_DEVICES"]), (AMD, &["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"])];

/// Leaves out the cards of `order` that a variable hides, and puts the others of its vendor in the variable's order.
pub(super) fn narrow(
    cards: &[Card],
    mut order: Vec<usize>,
    variable: &dyn Fn(&str) -> Option<String>,
    verdicts: &mut [Verdict],
) -> (Vec<usize>, Vec<Narrowed>) {
    let mut all = Vec::new();
    for (vendor, names) in VARIABLES {
        let Some(at) = order.iter().position(|&card| cards[card].vendor == vendor) else { continue };
        let mut left: Vec<usize> = order.iter().copied().filter(|&card| cards[card].vendor == vendor).collect();
        let certain = vendor == NVIDIA && variable("CUDA_DEVICE_ORDER").as_deref() == Some("PCI_BUS_ID");
        let mut set = false;
        for &name in names {
            let Some(value) = variable(name) else { continue };
            if !set {
                left.sort_by_key(|&card| cards[card].place());
            }
            let before = left;
            let mut doubts = Vec::new();
            left = listed(cards, &before, &value, &mut doubts);
            // An earlier variable has numbered the cards for this one.
            if !set && has_numbers(&value) {
                doubts.extend(of_order(cards, &before, certain));
            }
            set = true;
            before.iter().filter(|card| !left.contains(card)).for_each(|&card| verdicts[card] = Verdict::Hidden(name));
            all.push(Narrowed {
                variable: Some(name),
                value,
                vendor: Some(vendor),
                cards: left.len(),
                of: before.len(),
                doubts,
            });
        }
        if set {
            order.retain(|&card| cards[card].vendor != vendor);
            order.splice(at..at, left);
        }
    }
    (order, all)
}

/// The entries of a variable's value.
fn entries(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim)
}

fn has_numbers(value: &str) -> bool {
    entries(value).any(|entry| entry.parse::<usize>().is_ok())
}

/// What is not certain in the numbers of these cards.
fn of_order(cards: &[Card], numbered: &[usize], certain: bool) -> Option<Doubt> {
    let (&first, rest) = numbered.split_first()?;
    if rest.is_empty() {
        return None;
    }
    if numbered.iter().any(|&card| cards[card].place().0) {
        return Some(Doubt::NoAddresses);
    }
    let equal = rest.iter().all(|&card| cards[card].name == cards[first].name);
    (!equal && !certain).then_some(Doubt::Order)
}

/// The cards that a value lists, in its order.
fn listed(cards: &[Card], numbered: &[usize], value: &str, doubts: &mut Vec<Doubt>) -> Vec<usize> {
    let mut found = Vec::new();
    for entry in entries(value) {
        match card_of(cards, numbered, entry) {
            Ok(card) if found.contains(&card) => {}
            Ok(card) => found.push(card),
            Err(doubt) => {
                doubts.extend(doubt);
                break;
            }
        }
    }
    found
}

/// The card of an entry. The error ends the list; without a doubt it does so on purpose.
fn card_of(cards: &[Card], numbered: &[usize], entry: &str) -> Result<usize, Option<Doubt>> {
    let owned = || entry.to_owned();
    if entry.is_empty() || entry == "NoDevFiles" {
        return Err(None);
    }
    if let Ok(number) = entry.parse::<i64>() {
        let card = usize::try_from(number).map_err(|_| None)?;
        let beyond = || Some(Doubt::Beyond { number: owned(), cards: numbered.len() });
        return numbered.get(card).copied().ok_or_else(beyond);
    }
    if entry.starts_with("MIG-") {
        return Err(Some(Doubt::Partition(owned())));
    }
    let digits = entry.strip_prefix("GPU-").filter(|digits| !digits.is_empty());
    let found = digits.map_or_else(Vec::new, |digits| with_uuid(cards, numbered.iter().copied(), digits));
    match *found.as_slice() {
        [card] => Ok(card),
        [] => Err(Some(Doubt::Unknown(owned()))),
        _ => Err(Some(Doubt::Ambiguous(owned()))),
    }
}

/// The cards whose UUID begins with `digits`: the driver's, or ROCm's of 16 digits.
pub(super) fn with_uuid(cards: &[Card], of: impl Iterator<Item = usize>, digits: &str) -> Vec<usize> {
    let lower = digits.to_lowercase();
    let fits = |&card: &usize| {
        let identity = &cards[card].identity;
        [&identity.uuid, &identity.rocm].into_iter().flatten().any(|uuid| uuid.starts_with(&lower))
    };
    of.filter(fits).collect()
}
