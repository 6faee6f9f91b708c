"""The share of this process in each epoch: which rank of how many."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from gpufeed.arguments import whole
from gpufeed.errors import ArgumentError

Shard = tuple[int, int]


def resolve(shard: Any, environment: Mapping[str, str] | None = None) -> tuple[Shard, str]:
    """The rank and the world, and in a few words who says so.

    ``"auto"`` asks ``torch.distributed`` if it is initialised, then the variables ``RANK`` and ``WORLD_SIZE``.
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
    environment = os.environ if environment is None else environment
    ranks, worlds = environment.get("RANK"), environment.get("WORLD_SIZE")
    if ranks is None and worlds is None:
        return (0, 1), "no launcher"
    if ranks is None or worlds is None:
        there, missing = ("WORLD_SIZE", "RANK") if ranks is None else ("RANK", "WORLD_SIZE")
        raise ArgumentError(
            f"shard: the variable {there} is set, but {missing} is not, and torch.distributed is not initialised; pass "
            "shard=(rank, world), or shard=None for all samples"
        )
    try:
        return _checked(int(ranks), int(worlds), "RANK and WORLD_SIZE")
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"shard: RANK={ranks!r} and WORLD_SIZE={worlds!r} are no whole numbers; pass shard=(rank, world)"
        ) from None


def _checked(rank: int, world: int, source: str) -> tuple[Shard, str]:
    if not 0 <= rank < world:
        raise ArgumentError(f"shard: rank {rank} of {world} by {source}; ranks run from 0 to {world - 1}")
    return (rank, world), source
