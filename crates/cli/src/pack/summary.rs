//! Prints the result of `gpufeed pack`.

use crate::to_stdout;
use crate::units;
use console::style;
use gpufeed::internals::Shown;
use serde_json::json;
use std::io::Write as _;
use std::path::Path;

use super::arguments::To;
use super::journal::Manifest;
use super::run::Totals;
use super::verify::Verified;

/// The most samples that are named.
const NAMED: usize = 10;

pub(super) fn print_json(
    out: &Path,
    manifest: &Manifest,
    totals: &Totals,
    verified: Option<&Verified>,
    seconds: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let listed = |list: &[(String, String)]| -> Vec<_> {
        list.iter().map(|(name, reason)| json!({"sample": name, "reason": reason})).collect()
    };
    let verified = verified.map(|verified| {
        json!({
            "samples": verified.samples,
            "different": listed(&verified.different),
            "lowest_psnr": verified.lowest_psnr,
        })
    });
    let value = json!({
        "out": out,
        "to": manifest.job.to,
        "samples": manifest.job.samples,
        "classes": manifest.classes,
        "shards": manifest.shards.len(),
        "resumed": totals.resumed,
        "kept": totals.kept,
        "encoded": totals.encoded,
        "undecodable": listed(&totals.undecodable),
        "skipped": listed(&totals.skipped),
        "bytes_read": totals.read,
        "bytes_packed": totals.written,
        "verified": verified,
        "seconds": seconds,
    });
    let text = serde_json::to_string_pretty(&value)?;
    Ok(to_stdout(|out| writeln!(out, "{text}"))?)
}

pub(super) fn print(
    out: &Path,
    manifest: &Manifest,
    totals: &Totals,
    verified: Option<&Verified>,
    seconds: f64,
) -> Result<(), String> {
    let Totals { resumed, kept, encoded, undecodable, skipped, read, written } = totals;
    let packed = manifest.job.samples - skipped.len();
    let into = match manifest.job.to {
        To::Tar => {
            let shards = manifest.shards.len();
            format!("{shards} shard{} in {}", if shards == 1 { "" } else { "s" }, style(Shown(out.display())).bold())
        }
        #[cfg(feature = "lmdb")]
        To::Lmdb => format!("the LMDB {}", style(Shown(out.display())).bold()),
    };
    say!("{packed} samples of {} classes, {into}, in {seconds:.1} s", manifest.classes);
    if *resumed > 0 {
        let all = if verified.is_none() { "; --verify says whether all of them are images" } else { "" };
        say!("  {resumed} were packed before{all}");
    }
    if *resumed < packed {
        let [read, written] = [*read, *written].map(|bytes| units::bytes(bytes as f64));
        say!("  {kept} as they were, {encoded} encoded: {read} became {written}");
    }
    if !skipped.is_empty() {
        say!("  {} of {} samples could not be read, and are left out", skipped.len(), manifest.job.samples);
    }
    list("left out:", skipped)?;
    list("undecodable, packed as it was:", undecodable)?;
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

fn list(what: &str, named: &[(String, String)]) -> Result<(), String> {
    for (name, reason) in named.iter().take(NAMED) {
        say!("  {} {}: {}", style(what).red(), Shown(name), Shown(reason));
    }
    if named.len() > NAMED {
        say!("  and {} more (--json lists all)", named.len() - NAMED);
    }
    Ok(())
}
