#!/usr/bin/env python3
"""Draws the SVGs of docs/pictures from committed files: no number in them is typed in. `scripts/pictures.sh` calls this.

    scripts/pictures.py [--check]     --check compares with the committed pictures instead of writing them
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
RESULTS = ROOT / "benches" / "results"
WIDTH = 720

# Text follows the reader's theme; fills are legible on GitHub's white and on its dark ground.
STYLE = """<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.small { font-size: 11px } .title { font-size: 15px; font-weight: 600 } .muted { fill: #656d76 }
.line { stroke: #656d76; fill: none; stroke-width: 1.5 } .box { stroke: #656d76; fill: #8c959f; fill-opacity: .14 }
.own { fill: #2da44e } .other { fill: #8c959f } .spread { stroke: #1f2328; stroke-width: 1.5; fill: none }
.on { fill: #ffffff; font-size: 11px }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .muted { fill: #9198a1 } .line { stroke: #9198a1 } .box { stroke: #9198a1 } .spread { stroke: #e6edf3 }
}
</style>"""
# Distinct in both themes, and by lightness for who does not see their hues.
COLOURS = ["#0969da", "#2da44e", "#bf8700", "#8250df", "#cf222e", "#6e7781", "#1b7c83"]


def load(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, kind: str = "", **more: str) -> str:
    extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"{extra}/>'


def svg(height: float, title: str, parts: list[str], defs: str = "") -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, defs, *parts, "</svg>\n"])


def rates() -> str:
    """Images a second of each loader, for one recipe of files and one of small images."""
    report = load("epyc-2-cores-peers.json")
    parts, y = [], 20.0
    for recipe in ("A", "D", "G"):
        what = next(each["what"] for each in report["recipes"] if each["name"] == recipe)
        rows = [row for row in report["rows"] if row["recipe"] == recipe]
        measured = [row for row in rows if not row["failed"]]
        most = max(row["images_per_s"]["max"] for row in measured)
        name, _, steps = what.split(", f32")[0].partition(": ")
        parts += [text(0, y, name, "title"), text(0, y + 17, steps, "small muted")]
        y += 24
        for row in measured:
            rate = row["images_per_s"]
            scale = 400 / most
            parts.append(text(170, y + 15, row["name"], "", "end"))
            parts.append(rect(180, y + 3, rate["median"] * scale, 16, "own" if row["name"] == "gpufeed" else "other"))
            low, high = 180 + rate["min"] * scale, 180 + rate["max"] * scale
            parts.append(f'<path class="spread" d="M{low:.1f} {y + 11:g}H{high:.1f}M{low:.1f} {y + 7:g}v8M{high:.1f} {y + 7:g}v8"/>')
            parts.append(text(high + 8, y + 15, f"{rate['median']:,.0f}"))
            y += 24
        absent = [row["name"] for row in rows if row["failed"]]
        if absent:
            parts.append(text(180, y + 12, f"not measured, no NVIDIA GPU: {', '.join(absent)}", "small muted"))
            y += 18
        y += 26
    machine = report["machine"]
    words = f"Images a second, median and range of {len(measured[0]['images_per_s']['runs'])} runs in turns. {machine['cpu']}, {machine['cores']} cores, {report['workers']} workers each, {report['date'][:10]}."
    parts.append(text(0, y - 6, words, "small muted"))
    return svg(y + 4, "Images a second of gpufeed and of other loaders", parts)


STAGES = {"draw": "parameters", "params": "parameters", "put": "copy", "upload": "submit"}


def stages() -> str:
    """Where the time of one image goes, on the CPU executor and by shaders."""
    reports = [load("epyc-2-cores-bench-cpu.json"), load("epyc-2-cores-bench-llvmpipe.json")]
    named = [[(STAGES.get(stage["name"], stage["name"]), stage["seconds_per_image"] * 1e3) for stage in report["stages"]] for report in reports]
    names = list(dict.fromkeys(name for stages in named for name, _ in stages))
    scale = 520 / max(sum(time for _, time in stages) for stages in named)
    parts, y = [], 0.0
    for report, times in zip(reports, named, strict=True):
        who = "native code" if report["executor"] == "CPU executor" else "shaders on a software GPU"
        parts.append(text(0, y + 16, f"{who}: {sum(time for _, time in times):.2f} ms of the threads for an image", "title"))
        x = 0.0
        for name, time in times:
            parts.append(rect(x, y + 26, max(time * scale, 0.5), 26, "", fill=COLOURS[names.index(name) % len(COLOURS)]))
            if time * scale > 60:
                parts.append(f'<text class="on" x="{x + 6:.1f}" y="{y + 43:g}">{name} {time:.2f}</text>')
            x += time * scale
        y += 76
    x = 0.0
    for number, name in enumerate(names):
        parts.append(rect(x, y, 12, 12, "", fill=COLOURS[number % len(COLOURS)]))
        parts.append(text(x + 18, y + 11, name, "small"))
        x += 34 + 7.2 * len(name)
    report = reports[0]
    parts.append(text(0, y + 36, f"Recipe {report['recipe']}, {report['machine']['cpu']}, {report['workers']} workers. By shaders the GPU augments beside the threads.", "small muted"))
    return svg(y + 44, "The time of each stage for one image", parts)


def workers() -> str:
    """The worker sweep: measured, and what the statistics of the smaller run predict."""
    report = load("epyc-2-cores-bench-cpu.json")
    sweep = report["sweep"]
    most = max(point["images_per_second"]["max"] for point in sweep) * 1.1
    parts: list[str] = []
    for number, point in enumerate(sweep):
        rate, x = point["images_per_second"], 120 + 190 * number
        height = 180 * rate["median"] / most
        parts.append(rect(x, 200 - height, 70, height, "own"))
        low, high = 200 - 180 * rate["min"] / most, 200 - 180 * rate["max"] / most
        parts.append(f'<path class="spread" d="M{x + 35:g} {low:.1f}V{high:.1f}M{x + 31:g} {low:.1f}h8M{x + 31:g} {high:.1f}h8"/>')
        parts.append(text(x + 35, 218, f"{point['workers']} workers" if point["workers"] > 1 else "1 worker", "", "middle"))
        parts.append(text(x + 80, 224 - height, f"{rate['median']:,.0f} measured"))
        if number:
            prediction = report["predictions"][number - 1]
            predicted = sweep[number - 1]["images_per_second"]["median"] * (1 + prediction["predicted_gain"])
            y = 200 - 180 * predicted / most
            parts.append(f'<path class="line" stroke-dasharray="5 3" d="M{x - 12:g} {y:.1f}h94"/>')
            parts.append(text(x - 18, y + 4, f"{predicted:,.0f} predicted", "muted", "end"))
    parts.append(f'<path class="line" d="M90 200H{WIDTH - 120}"/>')
    parts.append(text(90, 244, f"Images a second, median and range. Recipe {report['recipe']}, {report['machine']['cpu']}, {report['machine']['cores']} cores.", "small muted"))
    return svg(252, "Images a second by the number of workers, measured and predicted", parts)


def regions() -> str:
    """One photograph: the MCUs that are decoded, skipped over and never read, for three crops."""
    found = json.loads((PICTURES / "regions.json").read_text(encoding="utf-8"))
    photograph = base64.b64encode((PICTURES / found["file"]).read_bytes()).decode("ascii")
    (width, height), (columns, rows) = found["size"], found["mcus"]
    side, gap = 232.0, 12.0
    scale = side / width
    tall = height * scale
    mcu = side / columns * (columns * 16 / width)  # MCUs of 16 pixels; the last ones hang over the edge
    defs = f'<defs><image id="photograph" width="{width}" height="{height}" href="data:image/jpeg;base64,{photograph}"/><clipPath id="edge"><rect width="{side:g}" height="{tall:.1f}"/></clipPath></defs>'
    parts = []
    titles = ["without an index", "first epoch, which builds it", "later epochs"]
    for number, title in enumerate(titles):
        parts.append(text(number * (side + gap), 16, title, "title"))
    y = 28.0
    for crop in found["crops"]:
        for number, way in enumerate(crop["ways"]):
            decoded = sum(end - start for _, start, end, kind in way["read"] if kind)
            skipped = sum(end - start for _, start, end, kind in way["read"] if not kind)
            read = {(row, column): kind for row, start, end, kind in way["read"] for column in range(start, end)}
            shades = []
            for row in range(rows):
                start = 0
                for column in range(1, columns + 1):
                    kind = read.get((row, start))
                    if column == columns or read.get((row, column)) != kind:
                        if kind != 1:
                            fill, opacity = ("#bf8700", ".62") if kind == 0 else ("#24292f", ".86")
                            shades.append(f'<rect shape-rendering="crispEdges" x="{start * mcu:.2f}" y="{row * mcu:.2f}" width="{(column - start) * mcu:.2f}" height="{mcu:.2f}" fill="{fill}" fill-opacity="{opacity}"/>')
                        start = column
            left, top, wide, high = (value * scale for value in crop["crop"])
            frame = f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="none" stroke="#ffffff" stroke-width="2"/>'
            parts.append(f'<g transform="translate({number * (side + gap):g} {y:g})" clip-path="url(#edge)"><use href="#photograph" transform="scale({scale:.5f})"/>{"".join(shades)}{frame}</g>')
            unread = rows * columns - decoded - skipped
            parts.append(text(number * (side + gap), y + tall + 15, f"{decoded} decoded, {skipped} skipped, {unread} not read", "small"))
        y += tall + 30
    legend = [("none", "#8c959f", "decoded: all of the work"), ("#bf8700", "#bf8700", "skipped: Huffman codes alone"), ("#24292f", "#8c959f", "never read")]
    x = 0.0
    for fill, stroke, words in legend:
        parts.append(rect(x, y, 12, 12, "", fill=fill, stroke=stroke))
        parts.append(text(x + 18, y + 11, words, "small"))
        x += 44 + 6.4 * len(words)
    parts.append(text(WIDTH, y + 11, f"of {rows * columns} MCUs; white: the crop", "small muted", "end"))
    return svg(y + 20, "The parts of a JPEG that a crop decodes, skips over and never reads", parts, defs)


def box(x: float, y: float, width: float, height: float, title: str, *lines: str) -> list[str]:
    parts = [rect(x, y, width, height, "box", rx="6"), text(x + width / 2, y + 20, title, "", "middle")]
    return parts + [text(x + width / 2, y + 37 + 15 * number, line, "small muted", "middle") for number, line in enumerate(lines)]


ARROW = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#8c959f"/></marker></defs>'


def arrow(path: str, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="5 3"' if dashed else ""
    return f'<path class="line" d="{path}" marker-end="url(#arrow)"{dashes}/>'


def pipeline() -> str:
    """The threads of a run, the queues between them, and the way back of the buffers."""
    parts = box(0, 60, 118, 70, "feeder", "the epoch's order,", "jobs of samples")
    for number in (1, 2):  # the edges of those behind
        step = 7 * number
        parts.append(f'<path class="line" d="M{178 + step} {40 - step + 7}v-7h190v100h-7"/>')
    parts += [rect(178, 40, 190, 100, "box", rx="6"), text(273, 60, "workers, one a core", "", "middle")]
    for number, line in enumerate(["read the file", "draw the parameters", "decode the crop alone", "augment, or copy to the GPU"]):
        parts.append(text(273, 78 + 15 * number, line, "small muted", "middle"))
    parts += box(440, 60, 130, 70, "batch thread", "collects in order,", "submits the passes")
    parts += box(628, 60, 92, 70, "your loop", "trains")
    parts += [arrow("M118 95H174"), arrow("M368 95H436"), arrow("M570 95H624")]
    parts += [text(146, 84, "jobs", "small muted", "middle"), text(409, 112, "messages", "small muted", "middle"), text(598, 84, "batches", "small muted", "middle")]
    parts.append(arrow("M674 130V184H505V134", True))
    parts.append(arrow("M505 184H273V144", True))
    parts.append(text(590, 200, "a dropped batch gives its buffer back", "small muted", "middle"))
    parts.append(text(389, 200, "staging memory comes back", "small muted", "middle"))
    return svg(212, "The threads of a run, the queues between them, and the way back of the buffers", parts, ARROW)


def cache() -> str:
    """What a cache keeps: the transforms before the first random one run once."""
    parts = [text(0, 16, "once a sample", "title"), text(330, 16, "in every epoch", "title")]
    for number, (title, line) in enumerate([("read, decode", "the whole image"), ("Resize(256)", "nothing random yet")]):
        parts += box(number * 150, 30, 128, 52, title, line)
    for number, (title, line) in enumerate([("RandomCrop(224)", "the first random one"), ("flip", ""), ("Normalize", "")]):
        parts += box(330 + number * 132, 30, 124, 52, title, line)
    parts += [arrow("M128 56H146"), arrow("M278 56H326"), arrow("M454 56H460"), arrow("M586 56H592")]
    parts += box(180, 120, 240, 44, "cache: RAM or GPU memory", "")
    parts += [arrow("M214 82V116"), arrow("M388 120V86", True)]
    parts.append(text(204, 106, "first epoch", "small muted", "end"))
    parts.append(text(398, 106, "later epochs begin here", "small muted"))
    return svg(172, "The cache keeps what the transforms before the first random one make", parts, ARROW)


DRAWN: dict[str, Callable[[], str]] = {
    "cache.svg": cache,
    "pipeline.svg": pipeline,
    "rates.svg": rates,
    "regions.svg": regions,
    "stages.svg": stages,
    "workers.svg": workers,
}


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    different = []
    for name, draw in DRAWN.items():
        picture = draw()
        path = PICTURES / name
        if check and (not path.exists() or path.read_text(encoding="utf-8") != picture):
            different.append(name)
        elif not check:
            path.write_text(picture, encoding="utf-8")
    if different:
        print(f"not as drawn from the committed files: {', '.join(different)}; run scripts/pictures.sh", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
