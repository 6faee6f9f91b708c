#!/usr/bin/env python3
"""Tests the Vulkan layer of `scripts/hostile/`: what it makes of shaders, and what devices say of themselves under it.

    scripts/test_hostile.py [FOLDER [N]]     FOLDER: naga's SPIR-V, as `scripts/test-translations.sh` has it written;
                                             every Nth module is rewritten in each list of modes and shown to spirv-val

The shader of `hostile_expressions.py` is rewritten in each list of modes: spirv-val has to take it, the layer has to
count what it changed, and on lavapipe under the layer each value has to be the one that Python computes. Khronos'
validation layer has to say nothing. Needs no Rust; `hostile_layer.py` says what it needs.
"""

from __future__ import annotations

import ctypes
import os
import random
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compute
import hostile_layer
import validation
from hostile_expressions import CHANGES, COUNTS, EXPRESSIONS, LEAST_NORMAL, Device
from hostile_expressions import assembly, expected_counts, f32, precise
from translations import BROKEN_SPIRV

MODES = [
    "", "fma", "fma2", "div", "assoc", "flush", "fma2,div", "fma,div,assoc", "fma,assoc,flush", "fma2,div,flush",
    "inline", "inline,fma", "inline,fma2,div,assoc,flush",
]
SAMPLES = 1024
DISCRETE, NVIDIA = 2, 0x10DE


def rewrite(library: ctypes.CDLL, modes: str, module: bytes) -> tuple[bytes, dict[str, int]]:
    """What the layer makes of a module, and what it counts."""
    function = library.gpufeed_hostile_rewrite
    function.restype = ctypes.POINTER(ctypes.c_uint32)
    count, counts = ctypes.c_size_t(len(module) // 4), (ctypes.c_uint32 * len(COUNTS))()
    words = function(modes.encode(), module, ctypes.byref(count), counts)
    if not words:
        raise ValueError(f"{modes}: the layer gives no module")
    made = ctypes.string_at(words, 4 * count.value)
    ctypes.CDLL(None).free(words)
    return made, dict(zip(COUNTS, counts))


def refusal(module: bytes, environment: str = "vulkan1.3") -> str:
    """spirv-val's message about a module; none if it takes it."""
    command = [*hostile_layer.spirv_tool("spirv-val"), "--target-env", environment, "-"]
    done = subprocess.run(command, input=module, capture_output=True)
    return (done.stdout + done.stderr).decode(errors="replace").strip() if done.returncode else ""


def samples() -> list[tuple[float, ...]]:
    """Inputs: mostly numbers whose sums and products are rounded; also denormals, zeros, and what gives such."""
    dice = random.Random(7)
    ordinary = [tuple(f32(dice.uniform(-4, 4)) for _ in range(4)) for _ in range(SAMPLES * 3 // 4)]
    denormal = [2.0**-149, -(2.0**-130), 1.5 * 2.0**-127]
    small = [*denormal, 0.0, -0.0, LEAST_NORMAL, -1.25 * LEAST_NORMAL, 2.0**-60, f32(1.1 * 2.0**-70), 1.0, -0.5]
    return ordinary + [tuple(dice.choice(small) for _ in range(4)) for _ in range(SAMPLES - len(ordinary))]


def check_values(modes: str, module: bytes) -> list[str]:
    """What is wrong with the values of the shader on lavapipe with these modes."""
    os.environ["GPUFEED_HOSTILE"] = modes
    device, wrong, inputs = Device(modes), [], samples()
    # Never closed: several instances and devices with other modes are there at the same time.
    instance = compute.Instance()
    given = b"".join(struct.pack("<4f", *each) for each in inputs)
    ran = compute.Device(instance.devices[0], (b"VK_EXT_pci_bus_info",))
    made = ran.run(module, given, 4 * len(inputs) * len(EXPRESSIONS), len(inputs) // 64)
    values = struct.unpack(f"<{len(inputs) * len(EXPRESSIONS)}f", made)
    for number, (name, expression) in enumerate(EXPRESSIONS.items()):
        column = list(zip(inputs, values[number :: len(EXPRESSIONS)]))
        bad = [(x, found) for x, found in column if not expression.right(device, *x, found)]
        if bad:
            wrong.append(f"{modes}: {name} is wrong for {len(bad)} inputs, such as {bad[0][0]}: {bad[0][1]}")
        # Where a mode acts, what is right without it must be wrong, or nothing was compared. Few inputs are denormal.
        acts = {what for what, times in expression.changes(device).items() if times} & set(CHANGES.values())
        least = SAMPLES // 50 if acts - {"flushed"} else 1 if acts and expression.value else 0
        moved = sum(not expression.right(Device(""), *x, found) for x, found in column)
        if moved < least:
            wrong.append(f"{modes}: {name} is another value than without modes for {moved} inputs alone")
    return wrong


def check_validation(module: bytes) -> list[str]:
    """What Khronos' validation layer says of rewritten shaders, on devices whose features are asked for in two ways."""
    os.environ["GPUFEED_HOSTILE"] = MODES[-1]
    before = os.environ.copy()
    layers = [hostile_layer.environment(MODES[-1], Path(before["XDG_CACHE_HOME"])), validation.layer()]
    log = Path(before["XDG_CACHE_HOME"]) / "messages.txt"
    os.environ |= layers[1] | {"VK_LAYER_LOG_FILENAME": str(log)}
    os.environ |= {name: ":".join(each[name] for each in layers) for name in ("VK_LAYER_PATH", "VK_INSTANCE_LAYERS")}
    instance = compute.Instance()
    for in_chain in (False, True):
        device = compute.Device(instance.devices[0], features_in_chain=in_chain)
        device.run(module, bytes(16 * 64), 4 * 64 * len(EXPRESSIONS), 1)
    os.environ |= {name: before[name] for name in ("VK_LAYER_PATH", "VK_INSTANCE_LAYERS")}
    return [f"validation: {message}" for message in validation.messages(log)]


def check_devices() -> list[str]:
    """What is wrong with what several devices of one driver say of themselves, and which wrong lists of modes are taken."""
    os.environ["GPUFEED_HOSTILE"] = "discrete,nvidia"
    os.environ |= hostile_layer.adapters(hostile_layer.lavapipe_manifest(), 4)
    instance = compute.Instance()
    found = [instance.describe(device) for device in instance.devices]
    instance.close()
    print(*(f"  {each.uuid} {each.address} {each.name}" for each in found), sep="\n")
    wrong = []
    if not len(found) == len({each.uuid for each in found}) == len({each.address for each in found}) == 4:
        wrong.append("four copies of a driver's manifest are not four devices with their own UUIDs and PCI addresses")
    if any(each.kind != DISCRETE or each.vendor != NVIDIA or each.address is None for each in found):
        wrong.append("a device is no discrete one of NVIDIA with an address")
    for modes in ("fmaa", "fma,", "discrete,integrated", "fma,fma2"):
        os.environ["GPUFEED_HOSTILE"] = modes
        try:
            compute.Instance()
        except compute.VulkanError:
            continue
        wrong.append(f"the layer takes {modes}")
    return wrong


def check_modules(library: ctypes.CDLL, folder: Path, every: int) -> list[str]:
    """What is wrong with naga's modules after each list of modes."""
    files = sorted(folder.rglob("*.spv"))[::every]
    totals = {modes: dict.fromkeys(COUNTS, 0) for modes in MODES}

    def check(file: Path) -> list[str]:
        wrong, environment = [], "vulkan1.0" if "vulkan1.0" in file.name else "vulkan1.3"
        for modes in MODES:
            made, counts = rewrite(library, modes, file.read_bytes())
            message = refusal(made, environment)
            if message:
                wrong.append(f"{file.name}: {modes}: {message}")
            for what, times in counts.items():
                totals[modes][what] += times
        return wrong

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [each for found in pool.map(check, files) for each in found]
    for modes, counts in totals.items():
        print(f"  {len(files)} modules, {modes or 'no mode'}: {told(counts)}")
        if any(counts[what] == 0 for mode, what in CHANGES.items() if mode in modes.split(",")) or not files:
            wrong.append(f"{modes}: nothing was changed in {len(files)} modules")
        if counts["of matrices"]:
            wrong.append(f"{modes}: there are instructions on matrices, into which the layer does not look")
    return wrong


def told(counts: dict[str, int]) -> str:
    return ", ".join(f"{times} {what}" for what, times in counts.items() if times) or "nothing changed"


def check(library: ctypes.CDLL) -> list[str]:
    assembler = [*hostile_layer.spirv_tool("spirv-as"), "--target-env", "vulkan1.1", "-", "-o", "-"]
    module = subprocess.run(assembler, input=assembly().encode(), stdout=subprocess.PIPE, check=True).stdout
    wrong = [] if refusal(BROKEN_SPIRV, "vulkan1.0") else ["spirv-val takes a broken module: it checks nothing"]
    for modes in MODES:
        made, counts = rewrite(library, modes, module)
        print(f"{modes or 'no mode'}: {told(counts)}", flush=True)
        if counts != expected_counts(modes):
            wrong.append(f"{modes}: the layer counts {counts}, not {expected_counts(modes)}")
        if not modes and made != module:
            wrong.append("a module is changed without a mode")
        if precise(made) < precise(module) or not precise(module):
            wrong.append(f"{modes}: of {precise(module)} decorations NoContraction {precise(made)} are left")
        message = refusal(made)
        wrong += [f"{modes}: {message}"] if message else check_values(modes, module)
    return wrong + check_validation(module) + check_devices()


def main() -> int:
    try:
        library = ctypes.CDLL(str(hostile_layer.build()))
        with tempfile.TemporaryDirectory() as caches:
            # `inline` alone needs a variable of its own.
            os.environ |= {"NODEVICE_SELECT": "1"} | hostile_layer.environment("inline", Path(caches))
            os.environ |= hostile_layer.adapters(hostile_layer.lavapipe_manifest(), 1)
            wrong = check(library)
            if len(sys.argv) > 1:
                wrong += check_modules(library, Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    except (OSError, ValueError) as error:
        print(f"not to be had: {error}", file=sys.stderr)
        return 1
    for each in wrong:
        print(each, file=sys.stderr)
    print(f"the hostile layer: {len(EXPRESSIONS)} expressions in {len(MODES)} lists of modes, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
