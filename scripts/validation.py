#!/usr/bin/env python3
"""Runs tests under Khronos' validation layer, core and synchronization. `scripts/test-validation.sh` calls it.

    scripts/validation.py [--quick]     --quick: the golden pixels alone

Any message fails, but those that are known to be naga's. First the layer is shown to be awake: it has to find the mistakes
of `scripts/hazard.py`, and none in that program without one.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from pathlib import Path

import drivers
import unpack

# The tests: goldens, all stores; whole lines with views, mixing and caches; cancel, drop and loss in mid-run; memory that another
# device imports.
SUITES: dict[str, list[str]] = {
    "pixels": ["golden::", "stores::", "mixing::"],
    "pipeline": ["views::", "replay::", "crops::", "mixing::", "buffers::"],
    "cache": [],
    # The test left out looks for the pipeline's threads, among which the layer's would be counted.
    "faults": ["gpu::", "shutdown::", "--skip", "dropping_the_loader_first_is_no_matter"],
    # The test left out counts open files, among which the layer's log would be.
    "handover": ["--test-threads=1", "--skip", "nothing_is_left_open"],
}
# Those that run on SwiftShader, too, which exports semaphores, as lavapipe does not.
ON_SWIFTSHADER = ("handover",)
QUICK = {"pixels": ["golden::"]}
# Synchronization validation has no core message of its own; each control names the message that it has to cause.
CONTROLS = {"barrier": "SYNC-HAZARD-WRITE-AFTER-WRITE", "usage": "VUID-vkCmdFillBuffer-dstBuffer-00029", "none": ""}
# Messages about what naga writes, with the reason.
KNOWN = {
    r"VUID-StandaloneSpirv-None-10684(?s:.*)Workgroup": "naga gives workgroup arrays a stride (https://github.com/gfx-rs/wgpu/issues/7696)",
}


def layer() -> dict[str, str]:
    """The environment that loads the layer that comes with Chromium, which is newer than the system's."""
    library = Path("/usr/lib/chromium/libVkLayer_khronos_validation.so")
    if not library.exists():
        library = unpack.unpack("trixie", ["chromium-common"]) / library.relative_to("/")
    folder = unpack.UNPACKED / "validation"
    folder.mkdir(parents=True, exist_ok=True)
    about = {"name": "VK_LAYER_KHRONOS_validation", "type": "GLOBAL", "library_path": str(library), "api_version": "1.4.0"}
    extensions = [{"name": f"VK_EXT_{name}", "spec_version": "1"} for name in ("debug_utils", "validation_features", "layer_settings")]
    about |= {"implementation_version": "1", "description": "Khronos validation layer", "instance_extensions": extensions}
    (folder / "layer.json").write_text(json.dumps({"file_format_version": "1.2.0", "layer": about}))
    return {
        "VK_LAYER_PATH": str(folder),
        "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
        "VK_LAYER_DEBUG_ACTION": "VK_DBG_LAYER_ACTION_LOG_MSG",
        "VK_LAYER_VALIDATE_SYNC": "true",
    }


def messages(log: Path) -> list[str]:
    """The messages in a log; each begins with `Validation`."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return [message.strip() for message in re.split(r"(?m)^(?=Validation )", text) if message.strip()]


def under_layer(command: list[str], environment: dict[str, str], folder: Path) -> tuple[bool, str, list[str]]:
    log = folder / "messages.txt"
    log.unlink(missing_ok=True)
    passed, printed = drivers.run(command, environment | {"VK_LAYER_LOG_FILENAME": str(log)})
    return passed, printed, messages(log)


def main() -> int:
    quick = "--quick" in sys.argv
    try:
        there = [drivers.lavapipe()] if quick else [drivers.lavapipe(), drivers.swiftshader()]
        environments = [driver.environment | layer() for driver in there]
    except (OSError, ValueError) as error:
        print(f"not to be had: {error}", file=sys.stderr)
        return 1
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for mistake, name in CONTROLS.items():
            passed, printed, found = under_layer([sys.executable, "scripts/hazard.py", mistake], environments[0], folder)
            awake = passed and len(found) == (1 if name else 0) and all(name in message for message in found)
            print(f"control {mistake}: {found[0].splitlines()[0] if found else 'no message'}", flush=True)
            if not awake:
                wrong.append(f"control {mistake}: expected {name or 'no message'}, found {found or printed}")
        suites = QUICK if quick else SUITES
        runs = [(suite, number) for suite in suites for number in range(1 + (suite in ON_SWIFTSHADER))]
        for suite, number in runs:
            began, name = time.monotonic(), suite if number == 0 else f"{suite}, {there[number].name}"
            passed, printed, found = under_layer([*drivers.tests(suite), *suites[suite]], environments[number], folder)
            count = sum(int(number) for number in re.findall(r"^test result: .*?(\d+) passed", printed, re.MULTILINE))
            known = [message for message in found if any(re.search(pattern, message) for pattern in KNOWN)]
            others = [message for message in found if message not in known]
            print(f"{name}: {count} passed, {len(others)} messages, {len(known)} known, {time.monotonic() - began:.0f} s", flush=True)
            wrong += [f"{name}: {message}" for message in others[:5]]
            if not passed or count == 0:
                wrong.append(f"{name} failed, or ran no test:\n{printed[-4000:]}")
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
