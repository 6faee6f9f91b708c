"""Programs and results that tests put in the place of real ones."""

from __future__ import annotations

import json
import stat
import sys
import textwrap
from pathlib import Path

UUID = "7e5cd6a0-1b2c-4d3e-8f90-a1b2c3d4e5f6"
LIBTEST = f"""
running 3 tests
golden::every_gpu title:
test golden::the_cpu_matches_torchvision ... ok
test golden::every_gpu_matches_torchvision ... FAILED

thread 'golden::every_gpu_matches_torchvision' (123) panicked at crates/testing/src/compare.rs:80:9:
torchvision against a card GPU-{UUID}: 2 failures:
  point/hue 1: value 307 is -2.0357141, not -2.044287: 8.57e-3 > 1.00e-4
  resize/a, b: value 5 is NaN, not 1: NaN > 1.00e-5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

thread 'sequences::sequences_equal' (124) panicked at tests/pixels/sequences.rs:9:9:
value 3 of it
"""
CARD = {
    "schema": 2,
    "version": "0.3.0",
    "adapter": "a card",
    "executor": "shaders",
    "workers": 4,
    "images_per_second": {"median": 2000.0},
    "cpu_seconds_per_image": 5e-4,
    "bottleneck": {"resource": "cpu", "verdict": "4 workers busy 100 %"},
    "kernels": {
        "clock": "timestamps",
        "rows": [
            {
                "name": "copy kernel",
                "images": 0,
                "bytes": 10**7,
                "seconds": 1e-5,
                "gb_per_second": 1000.0,
                "of_copy": 1.0,
                "runs": [1.0] * 50,
            },
            {
                "name": "strip, f32",
                "images": 16,
                "bytes": 10**7,
                "seconds": 2e-5,
                "gb_per_second": 500.0,
                "of_copy": 0.5,
                "predicted_seconds": None,
            },
        ],
        "roofline": {
            "gb_per_second": 1000.0,
            "gflop_per_second": 9000.0,
            "limit": "memory",
            "predicted_images_per_second": 2e6,
            "measured_images_per_second": 1e6,
        },
    },
    "upload": [
        {"name": "ring and copy", "images": 4, "bytes": 10**6, "seconds": 1e-4, "gb_per_second": 10.0, "of_copy": None}
    ],
    "slots": {"slots": 3, "write_gb_per_second": 9.0, "copy_gb_per_second": None},
    "sweep": [
        {"workers": 1, "images_per_second": {"median": 600.0}},
        {"workers": 4, "images_per_second": {"median": 2000.0}},
    ],
}
# What stands in the place of each program: Python, so that no shell is asked.
STUBS = {
    "gpufeed": """
        if words[0] == "doctor":
            adapter = dict(number=0, name="a card", device_type="DiscreteGpu", backend="vulkan", driver="a driver",
                           opens=True, taken=True, upload="ring and copy", error=None)
            adapter["uuid"] = UUID
            other = dict(adapter, number=1, name="another", taken=False)
            print(json.dumps(dict(adapters=[other, adapter], path=dict(why="the first"), problems=[])))
        elif "--help" in words:
            print("Options:\\n      --switch <NAME=VALUE>\\n          Sets a choice\\n")
            print("          staging=card|host|in-place: where")
            print("      --quick\\n          Less")
        elif "staging=in-place" in words:
            sys.exit("error: --switch: staging=in-place: the device has no MAPPABLE_PRIMARY_BUFFERS")
        else:
            with open(words[words.index("--report-card") + 1], "w") as file:
                file.write(CARD)
    """,
    "pixels": """
        names = ["golden::every_gpu_matches_torchvision", "golden::the_cpu_matches_torchvision"]
        if "--skip" not in words:
            names, LIBTEST = ["sequences::late"], ""
        print("\\n".join(name + ": test" for name in names) if "--list" in words else LIBTEST)
        sys.exit(101 if LIBTEST and "--list" not in words else 0)
    """,
    "bits": """
        place = "a card (Vulkan), shaders"
        for kept in ("cache off", "cache device"):
            print(f"{place}, deit, {kept}, views 1: 0123456789abcdef 0123456789abcdef")
        if "shaders" not in words:
            print("CPU, deit, cache off, views 1: 0123456789abcdef 0123456789abcdee")
    """,
    "pipeline": 'print("a::b: test" if "--list" in words else "test a::b ... ok")',
    "handover": 'print("e::f: test" if "--list" in words else "test e::f ... ok")',
    "cache": 'print("c::d: test" if "--list" in words else "test c::d ... ok")',
    "faults": 'print("gpu::e: test" if "--list" in words else "test gpu::e ... ok")',
    "external_memory": """
        assert UUID in words, words
        print("adapter 0: a card")
        print("result: adapter=0 consumer=vulkan order=host hand-overs=50 wrong=0 milliseconds=1.50")
        print("not possible: adapter=0 consumer=vulkan order=timeline: the driver exports no such semaphore")
    """,
}


def stub(path: Path, body: str) -> None:
    head = f"#!{sys.executable}\nimport json, os, sys, time\nwords = sys.argv[1:]\n"
    head += f"CARD = {json.dumps(CARD)!r}\nLIBTEST = {LIBTEST!r}\nUUID = {UUID!r}\n"
    path.write_text(head + textwrap.dedent(body).strip() + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
