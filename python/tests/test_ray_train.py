"""Ranks under Ray: TorchTrainer's workers, with a loader each and with a fleet each. Only with GPUFEED_FULL=1, where installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if "GPUFEED_FULL" not in os.environ:
    pytest.skip("Ray Train: only with GPUFEED_FULL=1", allow_module_level=True)
pytest.importorskip("ray")
pytest.importorskip("pyarrow")

from ray.train import RunConfig, ScalingConfig  # noqa: E402
from ray.train.torch import TorchTrainer  # noqa: E402

from cluster import TwoNodes  # noqa: E402
from pictures import folder  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    made = TwoNodes(cpus=6)
    yield made
    made.close()


def work(given: dict[str, Any]) -> None:
    """A worker of the trainer: writes down what its rank has got."""
    import torch.distributed as distributed

    import gpufeed
    import gpufeed.ray
    from pictures import NUMBERED, Numbered, numbers

    rank = distributed.get_rank()
    settings = {"data": Numbered(41), "recipe": NUMBERED, "batch_size": 4, "shuffle": True, "seed": 1}
    actors = given["actors"]
    train: Any
    if actors:
        train = gpufeed.ray.DataLoader(settings, actors=actors, num_cpus=0.25, start_timeout=60)
    else:
        train = gpufeed.DataLoader(**settings)
    said = train.explain()
    epochs = []
    for epoch in range(2):
        train.set_epoch(epoch)
        batches = list(train.batches())
        assert all(numbers(batch.images) == batch.ids for batch in batches)
        epochs.append([batch.ids[: batch.valid] for batch in batches])
    found = {"rank": rank, "said": said, "length": len(train), "epochs": epochs}
    train.close()
    Path(given["out"], f"{rank}.json").write_text(json.dumps(found))


@pytest.mark.parametrize(("world", "actors"), [(2, 0), (4, 0), (2, 2)])
def test_ranks_of_a_torch_trainer(nodes: TwoNodes, tmp_path: Path, world: int, actors: int) -> None:
    out = tmp_path / "out"
    out.mkdir()
    trainer = TorchTrainer(
        work,
        train_loop_config={"out": str(out), "actors": actors},
        scaling_config=ScalingConfig(num_workers=world, resources_per_worker={"CPU": 0.5}),
        run_config=RunConfig(storage_path=str(tmp_path / "results")),
    )
    trainer.fit()
    found = [json.loads((out / f"{rank}.json").read_text()) for rank in range(world)]
    for rank, each in enumerate(found):
        assert each["rank"] == rank and f"rank {rank} of {world} by torch.distributed" in each["said"]
    assert len({each["length"] for each in found}) == 1
    for epoch in range(2):
        parts = [[sample for batch in each["epochs"][epoch] for sample in batch] for each in found]
        assert sorted(sample for part in parts for sample in part) == list(range(41))
    assert found[0]["epochs"][0] != found[0]["epochs"][1]


def test_the_program_of_the_guides_page_on_machines(tmp_path: Path) -> None:
    """As it is printed, in a cluster of its own that begins on this machine's loopback, whatever else runs here."""
    root = Path(__file__).parents[2]
    printed = re.findall(r"^```python\n(.*?)^```$", (root / "docs" / "guide" / "machines.md").read_text(), re.DOTALL | re.MULTILINE)
    (program,) = [code for code in printed if "TorchTrainer" in code]
    assert program == (root / "examples" / "cluster" / "train_ray.py").read_text()
    (tmp_path / "train_ray.py").write_text(program)
    begin = "import ray; ray.init(address='local', num_cpus=4, include_dashboard=False, _node_ip_address='127.0.0.1')"
    run = f"import runpy, sys; {begin}; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    # Ray leaves out repeated lines, and stores results below the home folder.
    variables = {"CUDA_VISIBLE_DEVICES": "", "RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", run, str(tmp_path / "train_ray.py"), str(folder(tmp_path / "data", count=72))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    # Ray may show a worker's line twice.
    found = {*re.findall(r"rank (\d) epoch (\d) step (\d) loss \d+\.\d+", done.stdout + done.stderr)}
    assert found == {(rank, epoch, str(step)) for rank in "01" for epoch in "01" for step in range(72 // 16)}
