"""What the processes of one launch have written, and what must hold of it.

Every process is `examples/ranks` behind a shell that writes its output into a file with the number of the process: so two
processes that both take themselves for rank 0 are seen, and the outputs do not mix.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

BATCH_SIZE, EPOCHS = 8, 2
Place = tuple[int, int, int]


@dataclass
class Process:
    """A process and its output."""

    number: int
    rank: int
    world: int
    explain: str
    batches: list[dict] = field(default_factory=list)

    @property
    def workers(self) -> int:
        found = re.search(r"(\d+) workers", self.explain)
        assert found, self.explain
        return int(found[1])


class Launch:
    """A folder for the outputs of the processes that one command starts, and the script that the command starts."""

    def __init__(self, folder: Path, program: Path, data: Path, *arguments: object) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.script = folder / "rank.sh"
        words = shlex.join([str(program), str(data), *map(str, arguments)])
        # The process that `exec` makes keeps the shell's number.
        self.script.write_text(f"#!/bin/sh\nexec {words} >{shlex.quote(str(folder))}/$$.jsonl\n")
        self.script.chmod(0o755)

    def processes(self) -> list[Process]:
        """All processes so far; a line that is not complete is left out."""
        found = []
        for file in sorted(self.folder.glob("*.jsonl")):
            lines = [json.loads(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
            if lines:
                head, *batches = lines
                found.append(Process(int(file.stem), head["rank"], head["world"], head["explain"], batches))
        return found


def batches(processes: list[Process]) -> dict[Place, tuple[list[int], str]]:
    """Ids and hashed parameters by rank, epoch and batch. A batch that was made twice was the same both times."""
    found: dict[Place, tuple[list[int], str]] = {}
    for process in processes:
        for batch in process.batches:
            place = (process.rank, batch["epoch"], batch["batch"])
            made = (batch["ids"], batch["params"])
            assert found.setdefault(place, made) == made, f"{place}: {made}, but {found[place]} before"
    return found


def check(processes: list[Process], world: int, length: int, source: str, restarted: bool = False) -> dict:
    """Each rank once, all by `source`; in each epoch every sample once, and equally many batches on every rank."""
    ranks = sorted(process.rank for process in processes)
    assert (set(ranks) if restarted else ranks) == (set(range(world)) if restarted else [*range(world)]), ranks
    for process in processes:
        line = f"shard: rank {process.rank} of {world} by {source}"
        assert process.world == world and line in process.explain.splitlines(), f"{line}: {process.explain}"
    found = batches(processes)
    of_a_rank = -(-(-(-length // world)) // BATCH_SIZE)
    for epoch in range(EPOCHS):
        for rank in range(world):
            made = sorted(batch for each, at, batch in found if (each, at) == (rank, epoch))
            assert made == [*range(of_a_rank)], f"rank {rank} of {world}, epoch {epoch}: batches {made}"
        ids = sorted(number for place, (ids, _) in found.items() if place[1] == epoch for number in ids)
        assert ids == [*range(length)], f"epoch {epoch}: {len(ids)} ids, {len(set(ids))} different, of {length}"
    return found


def check_workers(processes: list[Process]) -> int:
    """All ranks of a machine start together as many workers as it has cores, each at least one."""
    cores = len(os.sched_getaffinity(0))
    workers = sum(process.workers for process in processes)
    assert len(processes) <= workers <= max(cores, len(processes)), [process.explain for process in processes]
    # Ranks that are bound to fewer cores than there are have fewer.
    if cores == 2:
        assert workers == max(2, len(processes)), workers
    return workers
