//! Writes results: to standard output, to a file that is replaced as a whole, or to a device or pipe.
//!
//! A failed write is an error, except into a pipe that its reader has closed (`| head`).

use crate::file_identity::{Identity, identity, of_standard_output};
use console::StyledObject;
use gpufeed::internals::{Shown, folder_of, replace};
use std::error::Error;
use std::fmt::{Arguments, Display};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

/// The name of standard output in every option that names an output.
const STANDARD: &str = "-";

/// The most links to follow, as on Linux.
const MOST_LINKS: usize = 40;

/// An output that an option names.
#[derive(Debug)]
pub(crate) struct Output {
    /// The option as it is typed: `--html`.
    option: &'static str,
    path: PathBuf,
    place: Destination,
}

/// The destination of the path, after links are followed.
#[derive(Debug)]
enum Destination {
    Standard,
    /// A regular file, which may not exist yet. It is replaced when the new content is complete.
    File(PathBuf),
    /// A device, a pipe, a socket, or a file without a name. It is written in place. `None` until it is opened.
    Stream(Identity, Option<File>),
}

/// Opens the outputs of a command's options before its work, so that an output that cannot be written is an early
/// error. Files keep their content until the new content is complete.
///
/// # Errors
/// Names the output that cannot be written, and its option. Two options that name the same output are wrong arguments
/// ([`clap::Error`]).
pub(crate) fn open<const N: usize>(
    asked: [(&'static str, Option<&Path>); N],
) -> Result<[Option<Output>; N], Box<dyn Error>> {
    let mut outputs = [const { None }; N];
    for ((option, path), output) in asked.into_iter().zip(&mut outputs) {
        *output = path.map(|path| Output::find(option, path)).transpose()?;
    }
    for (number, output) in outputs.iter().enumerate() {
        let before = outputs[..number].iter().flatten();
        if let Some((a, b)) = output.as_ref().and_then(|b| Some((before.clone().find(|a| a.place.is(&b.place))?, b))) {
            let conflict = format!("{} and {} name the same output, {}", a.option, b.option, b.name());
            return Err(crate::conflict(&conflict).into());
        }
    }
    outputs.iter_mut().flatten().try_for_each(Output::open)?;
    Ok(outputs)
}

impl Destination {
    fn is(&self, other: &Destination) -> bool {
        match (self, other) {
            (Destination::Standard, Destination::Standard) => true,
            (Destination::File(a), Destination::File(b)) => a == b,
            (Destination::Stream(a, _), Destination::Stream(b, _)) => a.is_some() && a == b,
            _ => false,
        }
    }
}

impl Output {
    /// Finds the destination of a path. Opens nothing, because opening a pipe waits for its reader.
    fn find(option: &'static str, path: &Path) -> Result<Output, String> {
        let output = |place| Output { option, path: path.to_owned(), place };
        if path == Path::new(STANDARD) {
            return Ok(output(Destination::Standard));
        }
        let place = match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            // Replacing the file of standard output would send later prints to a file without a name.
            Ok(found) if of_standard_output(&found) => Ok(Destination::Standard),
            Ok(found) => match fs::canonicalize(path) {
                Ok(target) if found.is_file() => Ok(Destination::File(target)),
                _ => Ok(Destination::Stream(identity(&found), None)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => target_of(path).map(Destination::File),
            Err(error) => Err(error),
        };
        place.map(output).map_err(|error| failed(option, path, &error))
    }

    /// Opens a stream, or checks that a file may be replaced.
    fn open(&mut self) -> Result<(), String> {
        let opened = match &mut self.place {
            Destination::Standard => Ok(()),
            Destination::Stream(_, file) => open_stream(&self.path).map(|opened| *file = Some(opened)),
            // A file without a name leaves no trace, even if the process is killed.
            Destination::File(target) => tempfile::tempfile_in(folder_of(target)).and_then(|_| {
                let there = OpenOptions::new().append(true).open(&*target);
                there.map(drop).or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                })
            }),
        };
        opened.map_err(|error| failed(self.option, &self.path, &error))
    }

    /// Returns the path as messages show it.
    pub(crate) fn name(&self) -> String {
        match self.place {
            Destination::Standard => "standard output".to_owned(),
            _ => Shown(self.path.display()).to_string(),
        }
    }

    /// Returns true if this is standard output.
    pub(crate) fn is_standard(&self) -> bool {
        matches!(self.place, Destination::Standard)
    }

    /// Returns the path if this is a regular file, existing or to be created.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.place {
            Destination::File(target) => Some(target),
            _ => None,
        }
    }

    /// Writes the content. A file is replaced completely or not at all.
    pub(crate) fn write(&self, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
        let written = match &self.place {
            Destination::Standard => through(io::stdout().lock(), content),
            Destination::Stream(_, file) => match file {
                Some(file) => through(file, content),
                None => open_stream(&self.path).and_then(|file| through(file, content)),
            },
            Destination::File(target) => replace(target, |out| content(out)),
        };
        quiet(written).map_err(|error| format!("{}: {}: {}", self.option, self.name(), Shown(error)))
    }

    /// Writes a text or the bytes of a file.
    pub(crate) fn write_all(&self, content: impl AsRef<[u8]>) -> Result<(), String> {
        self.write(|out| out.write_all(content.as_ref()))
    }
}

fn failed(option: &str, path: &Path, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => format!("there is no folder {}", Shown(folder_of(path).display())),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        // `error` itself may name a temporary file.
        _ => error
            .raw_os_error()
            .map_or_else(|| error.kind().to_string(), |code| io::Error::from_raw_os_error(code).to_string()),
    };
    format!("{option}: {}: {reason}", Shown(path.display()))
}

/// Returns the file that a path would create. Dangling links are followed and kept.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => {
                let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
                return Ok(fs::canonicalize(folder_of(&target))?.join(name));
            }
        }
    }
    Err(io::ErrorKind::InvalidFilename.into())
}

/// Opens a device, a pipe or a socket. Opening a pipe waits for its reader.
fn open_stream(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::{fd::OwnedFd, unix::fs::FileTypeExt, unix::net::UnixStream};
        if fs::metadata(path)?.file_type().is_socket() {
            return UnixStream::connect(path).map(|stream| File::from(OwnedFd::from(stream)));
        }
    }
    let file = OpenOptions::new().write(true).open(path)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?; // a file without a name
    }
    Ok(file)
}

fn through(out: impl Write, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    content(&mut out)?;
    out.flush()
}

/// Turns a broken pipe into success: its reader has closed it on purpose.
fn quiet(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Prints to standard output.
///
/// # Errors
/// If standard output cannot be written, unless the reader has closed the pipe.
pub(crate) fn to_stdout(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>,
) -> Result<(), String> {
    let mut out = BufWriter::new(io::stdout().lock());
    quiet(write(&mut out).and_then(|()| out.flush())).map_err(|error| format!("standard output: {error}"))
}

/// Prints a value as JSON to standard output, with its keys in alphabetical order.
///
/// # Errors
/// Those of [`to_stdout`].
pub(crate) fn print_json(what: &impl serde::Serialize) -> Result<(), Box<dyn Error>> {
    let text = serde_json::to_string_pretty(&serde_json::to_value(what)?)?;
    Ok(to_stdout(|out| writeln!(out, "{text}"))?)
}

/// Prints a line to standard output. The macro `say!` calls this.
pub(crate) fn line(text: Arguments<'_>) -> Result<(), String> {
    quiet(writeln!(io::stdout().lock(), "{text}")).map_err(|error| format!("standard output: {error}"))
}

/// Prints a line to standard error. Ignores failures, because there is no other place to report them.
pub(crate) fn complain(kind: StyledObject<&str>, text: impl Display) {
    let _ = writeln!(io::stderr(), "{} {text}", kind.for_stderr());
}
