//! Prints the results of `gpufeed pack`.

use crate::output::print_json;
use crate::part::PartNumber;
use crate::units;
use console::style;
use gpufeed::internals::Shown;
use gpufeed::pack::{PackFormat, PackPlan, Packed, Unusable};
use gpufeed::storage::Location;
use serde_json::json;
use std::error::Error;
use std::path::Path;

/// The most samples that are named.
const NAMED: usize = 10;

/// Prints the result of a pack, a part or a join.
pub(super) fn print(packed: &Packed, as_json: bool) -> Result<(), Box<dyn Error>> {
    if as_json { print_json(packed) } else { Ok(print_text(packed)?) }
}

fn print_text(done: &Packed) -> Result<(), String> {
    let Packed { out, samples, resumed, kept, encoded, skipped, verified, seconds, .. } = done;
    let packed = samples - skipped.len();
    let shown = style(Shown(out.display())).bold();
    let into = match done.to {
        PackFormat::Lmdb => format!("the LMDB {shown}"),
        _ => format!("{} shard{} in {shown}", done.shards, if done.shards == 1 { "" } else { "s" }),
    };
    let part = done.part.zip(done.parts).map_or(String::new(), |(part, parts)| format!("part {part}/{parts}: "));
    let fields = match done.fields.as_slice() {
        [] => String::new(),
        fields => format!(" with the fields {}", Shown(fields.join(", "))),
    };
    say!("{part}{packed} samples of {} classes{fields}, {into}, in {seconds:.1} s", done.classes);
    if *resumed > 0 {
        let all = if verified.is_none() { "; --verify says whether all of them are images" } else { "" };
        say!("  {resumed} were packed before{all}");
    }
    if *resumed < packed {
        let [read, written] = [done.bytes_read, done.bytes_packed].map(|bytes| units::bytes(bytes as f64));
        say!("  {kept} as they were, {encoded} encoded: {read} became {written}");
    }
    if !skipped.is_empty() {
        say!("  {} of {samples} samples could not be read, and are left out", skipped.len());
    }
    list("left out:", skipped)?;
    list("undecodable, packed as it was:", &done.undecodable)?;
    if let Some(verified) = verified {
        let different = verified.different.len();
        let psnr = verified.lowest_psnr.map_or(String::new(), |psnr| {
            format!("; where encoded anew, the peak signal-to-noise ratio is {psnr:.1} dB or more")
        });
        say!("  {} samples compared with the source, {different} differences{psnr}", verified.samples);
        list("different", &verified.different)?;
    }
    Ok(())
}

fn list(what: &str, named: &[Unusable]) -> Result<(), String> {
    for Unusable { sample, reason } in named.iter().take(NAMED) {
        say!("  {} {}: {}", style(what).red(), Shown(sample), Shown(reason));
    }
    if named.len() > NAMED {
        say!("  and {} more (--json lists all)", named.len() - NAMED);
    }
    Ok(())
}

/// Prints a plan, and the commands that follow.
pub(super) fn print_plan(source: &Path, plan: &PackPlan, as_json: bool) -> Result<(), Box<dyn Error>> {
    if as_json {
        return print_json(plan);
    }
    let PackPlan { out, parts, samples, new, seconds, .. } = plan;
    let shown = style(Shown(out.display())).bold();
    let [source, quoted] =
        [&*Location::from(source).shown(), out].map(|path| shell_word(&Shown(path.display()).to_string()));
    let before = if *new { "" } else { ", as before" };
    say!("{samples} samples in {parts} parts, planned in {shown} in {seconds:.1} s{before}");
    say!("  gpufeed pack {source} {quoted} --part I/{parts}   for each I from 0 to {}", parts - 1);
    say!("  gpufeed pack {source} {quoted} --join");
    Ok(())
}

/// Prints that a part which was asked for again is in the data set already.
pub(super) fn print_joined(PartNumber { part, parts }: PartNumber, as_json: bool) -> Result<(), Box<dyn Error>> {
    if as_json {
        return print_json(&json!({"part": part, "parts": parts, "joined": true}));
    }
    say!("part {part}/{parts} is done, and joined with the others");
    Ok(())
}

/// Quotes a path or an address as one word of a shell, which would otherwise expand its braces.
fn shell_word(text: &str) -> String {
    match text.chars().all(|c| c.is_alphanumeric() || "/._-:=@%+,".contains(c)) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted_where_it_would_expand_them() {
        for (text, word) in [
            ("s3://a/b-1.tar", "s3://a/b-1.tar"),
            ("http://h/s-{0..1}.tar", "'http://h/s-{0..1}.tar'"),
            ("out dir", "'out dir'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
