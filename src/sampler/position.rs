//! One position of an epoch.

/// One position of the epoch's order: the sample there, and how often the epoch has had it before.
///
/// `(index, occurrence)` is unique in an epoch, over all shards.
///
/// ```
/// use gpufeed::{LastBatch, Sampler, Position};
///
/// // Two samples fill a batch of five.
/// let epoch = Sampler::new(2, 5)?.last_batch(LastBatch::Pad)?.epoch(0);
/// let positions: Vec<Position> = epoch.batch(0).collect();
/// assert_eq!(positions[1], Position { index: 1, occurrence: 0, global: 1, padding: false });
/// assert_eq!(positions[4], Position { index: 0, occurrence: 2, global: 4, padding: true });
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The sample's index in the data set.
    pub index: usize,
    /// Occurrences of this sample earlier in the epoch: 0, or more for padding, and for samples chosen by
    /// [weight](super::Sampler::weights) or by a [list](super::Sampler::orders).
    pub occurrence: u32,
    /// Index of the position in the epoch's order before sharding, the same for any number of shards. Padding comes
    /// after all samples, from position `len` on, the number of positions of an epoch.
    pub global: u64,
    /// True for a repeated sample that only fills up a batch or a shard.
    pub padding: bool,
}
