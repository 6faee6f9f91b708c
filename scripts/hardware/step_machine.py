"""Steps that prepare the others: what was packed, the drivers, the adapter."""

from __future__ import annotations

import json
import os

import machine
import outputs
import parts
from context import FAILED, PASSED, STOPPED, Context, Outcome

# Each photograph has so many names: an epoch of 64 files would be a single batch.
NAMES = 16


def unpack(context: Context) -> Outcome:
    needs, here = context.manifest["glibc"], machine.libc()
    if context.manifest["machine"] != os.uname().machine:
        return Outcome(FAILED, f"packed for {context.manifest['machine']}; this machine is {os.uname().machine}")
    if here and tuple(map(int, here.split("."))) < tuple(map(int, needs.split("."))):
        return Outcome(FAILED, f"the programs need glibc {needs}; this system has {here}")
    there = [part for part in context.manifest["parts"] if not part.missing]
    for part in there:
        parts.unpack(context.packed, part, context.work)
    for photograph in sorted((context.work / "photographs").glob("*/*")):
        for number in range(1, NAMES):
            os.link(photograph, photograph.with_name(f"{number:02}-{photograph.name}"))
    lacks = [f"no {part.name}: {part.missing}" for part in context.manifest["parts"] if part.missing]
    says = f"{sum(part.bytes for part in there) / 1e6:.0f} MB of gpufeed {context.manifest['version']}"
    return Outcome(PASSED, "; ".join([says, *lacks]))


def loader(context: Context) -> Outcome:
    added, said = machine.variables(context.work, context.work / "loaders")
    context.environment.update(added)
    return Outcome(PASSED, "; ".join(said + machine.windows()))


def doctor(context: Context) -> Outcome:
    """Chooses the adapter: the one that `auto` takes, or else the first one, with its own API alone."""
    seen = look(context)
    if isinstance(seen, Outcome):
        return seen
    chosen = next(
        (one for one in seen["adapters"] if one["taken"]), next((one for one in seen["adapters"] if one["opens"]), None)
    )
    if chosen is None:
        says = seen["path"]["why"] + "; " + "; ".join(seen["problems"])
        return Outcome("no adapter", says, {"doctor": seen})
    # Numbers count the adapters of this API from now on. The tests run on one of them, however many there are.
    context.environment["WGPU_BACKEND"] = chosen["backend"]
    again = look(context)
    if isinstance(again, Outcome):
        return again
    same = [one for one in again["adapters"] if one["number"] is not None and one["name"] == chosen["name"]]
    context.adapter = next((one for one in same if one["taken"]), same[0])
    number = str(context.adapter["number"])
    context.environment["GPUFEED_ONLY_ADAPTER"] = number
    context.environment["GPUFEED_REQUIRE_GPU"] = "1"
    software = "; a software adapter, no GPU" if context.adapter["device_type"] == "Cpu" else ""
    one = context.adapter
    says = f"{one['name']} ({one['device_type']}, {one['backend']}, {one['driver']}), upload {one['upload']}{software}"
    return Outcome(PASSED, "; ".join([says, *again["problems"]]), {"doctor": again})


def look(context: Context):
    finished = context.call([context.program("gpufeed"), "doctor", "--json"])
    try:
        return json.loads(finished.output)
    except ValueError:
        return Outcome(STOPPED if finished.stopped else FAILED, outputs.last_words(finished.errors, finished.output))
