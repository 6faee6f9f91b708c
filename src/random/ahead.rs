//! The random numbers of many images at once, made with `many_keys.rs` for each random operator of a list.

use super::key::Key;
use super::many_keys::{Block, KEYS, first_blocks};

/// The first random numbers of each random operator of a list, for a number of keys.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The paths of the operators, in the order of the list.
    paths: Vec<u64>,
    /// The crops of each view, which share its numbers.
    crops: u32,
    keys: usize,
    /// The first numbers, operator by operator; each operator has one group for every `KEYS` keys.
    blocks: Vec<[Block; KEYS]>,
}

impl Ahead {
    /// Makes a table for the operators at these paths, without keys.
    pub(crate) fn new(paths: Vec<u64>, crops: u32) -> Self {
        Ahead { paths, crops, keys: 0, blocks: Vec::new() }
    }

    /// Makes the numbers for `keys`, replacing earlier ones.
    pub(crate) fn draw(&mut self, keys: &[Key]) {
        self.keys = keys.len();
        self.blocks.clear();
        for &path in &self.paths {
            let groups = keys.chunks(KEYS).map(|group| {
                let key = |number: usize| group.get(number).map_or([0; 32], |key| key.of_view(self.crops).0.bytes());
                first_blocks(&std::array::from_fn(key), path)
            });
            self.blocks.extend(groups);
        }
    }

    /// The numbers for the key at index `image`.
    pub(crate) fn of(&self, image: usize) -> ImageAhead<'_> {
        ImageAhead { ahead: self, image }
    }
}

/// The random numbers of one image that were made ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageAhead<'a> {
    ahead: &'a Ahead,
    /// The index of the image's key.
    image: usize,
}

impl<'a> ImageAhead<'a> {
    /// Returns the first numbers of the operator at `path`.
    pub(crate) fn first(self, path: u64) -> Option<&'a Block> {
        let ImageAhead { ahead, image } = self;
        let operator = ahead.paths.iter().position(|&own| own == path)?;
        let of_operator = ahead.keys.div_ceil(KEYS) * operator;
        ahead.blocks.get(of_operator..)?.as_flattened().get(image).filter(|_| image < ahead.keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::*;
    use crate::{Output, Plan};

    #[test]
    fn what_is_drawn_ahead_is_what_is_drawn_alone() {
        let jitter = ColorJitter::new(0.4, 0.4, 0.4, 0.1);
        let list: [Transform; 6] = [
            Pad::new(4).into(),
            // Only one of three tries of the crop fits, so some images need more numbers than the table has.
            RandomResizedCrop::new(16).scale(0.6, 1.0).ratio(1.5, 2.1).into(),
            RandomApply::new(0.5, [Transform::from(jitter), RandomGrayscale::new(0.5).into()]).into(),
            RandomHorizontalFlip::new(0.5).into(),
            RandomErasing::new(0.5).into(),
            Normalize::IMAGENET.into(),
        ];
        let plan = Plan::compile(&list, &Output::default()).unwrap();
        let mut ahead = plan.ahead();
        assert_eq!(ahead.paths.len(), 6);
        let mut number = 0;
        for images in [37, 1, 16, 5] {
            let keys: Vec<Key> =
                (number..).take(images).map(|sample| Key { seed: 3, sample, ..Key::default() }).collect();
            number += images as u64;
            ahead.draw(&keys);
            for (image, key) in keys.iter().enumerate() {
                let alone = plan.make_params(40, 30, key).unwrap();
                assert_eq!(plan.make_params_ahead((40, 30), key, ahead.of(image)).unwrap(), alone);
            }
            assert!(ahead.of(images).first(ahead.paths[0]).is_none());
        }
        // Proves that the table is used: reversing each operator's numbers changes some image.
        let keys: Vec<Key> = (0..40).map(|sample| Key { sample, ..Key::default() }).collect();
        for operator in 0..ahead.paths.len() {
            ahead.draw(&keys);
            let groups = keys.len().div_ceil(KEYS);
            ahead.blocks[operator * groups..][..groups].as_flattened_mut().iter_mut().flatten().for_each(|n| *n = !*n);
            let changes = |(image, key): (usize, &Key)| {
                plan.make_params_ahead((40, 30), key, ahead.of(image)).unwrap()
                    != plan.make_params(40, 30, key).unwrap()
            };
            assert!(keys.iter().enumerate().any(changes), "operator {operator}");
        }
    }
}
