//! The order of a loader's epochs: which kinds go with its other settings.

use super::DataLoaderBuilder;
use crate::error::{Error, Result};
use crate::sampler::{Order, Sampler};

impl DataLoaderBuilder {
    /// Gives the sampler its order.
    pub(super) fn ordered(&self, mut sampler: Sampler) -> Result<Sampler> {
        if self.order.is_none() && self.shuffle && self.dataset.is_remote() {
            let reason = "not set, but the data set is remote and shuffle(true) would read each image by itself, from all \
                          over it; choose .order(Order::Blocks { samples: 256, window: 4 }), or .order(Order::Full) to \
                          have it so";
            return Err(Error::argument("order", reason));
        }
        let order = self.order.unwrap_or_default();
        if let Some(lanes) = self.lanes {
            if order == Order::Full {
                let reason = format!("{lanes}, but only .order(Order::Blocks {{ .. }}) has lanes");
                return Err(Error::argument("lanes", reason));
            }
            sampler = sampler.lanes(lanes)?;
        }
        sampler.order(order)
    }
}

#[cfg(test)]
mod tests {
    use crate::dataset::{Dataset, InMemory, Label, PixelFormat, Sample};
    use crate::transforms::CenterCrop;
    use crate::{Backend, DataLoader, DataLoaderBuilder, Order, Result};

    struct Remote(InMemory);

    impl Dataset for Remote {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
            self.0.read(index, buffer)
        }

        fn name(&self, index: usize) -> String {
            self.0.name(index)
        }

        fn is_remote(&self) -> bool {
            true
        }
    }

    fn data() -> InMemory {
        let mut data = InMemory::new();
        for class in 0..10 {
            data.push_pixels(2, 2, PixelFormat::Rgb8, vec![0; 12], Label::Class(class)).unwrap();
        }
        data
    }

    fn builder(data: impl Dataset + 'static) -> DataLoaderBuilder {
        DataLoader::builder(data).transform(CenterCrop::new(2))
    }

    const BLOCKS: Order = Order::Blocks { samples: 2, window: 2 };

    #[test]
    fn shuffling_remote_data_asks_for_an_order() {
        for remote in [builder(Remote(data())), builder(Remote(data()).repeat(2).unwrap())] {
            let error = remote.clone().shuffle(true).build(&Backend::Cpu).unwrap_err().to_string();
            assert!(error.starts_with("order: ") && error.contains("shuffle(true)"), "{error}");
            for order in [Order::Full, BLOCKS] {
                remote.clone().shuffle(true).order(order).build(&Backend::Cpu).unwrap();
            }
            remote.build(&Backend::Cpu).unwrap();
        }
        builder(data()).shuffle(true).build(&Backend::Cpu).unwrap();
    }

    #[test]
    fn lanes_and_weights_go_only_with_their_order() {
        let refused = |builder: DataLoaderBuilder| builder.build(&Backend::Cpu).unwrap_err().to_string();
        assert!(refused(builder(data()).shuffle(true).lanes(2)).starts_with("lanes: 2, but only .order(Order::Blocks"));
        assert!(refused(builder(data()).order(Order::Full).lanes(2)).starts_with("lanes: 2, but only"));
        assert!(refused(builder(data()).order(BLOCKS).lanes(4).shard(0, 3)).starts_with("lanes: 4 in world 3"));
        assert!(refused(builder(data()).order(BLOCKS).lanes(0)).starts_with("lanes: 0"));
        let weighted = data().with_weights([1.0; 10]).unwrap();
        assert!(refused(builder(weighted).order(BLOCKS)).starts_with("order: Order::Blocks has each sample once"));
    }
}
