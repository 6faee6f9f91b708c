//! A sample as it comes from the data set or the cache.

use super::others::{self, Others};
use crate::dataset::{Dataset, FieldValue, Label, Sample, SampleData};
use crate::error::Result;
use crate::loader::cache::{CachedSample, HostEntry};
use crate::loader::columns::owned_values;
use crate::loader::pipeline::Pipeline;
use crate::transforms::{IMAGES, Key};

/// A sample before anything is computed.
#[derive(Debug)]
pub(super) struct ReadSample<'a> {
    pub(super) index: usize,
    pub(super) label: Label,
    /// The values of the data set's fields.
    pub(super) fields: Vec<FieldValue<'static>>,
    /// The image of the first source.
    pub(super) data: ReadData<'a>,
    /// Those of the other sources; empty for one source, so that nothing is allocated.
    pub(super) others: Vec<SampleData<'a>>,
    /// The other samples of a mosaic.
    pub(super) mosaic: Option<Box<Others<'a>>>,
}

#[derive(Debug)]
pub(super) enum ReadData<'a> {
    Dataset(SampleData<'a>),
    Cache(&'a HostEntry),
}

impl<'a> ReadSample<'a> {
    /// Reads the sample from the cache in host memory, or from the data set, which may read a file into `file`.
    /// The other samples of a mosaic, which are drawn by `key`, come into `other_files`.
    pub(super) fn read(
        pipeline: &'a Pipeline,
        index: usize,
        key: &Key,
        file: &'a mut Vec<u8>,
        other_files: &'a mut [Vec<u8>; IMAGES - 1],
    ) -> Result<ReadSample<'a>> {
        if let Some(entry) = pipeline.cache.in_host_memory(index) {
            pipeline.stats.cache_hits(1);
            let CachedSample { label, fields, .. } = entry.sample.clone();
            return Ok(ReadSample {
                index,
                label,
                fields,
                data: ReadData::Cache(entry),
                others: Vec::new(),
                mosaic: None,
            });
        }
        let sample = pipeline.dataset.read(index, file)?;
        let (data, others) = images(pipeline, &sample)?;
        if pipeline.mosaic.is_some() {
            others::check_label(&sample)?;
        }
        let fields = match pipeline.fields.is_empty() && sample.fields.is_empty() {
            true => Vec::new(),
            false => owned_values(&pipeline.fields, sample.fields)?,
        };
        let mosaic = match &pipeline.mosaic {
            Some(mosaic) => {
                let params = mosaic.make_params(&*pipeline.dataset, key);
                Some(Box::new(others::read(pipeline, params, other_files)?))
            }
            None => None,
        };
        Ok(ReadSample { index, label: sample.label, fields, data: ReadData::Dataset(data), others, mosaic })
    }

    /// Bytes that the data set returned.
    pub(super) fn bytes(&self) -> u64 {
        let of_mosaic = self.mosaic.iter().flat_map(|mosaic| &mosaic.samples).map(|other| &other.data);
        let others = self.others.iter().chain(of_mosaic).map(SampleData::len).sum::<usize>();
        match self.data {
            ReadData::Dataset(data) => (data.len() + others) as u64,
            ReadData::Cache(_) => 0,
        }
    }

    /// True if the data set holds the pixels in memory.
    pub(super) fn is_in_memory(&self, dataset: &dyn Dataset) -> bool {
        matches!(self.data, ReadData::Dataset(SampleData::Pixels(_))) && dataset.is_in_memory()
    }
}

/// The images of a sample, source by source: the first one, and the others.
fn images<'a>(pipeline: &'a Pipeline, sample: &Sample<'a>) -> Result<(SampleData<'a>, Vec<SampleData<'a>>)> {
    let mut images = pipeline.sources.iter().map(|source| source.image(&pipeline.fields, sample));
    let first = images.next().unwrap_or(Ok(sample.data))?;
    Ok((first, images.collect::<Result<_>>()?))
}
