"""Steps that run test programs: golden vectors, the same bits, the hand-over of memory, faults."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import outputs
from context import FAILED, PASSED, STOPPED, Context, Outcome

GOLDENS = (
    "golden::",
    "shared_golden::",
    "functional::",
    "photometric::",
    "mixing::",
    "small_and_half::",
    "sequences::",
)
# Handed-over buffers of 64 MiB.
ROUNDS, SHORT_ROUNDS = 200, 50


def tests(
    context: Context, program: str, filters: List[str], seconds: Optional[float] = None, **more: str
) -> Tuple[dict, str]:
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
    # Not captured: libtest prints what a test has printed at the very end, which a run that is stopped does not reach.
    # With one thread its results are not on lines of their own then.
    finished = context.call(
        [*command, "--nocapture", "--test-threads", str(max(2, context.cores))], seconds, **variables
    )
    output = finished.output + finished.errors
    found = outputs.tests(output, listed)
    if not listed or finished.code not in (0, None) and not found["failed"]:
        # A crash of the driver ends the whole program.
        raise RuntimeError(
            f"{program} ended by {finished.code}: {outputs.last_words(finished.errors, finished.output)}"
        )
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
    says = [
        f"again: {twice - len(changed)} of {twice} cases equal",
        f"1 worker: {workers - len(by_workers)} of {workers}",
    ]
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
            counted_words = f"{row['wrong']} wrong words in {row['hand_overs']} × 64 MiB"
            says.append(f"{row['order']}: {counted_words}, {row['milliseconds']:.1f} ms each")
        else:
            says.append(f"{row['order']}: {row['kind']}, {row['reason']}")
    failed = finished.code == 1 or any(row["kind"] == "failed" for row in rows)
    verdict = FAILED if failed else STOPPED if finished.stopped else PASSED if finished.code == 0 else "not possible"
    return Outcome(verdict, "; ".join(says) or outputs.last_words(finished.errors, finished.output), {"rows": rows})


def hand_over_to_vulkan(context: Context) -> Outcome:
    return hand_over(context, [])


def hand_over_to_cuda(context: Context) -> Outcome:
    return hand_over(context, ["--cuda", "libcuda.so.1"])


def faults(context: Context) -> Outcome:
    found, _ = tests(context, "faults", ["gpu::", "adapters::"])
    return Outcome(verdict_of(found), counted(found), {"tests": found})
