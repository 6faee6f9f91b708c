//! The stages that the statistics time.

use std::fmt;

/// A stage of the pipeline that [`Stats`](crate::Stats) times.
///
/// ```
/// assert_eq!(gpufeed::Stage::Decode.to_string(), "decode");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Workers: the sample from its data set.
    Read,
    /// Workers: the header, and the parameters of the transforms.
    Params,
    /// Workers: bytes to pixels.
    Decode,
    /// Workers: the plan on the CPU executor.
    Augment,
    /// Workers: copying pixels into a staging slot for the GPU.
    Copy,
    /// The thread that assembles batches: recording and submitting GPU work, or copying finished batches to the GPU.
    Submit,
    /// The caller: its own work between two batches.
    Consume,
}

pub(in crate::loader) const STAGES: usize = 7;

impl Stage {
    pub(super) const ALL: [Stage; STAGES] =
        [Stage::Read, Stage::Params, Stage::Decode, Stage::Augment, Stage::Copy, Stage::Submit, Stage::Consume];

    /// The stage's name in errors, spans and tables.
    pub(in crate::loader) fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Params => "params",
            Stage::Decode => "decode",
            Stage::Augment => "augment",
            Stage::Copy => "copy",
            Stage::Submit => "submit",
            Stage::Consume => "consume",
        }
    }

    /// A span for the duration of the stage; free if no subscriber listens.
    pub(super) fn span(self) -> tracing::Span {
        match self {
            Stage::Read => tracing::trace_span!("read"),
            Stage::Params => tracing::trace_span!("params"),
            Stage::Decode => tracing::trace_span!("decode"),
            Stage::Augment => tracing::trace_span!("augment"),
            Stage::Copy => tracing::trace_span!("copy"),
            Stage::Submit => tracing::trace_span!("submit"),
            Stage::Consume => tracing::trace_span!("consume"),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
