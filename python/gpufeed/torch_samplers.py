"""torch's samplers as the orders of a gpufeed loader: torch's own become settings, and others are asked for their indices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch.utils.data import BatchSampler, RandomSampler, Sampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from gpufeed.errors import ArgumentError
from gpufeed.samplers import Native


class Indices:
    """The indices or the batches of a user's sampler, which gpufeed asks for once an epoch. Its epoch, and its share of the samples, are its
    own affair, as in torch."""

    # Numbers of epochs are drawn, and mean nothing to the user.
    epochs_are_drawn = True

    def __init__(self, of: Any) -> None:
        self._of = of
        self.batch_size = getattr(of, "batch_size", None)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)


@dataclass(frozen=True)
class Order:
    """The order of a loader. ``sampler`` and ``batch_sampler`` are what torch's loader would have under these names, and
    ``keywords`` the arguments of ``gpufeed.DataLoader`` that mean the same. ``distributed`` says each epoch's number."""

    sampler: Any
    batch_sampler: Any
    keywords: dict[str, Any]
    # None, as in torch, if the user has given a batch sampler.
    batch_size: int | None
    drop_last: bool
    notes: list[str] = field(default_factory=list)
    distributed: Any = None
    # The generator from which the order's random numbers come; None is torch's own.
    generator: Any = None

    @property
    def draws(self) -> bool:
        """True if torch draws a number for the order at the begin of each epoch."""
        return bool(self.keywords.get("shuffle")) and self.distributed is None and self.generator is None


def order_of(
    data: Any,
    batch_size: int | None,
    shuffle: bool | None,
    sampler: Sampler[Any] | Iterable[Any] | None,
    batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None,
    drop_last: bool,
    generator: Any,
) -> Order:
    """Returns the order that torch's arguments mean for a data set."""
    if isinstance(data, Native):
        return _of_blend(data, batch_size, sampler, batch_sampler, drop_last)
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ArgumentError("batch_sampler: it makes the batches; leave out batch_size, shuffle, sampler and drop_last")
        if type(batch_sampler) is not BatchSampler:
            # gpufeed asks for the batches themselves; a size is needed for none of them.
            note = f"batch_sampler={type(batch_sampler).__name__}: its batches, in its order"
            return Order(None, batch_sampler, {"batch_sampler": Indices(batch_sampler)}, None, False, [note])
        # torch's own divides an order into batches as the loader does.
        sampler, batch_size, drop_last = batch_sampler.sampler, batch_sampler.batch_size, batch_sampler.drop_last
    if batch_size is None:
        raise ArgumentError("batch_size: None gives samples without a batch; batch_size=1 works, and images[0] is the first")
    if sampler is not None and shuffle:
        raise ArgumentError("sampler: it makes the order, and shuffle=True another one; leave out one of the two")
    if sampler is None:
        sampler = RandomSampler(data, generator=generator) if shuffle else SequentialSampler(data)
        keywords, note = _keywords(data, sampler, batch_size, drop_last, made_here=True)
    else:
        keywords, note = _keywords(data, sampler, batch_size, drop_last)
    keywords |= {"batch_size": batch_size, "drop_last": drop_last}
    distributed = sampler if type(sampler) is DistributedSampler and "shard" in keywords else None
    own = getattr(sampler, "generator", None) if keywords.get("shuffle") else None
    if batch_sampler is not None:
        return Order(sampler, batch_sampler, keywords, None, False, [note], distributed, own)
    batches = BatchSampler(sampler, batch_size, drop_last)
    return Order(sampler, batches, keywords, batch_size, drop_last, [note], distributed, own)


def _of_blend(data: Any, batch_size: int | None, sampler: Any, batch_sampler: Any, drop_last: bool) -> Order:
    """Returns the order of a blend, which is its own."""
    for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None:
            raise ArgumentError(f"{name}: given beside a blend, which has an order of its own; leave it out")
    if batch_size is None:
        raise ArgumentError("batch_size: None gives samples without a batch; batch_size=1 works, and images[0] is the first")
    keywords = {"batch_size": batch_size, "drop_last": drop_last, "shard": "auto"}
    note = "a blend has a random order of its own, with or without shuffle; its epochs are counted from 0, and it is divided among ranks"
    return Order(data, BatchSampler(data, batch_size, drop_last), keywords, batch_size, drop_last, [note])


def _keywords(data: Any, sampler: Any, batch_size: int, drop_last: bool, made_here: bool = False) -> tuple[dict[str, Any], str]:
    """Returns the keywords for a sampler, which may have been ``made_here``, and a sentence about them."""
    samples, name = len(data), type(sampler).__name__
    if isinstance(sampler, Native):
        return {"sampler": sampler, "shard": "auto"}, f"sampler={name}: an order of gpufeed's own, divided among ranks"
    # A subclass may choose other indices.
    if type(sampler) is SequentialSampler and len(sampler) == samples:
        return {"shuffle": False}, "samples come in the data set's order"
    # With a generator of its own a sampler repeats an order, whatever else is drawn.
    is_free = made_here or getattr(sampler, "generator", None) is None
    if type(sampler) is RandomSampler and not sampler.replacement and len(sampler) == samples and is_free:
        return {"shuffle": True}, "samples come in a random order of gpufeed's own, another one each epoch: not that of torch's RandomSampler"
    if type(sampler) is DistributedSampler and _shares_alike(sampler, samples, batch_size, drop_last):
        rank, ranks = sampler.rank, sampler.num_replicas
        what = "a random order of gpufeed's own" if sampler.shuffle else "the data set's order"
        note = f"sampler=DistributedSampler: rank {rank} of {ranks} takes its share of {what}; set_epoch says the epoch"
        return {"shuffle": sampler.shuffle, "shard": (rank, ranks), "seed": sampler.seed}, note
    return {"sampler": Indices(sampler)}, f"sampler={name}: its indices, in its order"


def _shares_alike(sampler: Any, samples: int, batch_size: int, drop_last: bool) -> bool:
    """True if gpufeed gives each rank as many samples, in as many batches, as torch does."""
    if len(sampler.dataset) != samples:
        return False
    each = -(-samples // sampler.num_replicas)
    if not drop_last:
        # gpufeed fills shares up to one length, as the sampler does without a drop_last of its own.
        return bool(sampler.num_samples == each)
    return bool(sampler.num_samples // batch_size == samples // sampler.num_replicas // batch_size)
