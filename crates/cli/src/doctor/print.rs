//! Prints the results as text.

use std::cmp::Reverse;
use std::io::{self, Write};

use console::style;
use gpufeed::Identity;
use gpufeed::internals::Shown;

use super::adapters::{Adapter, Survey};
use super::finding::Finding;
use super::machine::Machine;
use super::object_summary::ObjectSummary;
use super::summary::{Class, Histogram, Summary};
use crate::units;

/// The most classes that are printed. If there are more, only the largest and the smallest classes are.
const CLASSES: usize = 12;
/// The most labels and classes that a line names.
const NAMED: usize = 8;
/// The length of the longest bar in characters.
const BAR: usize = 30;

/// Prints a data set's summary. With `list` it names every file with findings or notes.
pub(super) fn folder(out: &mut impl Write, summary: &Summary, list: bool) -> io::Result<()> {
    let accepted = &summary.image_folder;
    let (name, bytes) = (Shown(&summary.folder), size(summary.bytes));
    let (what, set) = match summary.format.as_str() {
        "folder" | "images" => ("files", "ImageFolder"),
        format => ("samples", format),
    };
    writeln!(out, "{}: {} {what}, {bytes} in {:.1} s", style(name).bold(), summary.files_scanned, summary.seconds)?;
    let classes_there = summary.classes.len();
    writeln!(
        out,
        "{set}: {} samples in {classes_there} classes, {} of them decode",
        accepted.samples, accepted.usable
    )?;
    if let Some(error) = &accepted.error {
        writeln!(out, "the folder is refused: {}", Shown(error))?;
    }
    classes(out, summary)?;
    if let Some(found) = &summary.objects {
        objects(out, found)?;
    }
    let mut params = summary.histograms.iter().filter(|histogram| !histogram.bars.is_empty());
    params.try_for_each(|histogram| bars(out, histogram))?;
    duplicates(out, summary)?;
    if list {
        files(out, summary)?;
    }
    advice(out, summary, list)
}

fn classes(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    // Annotations give classes to objects and not to samples.
    let of_objects = summary.objects.is_some() && summary.classes.iter().all(|class| class.samples == 0);
    heading(out, if of_objects { "Objects by class" } else { "Classes" })?;
    let size = |class: &Class| if of_objects { class.objects } else { class.samples };
    let mut by_size: Vec<_> = summary.classes.iter().collect();
    let all = by_size.len();
    let mut line = |class: &&Class| {
        let broken = class.samples - class.usable;
        let broken = if broken == 0 { String::new() } else { format!(", {broken} do not decode") };
        writeln!(out, "  {:<24} {:>8}{broken}", Shown(&class.name).to_string(), size(class))
    };
    if all > CLASSES {
        by_size.sort_by_key(|class| Reverse(size(class)));
        by_size[..CLASSES / 2].iter().try_for_each(&mut line)?;
        by_size[all - CLASSES / 2..].iter().try_for_each(&mut line)?;
        writeln!(out, "  and {} classes between these", all - CLASSES / 2 * 2)?;
    } else {
        by_size.iter().try_for_each(&mut line)?;
    }
    match summary.imbalance {
        Some(imbalance) if all > 1 => writeln!(out, "  largest to smallest: {imbalance:.1} to 1"),
        Some(_) => Ok(()),
        None if of_objects => writeln!(out, "  none has an object"),
        None => writeln!(out, "  none has a sample"),
    }
}

/// Prints how many objects there are, and what is wrong with them.
fn objects(out: &mut impl Write, found: &ObjectSummary) -> io::Result<()> {
    heading(out, "Objects")?;
    let (objects, samples) = (found.objects, found.samples);
    writeln!(out, "  {objects} in {samples} samples, {} of which have none", found.samples_without)?;
    for fault in &found.faults {
        let (count, words, first) = (fault.count, fault.words, Shown(&fault.first));
        writeln!(out, "  {count} {words}, in {} samples, the first {first}", fault.samples)?;
    }
    let listed = |names: Vec<String>| {
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
    };
    if !found.unknown_labels.is_empty() {
        let labels = found.unknown_labels.iter().map(ToString::to_string).collect();
        writeln!(out, "  labels of no class: {}", listed(labels))?;
    }
    if !found.classes_without.is_empty() {
        let (without, all) = (found.classes_without.len(), found.classes);
        let names = listed(found.classes_without.clone());
        writeln!(out, "  no object is of {without} of the {all} classes: {}", Shown(&names))?;
    }
    Ok(())
}

fn bars(out: &mut impl Write, histogram: &Histogram) -> io::Result<()> {
    heading(out, histogram.name)?;
    let most = histogram.bars.iter().map(|bar| bar.images).max().unwrap_or(1).max(1);
    let widest = histogram.bars.iter().map(|bar| bar.label.len()).max().unwrap_or(0);
    histogram.bars.iter().try_for_each(|bar| {
        let params = "#".repeat((bar.images * BAR).div_ceil(most));
        writeln!(out, "  {:<widest$} {:>8} {}", Shown(&bar.label).to_string(), bar.images, style(params).dim())
    })
}

fn duplicates(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let groups = &summary.duplicates;
    if groups.is_empty() {
        return Ok(());
    }
    let linked = groups.iter().filter(|group| group.one_file).count();
    let across = groups.iter().filter(|group| group.across_classes).count();
    let spare: usize = groups.iter().map(|group| group.files.len() - 1).sum();
    heading(out, "Duplicates")?;
    let all = groups.len();
    writeln!(out, "  {all} images occur more than once, {spare} files are spare;")?;
    writeln!(out, "  {linked} of the images are links to one file, {across} are in more than one class")
}

fn files(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    heading(out, "Files")?;
    for place in &summary.places {
        writeln!(out, "  {}: {}: {}", Shown(&place.path), kind(place.kind), Shown(&place.reason))?;
    }
    for file in summary.files.iter().filter(|file| !(file.findings.is_empty() && file.notes.is_empty())) {
        let kinds: Vec<String> = file.findings.iter().chain(&file.notes).map(|&found| kind(found)).collect();
        let reason = file.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", Shown(reason)));
        let beside = file.objects.iter().map(|objects| objects.words()).filter(|words| words.contains(':'));
        let beside: String = beside.chain(file.other_sizes.iter().cloned()).map(|words| format!("; {words}")).collect();
        let fill = if file.fill_keeps == Some(true) { " (a loader that fills truncated images keeps it)" } else { "" };
        let format = match file.format {
            Some(format) if file.findings.contains(&Finding::WrongExtension) => format!(" (is {format})"),
            _ => String::new(),
        };
        writeln!(out, "  {}: {}{format}{reason}{fill}{}", Shown(&file.path), kinds.join(", "), Shown(&beside))?;
    }
    summary.duplicates.iter().try_for_each(|group| {
        let how = if group.one_file { "links to one file" } else { "the same bytes" };
        writeln!(out, "  {how}: {}", Shown(&group.files.join(", ")))
    })
}

fn kind(found: Finding) -> String {
    let name = style(found.name());
    if found.is_problem() { name.red().to_string() } else { name.dim().to_string() }
}

fn advice(out: &mut impl Write, summary: &Summary, list: bool) -> io::Result<()> {
    if !summary.notes.is_empty() || !summary.data_notes.is_empty() {
        heading(out, "Good to know")?;
    }
    for note in &summary.data_notes {
        writeln!(out, "  {note}")?;
    }
    for note in &summary.notes {
        writeln!(out, "  {} {}: {}", note.count, note.kind.name(), note.advice)?;
    }
    if summary.findings.is_empty() && summary.data_warnings.is_empty() {
        return writeln!(out, "\n{}", style("Nothing is wrong.").green());
    }
    heading(out, "What to do")?;
    for warning in &summary.data_warnings {
        writeln!(out, "  {}", style(warning).red())?;
    }
    for found in &summary.findings {
        writeln!(out, "  {} {}: {}", found.count, style(found.kind.name()).red(), found.advice)?;
    }
    let kept = summary.files.iter().filter(|file| file.fill_keeps == Some(true)).count();
    if kept > 0 {
        writeln!(out, "  A loader that fills truncated images would keep {kept} of those that do not decode.")?;
    }
    if list || summary.findings.is_empty() { Ok(()) } else { writeln!(out, "  --list names each file.") }
}

fn heading(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n{}", style(text).bold())
}

/// Formats bytes.
fn size(bytes: u64) -> String {
    units::bytes(bytes as f64)
}

/// Prints the machine, its adapters, and the chosen one.
pub(super) fn machine(out: &mut impl Write, survey: &Survey) -> io::Result<()> {
    let [os, cpu] = [&survey.machine.os, &survey.machine.cpu].map(Shown);
    let cores = survey.machine.cores;
    writeln!(out, "{} {} on {os}", style("gpufeed").bold(), survey.version)?;
    let limit = survey.machine.memory_limit_bytes;
    let limit = limit.map_or_else(String::new, |limit| format!(", {} allowed to this container", size(limit)));
    let (all, free) = (size(survey.machine.memory_bytes), size(survey.machine.memory_available_bytes));
    writeln!(out, "{cores} cores ({cpu}), {all} of memory, {free} available{limit}")?;
    writeln!(out, "built with the APIs {}", survey.backends.join(", "))?;

    if !survey.environment.is_empty() {
        heading(out, "Environment")?;
    }
    for variable in &survey.environment {
        writeln!(out, "  {}={}: {}", variable.name, Shown(&variable.value), variable.effect)?;
    }

    heading(out, "Adapters, best first")?;
    if survey.adapters.is_empty() {
        writeln!(out, "  none")?;
    }
    survey.adapters.iter().try_for_each(|one| adapter(out, one))?;
    devices(out, &survey.machine)?;

    heading(out, "The way that gpufeed takes")?;
    writeln!(out, "  {}.", Shown(&survey.path.why))?;
    if let Some(executor) = survey.path.executor {
        let upload = survey.path.upload.map_or_else(String::new, |upload| format!("; upload: {upload}"));
        writeln!(out, "  Augmentation: {executor}{upload}.")?;
    }
    if !survey.problems.is_empty() {
        heading(out, "What to do")?;
    }
    survey.problems.iter().try_for_each(|problem| writeln!(out, "  {}", style(Shown(problem)).red()))
}

fn adapter(out: &mut impl Write, adapter: &Adapter) -> io::Result<()> {
    let number = adapter.number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let [name, driver] = [&adapter.name, &adapter.driver].map(Shown);
    let Adapter { device_type, backend, .. } = adapter;
    writeln!(out, "  {number}: {} ({device_type}, {backend}, {driver})", style(name).bold())?;
    let taken = if adapter.taken { style("taken").green() } else { style("not taken").yellow() };
    writeln!(out, "     {taken}: {}", Shown(&adapter.why))?;
    let Identity { pci, uuid, rocm, .. } = &adapter.identity;
    let told = [("PCI ", pci), ("UUID ", uuid), ("in ROCm GPU-", rocm)];
    let told = told.map(|(what, text)| text.as_ref().map(|text| format!("{what}{text}")));
    let told: Vec<String> = told.into_iter().flatten().collect();
    if !told.is_empty() {
        writeln!(out, "     {}", Shown(told.join(", ")))?;
    }
    for limit in &adapter.limits {
        let below = if limit.value < limit.needed { style(", below what is needed").red() } else { style("") };
        writeln!(out, "     {:<38} {:>12}{below}", limit.name, limit.value)?;
    }
    for feature in &adapter.features {
        let there = if feature.there { style("yes").green() } else { style("no").yellow() };
        writeln!(out, "     {:<38} {there:>12}  {}", feature.name, style(feature.used_for).dim())?;
    }
    if let Some(upload) = adapter.upload {
        writeln!(out, "     {:<38} {upload:>12}", "upload")?;
    }
    match &adapter.memory {
        Some(memory) => writeln!(out, "     {:<38} {memory}", "memory"),
        None => Ok(()),
    }
}

/// Prints the GPUs and drivers that the system itself reports.
fn devices(out: &mut impl Write, machine: &Machine) -> io::Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    heading(out, "Devices and drivers")?;
    for device in &machine.devices {
        let driver = device.kernel_driver.as_deref().unwrap_or("none");
        writeln!(out, "  PCI {}: {:04x}:{:04x}, kernel driver {driver}", device.address, device.vendor, device.device)?;
    }
    if machine.devices.is_empty() {
        writeln!(out, "  PCI: no display controller or accelerator")?;
    }
    for node in &machine.render_nodes {
        let state = node.error.as_deref().unwrap_or("can be opened");
        writeln!(out, "  {}: {}", Shown(node.path.display()), Shown(state))?;
    }
    for file in &machine.vulkan_drivers {
        writeln!(out, "  Vulkan driver: {}", Shown(file.display()))?;
    }
    Ok(())
}
