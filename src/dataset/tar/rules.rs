//! The settings that decide what a scan of a shard finds.

use xxhash_rust::xxh3::xxh3_64;

/// Which labels a scan takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum LabelRule {
    /// The first of `.cls`, `.json` and `.txt` that is a label. One that should be a label and is none is an error.
    #[default]
    Any,
    /// The same, but what is no label is passed over: fields are asked for, and the label is not.
    Lenient,
    /// Members of these kinds alone.
    Only(Vec<usize>),
}

impl LabelRule {
    pub(super) fn takes(&self, kind: usize) -> bool {
        match self {
            LabelRule::Only(kinds) => kinds.contains(&kind),
            LabelRule::Any | LabelRule::Lenient => true,
        }
    }
}

/// Which members are images and labels, and whether the others are listed.
#[derive(Clone, Debug, Default)]
pub(super) struct ScanRules {
    /// The endings of images.
    pub(super) extensions: Vec<String>,
    /// True if the first of these endings that a sample has is its image. Otherwise two images are an error.
    pub(super) first_image: bool,
    pub(super) labels: LabelRule,
    /// True if the index lists the members of samples, as the set has fields.
    pub(super) lists_members: bool,
}

impl ScanRules {
    /// Returns a hash. With fields it is that of a set without, as long as neither the image nor the label is chosen, so
    /// that both can use one index.
    pub(super) fn hash(&self) -> u64 {
        let mut text = self.extensions.join("/");
        if self.first_image {
            text.push_str("\0image");
        }
        if let LabelRule::Only(kinds) = &self.labels {
            text.push_str("\0label");
            kinds.iter().for_each(|kind| text.push_str(&format!("/{kind}")));
        }
        xxh3_64(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_chosen_image_or_label_needs_an_index_of_its_own() {
        let plain = ScanRules { extensions: vec!["jpg".into(), "png".into()], ..ScanRules::default() };
        let fields = ScanRules { labels: LabelRule::Lenient, lists_members: true, ..plain.clone() };
        assert_eq!(plain.hash(), fields.hash());
        let others = [
            ScanRules { first_image: true, ..fields.clone() },
            ScanRules { labels: LabelRule::Only(vec![0]), ..fields.clone() },
            ScanRules { labels: LabelRule::Only(vec![0, 1]), ..fields.clone() },
            ScanRules { extensions: vec!["jpg".into()], ..fields },
        ];
        let mut hashes: Vec<_> = others.iter().map(ScanRules::hash).chain([plain.hash()]).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 5);
    }
}
