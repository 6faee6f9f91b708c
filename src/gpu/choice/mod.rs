//! Which adapter is taken, and by which rule: a function of a list of adapters and of variables, so that tables test it.
//!
//! `rule.rs` has the rule as data and as a sentence, `visible.rs` the variables by which CUDA and ROCm hide cards.

mod rule;
mod visible;

pub use rule::{Choice, Doubt, Narrowed, Rule};

use super::identity::{Identity, pci_address};
use crate::launcher::local_rank;

/// The name of the environment variable that chooses an adapter: `cpu`, a number of `gpufeed::Gpu::adapters()`, a UUID, a
/// PCI address, or part of a name.
pub const ADAPTER_VARIABLE: &str = "GPUFEED_ADAPTER";

/// An adapter as the choice sees it.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// The name that the driver gives it; equal cards have equal names.
    pub(crate) name: String,
    /// The text in which a part of a name is looked for, and by which errors call the adapter.
    pub(crate) description: String,
    pub(crate) kind: wgpu::DeviceType,
    pub(crate) backend: wgpu::Backend,
    /// PCI's number of the vendor; 0 if the API does not say it.
    pub(crate) vendor: u32,
    pub(crate) identity: Identity,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Want<'a> {
    /// The best GPU, or else the CPU.
    Auto,
    /// The best GPU, or else a software adapter.
    Any,
    /// The adapter with this number, UUID, PCI address, or part of a name.
    Named(&'a str),
}

/// An adapter of the list, or the CPU, with the rule that has chosen it.
#[derive(Clone, Debug)]
pub(crate) struct Picked {
    /// The adapter's number in the list; `None` for the CPU.
    pub(crate) adapter: Option<usize>,
    pub(crate) choice: Choice,
    /// What became of each adapter of the list.
    pub(crate) verdicts: Vec<Verdict>,
}

/// What became of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the one.
    Taken,
    /// Another comes before it.
    Later,
    /// It runs shaders on the CPU.
    Software,
    /// It is a card that has this number in the list, by another API or driver.
    Again(usize),
    /// This variable hides it.
    Hidden(&'static str),
}

impl Card {
    pub(crate) fn is_software(&self) -> bool {
        self.kind == wgpu::DeviceType::Cpu
    }

    /// True for a card like this one, by the same API: one that another process may take in its place.
    fn equals(&self, other: &Card) -> bool {
        (&self.name, self.kind, self.backend) == (&other.name, other.kind, other.backend)
    }

    /// True if both are one physical card.
    fn is_again(&self, other: &Card) -> bool {
        let (mine, its) = (&self.identity, &other.identity);
        if mine.pci.is_some() && its.pci.is_some() {
            // It is exact where both have one; of UUIDs, a driver may give one to all cards of a model.
            return mine.pci == its.pci;
        }
        // OpenGL tells nothing but the vendor, and lists no card that the vendor's better APIs lack.
        let opengl = (self.backend == wgpu::Backend::Gl) != (other.backend == wgpu::Backend::Gl);
        (mine.uuid.is_some() && mine.uuid == its.uuid)
            || (mine.luid.is_some() && mine.luid == its.luid)
            || (opengl && self.vendor != 0 && self.vendor == other.vendor)
    }

    /// The place among equal cards: by PCI address, cards without one last.
    fn place(&self) -> (bool, Option<(u32, u8, u8, u8)>) {
        let address = self.identity.pci.as_deref().and_then(pci_address);
        (address.is_none(), address)
    }
}

/// The order of preference: discrete before integrated before virtual, software last.
pub(crate) fn preference(kind: wgpu::DeviceType, backend: wgpu::Backend) -> u32 {
    let kind = match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    // OpenGL comes after any other API that drives the same chip.
    kind * 2 + u32::from(backend == wgpu::Backend::Gl)
}

/// Chooses an adapter of `cards`, which are in the order of their numbers. `variable` returns the value of a variable of
/// the environment.
///
/// # Errors
/// The reason, without a `no GPU adapter:` before it: nothing has the name, or a launcher's variable is no number.
pub(crate) fn choose(
    cards: &[Card],
    want: Want<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Picked, String> {
    // Files and shells leave spaces and line ends around a value.
    let asked = variable(ADAPTER_VARIABLE).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    match (want, asked) {
        (Want::Named(name), _) => named(cards, name, None, variable),
        (Want::Auto, Some(name)) if name.eq_ignore_ascii_case("cpu") => Ok(Picked::cpu(cards, Rule::CpuNamed)),
        (Want::Any, Some(name)) if name.eq_ignore_ascii_case("cpu") => best(cards, want, variable),
        (_, Some(name)) => named(cards, &name, Some(ADAPTER_VARIABLE), variable),
        (_, None) => best(cards, want, variable),
    }
}

/// Chooses without a name.
fn best(cards: &[Card], want: Want<'_>, variable: &dyn Fn(&str) -> Option<String>) -> Result<Picked, String> {
    let mut verdicts = vec![Verdict::Later; cards.len()];
    let mut order = physical(cards, (0..cards.len()).collect(), &mut verdicts);
    if matches!(want, Want::Auto) {
        order.retain(|&card| !cards[card].is_software());
        let software = |card: &usize| cards[*card].is_software();
        (0..cards.len()).filter(software).for_each(|card| verdicts[card] = Verdict::Software);
    }
    let hardware = !order.is_empty();
    let (mut order, narrowed) = visible::narrow(cards, order, variable, &mut verdicts);
    order.sort_by_key(|&card| preference(cards[card].kind, cards[card].backend));
    let Some(&first) = order.first() else {
        let rule = if hardware { Rule::Hidden } else { Rule::NoHardware };
        return Ok(Picked { verdicts, ..Picked::cpu(cards, rule) }.narrowed(narrowed));
    };
    order.retain(|&card| cards[card].equals(&cards[first]));
    // Where a variable lists the cards, its order is that of CUDA's and ROCm's numbers.
    let listed = narrowed.iter().any(|narrowed| narrowed.vendor == Some(cards[first].vendor));
    let picked = of_equal(cards, order, listed, Rule::Best, variable)?;
    Ok(picked.narrowed(narrowed).after(verdicts))
}

/// Takes the card of this process's local rank among equal cards, or else the first, by the rule `alone`. `listed` are
/// cards whose order is a variable's.
fn of_equal(
    cards: &[Card],
    mut equal: Vec<usize>,
    listed: bool,
    alone: Rule,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Picked, String> {
    let Some(local) = local_rank(variable)? else { return Ok(Picked::of(cards, equal[0], alone)) };
    if !listed {
        // A launcher's ranks count as CUDA does, which orders equal cards by their addresses. Vulkan's order is another:
        // Mesa's layer and NVIDIA's driver put the card of the screen first.
        equal.sort_by_key(|&card| cards[card].place());
    }
    // Ranks beyond the last card begin again: several processes on one card are usual where there are few cards, and where
    // a launcher has shown each process its own card alone, whatever the rank.
    let rule = Rule::LocalRank { rank: local.rank, variable: local.variable, cards: equal.len() };
    Ok(Picked::of(cards, equal[local.rank % equal.len()], rule))
}

/// Leaves out the adapters of a card that an earlier or better adapter has, too.
fn physical(cards: &[Card], mut order: Vec<usize>, verdicts: &mut [Verdict]) -> Vec<usize> {
    order.sort_by_key(|&card| preference(cards[card].kind, cards[card].backend));
    let mut found: Vec<usize> = Vec::new();
    for card in order {
        match found.iter().find(|&&earlier| cards[card].is_again(&cards[earlier])) {
            Some(&earlier) => verdicts[card] = Verdict::Again(earlier),
            None => found.push(card),
        }
    }
    found
}

/// Chooses by a number, a UUID, a PCI address, or part of a name.
fn named(
    cards: &[Card],
    name: &str,
    source: Option<&'static str>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Picked, String> {
    let name = name.trim();
    let rule = Rule::Named { name: name.to_owned(), variable: source };
    if let Some(number) = name.parse().ok().filter(|&number| number < cards.len()) {
        return Ok(Picked::of(cards, number, rule));
    }
    let refused = |reason: String| match source {
        Some(variable) => format!("{variable}: {reason}; unset it for the best GPU, or set it to cpu"),
        None => reason,
    };
    if let Some(card) = by_uuid(cards, name).map_err(refused)?.or_else(|| by_address(cards, name)) {
        return Ok(Picked::of(cards, card, rule));
    }
    let lower = name.to_lowercase();
    let has_name = |card: &usize| !name.is_empty() && cards[*card].description.to_lowercase().contains(&lower);
    let fits: Vec<usize> = (0..cards.len()).filter(has_name).collect();
    if fits.is_empty() {
        let all: Vec<_> = cards.iter().map(|card| card.description.as_str()).collect();
        let there = if all.is_empty() { "none".to_owned() } else { all.join("; ") };
        return Err(refused(format!("none matches \"{name}\"; the machine has {there}")));
    }
    let mut verdicts = vec![Verdict::Later; cards.len()];
    let every = physical(cards, (0..cards.len()).collect(), &mut verdicts);
    let (shown, mut narrowed) = visible::narrow(cards, every, variable, &mut verdicts);
    let (mut left, mut of) = (shown.iter().copied().filter(has_name).collect::<Vec<_>>(), shown.len());
    if left.is_empty() {
        // Every card of that name is hidden, or a better driver's adapter: whoever names one gets it all the same.
        verdicts.fill(Verdict::Later);
        (left, of, narrowed) = (physical(cards, fits, &mut verdicts), cards.len(), Vec::new());
    }
    let first = &cards[left[0]];
    narrowed.retain(|narrowed| narrowed.vendor == Some(first.vendor));
    let listed = !narrowed.is_empty();
    let of_name =
        Narrowed { variable: source, value: name.to_owned(), vendor: None, cards: left.len(), of, doubts: Vec::new() };
    left.retain(|&card| cards[card].equals(first));
    let picked = of_equal(cards, left, listed, rule, variable)?;
    if matches!(picked.choice.rule, Rule::LocalRank { .. }) {
        narrowed.push(of_name);
    }
    Ok(picked.narrowed(narrowed).after(verdicts))
}

/// The card with this UUID, or with one that begins so if `GPU-` is before it.
fn by_uuid(cards: &[Card], name: &str) -> Result<Option<usize>, String> {
    let marked = name.get(..4).filter(|mark| mark.eq_ignore_ascii_case("GPU-")).map(|_| &name[4..]);
    let whole = Some(name).filter(|name| name.len() == 36 && name.matches('-').count() == 4);
    let Some(uuid) = marked.or(whole).filter(|digits| !digits.is_empty()) else { return Ok(None) };
    let found = visible::with_uuid(cards, 0..cards.len(), uuid);
    match *found.as_slice() {
        // One card by two APIs or drivers has one UUID.
        [card, ..] if found.iter().all(|&other| other == card || cards[other].is_again(&cards[card])) => Ok(Some(card)),
        [] => Ok(None),
        _ => Err(format!("\"{name}\" begins the UUIDs of {} adapters; give more of its digits", found.len())),
    }
}

fn by_address(cards: &[Card], name: &str) -> Option<usize> {
    let address = pci_address(name)?;
    cards.iter().position(|card| card.identity.pci.as_deref().and_then(pci_address) == Some(address))
}

impl Picked {
    fn cpu(cards: &[Card], rule: Rule) -> Picked {
        let verdict = |card: &Card| if card.is_software() { Verdict::Software } else { Verdict::Later };
        Picked { adapter: None, choice: rule.into(), verdicts: cards.iter().map(verdict).collect() }
    }

    fn of(cards: &[Card], adapter: usize, rule: Rule) -> Picked {
        let picked = Picked::cpu(cards, rule);
        Picked { adapter: Some(adapter), ..picked }.after(vec![Verdict::Later; cards.len()])
    }

    fn narrowed(mut self, narrowed: Vec<Narrowed>) -> Picked {
        self.choice.narrowed = narrowed;
        self
    }

    /// Sets what became of the other adapters.
    fn after(mut self, mut verdicts: Vec<Verdict>) -> Picked {
        if let Some(adapter) = self.adapter {
            verdicts[adapter] = Verdict::Taken;
        }
        self.verdicts = verdicts;
        self
    }
}

#[cfg(test)]
mod tests;
