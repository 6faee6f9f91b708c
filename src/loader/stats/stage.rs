//! The stages of the line that are timed.

use std::fmt;

/// A stage of the line.
///
/// ```
/// assert_eq!(gpufeed::Stage::Decode.to_string(), "decode");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Workers: the sample from its data set.
    Read,
    /// Workers: the header, and the random numbers.
    Draw,
    /// Workers: bytes to pixels.
    Decode,
    /// Workers: the plan on the CPU executor.
    Augment,
    /// Workers: pixels into a slot on their way to the GPU.
    Put,
    /// The thread that assembles batches: recording and submitting, or copying batches up.
    Upload,
    /// The caller: what it does between two batches.
    Consume,
}

pub(in crate::loader) const STAGES: usize = 7;

impl Stage {
    pub(super) const ALL: [Stage; STAGES] =
        [Stage::Read, Stage::Draw, Stage::Decode, Stage::Augment, Stage::Put, Stage::Upload, Stage::Consume];

    /// As errors, spans and tables name it.
    pub(in crate::loader) fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Draw => "draw",
            Stage::Decode => "decode",
            Stage::Augment => "augment",
            Stage::Put => "put",
            Stage::Upload => "upload",
            Stage::Consume => "consume",
        }
    }

    /// Entered while the stage works; nothing where nobody listens.
    pub(super) fn span(self) -> tracing::Span {
        match self {
            Stage::Read => tracing::trace_span!("read"),
            Stage::Draw => tracing::trace_span!("draw"),
            Stage::Decode => tracing::trace_span!("decode"),
            Stage::Augment => tracing::trace_span!("augment"),
            Stage::Put => tracing::trace_span!("put"),
            Stage::Upload => tracing::trace_span!("upload"),
            Stage::Consume => tracing::trace_span!("consume"),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
