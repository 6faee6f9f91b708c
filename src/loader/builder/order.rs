//! The samples of an epoch and their order: the setters, and which kinds of order go with the other settings.

use super::DataLoaderBuilder;
use crate::advice::{self, Reason};
use crate::error::{Error, Result};
use crate::loader::settings::ShardChoice;
use crate::sampler::{LastBatch, Order, Orders, Sampler};

impl DataLoaderBuilder {
    /// Gives each epoch its own random order; off by default. Data that are [remote](crate::dataset::Access::is_remote)
    /// need an [`order`](Self::order) beside it.
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.settings.shuffle = shuffle;
        self
    }

    /// The kind of the epochs' order; [`Order::Full`] by default. It does not shuffle by itself: without
    /// [`shuffle`](Self::shuffle), both kinds keep the order of the data set.
    ///
    /// ```
    /// use gpufeed::transforms::CenterCrop;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, Order, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..40 {
    ///     data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::Class(class))?;
    /// }
    /// // Process 1 of 2; 4 and 8 processes would have the same global batches.
    /// let loader = DataLoader::builder(data)
    ///     .transform(CenterCrop::new(4))
    ///     .batch_size(4)
    ///     .shuffle(true)
    ///     .order(Order::Blocks { samples: 5, window: 2 })
    ///     .lanes(8)
    ///     .shard(1, 2)
    ///     .build(&Backend::Cpu)?;
    /// assert!(loader.explain().contains("order: blocks of 5 samples, shuffled in windows of 2, 8 lanes"));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn order(mut self, order: Order) -> Self {
        self.settings.order = Some(order);
        self
    }

    /// The lanes of [`Order::Blocks`], which the number of processes has to divide; as many as there are processes by
    /// default. [`Sampler::lanes`](crate::Sampler::lanes) has the details.
    pub fn lanes(mut self, lanes: usize) -> Self {
        self.settings.lanes = Some(lanes);
        self
    }

    /// The list of samples, or of batches, of each epoch, in the place of [`shuffle`](Self::shuffle) and [`order`](Self::order);
    /// none by default. [`Orders`] has an example.
    ///
    /// With shuffling, `build` refuses lists of the user's; those of gpufeed are random in any case, and need
    /// [`order(Order::Full)`](Self::order) where the data are [remote](crate::dataset::Access::is_remote). Weights, lanes and
    /// [`Order::Blocks`] do not go with it. A sample that fails is replaced by another one of the epoch's list.
    pub fn sampler(mut self, orders: Orders) -> Self {
        self.orders = Some(orders);
        self
    }

    /// The seed of every random number; 0 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// This process's share of each epoch: `rank` of `world` processes. By default all of it, whatever launcher has
    /// started the process.
    pub fn shard(mut self, rank: usize, world: usize) -> Self {
        self.settings.shard = Some(ShardChoice::ByHand { rank, world });
        self
    }

    /// Takes this process's share from the variables of torchrun, Open MPI, MPICH or Slurm, as [`Shard::auto`](crate::Shard::auto) finds it
    /// when the loader is built. [`DataLoader::shard`](crate::DataLoader::shard) and
    /// [`DataLoader::explain`](crate::DataLoader::explain) say by which. Off by default.
    ///
    /// With [`shard`](Self::shard) as well, `build` is an error: rank and world have one source.
    ///
    /// ```
    /// use gpufeed::transforms::CenterCrop;
    /// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// for class in 0..10 {
    ///     data.push_pixels(8, 8, PixelFormat::Rgb8, vec![class as u8; 192], Label::Class(class))?;
    /// }
    /// // Under `torchrun`, `mpirun` or `srun`, each process gets its part of the ten samples.
    /// let loader = DataLoader::builder(data).transform(CenterCrop::new(8)).shard_auto().build(&Backend::Cpu)?;
    /// println!("{}", loader.shard()); // rank 0 of 1 by no launcher
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn shard_auto(self) -> Self {
        DataLoaderBuilder { shard_auto: true, ..self }
    }

    /// The treatment of an epoch's last, incomplete batch; by default it stays incomplete.
    pub fn last_batch(mut self, last_batch: LastBatch) -> Self {
        self.settings.last_batch = last_batch;
        self
    }

    /// Gives the sampler its lists, which say how long an epoch is.
    pub(super) fn listed(&self, sampler: Sampler) -> Result<Sampler> {
        match &self.orders {
            Some(orders) => sampler.orders(orders.clone()),
            None => Ok(sampler),
        }
    }

    /// Gives the sampler its order.
    pub(super) fn ordered(&self, mut sampler: Sampler) -> Result<Sampler> {
        let random = self.orders.as_ref().is_some_and(Orders::is_random);
        if self.orders.is_some() && self.settings.shuffle && !random {
            let reason = "on, but the lists of the sampler are the order; leave one of the two out";
            return Err(Error::argument("shuffle", reason));
        }
        if self.settings.order.is_none()
            && (self.settings.shuffle || random)
            && self.dataset.access().is_some_and(|access| access.is_remote())
        {
            let reason = "not set, but the data set is remote, and shuffling all of it would read each image by itself, from \
                          all over it";
            return Err(Error::argument("order", Reason::new(reason).advise(advice::REMOTE_ORDER)));
        }
        let order = self.settings.order.unwrap_or_default();
        if let Some(lanes) = self.settings.lanes {
            if order == Order::Full {
                let reason = Reason::new(format!("{lanes}, but only an order of blocks has lanes"));
                return Err(Error::argument("lanes", reason.advise(advice::SOME_BLOCKS)));
            }
            sampler = sampler.lanes(lanes)?;
        }
        sampler.order(order)
    }
}

#[cfg(test)]
mod tests {
    use crate::dataset::{Access, Dataset, InMemory, Label, PixelFormat, Sample};
    use crate::transforms::CenterCrop;
    use crate::{Backend, DataLoader, DataLoaderBuilder, Order, Orders, Result};

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

        fn inner(&self) -> Option<&dyn Dataset> {
            Some(&self.0)
        }

        fn access(&self) -> Option<&dyn Access> {
            Some(self)
        }
    }

    impl Access for Remote {
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
            assert!(error.starts_with("order: ") && error.contains("shuffling all of it"), "{error}");
            for order in [Order::Full, BLOCKS] {
                remote.clone().shuffle(true).order(order).build(&Backend::Cpu).unwrap();
            }
            remote.build(&Backend::Cpu).unwrap();
        }
        builder(data()).shuffle(true).build(&Backend::Cpu).unwrap();
        let random = || builder(Remote(data())).sampler(Orders::repeated_augmentation(10, 2, 2).unwrap());
        let error = random().build(&Backend::Cpu).unwrap_err().to_string();
        assert!(error.starts_with("order: ") && error.contains("shuffling all of it"), "{error}");
        random().order(Order::Full).build(&Backend::Cpu).unwrap();
        let own = Orders::samples(2, |_| Ok(vec![7, 1]));
        builder(Remote(data())).sampler(own).build(&Backend::Cpu).unwrap();
    }

    #[test]
    fn lanes_and_weights_go_only_with_their_order() {
        let refused = |builder: DataLoaderBuilder| builder.build(&Backend::Cpu).unwrap_err().to_string();
        assert!(refused(builder(data()).shuffle(true).lanes(2)).starts_with("lanes: 2, but only an order of blocks"));
        assert!(refused(builder(data()).order(Order::Full).lanes(2)).starts_with("lanes: 2, but only"));
        assert!(refused(builder(data()).order(BLOCKS).lanes(4).shard(0, 3)).starts_with("lanes: 4 in world 3"));
        assert!(refused(builder(data()).order(BLOCKS).lanes(0)).starts_with("lanes: 0"));
        let weighted = data().with_weights([1.0; 10]).unwrap();
        assert!(refused(builder(weighted).order(BLOCKS)).starts_with("order: blocks have each sample once"));
    }
}
