"""A data set packed by examples/cluster/pack_ray.py on two nodes, with parts killed at random: what one run of the command packs."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from offline import samples
from tools import ROOT, Tools, kill, say, wait

PARTS = 7
# Encoding anew takes long enough that a part is caught in the middle.
SETTINGS = ("--quality", "90", "--shard-bytes", "256K")
EACH_CLASS = 300
KILLS = 6

# Runs a program with a cluster of two nodes.
CLUSTER = """
import os, subprocess, sys
from ray.cluster_utils import Cluster

node = {"num_cpus": 1, "object_store_memory": 100 << 20}
cluster = Cluster(initialize_head=True, head_node_args=node | {"include_dashboard": False})
cluster.add_node(**node)
done = subprocess.run([sys.executable, *sys.argv[1:]], env=os.environ | {"RAY_ADDRESS": cluster.address})
cluster.shutdown()
sys.exit(done.returncode)
"""


def at_work(out: Path) -> list[int]:
    """The processes that pack a part into this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue  # It has ended.
        if words[1:2] == ["pack"] and str(out) in words and "--part" in words:
            found.append(int(entry.name))
    return found


def kill_some(out: Path, numbers: random.Random, ended: Callable[[], bool]) -> int:
    """Kills processes at random moments until the work has ended, `KILLS` at the most; returns how many."""
    killed = 0
    while not ended() and killed < KILLS:
        for process in at_work(out):
            if killed < KILLS and numbers.random() < 0.05:
                try:
                    kill(process)
                    killed += 1
                except ProcessLookupError:
                    pass
    return killed


def offline_ray(tools: Tools) -> None:
    gpufeed = tools.ranks.parent.parent / "gpufeed"
    folder = tools.folder / "offline-ray"
    folder.mkdir()
    source, whole, out = folder / "drawn", folder / "whole", folder / "parts"
    tools.run([tools.ranks.parent / "draw", source, EACH_CLASS])
    tools.run([gpufeed, "pack", source, whole, *SETTINGS])
    seed = random.randrange(2**32)
    program = [tools.torch, "-c", CLUSTER, ROOT / "examples" / "cluster" / "pack_ray.py", source, out, PARTS, *SETTINGS]
    with tools.start(program, PATH=f"{gpufeed.parent}:{os.environ['PATH']}") as running:
        ended = lambda: running.poll() is not None  # noqa: E731
        wait("a part at work", lambda: at_work(out) or ended())
        killed = kill_some(out, random.Random(seed), ended)
        running.finish()
    assert killed > 0, f"seed {seed}: nothing was killed: {running.said()}"
    one, parts = samples(whole), samples(out)
    assert len(one) == 2 * 4 * EACH_CLASS and parts == one, f"seed {seed}: {len(parts)} members, {len(one)} in one run"
    say(f"Ray, {PARTS} parts on two nodes, seed {seed}: {killed} processes killed, joined as by one run")
