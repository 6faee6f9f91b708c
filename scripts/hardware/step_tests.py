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
    "same_bytes::",
)
# Those of them that compile hundreds of shaders; the others end first.
LARGE = ("operators_are_torchvisions_on_the_shared_cases", "random_lists_have_the_same_bytes", "sequences::")
# Handed-over buffers of 64 MiB.
ROUNDS, SHORT_ROUNDS = 200, 50


def tests(
    context: Context, program: str, filters: List[str], seconds: Optional[float] = None, **more: str
) -> Tuple[dict, str]:
    """Runs tests of one program; returns those that passed, failed and did not end, how it crashed, and the output."""
    tree = context.work / "vectors" / "tree"
    variables = {"GPUFEED_REPOSITORY": str(tree), "GPUFEED_REQUIRE_GOLDEN": "0", "CI": "", **more}
    shared = context.work / "vectors" / "shared" / "public"
    if shared.is_dir():
        variables["GPUFEED_SHARED"] = str(shared)
    command = [context.program(program), *filters]
    listing = context.call([*command, "--list"], **variables)
    if listing.stopped:
        name = f"{program} {' '.join(filters)}".strip()
        return {"passed": [], "failed": [], "unfinished": [name], "crashed": []}, ""
    listed = outputs.listed(listing.output)
    # Not captured: libtest prints what a test has printed at the very end, which a run that is stopped does not reach.
    # With one thread its results are not on lines of their own then.
    finished = context.call(
        [*command, "--nocapture", "--test-threads", str(max(2, context.cores))], seconds, **variables
    )
    output = finished.output + finished.errors
    found = {**outputs.tests(output, listed), "crashed": []}
    # libtest ends by 101 where a test has failed. A crash of the driver ends the whole program.
    if not listed or finished.code not in (0, None) and (finished.code != 101 or not found["failed"]):
        words = outputs.last_words(finished.errors, finished.output)
        found["crashed"].append(f"{program} ended by {finished.code}: {words}")
    return found, output


def together(ended: List[Tuple[dict, str]]) -> dict:
    """What several programs, or several calls of one, have found."""
    return {kind: sum((found[kind] for found, _ in ended), []) for kind in ended[0][0]}


def verdict_of(found: dict) -> str:
    return FAILED if found["failed"] or found["crashed"] else STOPPED if found["unfinished"] else PASSED


def counted(found: dict) -> str:
    passed, all_of_them = len(found["passed"]), sum(len(found[kind]) for kind in ("passed", "failed", "unfinished"))
    says = "".join(f"{crash}; " for crash in found["crashed"]) + f"{passed} of {all_of_them} tests passed"
    return says + named("failed", found["failed"]) + named("without an end", found["unfinished"])


def named(what: str, names: List[str], most: int = 4) -> str:
    """The first of some names, and how many more there are; results.json has all."""
    if not names:
        return ""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"; {what}: {', '.join(names[:most])}{more}"


def goldens(context: Context) -> Outcome:
    skipped = [word for name in LARGE for word in ("--skip", name)]
    ended = [tests(context, "pixels", filters) for filters in ([*GOLDENS, *skipped], list(LARGE))]
    found, output = together(ended), "\n".join(text for _, text in ended)
    off, panics = outputs.distances(output), outputs.panics(output)
    if found["failed"] or found["crashed"]:
        text = "\n\n".join(f"== {thread}\n{message}" for thread, message in panics)
        context.results.write("golden-failures.txt", text + "\n")
    says = counted(found)
    known = [case["distance"] for case in off if case["distance"] is not None]
    if off:
        says += f"; {len(off)} cases are off" + (f", by up to {max(known):.2e}" if known else "")
    if not (context.work / "vectors" / "shared").is_dir():
        says += "; without the vectors that are not in the repository"
    return Outcome(verdict_of(found), says, {"tests": found, "off": off[:300]})


def determinism(context: Context) -> Outcome:
    """The same batches again, with 1 and with 16 workers, and from a cache on the device; then the tests of it."""
    errors: List[str] = []
    stopped: List[bool] = []

    def bits(workers: int, *words: str) -> Dict[str, str]:
        command = [context.program("bits"), "--workers", str(workers), *words]
        finished = context.call(command, 0.4 * context.left())
        stopped.append(finished.stopped)
        errors.extend(outputs.errors_of_bits(finished.output))
        if finished.code not in (0, 1, None):
            errors.append(f"bits ended by {finished.code}: {outputs.last_words(finished.errors)}")
        return outputs.bits(finished.output)

    first = bits(16)
    context.results.write("bits.txt", "".join(f"{name}: {value}\n" for name, value in first.items()))
    again, alone = bits(16, "shaders"), bits(1, "shaders")
    twice, changed = outputs.differing(again, first)
    workers, by_workers = outputs.differing(alone, first)
    cached, by_cache = outputs.cache_differs(first)
    places = outputs.by_place(first)
    native = places.get("CPU", {})
    data: Dict[str, object] = {"again": changed, "workers": by_workers, "cache": by_cache, "errors": errors[:40]}
    says = [f"{len(errors)} errors: {errors[0]}"] if errors else []
    says += ["not all cases ran"] if any(stopped) else []
    says += [
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
    found = together(ended)
    says.append(counted(found))
    verdict = verdict_of(found)
    if changed or by_workers or by_cache or errors:
        verdict = FAILED
    elif verdict == PASSED and (any(stopped) or not (twice and workers and cached)):
        verdict = STOPPED
    return Outcome(verdict, "; ".join(says), {**data, "tests": found})


def hand_over(context: Context, more: List[str]) -> Outcome:
    rounds = SHORT_ROUNDS if context.short else ROUNDS
    command = [context.program("external_memory"), "--rounds", str(rounds), *more]
    # The probe counts adapters in an order of its own.
    uuid = context.adapter.get("uuid") if context.adapter else None
    finished = context.call([*command, *(["--uuid", uuid] if uuid else [])])
    rows = outputs.handed_over(finished.output)
    says = []
    for row in rows:
        if row["kind"] == "result":
            order = "unordered, the control" if row["order"] == "unordered" else row["order"]
            counted_words = f"{row['wrong']} wrong words in {row['hand_overs']} × 64 MiB"
            says.append(f"{order}: {counted_words}, {row['milliseconds']:.1f} ms each")
        else:
            says.append(f"{row['order']}: {row['kind']}, {row['reason']}")
    # The probe ends by 3 where nothing could be tried; by anything else but 0 for wrong words, failed calls, crashes.
    verdicts = {0: PASSED, 3: "not possible", None: STOPPED}
    verdict = FAILED if any(row["kind"] == "failed" for row in rows) else verdicts.get(finished.code, FAILED)
    if not says or finished.code not in (0, 1, 3, None):
        says.append(f"ended by {finished.code}: {outputs.last_words(finished.errors, finished.output)}")
    return Outcome(verdict, "; ".join(says), {"rows": rows})


def hand_over_to_vulkan(context: Context) -> Outcome:
    return hand_over(context, [])


def hand_over_to_cuda(context: Context) -> Outcome:
    return hand_over(context, ["--cuda", "libcuda.so.1"])


def exported(context: Context) -> Outcome:
    """The loader's own buffers, which a second device of Vulkan imports: bits, order, semaphores, refusals."""
    # It counts the open files of its process: alone. The other one needs a producer that is late, as software drivers are.
    alone, late = "nothing_is_left_open", "a_consumer_that_does_not_wait_reads_another_batch"
    skipped = ["--skip", alone, "--skip", late]
    ended = [tests(context, "handover", words, GPUFEED_REQUIRE_EXPORT="1") for words in (skipped, [alone])]
    found = together(ended)
    return Outcome(verdict_of(found), f"{counted(found)}; left out: {late}", {"tests": found})


def faults(context: Context) -> Outcome:
    found, _ = tests(context, "faults", ["gpu::", "adapters::"])
    return Outcome(verdict_of(found), counted(found), {"tests": found})
