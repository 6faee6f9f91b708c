#!/usr/bin/env python3
"""A decoding fleet against what it is made of: two Ray nodes on this machine, two actors. Needs the wheel, torch and Ray.

    python benches/fleet.py FOLDER [--rounds N] [--json FILE]

For uint8, float16 and float32, taking turns within one cluster: images/s that the actors make without sending them, that
Ray's object store moves when the same actors send one ready batch again and again, and that the fleet delivers; then the
fleet's share of the smaller of the two. The actors are on the node that the trainer is not on (``--placement spread``: one
on each), so that every batch goes from one node's store to the other's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import ray  # noqa: E402

import gpufeed.ray  # noqa: E402
from cluster import TwoNodes  # noqa: E402
from gpufeed.decoder import Decoder, Shard  # noqa: E402
from gpufeed.parcel import Parcel  # noqa: E402

BATCH, ACTORS = 64, 2


class Parts(Decoder):
    """An actor that also does the two halves of its work alone."""

    def make(self, shard: Shard, epoch: int, batches: int) -> float:
        """Makes batches and drops them: seconds."""
        parcels = self.batches(shard, epoch, 0, epoch + 10**6, self._wanted + 1)
        next(parcels)
        began = time.perf_counter()
        for _ in range(batches):
            next(parcels)
        took = time.perf_counter() - began
        parcels.close()  # type: ignore[attr-defined]
        return took

    def send(self, shard: Shard, batches: int) -> Iterator[Parcel]:
        """Sends copies of one batch."""
        parcels = self.batches(shard, 0, 0, 1, self._wanted + 1)
        first = next(parcels)
        parcels.close()  # type: ignore[attr-defined]
        for _ in range(batches):
            yield first


def seconds_cpu() -> float:
    """CPU seconds of this process and of all of Ray's so far; whatever else the machine does is left out."""
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            if command.startswith(b"ray::") or b"/raylet" in command or folder.name == str(os.getpid()):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        except OSError:  # it has ended
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


def drain(streams: list[Any], batches: int) -> float:
    """Images/s of streams taken in turn, after two batches each."""
    began, count = 0.0, 0
    for turn in range(batches + 2 * len(streams)):
        if turn == 2 * len(streams):
            began = time.perf_counter()
        for stream in streams:
            stream.pull()
        parcel = streams[turn % len(streams)].next()
        count += len(parcel.images) * (turn >= 2 * len(streams))
        del parcel
    return count / (time.perf_counter() - began)


def measure(nodes: TwoNodes, folder: str, dtype: str, rounds: int, batches: int, placement: str) -> dict[str, Any]:
    from gpufeed.crew import _Stream

    config = {
        "data": folder, "recipe": "imagenet-train", "batch_size": BATCH, "shuffle": True, "drop_last": True,
        "seek_indexes": "memory", "dtype": None if dtype == "uint8" else dtype,
    }
    place = {"resources": {"far": 0.1}} if placement == "far" else {}
    options = {"num_cpus": 0.5, "scheduling_strategy": "SPREAD"} | place
    found: dict[str, list[float]] = {"made": [], "moved": [], "fleet": [], "CPU-ms an image": []}
    with gpufeed.ray.DataLoader(config, actors=ACTORS, num_cpus=0.5, options=place, finish_on_device=dtype == "uint8") as fleet:
        parts = ray.remote(max_concurrency=4)(Parts)
        actors = [parts.options(**options).remote(fleet._config) for _ in range(ACTORS)]
        crew, shards = fleet._crew, fleet._loader().shards
        assert crew is not None
        epoch = 0
        for round in range(rounds + 1):
            took = ray.get([actor.make.remote(shard, epoch, batches // ACTORS) for actor, shard in zip(actors, shards)])
            made = batches * BATCH / max(took)
            generators = [
                actor.send.options(num_returns="streaming", _generator_backpressure_num_objects=crew.ahead).remote(
                    shard, batches // ACTORS + 2
                )
                for actor, shard in zip(actors, shards)
            ]
            moved = drain([_Stream(crew, 0, actor, 0, each) for actor, each in zip(actors, generators)], batches)
            fleet.set_epoch(epoch)
            # Without what the trainer does with a batch: for uint8, Normalize.
            run = fleet._start(epoch + 10**6, None)
            for _ in range(2 * ACTORS):
                next(run)
            cpu, began, images = seconds_cpu(), time.perf_counter(), 0
            for _ in range(batches):
                images += len(next(run))
            rate, cpu = images / (time.perf_counter() - began), 1000 * (seconds_cpu() - cpu) / images
            run.close()
            epoch += 1
            if round > 0:  # the first one makes the seek indexes and touches the stores' memory
                for name, value in zip(found, (made, moved, rate, cpu), strict=True):
                    found[name].append(value)
        for actor in actors:
            ray.kill(actor)
    shares = [rate / min(made, moved) for made, moved, rate in zip(found["made"], found["moved"], found["fleet"])]
    return {"dtype": dtype, **{name: statistics.median(values) for name, values in found.items()},
            "share": statistics.median(shares), "shares": shares}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--placement", choices=["far", "spread"], default="far")
    parser.add_argument("--dtypes", default="uint8,float16,float32")
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    nodes = TwoNodes(cpus=4, store=1 << 30)
    measured = []
    try:
        for dtype in given.dtypes.split(","):
            measured.append(measure(nodes, given.folder, dtype, given.rounds, given.batches, given.placement))
            row = measured[-1]
            print(
                f"{dtype}: made {row['made']:.0f} images/s, moved {row['moved']:.0f}, fleet {row['fleet']:.0f}, "
                f"{row['CPU-ms an image']:.2f} CPU-ms an image, share {row['share']:.2f} "
                f"({min(row['shares']):.2f} to {max(row['shares']):.2f})",
                flush=True,
            )
    finally:
        nodes.close()
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"gpufeed": gpufeed.__version__, "ray": ray.__version__, "measured": measured}, file, indent=1)


if __name__ == "__main__":
    main()
