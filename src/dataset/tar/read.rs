//! Reads a sample with its fields: as few reads as its members need, and a value of each.

use std::io;

use super::TarShards;
use super::fields::{Unusable, reads};
use super::header::{BLOCK, header_hash, refused};
use crate::advice::{self, Setting};
use crate::dataset::file_fields::FIRST_SAMPLES;
use crate::dataset::shards::IndexedSample;
use crate::dataset::{Dataset as _, FieldValue, NumberType, Sample, SampleData};
use crate::error::{Error, ErrorKind, Result};
use crate::quote::shown;
use crate::storage::local::regular_file;

impl TarShards {
    /// Refuses an image that is larger than the set allows.
    pub(super) fn check_image(&self, index: usize, found: &IndexedSample<'_>) -> Result<()> {
        let bytes = found.entry().length.into();
        if bytes > self.max_file_bytes {
            let (name, max_file_bytes) = (self.name(index), self.max_file_bytes);
            return Err(ErrorKind::FileTooLarge { name, bytes, max_file_bytes }.into());
        }
        Ok(())
    }

    /// Returns the error for a sample that is not where the index says.
    pub(super) fn gone(&self, index: usize, found: &IndexedSample<'_>, begin: u64) -> Error {
        let key = self.shown_key(index);
        let reason = format!("sample {key} has gone: the shard was changed; open the data set again");
        refused(found.file.name(), begin, reason)
    }

    fn shown_key(&self, index: usize) -> String {
        self.key(index).map(|(_, key)| shown(key.as_bytes())).unwrap_or_default()
    }

    /// Gives the defaults of fields whose members are arrays the type of the first array, as no setting says it.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a default that this type does not hold.
    pub(super) fn type_defaults(&mut self) -> Result<()> {
        for number in self.shards.format().fields.untyped_defaults() {
            let samples = 0..self.len().min(FIRST_SAMPLES);
            if let Some(first) = samples.into_iter().find_map(|index| self.type_in_sample(number, index)) {
                self.shards.format_mut().fields.type_default(number, first)?;
            }
        }
        Ok(())
    }

    /// Returns type and shape of the numbers that a sample of an open shard has as field `number`.
    fn type_in_sample(&self, number: usize, index: usize) -> Option<(NumberType, Vec<usize>)> {
        self.shards.place(index).filter(|(shard, _)| self.shards.is_open(*shard))?;
        let (found, fields) = (self.shards.find(index).ok()?, &self.shards.format().fields);
        let member = fields.of_sample(found.members()).ok()?.get(number).copied().flatten()?;
        let mut bytes = Vec::new();
        regular_file::lengthen(&mut bytes, usize::try_from(member.length).ok()?, 0).ok()?;
        bytes.truncate(usize::try_from(member.length).ok()?);
        found.file.read_exact(&mut bytes, member.offset).ok()?;
        match fields.value(number, member, &bytes).ok()? {
            FieldValue::Numbers(numbers) => Some((numbers.number_type(), numbers.shape().to_vec())),
            _ => None,
        }
    }

    /// Reads a sample of a set with fields.
    ///
    /// # Errors
    /// Those of [`Dataset::read`](crate::Dataset::read); a member that is too large, there twice, or no value of its
    /// field.
    pub(super) fn read_with_fields<'a>(
        &'a self,
        index: usize,
        found: &IndexedSample<'_>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Sample<'a>> {
        self.check_image(index, found)?;
        let (entry, path, fields) = (found.entry(), found.file.name(), &self.shards.format().fields);
        let of_sample = |offset: u64, reason: String| {
            let place = format_args!("at byte {}", offset - BLOCK);
            Error::data_file(path, place, format!("sample {}: {reason}", self.shown_key(index)))
        };
        let members = fields.of_sample(found.members()).map_err(|Unusable { member, reason, setting }| {
            let error = of_sample(member.offset, reason);
            setting.into_iter().fold(error, |error, setting: Setting| error.advise(advice::raise(setting)))
        })?;
        let reads = reads(entry, members.iter().copied().flatten());
        let length: u64 = reads.iter().map(|read| read.end - read.start).sum();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        regular_file::lengthen(buffer, length, 0).map_err(|source| Error::io(path, source))?;
        let mut rest = &mut buffer[..length];
        for read in &reads {
            let (bytes, behind) = rest.split_at_mut((read.end - read.start) as usize);
            match found.file.read_exact(bytes, read.start) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(self.gone(index, found, read.start));
                }
                done => done.map_err(|source| Error::io(path, source))?,
            }
            rest = behind;
        }
        let buffer: &'a [u8] = buffer;
        // Returns the content of a member, whose header has to be the indexed one.
        let content = |offset: u64, length: u64, check: u32| -> Result<&'a [u8]> {
            let (begin, mut before) = (offset - BLOCK, 0);
            for read in &reads {
                if read.contains(&begin) {
                    let bytes = &buffer[(before + begin - read.start) as usize..][..(BLOCK + length) as usize];
                    let (header, content) = bytes.split_at(BLOCK as usize);
                    return if header_hash(header) == check {
                        Ok(content)
                    } else {
                        Err(self.gone(index, found, begin))
                    };
                }
                before += read.end - read.start;
            }
            Err(self.gone(index, found, begin))
        };
        let image = content(entry.offset, entry.length.into(), entry.check)?;
        let mut values = Vec::with_capacity(members.len());
        for (number, member) in members.into_iter().enumerate() {
            values.push(match member {
                None => FieldValue::Absent,
                Some(member) => {
                    let bytes = content(member.offset, member.length, member.check)?;
                    fields.value(number, member, bytes).map_err(|reason| of_sample(member.offset, reason))?
                }
            });
        }
        Ok(Sample::new(SampleData::Encoded(image), found.label()).with_fields(values))
    }
}
