//! What a sampler does with orders.

use super::orders::{Bounds, EpochList, Given, Listed, OpenLists, Orders};
use super::state::{Global, OrderKind};
use super::{EpochOrder, LastBatch, Order, Sampler};
use crate::error::{Error, Result};
use crate::random::Numbers;
use std::ops::Range;
use std::sync::Arc;

impl Sampler {
    /// Takes the list of each epoch in the place of the built-in orders, so that shuffling changes nothing. Default: none.
    ///
    /// A list of samples is divided as the built-in orders are, by position. Lists of batches are divided batch by batch.
    ///
    /// ```
    /// use gpufeed::{Orders, Sampler};
    ///
    /// let orders = Orders::samples(6, |_| Ok(vec![9, 8, 7, 6, 5, 4]));
    /// let sampler = Sampler::new(10, 2)?.orders(orders)?.shard(1, 2)?;
    /// assert!(sampler.epoch(0).batch(0).map(|position| position.index).eq([8, 6]));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if an epoch has nothing, if the order is one of another number of
    /// samples, with [weights](Self::weights) or [`Order::Blocks`], for lists of batches with [`LastBatch::Pad`], if there are
    /// more than 2^32 - 1 positions, or if [`LastBatch::Drop`] leaves a shard without a batch.
    pub fn orders(self, orders: Orders) -> Result<Self> {
        orders.check(self.len)?;
        Sampler { listed: Some(Arc::new(Listed::new(orders))), ..self }.checked()
    }

    /// As [`epoch`](Self::epoch), for orders that may fail: [`Orders::samples`] and [`Orders::batches`], and blends whose
    /// weights are a function.
    ///
    /// ```
    /// use gpufeed::{Orders, Sampler};
    ///
    /// let sampler = Sampler::new(10, 2)?.orders(Orders::samples(3, |_| Ok(vec![4, 10, 2])))?;
    /// let error = sampler.try_epoch(0).unwrap_err().to_string();
    /// assert_eq!(error, "sampler: index 10 at position 1 of epoch 0, but the data set has 10 samples, 0 to 9");
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The function's own, and [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a list of another length than the order has said, an index out of
    /// range, or a batch that is empty or too large.
    pub fn try_epoch(&self, epoch: u64) -> Result<EpochOrder> {
        EpochOrder::new(self.clone(), epoch)
    }

    /// Indices of an epoch of all shards; batches, where the order has lists of these.
    pub(super) fn length(&self) -> usize {
        self.listed.as_ref().map_or(self.len, |listed| listed.orders.len())
    }

    /// How many of [`length`](Self::length) a batch takes.
    pub(super) fn step(&self) -> usize {
        if self.is_of_batches() { 1 } else { self.batch_size }
    }

    /// Checks what goes with orders.
    pub(super) fn check_orders(&self) -> Result<()> {
        let Some(listed) = &self.listed else { return Ok(()) };
        if self.weights.is_some() {
            let reason =
                "the data set has weights, which choose the samples of an epoch; leave the weights or the sampler out";
            return Err(Error::argument(listed.orders.setting(), reason));
        }
        if self.order != Order::Full {
            let reason = format!("{}, but the list of an epoch is its order; leave one of the two out", self.order);
            return Err(Error::argument("order", reason));
        }
        if listed.orders.of_batches() && self.last_batch == LastBatch::Pad {
            let reason = "filling batches up, but they are those of the batch sampler; leave one of the two out";
            return Err(Error::argument("last_batch", reason));
        }
        Ok(())
    }

    /// True if the order has lists of batches.
    pub(super) fn is_of_batches(&self) -> bool {
        self.listed.as_ref().is_some_and(|listed| listed.orders.of_batches())
    }

    fn bounds(&self) -> Bounds {
        Bounds { len: self.length(), samples: self.len, batch_size: self.batch_size }
    }

    /// The list of an epoch; `None` without orders.
    pub(super) fn list(&self, epoch: u64) -> Result<Option<Arc<EpochList>>> {
        let Some(listed) = &self.listed else { return Ok(None) };
        match listed.list(self.bounds(), self.seed, epoch)? {
            Some(list) => Ok(Some(list)),
            None => Err(listed.missing(epoch)),
        }
    }

    /// The order of an epoch that is announced: `None` if its list has to be given first.
    pub(crate) fn epoch_if_known(&self, epoch: u64) -> Result<Option<EpochOrder>> {
        let Some(listed) = &self.listed else { return self.try_epoch(epoch).map(Some) };
        let list = listed.list(self.bounds(), self.seed, epoch)?;
        Ok(list.map(|list| EpochOrder::with(self.clone(), epoch, Some(list))))
    }

    /// The order of an epoch, waited for where its list has to be given; `None` if `stops` says so first.
    pub(crate) fn epoch_when_known(&self, epoch: u64, stops: impl Fn() -> bool) -> Result<Option<EpochOrder>> {
        let Some(listed) = &self.listed else { return self.try_epoch(epoch).map(Some) };
        let list = listed.wait(self.bounds(), self.seed, epoch, stops)?;
        Ok(list.map(|list| EpochOrder::with(self.clone(), epoch, Some(list))))
    }

    /// The order of an epoch whose list has been given, for a run that begins with it: a list that comes in its place
    /// later is another run's. `None` for other orders; an error if the list was not given.
    pub(crate) fn given_epoch(&self, epoch: u64) -> Result<Option<EpochOrder>> {
        match &self.listed {
            Some(listed) if listed.is_given() => self.try_epoch(epoch).map(Some),
            _ => Ok(None),
        }
    }

    /// The error of an epoch to which a run has come, if its list has to be given and was not; `None` otherwise.
    pub(crate) fn missing(&self, epoch: u64) -> Option<Error> {
        let listed = self.listed.as_ref().filter(|listed| listed.is_given())?;
        listed.is_missing(self.seed, epoch).then(|| listed.missing(epoch))
    }

    /// Keeps the lists of a run's epochs for as long as it is open; `None` if they are not given.
    pub(crate) fn open(&self, epochs: Range<u64>) -> Option<OpenLists> {
        self.listed.as_ref().filter(|listed| listed.is_given()).map(|listed| listed.open(epochs))
    }

    /// Checks the list of an epoch that is made rather than given, before a run begins.
    pub(crate) fn check_epoch(&self, epoch: u64) -> Result<()> {
        match &self.listed {
            Some(listed) if !listed.is_given() => self.list(epoch).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Gives the indices of an epoch, for orders that are given epoch by epoch.
    pub(crate) fn give_samples(&self, epoch: u64, indices: Vec<usize>) -> Result<()> {
        self.give(epoch, Given::Samples(indices))
    }

    /// Gives the batches of an epoch, for orders that are given epoch by epoch.
    pub(crate) fn give_batches(&self, epoch: u64, batches: Vec<Vec<usize>>) -> Result<()> {
        self.give(epoch, Given::Batches(batches))
    }

    fn give(&self, epoch: u64, given: Given) -> Result<()> {
        match &self.listed {
            Some(listed) if listed.is_given() => listed.give(given, self.bounds(), self.seed, epoch),
            _ => Err(Error::argument("sampler", "this loader's order is not given epoch by epoch")),
        }
    }

    /// True if the list of the epoch is there.
    pub(crate) fn knows(&self, epoch: u64) -> bool {
        self.epoch_if_known(epoch).is_ok_and(|order| order.is_some())
    }

    /// The digest of an epoch's list, for a state.
    pub(super) fn digest(&self, epoch: u64) -> Option<u64> {
        let listed = self.listed.as_ref().filter(|listed| listed.orders.is_whole())?;
        let known = listed.digest(self.seed, epoch);
        known.or_else(|| listed.list(self.bounds(), self.seed, epoch).ok()?.map(|list| list.digest()))
    }

    /// A random sample of the epoch's list; the failed one again if the list is not there any more.
    pub(super) fn draw_listed(&self, epoch: u64, failed: usize, numbers: &mut Numbers) -> usize {
        let list = self.list(epoch).ok().flatten();
        list.map_or(failed, |list| list.indices()[numbers.below(list.indices().len() as u64) as usize] as usize)
    }

    /// Refuses the state of another list of the epoch.
    pub(super) fn check_listed(&self, epoch: u64, saved: &Global) -> Result<()> {
        let Some(listed) = &self.listed else { return Ok(()) };
        let refused = |reason: String| Err(Error::argument(listed.orders.setting(), reason));
        let (digest, batches) = match saved.order {
            OrderKind::Listed(digest) => (digest, false),
            OrderKind::Batches(digest) => (digest, true),
            // Another kind of order has an error of its own.
            _ => return Ok(()),
        };
        let what = if batches { "batches" } else { "positions" };
        let now = self.length() as u64;
        if batches == self.is_of_batches() && saved.samples != now {
            return refused(format!(
                "the state was saved in an epoch of {} {what}, but an epoch of this order has {now}",
                saved.samples
            ));
        }
        if batches != self.is_of_batches() || !listed.orders.is_whole() {
            return Ok(());
        }
        let Some(digest) = digest else { return Ok(()) };
        let own = self.list(epoch)?.map(|list| list.digest());
        if own != Some(digest) {
            return refused(format!(
                "the state was saved in another order of epoch {epoch} than this loader's; it goes on with the same indices \
                 alone, so the sampler has to give them again"
            ));
        }
        Ok(())
    }
}
