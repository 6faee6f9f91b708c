"""The steps of a run, in their order: what each needs, and how long it may take.

The most important come first: each may also take what the steps before it have left of their time. What they do is in `step_machine.py`,
`step_tests.py`, `step_bench.py` and `step_torch.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, NamedTuple, Optional, Tuple

import machine
import step_bench
import step_machine
import step_tests
import step_torch
from context import Context, Outcome

Lacking = Optional[Tuple[str, str]]


class Step(NamedTuple):
    name: str
    # Seconds that the step has for certain, of a whole run and of a short one; 0 leaves it out there.
    seconds: float
    short: float
    work: Callable[[Context], Outcome]
    needs: Callable[[Context], Lacking]


def nothing(_: Context) -> Lacking:
    return None


def an_adapter(context: Context) -> Lacking:
    return None if context.adapter else ("no adapter", "no adapter runs compute shaders here; the step doctor says why")


def a_torch(context: Context) -> Lacking:
    return None if context.torch else ("no torch", context.no_torch)


def cuda_in_torch(context: Context) -> Lacking:
    if a_torch(context):
        return a_torch(context)
    assert context.torch is not None
    return (
        None
        if context.torch["cuda"]
        else ("no CUDA", f"torch {context.torch['torch']} has none: {context.torch['why']}")
    )


def a_torchvision(context: Context) -> Lacking:
    assert context.torch is not None
    return None if context.torch["torchvision"] else ("no torchvision", context.torch["why_no_torchvision"])


def a_wheel(context: Context) -> Lacking:
    assert context.torch is not None
    if tuple(context.torch["python"]) < (3, 10):
        return "no Python 3.10", f"the wheel needs it; torch is in Python {'.'.join(map(str, context.torch['python']))}"
    return None if (context.work / "site").is_dir() else ("no wheel", "none was packed")


def everything(context: Context) -> Lacking:
    return cuda_in_torch(context) or a_torchvision(context) or a_wheel(context)


def vulkan(context: Context) -> Lacking:
    if context.adapter and context.adapter["backend"] != "vulkan":
        return "no Vulkan", f"the adapter's API is {context.adapter['backend']}, which exports no memory"
    return an_adapter(context)


def the_card_of_cuda(context: Context) -> Lacking:
    lacking = everything(context) or vulkan(context)
    if lacking:
        return lacking
    assert context.adapter is not None
    if context.adapter["device_type"] == "Cpu" or context.environment.get("GPUFEED_ADAPTER"):
        return "not possible", f"the shaders run on {context.adapter['name']}, whatever card torch has"
    return None


def libcuda(context: Context) -> Lacking:
    folders = context.environment.get("LD_LIBRARY_PATH", "").split(":")
    if not machine.loads("libcuda.so.1", [Path(folder) for folder in folders if folder]):
        return "no CUDA", "no libcuda.so.1 loads here"
    return an_adapter(context)


STEPS = (
    Step("unpack", 20, 15, step_machine.unpack, nothing),
    Step("loader and driver", 15, 10, step_machine.loader, nothing),
    Step("doctor", 15, 10, step_machine.doctor, nothing),
    Step("goldens", 80, 44, step_tests.goldens, an_adapter),
    Step("determinism", 55, 25, step_tests.determinism, an_adapter),
    Step("hand-over to Vulkan", 20, 10, step_tests.hand_over_to_vulkan, an_adapter),
    Step("exported batches", 10, 5, step_tests.exported, vulkan),
    Step("hand-over to CUDA", 25, 10, step_tests.hand_over_to_cuda, libcuda),
    Step("kernels", 60, 21, step_bench.kernels, an_adapter),
    Step("pipeline", 50, 24, step_bench.pipeline, nothing),
    Step("torch", 25, 15, step_torch.torch_facts, nothing),
    Step("batches for torch", 45, 17, step_torch.handed_over, the_card_of_cuda),
    Step("rivals on the card", 45, 17, step_torch.rivals, everything),
    Step("python", 35, 14, step_torch.python, everything),
    Step("switches", 15, 0, step_bench.switches, an_adapter),
    Step("faults", 22, 0, step_tests.faults, an_adapter),
)
