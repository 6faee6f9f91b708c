"""Programs whose batches stay in a GPU's memory, on software drivers and a fake CUDA. ``scripts/test-handover.sh`` runs this."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpufeed

pytest.importorskip("torch", reason="torch is not installed")
# Before a driver is opened: Triton's LLVM, which torch loads for torchvision, crashes beside Mesa's.
pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")

from PIL import Image  # noqa: E402

from fake_cuda import SOURCE, build  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="software drivers export memory on Linux")

FULL = "GPUFEED_FULL" in os.environ


@pytest.fixture(autouse=True)
def _adapter() -> None:
    if all(each.uuid is None for each in gpufeed.adapters()):
        if os.environ.get("GPUFEED_REQUIRE_GPU", "0") != "0":
            pytest.fail("no adapter of Vulkan")
        pytest.skip("no adapter of Vulkan")


def on_fake_cuda(program: Path, *arguments: str, timeout: float = 120) -> tuple[str, str]:
    """Runs a program on the fake device. Returns what it prints and its errors."""
    library = build(program.parent)
    # Two programs at once would each have a thread for each core. Mesa's layer prints errors where there is no desktop (docs/guide/platforms.md).
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NODEVICE_SELECT": "1"}
    command = [sys.executable, str(Path(__file__).with_name("fake_cuda.py")), str(library), str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


EXIT = """
import numpy, gpufeed
from torchvision.transforms import v2

images = [(numpy.full((12, 12, 3), number, numpy.uint8), 0) for number in range(40)]
made = gpufeed.DataLoader(images, [v2.RandomCrop(8)], batch_size=4, dtype="uint8", device="cuda:0", backend="gpu")
iterator = iter(made)
first, (second, _) = next(iterator), next(iterator)
print(made.stats()["handover"], int(first[0].max()), int(second.max()), fake.count("imports") > 0)
"""


def test_the_interpreter_ends_with_tensors_alive(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    endings = ["", "made.close()\ndel iterator\n", "import sys\nsys.exit(0)\n", "del made\n"]
    for ending in endings if FULL else endings[:2]:
        program.write_text(EXIT + ending)
        assert on_fake_cuda(program) == ("handed over on the GPU 3 7 True\n", "")


def test_the_example_trains_on_batches_that_are_handed_over(tmp_path: Path) -> None:
    program = tmp_path / "train_cuda.py"
    program.write_text((Path(__file__).parent.parent / "examples" / "train_cuda.py").read_text())
    small = ["--images", "48", "--model", "resnet18", "--size", "32", "--batch-size", "4", "--steps", "1"]
    printed, _ = on_fake_cuda(program, "--out", str(tmp_path / "out"), *small)
    rows = printed.splitlines()
    assert len(rows) == 4 and 'backend="gpu", handed over on the GPU' in rows[1]
    assert 'backend="gpu", copied through the host: handover=False' in rows[2] and 'backend="cpu", ' in rows[3]
    # The same pictures in the same order.
    assert len({row.rsplit("loss ", 1)[1] for row in rows[1:]}) == 1, printed


@pytest.mark.skipif(not FULL, reason="takes long: only with GPUFEED_FULL=1")
def test_the_step_of_hardware_measures_each_way(tmp_path: Path) -> None:
    """What ``scripts/hardware.sh run`` does on a card."""
    hardware = SOURCE.parents[1]
    for name in ("torch_handover.py", "torch_loader.py", "torch_rates.py"):
        (tmp_path / name).write_text((hardware / name).read_text())
    folder = tmp_path / "pictures" / "class"
    folder.mkdir(parents=True)
    for number in range(8):
        Image.new("RGB", (40, 32), (number, 2 * number, 3 * number)).save(folder / f"{number}.png")
    small = ["--hand-overs", "60", "--seconds", "0.1", "--batch-size", "4", "--model", "mobilenet_v3_small"]
    printed, _ = on_fake_cuda(tmp_path / "torch_handover.py", str(folder.parent), *small, timeout=400)
    found = json.loads(printed.splitlines()[-1].removeprefix("RESULT "))
    assert found["failed"] == [] and found["torn"] == found["handles"] == 0 and found["differing"] == []
    rows = [found[name] for name in ("handed over", "copied through the host", "by the CPU, copied ahead")]
    assert all(row["microseconds"] > 0 and row["longer"] > -1 for row in rows) and rows[0]["host_microseconds"] > 0
