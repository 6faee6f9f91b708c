//! Prints the result of `gpufeed pack`.

use crate::part::PartNumber;
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

/// The result of a pack.
pub(super) struct Summary<'a> {
    pub(super) out: &'a Path,
    /// The pack's manifest, or that of one part.
    pub(super) manifest: &'a Manifest,
    pub(super) part: Option<PartNumber>,
    /// The number of samples of the source, or of the part.
    pub(super) samples: usize,
    pub(super) totals: &'a Totals,
    pub(super) verified: Option<&'a Verified>,
    pub(super) seconds: f64,
}

impl Summary<'_> {
    pub(super) fn print(&self, as_json: bool) -> Result<(), Box<dyn std::error::Error>> {
        match as_json {
            true => self.print_json(),
            false => Ok(self.print_text()?),
        }
    }

    fn print_json(&self) -> Result<(), Box<dyn std::error::Error>> {
        let Summary { out, manifest, samples, totals, seconds, .. } = self;
        let listed = |list: &[(String, String)]| -> Vec<_> {
            list.iter().map(|(name, reason)| json!({"sample": name, "reason": reason})).collect()
        };
        let verified = self.verified.map(|verified| {
            json!({
                "samples": verified.samples,
                "different": listed(&verified.different),
                "lowest_psnr": verified.lowest_psnr,
            })
        });
        let mut value = json!({
            "out": out,
            "to": manifest.job.to,
            "samples": samples,
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
        if let Some(PartNumber { part, parts }) = self.part {
            (value["part"], value["parts"]) = (part.into(), parts.into());
        }
        let text = serde_json::to_string_pretty(&value)?;
        Ok(to_stdout(|out| writeln!(out, "{text}"))?)
    }

    fn print_text(&self) -> Result<(), String> {
        let Summary { out, manifest, samples, seconds, .. } = self;
        let Totals { resumed, kept, encoded, undecodable, skipped, read, written } = self.totals;
        let packed = samples - skipped.len();
        let into = match manifest.job.to {
            To::Tar => {
                let shards = manifest.shards.len();
                let s = if shards == 1 { "" } else { "s" };
                format!("{shards} shard{s} in {}", style(Shown(out.display())).bold())
            }
            #[cfg(feature = "lmdb")]
            To::Lmdb => format!("the LMDB {}", style(Shown(out.display())).bold()),
        };
        let part = self.part.map_or(String::new(), |part| format!("part {part}: "));
        say!("{part}{packed} samples of {} classes, {into}, in {seconds:.1} s", manifest.classes);
        if *resumed > 0 {
            let all = if self.verified.is_none() { "; --verify says whether all of them are images" } else { "" };
            say!("  {resumed} were packed before{all}");
        }
        if *resumed < packed {
            let [read, written] = [*read, *written].map(|bytes| units::bytes(bytes as f64));
            say!("  {kept} as they were, {encoded} encoded: {read} became {written}");
        }
        if !skipped.is_empty() {
            say!("  {} of {samples} samples could not be read, and are left out", skipped.len());
        }
        list("left out:", skipped)?;
        list("undecodable, packed as it was:", undecodable)?;
        if let Some(verified) = self.verified {
            let different = verified.different.len();
            let psnr = verified.lowest_psnr.map_or(String::new(), |psnr| {
                format!("; where encoded anew, the peak signal-to-noise ratio is {psnr:.1} dB or more")
            });
            say!("  {} samples compared with the source, {different} differences{psnr}", verified.samples);
            list("different", &verified.different)?;
        }
        Ok(())
    }
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
