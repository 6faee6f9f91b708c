"""Finds the share of this process in each epoch: its rank, and the number of ranks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from gpufeed import _gpufeed
from gpufeed.arguments import whole
from gpufeed.errors import ArgumentError

Shard = tuple[int, int]


def resolve(shard: Any, environment: Mapping[str, str] | None = None) -> tuple[Shard, str]:
    """Returns the rank and the world, and the name of the source that says so.

    ``"auto"`` asks ``torch.distributed`` if it is initialised, then the variables of torchrun, Open MPI, MPICH and Slurm, as
    the library does by itself.
    """
    if isinstance(shard, (tuple, list)) and len(shard) == 2:
        rank, world = whole("shard", shard[0]), whole("shard", shard[1], 1)
        return _checked(rank, world, "shard=")
    if shard is None:
        return (0, 1), "shard=None"
    if shard != "auto":
        raise ArgumentError(f'shard: {shard!r}; "auto", None and (rank, world) work')
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return _checked(distributed.get_rank(), distributed.get_world_size(), "torch.distributed")
    rank, world, source = _gpufeed.launched((os.environ if environment is None else environment).get)
    return (rank, world), source


def _checked(rank: int, world: int, source: str) -> tuple[Shard, str]:
    if not 0 <= rank < world:
        raise ArgumentError(f"shard: rank {rank} of {world} by {source}; ranks run from 0 to {world - 1}")
    return (rank, world), source
