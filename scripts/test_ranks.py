#!/usr/bin/env python3
"""Which card each rank takes, the whole way: eight adapters of one name, which are lavapipe under the layer of `scripts/hostile/`,
with a UUID and a PCI address each, and the command under the variables of launchers, CUDA and ROCm.

    scripts/test_ranks.py [GPUFEED]     the command; that of the tests by default, which this builds

Vulkan's order of these adapters is not that of their addresses. Needs what `scripts/hostile_layer.py` needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hostile_layer

CARDS = 8
ROOT = Path(__file__).resolve().parent.parent
# What the shell of whoever runs this may have set.
FOREIGN = [
    "GPUFEED_ADAPTER", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "SLURM_STEP_ID",
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
]


class Machine:
    """The command on a machine with eight cards."""

    def __init__(self, program: str, modes: str, caches: Path) -> None:
        self.program = program
        clean = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        layer = hostile_layer.environment(modes, caches)
        self.environment = clean | {"NODEVICE_SELECT": "1"} | layer | hostile_layer.adapters(hostile_layer.lavapipe_manifest(), CARDS)

    def run(self, *arguments: str, **variables: str) -> Any:
        """The JSON that the command prints."""
        done = subprocess.run([self.program, *arguments, "--json"], capture_output=True, text=True, env=self.environment | variables)
        if not done.stdout:
            raise AssertionError(f"{arguments} {variables}: exit code {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def taken(self, **variables: str) -> str | None:
        """The PCI address of the card that `auto` takes; None for the CPU."""
        found = self.run("doctor", **variables)
        cards = [adapter["pci"] for adapter in found["adapters"] if adapter["taken"]]
        assert len(cards) <= 1, cards
        return cards[0] if cards else None


def expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{what}: {found}, not {expected}")
    print(f"{what}: {found}")


def check(machine: Machine) -> None:
    cards = [adapter for adapter in machine.run("doctor")["adapters"] if adapter["number"] is not None]
    expect("adapters", (len(cards), len({card["name"] for card in cards})), (CARDS, 1))
    expect("UUIDs", len({card["uuid"] for card in cards}), CARDS)
    by_address = sorted(cards, key=lambda card: card["pci"])
    assert by_address != cards, "the adapters' order is that of their addresses, so nothing tells the two apart"
    addresses = [card["pci"] for card in by_address]
    expect("without a launcher", machine.taken(), cards[0]["pci"])

    def of_rank(variable: str) -> list[str | None]:
        return [machine.taken(**{variable: str(rank)}) for rank in range(CARDS)]

    expect("eight ranks of torchrun", of_rank("LOCAL_RANK"), addresses)
    expect("eight ranks of Open MPI", of_rank("OMPI_COMM_WORLD_LOCAL_RANK"), addresses)
    expect("rank 8 begins again", machine.taken(LOCAL_RANK="8"), addresses[0])
    expect("a step of Slurm's", machine.taken(SLURM_STEP_ID="0", SLURM_LOCALID="3"), addresses[3])
    expect("a batch script of Slurm's", machine.taken(SLURM_LOCALID="3"), cards[0]["pci"])

    # All ranks at once, as a launcher has them, with a loader that opens its device.
    with ThreadPoolExecutor(CARDS) as pool:
        arguments = ("explain", "--recipe", "mnist-train", "--backend", "auto")
        made = list(pool.map(lambda rank: machine.run(*arguments, LOCAL_RANK=str(rank)), range(CARDS)))
    expect("eight loaders at once", [loader["adapter"]["uuid"] for loader in made], [card["uuid"] for card in by_address])
    for rank, loader in enumerate(made):
        expect(f"the rule of rank {rank}", loader["chosen"], f"LOCAL_RANK={rank} takes card {rank} of {CARDS} equal ones, counted from 0")

    visible = "CUDA_VISIBLE_DEVICES"
    expect("5,2 visible", [machine.taken(**{visible: "5,2", "LOCAL_RANK": rank}) for rank in "012"], [addresses[n] for n in (5, 2, 5)])
    own = [machine.taken(**{visible: str(rank), "LOCAL_RANK": str(rank)}) for rank in range(CARDS)]
    expect("one card shown to each rank", own, addresses)
    expect("a UUID visible", machine.taken(**{visible: f"GPU-{by_address[6]['uuid']}"}), addresses[6])
    expect("nothing visible", [machine.taken(**{visible: value}) for value in ("", "-1")], [None, None])
    expect("AMD's variable", machine.taken(HIP_VISIBLE_DEVICES="-1"), cards[0]["pci"])
    hidden = machine.run("doctor", CUDA_VISIBLE_DEVICES="-1")
    expect("the rule of nothing visible", hidden["path"]["rule"], "hidden")
    expect("a slice visible", machine.taken(**{visible: "MIG-41b36014"}), None)

    named = by_address[4]
    for name in (named["uuid"], f"GPU-{named['uuid']}", named["pci"], str(cards.index(named))):
        expect(f"GPUFEED_ADAPTER={name}", machine.taken(GPUFEED_ADAPTER=name, LOCAL_RANK="1"), named["pci"])
    expect("a name", machine.taken(GPUFEED_ADAPTER="llvmpipe", LOCAL_RANK="1"), addresses[1])
    expect("a name among visible cards", machine.taken(GPUFEED_ADAPTER="llvmpipe", LOCAL_RANK="1", **{visible: "5,2"}), addresses[2])


def built() -> str:
    """The command as the tests build it: where they have run, this builds nothing."""
    build = '. scripts/system.sh; require_cargo; cargo build --quiet "${selected[@]}" --bin gpufeed --example adapters'
    subprocess.run(["bash", "-c", build], cwd=ROOT, check=True)
    return str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "gpufeed")


def main() -> int:
    program = sys.argv[1] if len(sys.argv) > 1 else built()
    with tempfile.TemporaryDirectory() as caches:
        check(Machine(program, "discrete,nvidia", Path(caches)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
