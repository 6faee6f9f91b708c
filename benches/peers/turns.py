"""Runs programs in turns, each in a process of its own, and takes their results."""

import json
import os
import random
import signal
import subprocess
import tempfile
import time

import measure


def order(cells, rounds, seed):
    """(round, cell): recipe by recipe, so that those compared run within minutes; within a recipe shuffled for each
    round, so that nobody always runs after the same one."""
    letters = sorted({cell.recipe for cell in cells})
    for number in range(rounds):
        for letter in letters:
            turn = [cell for cell in cells if cell.recipe == letter]
            random.Random(f"{seed} {number} {letter}").shuffle(turn)
            for cell in turn:
                yield number, cell


def positive(value, what):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ValueError(f"{what} is {value!r}, not a number above 0")
    return float(value)


def parse(output):
    """What a program printed: the last line `RESULT {json}`, or the JSON of `gpufeed bench`."""
    lines = [line for line in output.splitlines() if line.startswith("RESULT ")]
    if lines:
        found = json.loads(lines[-1][len("RESULT ") :])
        rate, milliseconds = found["images_per_s"], found.get("cpu_ms_per_image")
        note, busy = found.get("note", ""), found.get("other_cores_busy")
    elif "{" in output:
        found = json.loads(output[output.index("{") :])
        rate, milliseconds = found["images_per_second"]["median"], 1e3 * found["cpu_seconds_per_image"]
        # Who augments can differ from what was asked for.
        note, busy = found.get("executor", ""), found.get("machine", {}).get("other_cores_busy")
    else:
        raise ValueError("neither a line RESULT {...} nor JSON")
    return {
        "images_per_s": positive(rate, "images_per_s"),
        "cpu_ms_per_image": None if milliseconds is None else positive(milliseconds, "cpu_ms_per_image"),
        "version": found.get("version", ""),
        "note": note,
        "other_cores_busy": busy,
    }


def last_words(*outputs):
    """The end of what a failing program said, on one line."""
    for output in outputs:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        if lines:
            return " / ".join(lines[-2:])[-400:]
    return "it said nothing"


def end(process):
    """Its whole session: a loader's processes may outlive their parent."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    process.kill()
    process.wait()


def cpu_of_all_and_ours():
    system, times = measure.system_cpu_seconds(), os.times()
    return None if system is None else (system, times.user + times.system + times.children_user + times.children_system)


def take(cell, timeout):
    """One turn: the program's result, or `failed` with the reason."""
    if cell.missing:
        return {"failed": cell.missing}
    # Mesa's layer that reorders Vulkan devices complains where there is no desktop.
    environment = {**os.environ, "NODEVICE_SELECT": "1"}
    start, before = time.monotonic(), cpu_of_all_and_ours()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(
                cell.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return {"failed": f"cannot start {cell.command[0]}: {error}"}
        watch, late = measure.Watch(process.pid), False
        try:
            watch.start()
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            end(process)
            watch.stop()
        output.seek(0)
        errors.seek(0)
        output, errors = output.read(), errors.read()
    if late:
        return {"failed": f"stopped after {timeout:.0f} s without an end"}
    if process.returncode:
        return {"failed": f"exit code {process.returncode}: {last_words(errors, output)}"}
    try:
        result = parse(output)
    except (ValueError, KeyError, TypeError) as error:
        return {"failed": f"no result ({type(error).__name__}: {error}): {last_words(errors, output)}"}
    if result["other_cores_busy"] is None and before:
        system, own = (now - then for now, then in zip(cpu_of_all_and_ours(), before))
        result["other_cores_busy"] = max(0.0, system - own) / (time.monotonic() - start)
    return {**result, "peak_rss_mb": watch.peak / 1e6 or None, "memory": watch.kind, "failed": None}
