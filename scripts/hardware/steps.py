"""The steps of a run, in their order: what each does, what it needs, and how long it may take.

The most important come first, as a step that finds no time left is left out. Programs of torch are `torch_facts.py`,
`torch_rivals.py` and `torch_loader.py`, each run by the Python that has torch.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

import cards
import machine
import outputs
import parts
from run import FAILED, HERE, PASSED, STOPPED, Context, Outcome

Lacking = Optional[Tuple[str, str]]
# Each photograph has so many names: an epoch of 64 files would be a single batch.
NAMES = 16
# Handed-over buffers of 64 MiB.
ROUNDS, SHORT_ROUNDS = 200, 50
WORKERS = (1, 2, 4, 8, 16)
# Recipes whose kernels are measured, with what bench is given beside them; the first one's card is kept whole.
RECIPES = (
    ("imagenet-train", []),
    ("imagenet-train-jitter", []),
    ("simclr", []),
    ("cifar-train", ["--cache", "device"]),
)
GOLDENS = ("golden::", "shared_golden::", "functional::", "photometric::", "mixing::", "small_and_half::", "sequences::")
# Switches of `gpufeed bench` by which a card decides a question; a bench that lacks one is said to lack it.
SWITCHES = (
    ("--loop-bounds", "what naga's loop bounds cost"),
    ("--staging", "whether staging slots lie in the card's memory or in the host's"),
    ("--small-images", "how small images are laid out in workgroups"),
    ("--merge-slots", "whether slots are merged into larger submissions"),
    ("--f16-stores", "whether f16 is stored by the passes or packed by one of its own"),
)


class Step(NamedTuple):
    name: str
    # Seconds of a whole run, and of a short one; 0 leaves it out there.
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
    return None if context.torch["cuda"] else ("no CUDA", f"torch {context.torch['torch']} has none: {context.torch['why']}")


def a_wheel(context: Context) -> Lacking:
    assert context.torch is not None
    if tuple(context.torch["python"]) < (3, 10):
        return "no Python 3.10", f"the wheel needs it; torch is in Python {'.'.join(map(str, context.torch['python']))}"
    return None if (context.work / "site").is_dir() else ("no wheel", "none was packed")


def everything(context: Context) -> Lacking:
    return cuda_in_torch(context) or a_wheel(context) or an_adapter(context)


def libcuda(context: Context) -> Lacking:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return "no CUDA", str(error)
    return an_adapter(context)


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
    chosen = next((one for one in seen["adapters"] if one["taken"]), next((one for one in seen["adapters"] if one["opens"]), None))
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


def tests(context: Context, program: str, filters: List[str], seconds: Optional[float] = None, **more: str) -> Tuple[dict, str]:
    """Runs tests of one program; returns those that passed, failed and did not end, and the output."""
    tree = context.work / "vectors" / "tree"
    variables = {"GPUFEED_REPOSITORY": str(tree), "GPUFEED_REQUIRE_GOLDEN": "0", "CI": "", **more}
    shared = context.work / "vectors" / "shared" / "public"
    if shared.is_dir():
        variables["GPUFEED_SHARED"] = str(shared)
    command = [context.program(program), *filters]
    listing = context.call([*command, "--list"], **variables)
    if listing.stopped:
        return {"passed": [], "failed": [], "unfinished": [f"{program} {' '.join(filters)}".strip()]}, ""
    listed = outputs.listed(listing.output)
    # Not captured: libtest prints what a test has printed at the very end, which a run that is stopped does not reach. With
    # one thread its results are not on lines of their own then.
    finished = context.call([*command, "--nocapture", "--test-threads", str(max(2, context.cores))], seconds, **variables)
    output = finished.output + finished.errors
    found = outputs.tests(output, listed)
    if not listed or finished.code not in (0, None) and not found["failed"]:
        # A crash of the driver ends the whole program.
        raise RuntimeError(f"{program} ended by {finished.code}: {outputs.last_words(finished.errors, finished.output)}")
    return found, output


def verdict_of(found: dict) -> str:
    return FAILED if found["failed"] else STOPPED if found["unfinished"] else PASSED


def counted(found: dict) -> str:
    passed, all_of_them = len(found["passed"]), sum(map(len, found.values()))
    says = f"{passed} of {all_of_them} tests passed"
    return says + named("failed", found["failed"]) + named("without an end", found["unfinished"])


def named(what: str, names: List[str], most: int = 4) -> str:
    """The first of some names, and how many more there are; results.json has all."""
    if not names:
        return ""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"; {what}: {', '.join(names[:most])}{more}"


def goldens(context: Context) -> Outcome:
    found, output = tests(context, "pixels", list(GOLDENS))
    off, panics = outputs.distances(output), outputs.panics(output)
    if found["failed"]:
        text = "\n\n".join(f"== {thread}\n{message}" for thread, message in panics)
        context.results.write("golden-failures.txt", text + "\n")
    says = counted(found)
    known = [case["distance"] for case in off if case["distance"] is not None]
    if off:
        says += f"; {len(off)} cases are off" + (f", by up to {max(known):.2e}" if known else "")
    if not (context.work / "vectors" / "shared").is_dir():
        says += "; without the vectors that are not in the repository"
    return Outcome(verdict_of(found), says, {"tests": found, "off": off[:400]})


def determinism(context: Context) -> Outcome:
    """The same batches again, with 1 and with 16 workers, and from a cache on the device; then the tests of it."""

    def bits(workers: int, *words: str) -> Dict[str, str]:
        command = [context.program("bits"), "--workers", str(workers), *words]
        return outputs.bits(context.call(command, 0.4 * context.left()).output)

    first = bits(16)
    context.results.write("bits.txt", "".join(f"{name}: {value}\n" for name, value in first.items()))
    again, alone = bits(16, "shaders"), bits(1, "shaders")
    twice, changed = outputs.differing(again, first)
    workers, by_workers = outputs.differing(alone, first)
    cached, by_cache = outputs.cache_differs(first)
    places = outputs.by_place(first)
    native = places.get("CPU", {})
    data: Dict[str, object] = {"again": changed, "workers": by_workers, "cache": by_cache}
    says = [f"again: {twice - len(changed)} of {twice} cases equal", f"1 worker: {workers - len(by_workers)} of {workers}"]
    says.append(f"caches: {cached - len(by_cache)} of {cached}")
    for place, cases in places.items():
        if place != "CPU":
            compared, unlike = outputs.differing(cases, native)
            says.append(f"{place}: {compared - len(unlike)} of {compared} have the CPU's bits")
            data[place] = unlike
    ended = [tests(context, program, filters) for program, filters in (("pipeline", ["determinism::"]), ("cache", []))]
    found = {kind: sum((each[0][kind] for each in ended), []) for kind in ("passed", "failed", "unfinished")}
    says.append(counted(found))
    wrong = changed or by_workers or by_cache
    nothing_compared = not (twice and workers)
    verdict = FAILED if wrong or found["failed"] else STOPPED if nothing_compared or found["unfinished"] else PASSED
    return Outcome(verdict, "; ".join(says), {**data, "tests": found})


def hand_over(context: Context, more: List[str]) -> Outcome:
    rounds = SHORT_ROUNDS if context.short else ROUNDS
    finished = context.call([context.program("external_memory"), "--rounds", str(rounds), *more])
    rows = outputs.handed_over(finished.output)
    says = []
    for row in rows:
        if row["kind"] == "result":
            says.append(f"{row['order']}: {row['wrong']} wrong words in {row['hand_overs']} × 64 MiB, {row['milliseconds']:.1f} ms each")
        else:
            says.append(f"{row['order']}: {row['kind']}, {row['reason']}")
    failed = finished.code == 1 or any(row["kind"] == "failed" for row in rows)
    verdict = FAILED if failed else STOPPED if finished.stopped else PASSED if finished.code == 0 else "not possible"
    return Outcome(verdict, "; ".join(says) or outputs.last_words(finished.errors, finished.output), {"rows": rows})


def hand_over_to_vulkan(context: Context) -> Outcome:
    return hand_over(context, [])


def hand_over_to_cuda(context: Context) -> Outcome:
    return hand_over(context, ["--cuda", "libcuda.so.1"])


def bench(context: Context, *more: str, seconds: Optional[float] = None, gpu: bool = True):
    """A report card of `gpufeed bench` on the photographs, or the outcome of its failure."""
    photographs = context.work / "photographs"
    command = [context.program("gpufeed"), "bench"]
    if photographs.is_dir() and "cifar-train" not in more:
        command += ["--data", str(photographs)]
    if gpu:
        assert context.adapter is not None
        command += ["--adapter", str(context.adapter["number"]), "--shaders"]
    else:
        command += ["--backend", "cpu"]
    card = context.work / "card.json"
    card.unlink(missing_ok=True)
    finished = context.call([*command, *more, "--report-card", str(card)], seconds)
    if finished.stopped:
        return Outcome(STOPPED, f"after {finished.seconds:.0f} s")
    if finished.code != 0 or not card.is_file():
        return Outcome(FAILED, outputs.last_words(finished.errors, finished.output))
    return json.loads(card.read_text(encoding="utf-8"))


def kernels(context: Context) -> Outcome:
    says, data, wrong = [], {}, []
    chosen = RECIPES[: 1 if context.short else None]
    for number, (recipe, more) in enumerate(chosen):
        given = ["--recipe", recipe, "--seconds", "1" if number == 0 else "0.3", "--workers", str(min(16, context.cores)), *more]
        # None takes the time of all others.
        share = 0.6 if number + 1 < len(chosen) else 1.0
        card = bench(context, *given, seconds=share * context.left())
        if isinstance(card, Outcome):
            wrong.append(card.verdict)
            says.append(f"{recipe}: {card.verdict}, {card.says}")
            continue
        if number == 0:
            context.results.write_json("card.json", card)
        data[recipe] = cards.kernels(card)
        says.append(f"{recipe}: {cards.words(card)}")
    verdict = FAILED if FAILED in wrong else STOPPED if wrong else PASSED
    return Outcome(verdict, "; ".join(says), data)


def pipeline(context: Context) -> Outcome:
    """Both executors with each number of workers, and what limits them."""
    says, data, wrong = [], {}, []
    workers = ",".join(map(str, WORKERS))
    for name, gpu in (("GPU", True), ("CPU", False)):
        seconds = context.left() * (0.6 if gpu else 1.0)
        each = "0.3" if context.short else "0.6"
        card = bench(context, "--quick", "--seconds", each, "--workers", workers, seconds=seconds, gpu=gpu)
        if isinstance(card, Outcome):
            wrong.append(card.verdict)
            says.append(f"{name}: {card.verdict}, {card.says}")
            continue
        data[name] = cards.pipeline(card)
        rates = ", ".join(f"{count}: {rate:,.0f}" for count, rate in data[name]["images_per_second"])
        says.append(f"{name}, images/s by workers {rates}; {data[name]['limit']}")
    verdict = FAILED if FAILED in wrong else STOPPED if wrong else PASSED
    return Outcome(verdict, "; ".join(says), data)


def torch_facts(context: Context) -> Outcome:
    finished = context.call([context.python, str(HERE / "torch_facts.py")])
    found = outputs.result(finished.output)
    if found is None:
        context.no_torch = f"{Path(context.python).name}: {outputs.last_words(finished.errors, finished.output)}"
        return Outcome(STOPPED if finished.stopped else "no torch", context.no_torch)
    context.torch = found
    cuda = found["device"] if found["cuda"] else f"no CUDA: {found['why']}"
    return Outcome(PASSED, f"torch {found['torch']}, torchvision {found['torchvision']}, {cuda}", found)


def torch_program(context: Context, name: str, *more: str) -> Outcome:
    photographs, site = context.work / "photographs", context.work / "site"
    if not photographs.is_dir():
        return Outcome("no photographs", "none were packed")
    assert context.adapter is not None
    # `backend="gpu"` passes software adapters over.
    backend = context.adapter["name"] if context.adapter["device_type"] == "Cpu" else "gpu"
    command = [context.python, str(HERE / name), str(photographs), "--backend", backend, *more]
    paths = [str(site), str(HERE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    finished = context.call(command, PYTHONPATH=os.pathsep.join(filter(None, paths)))
    found = outputs.result(finished.output)
    if found is None:
        return Outcome(STOPPED if finished.stopped else FAILED, outputs.last_words(finished.errors, finished.output))
    # A program prints its result so far again and again: one that is stopped has some.
    verdict = FAILED if found["failed"] or finished.code not in (0, None) else STOPPED if finished.stopped else PASSED
    return Outcome(verdict, "; ".join(found["says"]), found)


def rivals(context: Context) -> Outcome:
    assert context.adapter is not None
    more = ["--gpufeed", context.program("gpufeed"), "--adapter", str(context.adapter["number"])]
    return torch_program(context, "torch_rivals.py", *more, "--rounds", "1" if context.short else "3")


def python(context: Context) -> Outcome:
    return torch_program(context, "torch_loader.py", "--seconds", "2" if context.short else "4")


def faults(context: Context) -> Outcome:
    found, _ = tests(context, "faults", ["gpu::", "adapters::"])
    return Outcome(verdict_of(found), counted(found), {"tests": found})


def switches(context: Context) -> Outcome:
    offered = outputs.choices(context.call([context.program("gpufeed"), "bench", "--help"]).output)
    says, data, lacking = [], {}, []
    for option, question in SWITCHES:
        if option not in offered:
            lacking.append(option)
            continue
        for value in offered[option] or ["on"]:
            given = [option, value] if offered[option] else [option]
            card = bench(context, "--seconds", "0.3", "--workers", str(min(16, context.cores)), *given)
            if isinstance(card, Outcome):
                says.append(f"{option} {value}: {card.verdict}, {card.says}")
            else:
                data[f"{option} {value}"] = {"question": question, **cards.kernels(card)}
                says.append(f"{option} {value}: {cards.words(card)}")
    if lacking:
        says.append(f"this bench has no {', '.join(lacking)}")
    return Outcome(PASSED if data else "no switches", "; ".join(says), data)


STEPS = (
    Step("unpack", 20, 15, unpack, nothing),
    Step("loader and driver", 15, 10, loader, nothing),
    Step("doctor", 15, 10, doctor, nothing),
    Step("goldens", 90, 50, goldens, an_adapter),
    Step("determinism", 60, 25, determinism, an_adapter),
    Step("hand-over to Vulkan", 20, 10, hand_over_to_vulkan, an_adapter),
    Step("hand-over to CUDA", 25, 10, hand_over_to_cuda, libcuda),
    Step("kernels", 70, 25, kernels, an_adapter),
    Step("pipeline", 60, 30, pipeline, an_adapter),
    Step("torch", 25, 15, torch_facts, nothing),
    Step("rivals on the card", 60, 20, rivals, everything),
    Step("python", 40, 17, python, everything),
    Step("switches", 15, 0, switches, an_adapter),
    Step("faults", 22, 0, faults, an_adapter),
)

if __name__ == "__main__":
    sys.exit("scripts/hardware.sh run")
