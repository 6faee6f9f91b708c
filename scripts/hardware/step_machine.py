"""Steps that prepare the others: what was packed, the drivers, the adapter."""

from __future__ import annotations

import json
import os
import shutil

import machine
import outputs
import parts
from context import FAILED, PASSED, STOPPED, Context, Outcome

# Each photograph has so many names: an epoch of 64 files would be a single batch.
NAMES = 16


def unpack(context: Context) -> Outcome:
    if context.manifest["machine"] != os.uname().machine:
        return Outcome(FAILED, f"packed for {context.manifest['machine']}; this machine is {os.uname().machine}")
    there = [part for part in context.manifest["parts"] if not part.missing]
    for part in there:
        parts.unpack(context.packed, part, context.work)
    for photograph in sorted((context.work / "photographs").glob("*/*")):
        for number in range(1, NAMES):
            other = photograph.with_name(f"{number:02}-{photograph.name}")
            try:
                os.link(photograph, other)
            except OSError:  # a file system without links
                shutil.copy(photograph, other)
    lacks = [f"no {part.name}: {part.missing}" for part in context.manifest["parts"] if part.missing]
    needs, here = context.manifest["glibc"], machine.libc()
    if here and parts.version(here) < parts.version(needs):
        # The wheel is built for older systems.
        says = f"the programs need glibc {needs}, and this system has {here}: pack on a system as old as this one"
        return Outcome(FAILED, "; ".join([says, *lacks]))
    says = f"{sum(part.bytes for part in there) / 1e6:.0f} MB of gpufeed {context.manifest['version']}"
    return Outcome(PASSED, "; ".join([says, *lacks]))


def loader(context: Context) -> Outcome:
    added, said = machine.variables(context.work, context.work / "loaders")
    context.environment.update(added)
    return Outcome(PASSED, "; ".join(said + machine.windows()))


def doctor(context: Context) -> Outcome:
    """Chooses the adapter: the one that `auto` takes, or else the first card, with its own API alone. A software adapter
    is taken where `GPUFEED_ADAPTER` names it: it would take the time and tell nothing of a card."""
    seen = look(context)
    if isinstance(seen, Outcome):
        return seen
    cards = [one for one in seen["adapters"] if one["opens"] and one["device_type"] != "Cpu"]
    taken = [one for one in seen["adapters"] if one["taken"]]
    chosen = next(iter([*taken, *cards]), None)
    if chosen is None:
        says = seen["path"]["why"] + "; " + "; ".join(seen["problems"])
        return Outcome("no adapter", says, {"doctor": seen})
    # Numbers count the adapters of this API from now on. The tests run on one of them, however many there are.
    context.environment["WGPU_BACKEND"] = chosen["backend"]
    again = look(context)
    if isinstance(again, Outcome):
        return again
    same = [one for one in again["adapters"] if one["number"] is not None and one["name"] == chosen["name"]]
    if not same:
        says = f"{chosen['name']} is not there with WGPU_BACKEND={chosen['backend']}"
        return Outcome(FAILED, "; ".join([says, *again["problems"]]), {"doctor": again})
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
