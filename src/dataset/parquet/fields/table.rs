//! Where the fields of a file are: its row groups, and the pages of their columns.

use super::super::column::{Chunk, ColumnReader, place};
use super::super::columns::Features;
use super::super::footer::Footer;
use super::super::page_header::unread_encoding;
use super::images;
use super::kept::KeptColumn;
use super::objects;
use super::schema::{self, Node, Shape};
use super::source::{Featured, Form, Source};
use super::{ReadLimits, row_values};
use crate::dataset::FieldKind;
use crate::error::{Error, Result};
use crate::storage::file::{DataFile, Stamp};

/// The most bytes of a column's pages that are read at once: of a file on this machine, and of one in a store, where each
/// read may wait for an answer.
const AT_ONCE: u64 = 1 << 20;
const AT_ONCE_REMOTE: u64 = 256 << 20;

/// The places of a file's fields.
#[derive(Debug)]
pub(super) struct FieldTable {
    pub(super) sources: Vec<Source>,
    /// The first row of each row group, and at the end the number of rows.
    starts: Vec<u64>,
    /// The pages of each column of values of each source, row group by row group.
    chunks: Vec<Chunk>,
    stamp: Stamp,
}

/// The columns of a file, and what its features say of them.
pub(super) struct FileColumns {
    pub(super) footer: Footer,
    pub(super) columns: Vec<(String, Node)>,
    features: Features,
    stamp: Stamp,
}

impl FileColumns {
    /// Reads the footer of a file.
    ///
    /// # Errors
    /// Those of [`Footer::read`].
    pub(super) fn read(file: &DataFile) -> Result<FileColumns> {
        let stamp = file.stamp().map_err(|source| Error::io(file.name(), source))?;
        let footer = Footer::read(file, stamp.length)?;
        let columns = schema::columns(footer.schema());
        // Where the key is broken, a notice of the scan says so.
        let features = Features::read(footer.huggingface()).unwrap_or_default();
        Ok(FileColumns { footer, columns, features, stamp })
    }

    /// Finds what a path names.
    ///
    /// # Errors
    /// The reason if nothing there can be read.
    pub(super) fn find(&self, path: &str, kind: Option<FieldKind>) -> Result<Source, String> {
        Source::find(&self.columns, path, kind, |column| {
            if self.features.has_image(column) {
                Featured::Image
            } else if ["Audio", "Video"].iter().any(|kind| self.features.is(column, kind)) {
                Featured::Other
            } else {
                Featured::Nothing
            }
        })
    }

    /// Returns the names of the classes of objects, where the column's features have them; `None` if the source is no column
    /// at the top that is read as objects, and where the classes of objects have no names.
    ///
    /// # Errors
    /// The reason if the names are no list of names.
    pub(super) fn classes_of(&self, source: &Source) -> Result<Option<Vec<String>>, String> {
        let is_column = self.columns.iter().any(|(name, _)| *name == source.path);
        match objects::labels_of(&source.node).filter(|_| is_column && source.form == Form::Objects) {
            Some(part) => self.features.classes_of_part(&source.path, part),
            None => Ok(None),
        }
    }

    /// Returns the columns, of those with these names, that no source reads; of structs their parts, and of lists from which
    /// elements are picked the others.
    pub(super) fn unread(&self, names: &[String], sources: &[Source]) -> Vec<String> {
        let mut unread = Vec::new();
        for (name, node) in self.columns.iter().filter(|(name, _)| names.contains(name)) {
            add_unread(name.clone(), node, sources, &mut unread);
        }
        unread
    }
}

/// Adds what no source reads of a node.
fn add_unread(name: String, node: &Node, sources: &[Source], unread: &mut Vec<String>) {
    let of =
        |number: usize| sources.iter().filter(move |source| source.leaves.iter().any(|leaf| leaf.number == number));
    let is_read = |number: usize| of(number).next().is_some();
    match &node.shape {
        _ if node.image().is_some_and(|bytes| is_read(bytes.number)) => {}
        _ if !node.leaves().iter().any(|leaf| is_read(leaf.number)) => unread.push(name),
        Shape::Struct(parts) => {
            parts.iter().for_each(|(part, node)| add_unread(format!("{name}.{part}"), node, sources, unread));
        }
        Shape::List(list) => {
            let mut readers: Vec<&Source> = node.leaves().iter().flat_map(|leaf| of(leaf.number)).collect();
            readers.sort_by(|one, other| one.path.cmp(&other.path));
            readers.dedup_by(|one, other| one.path == other.path);
            if readers.iter().all(|source| !source.picks.is_empty()) {
                let picked: Vec<_> = readers.iter().map(|source| &*source.path).collect();
                unread.push(format!("{name} (all but {})", picked.join(", ")));
            } else {
                // Objects may leave out parts of a list's structs.
                add_unread(name, &list.element, sources, unread);
            }
        }
        _ => {}
    }
}

impl FieldTable {
    /// Finds the fields of a file: the paths, and the forms that they have in the set.
    ///
    /// # Errors
    /// The reason, with the file's name, if a field is not there, or has another form or pages that cannot be read.
    pub(super) fn of(file: &DataFile, of: &FileColumns, fields: &[(String, Form)]) -> Result<FieldTable> {
        let refused = |reason: String| Error::data_file(file.name(), "its columns", reason);
        let mut sources = Vec::new();
        for (path, form) in fields {
            let source = of.find(path, Some(form.kind())).map_err(refused)?;
            if source.form != *form {
                let (is, was) = (source.form.what(), form.what());
                let path = crate::quote::shortened(path);
                return Err(refused(format!("{path} has {is}, but in the first file of the set {was}")));
            }
            sources.push(source);
        }
        let (mut starts, mut chunks, mut rows) = (Vec::new(), Vec::new(), 0);
        for group in 0..of.footer.groups() {
            starts.push(rows);
            rows += of.footer.rows(group);
            for leaf in sources.iter().flat_map(|source| &source.leaves) {
                if of.footer.rows(group) > 0 {
                    if let Some(name) = of.footer.unread_encoding(group, leaf.number) {
                        let place = place(group, &of.footer.name(leaf.number));
                        return Err(Error::data_file(file.name(), place, unread_encoding(&name)));
                    }
                    chunks.push(Chunk::of(file, &of.footer, (group, leaf.number))?);
                } else {
                    chunks.push(Chunk::EMPTY);
                }
            }
        }
        starts.push(rows);
        Ok(FieldTable { sources, starts, chunks, stamp: of.stamp })
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    /// Returns the row group of a row, and the row's number there.
    pub(super) fn group(&self, row: u64) -> Option<(usize, usize)> {
        // Empty row groups begin where the next one does, so this takes the last that begins at or before the row.
        let group = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        (group + 1 < self.starts.len()).then(|| (group, (row - self.starts[group]) as usize))
    }

    /// Returns the pages of a row group, but those of images.
    pub(super) fn pages(&self, group: usize) -> impl Iterator<Item = std::ops::Range<u64>> + '_ {
        let sources = self.sources.iter().flat_map(|source| source.leaves.iter().map(move |_| source.form));
        let chunks = self.chunks_of(group).iter().zip(sources).filter(|(_, form)| *form != Form::Image);
        chunks.map(|(chunk, _)| chunk.begin..chunk.end).filter(|range| range.end - range.start <= AT_ONCE_REMOTE)
    }

    fn chunks_of(&self, group: usize) -> &[Chunk] {
        let each: usize = self.sources.iter().map(|source| source.leaves.len()).sum();
        self.chunks.get(group * each..).and_then(|from| from.get(..each)).unwrap_or_default()
    }

    /// Reads the fields of a row group.
    ///
    /// # Errors
    /// A file that has changed; pages that are damaged or have an encoding that is not read.
    pub(super) fn read_group(&self, file: &DataFile, group: usize, limits: &ReadLimits) -> Result<Vec<KeptColumn>> {
        if file.stamp().map_err(|source| Error::io(file.name(), source))? != self.stamp {
            let reason = "the file was changed; open the data set again";
            return Err(Error::data_file(file.name(), format!("row group {group}"), reason));
        }
        let rows = self.starts.get(group..).and_then(|from| Some(from.get(1)? - from.first()?)).unwrap_or_default();
        let at_once = if file.object().is_some() { AT_ONCE_REMOTE } else { AT_ONCE };
        let for_a_scan = file.for_a_scan();
        let (mut chunks, mut kept) = (self.chunks_of(group).iter(), Vec::new());
        for source in &self.sources {
            let mut columns = Vec::new();
            for (leaf, chunk) in source.leaves.iter().zip(&mut chunks) {
                let levels = (leaf.definition, leaf.repetition);
                let is_image = source.form == Form::Image;
                let from = if is_image { for_a_scan.as_ref().unwrap_or(file) } else { file };
                let place = place(group, &source.path);
                let column = ColumnReader::of_chunk(from, place, *chunk, levels, limits.max_page_bytes);
                let whole = !is_image && column.bytes() <= at_once;
                columns.push(if whole { column.read_whole()? } else { column });
            }
            kept.push(match (source.form, &mut columns[..]) {
                (Form::Image, [bytes]) => {
                    images::find(source, for_a_scan.as_ref().unwrap_or(file), self.stamp.length, bytes, rows)?
                }
                (_, columns) => row_values::read(source, columns, rows, limits.max_field_bytes)?,
            });
        }
        Ok(kept)
    }
}
