"""Steps that measure by `gpufeed bench`: kernels, the pipeline, switches."""

from __future__ import annotations

import json
from typing import Optional

import cards
import outputs
from context import FAILED, PASSED, STOPPED, Context, Outcome

WORKERS = (1, 2, 4, 8, 16)
# Recipes whose kernels are measured, with what bench is given beside them; the first one's card is kept whole.
RECIPES = (
    ("imagenet-train", []),
    ("imagenet-train-jitter", []),
    ("simclr", []),
    ("cifar-train", ["--cache", "device"]),
)
# Switches of `gpufeed bench` by which a card decides a question, with what shows it; a bench that lacks one is said to
# lack it. Rows are a rule for small images; slots are the pipeline's alone.
SWITCHES = {
    "f16": ("whether f16 is stored by the last stage or packed by a pass of its own", []),
    "rows": (
        "how many rows of outputs a thread of a small image has",
        ["--recipe", "cifar-train", "--cache", "device"],
    ),
    "slots": ("whether staging slots are merged into larger submissions", ["--quick"]),
    "staging": ("whether shaders read slots in place, or in which memory the slots lie that are copied", ["--quick"]),
    "loop-bounds": ("what naga's loop bounds cost", []),
}


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
        given = [
            "--recipe",
            recipe,
            "--seconds",
            "1" if number == 0 else "0.3",
            "--workers",
            str(min(16, context.cores)),
            *more,
        ]
        # None takes the time of all others.
        share = 0.6 if number + 1 < len(chosen) else 1.0
        card = bench(context, *given, seconds=share * context.left())
        if isinstance(card, Outcome):
            wrong.append(card.verdict)
            says.append(f"{recipe}: {card.verdict}, {card.says}")
            continue
        if number == 0:
            try:
                context.results.write_json("card.json", card)
            except ValueError as error:
                says.append(str(error))
        data[recipe] = cards.kernels(card)
        says.append(f"{recipe}: {cards.words(card)}")
    verdict = FAILED if FAILED in wrong else STOPPED if wrong else PASSED
    return Outcome(verdict, "; ".join(says), data)


def pipeline(context: Context) -> Outcome:
    """Both executors with each number of workers, and what limits them."""
    says, data, wrong = [], {}, []
    workers = ",".join(map(str, WORKERS))
    executors = [("GPU", True), ("CPU", False)] if context.adapter else [("CPU", False)]
    for name, gpu in executors:
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
    verdict = FAILED if FAILED in wrong else STOPPED if wrong else PASSED if context.adapter else "no adapter"
    return Outcome(verdict, "; ".join(says), data)


def switches(context: Context) -> Outcome:
    offered = outputs.switches(context.call([context.program("gpufeed"), "bench", "--help"]).output)
    says, data, wrong = [], {}, []
    each = [(name, value) for name in SWITCHES for value in offered.get(name, [])]
    for number, (name, value) in enumerate(each):
        given, (question, more) = f"{name}={value}", SWITCHES[name]
        # None takes the time of all others.
        seconds = min(context.left(), 2 * context.left() / (len(each) - number))
        workers = str(min(16, context.cores))
        card = bench(context, "--seconds", "0.3", "--workers", workers, *more, "--switch", given, seconds=seconds)
        if not isinstance(card, Outcome):
            data[given] = {"question": question, **cards.kernels(card)}
            says.append(f"{given}: {cards.answer(name, card)}")
        elif "switch: " in card.says:
            says.append(f"{given}: not possible, {card.says}")
        else:
            wrong.append(card.verdict)
            says.append(f"{given}: {card.verdict}, {card.says}")
    lacking = [name for name in SWITCHES if name not in offered]
    if lacking:
        says.append(f"this bench has no switch {', '.join(lacking)}")
    verdict = FAILED if FAILED in wrong else STOPPED if wrong else PASSED if data else "no switches"
    return Outcome(verdict, "; ".join(says), data)
