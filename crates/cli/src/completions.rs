//! `gpufeed completions` and `gpufeed man`: what a shell and `man` know of the command, made of its arguments.

use crate::{Arguments, DONE, Outcome, to_stdout};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

/// Prints a script that completes the command's arguments in a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Where shells look for it:
  bash  ~/.local/share/bash-completion/completions/gpufeed
  zsh   _gpufeed, in a folder of $fpath
  fish  ~/.config/fish/completions/gpufeed.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArguments) -> Outcome {
    // Written to memory first: clap_complete panics where its output cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "gpufeed", &mut script);
    to_stdout(|out| std::io::Write::write_all(out, &script))?;
    Ok(DONE)
}

/// Prints the command's manual page; with a folder, writes one for each subcommand there.
#[derive(clap::Args)]
pub(crate) struct ManArguments {
    /// The folder, such as ~/.local/share/man/man1
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(crate) fn man(arguments: &ManArguments) -> Outcome {
    let command = Arguments::command();
    if let Some(folder) = &arguments.out {
        clap_mangen::generate_to(command, folder).map_err(|error| format!("--out: {}: {error}", folder.display()))?;
        return Ok(DONE);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    to_stdout(|out| std::io::Write::write_all(out, &page))?;
    Ok(DONE)
}
