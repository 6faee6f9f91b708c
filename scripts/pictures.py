#!/usr/bin/env python3
"""Draws the SVGs of docs/pictures from committed files: no number in them is typed in. `scripts/pictures.sh` calls this.

Writes `docs/rustdoc/` as well: the same pictures as references for rustdoc, which copies no files, so that each is part of its page.

    scripts/pictures.py [--check]     --check compares with the committed pictures instead of writing them
"""

from __future__ import annotations

import base64
import json
import runpy
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from figures import OWN, factor, rows_of

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
RUSTDOC = ROOT / "docs" / "rustdoc"
RESULTS = ROOT / "benches" / "results"
WIDTH = 720

# Text follows the reader's theme; fills are legible on GitHub's white and on its dark ground.
STYLE = """<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.small { font-size: 11px } .title { font-size: 15px; font-weight: 600 } .muted { fill: #656d76 }
.line { stroke: #656d76; fill: none; stroke-width: 1.5 } .box { stroke: #656d76; fill: #8c959f; fill-opacity: .14 }
.own { fill: #2da44e } .other { fill: #8c959f } .spread { stroke: #1f2328; stroke-width: 1.5; fill: none }
text.on { fill: #ffffff; font-size: 11px }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .muted { fill: #9198a1 } .line { stroke: #9198a1 } .box { stroke: #9198a1 } .spread { stroke: #e6edf3 }
}
</style>"""
# Distinct in both themes, and by lightness for who does not see their hues.
COLOURS = ["#0969da", "#2da44e", "#9a6700", "#8250df", "#cf222e", "#6e7781", "#1b7c83"]


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


def bars(report: Any, recipe: str, y: float, label: Callable[[Any], str]) -> tuple[list[str], float]:
    """A bar with its spread for each loader of a recipe, and where the next part begins."""
    rows = [row for row in report["rows"] if row["recipe"] == recipe]
    measured = [row for row in rows if not row["failed"]]
    scale = 400 / max(row["images_per_s"]["max"] for row in measured)
    what = next(each["what"] for each in report["recipes"] if each["name"] == recipe)
    name, _, steps = what.split(", f32")[0].partition(": ")
    parts = [text(0, y, name, "title"), text(0, y + 17, steps, "small muted")]
    y += 24
    for row in measured:
        rate = row["images_per_s"]
        parts.append(text(170, y + 15, row["name"], "", "end"))
        parts.append(rect(180, y + 3, rate["median"] * scale, 15, "own" if row["name"].startswith("gpufeed") else "other"))
        low, high = 180 + rate["min"] * scale, 180 + rate["max"] * scale
        parts.append(f'<path class="spread" d="M{low:.1f} {y + 10.5:g}H{high:.1f}M{low:.1f} {y + 6.5:g}v8M{high:.1f} {y + 6.5:g}v8"/>')
        parts.append(text(high + 8, y + 15, label(row)))
        y += 21
    absent = [row["name"] for row in rows if row["failed"]]
    if absent:
        parts.append(text(180, y + 12, f"not measured, no NVIDIA GPU: {', '.join(absent)}", "small muted"))
        y += 18
    return parts, y


def measured_on(report: Any) -> str:
    machine, rounds = report["machine"], report["settings"]["rounds"]
    return (
        f"Images a second, median and range of {rounds} runs in turns. {machine['cpu']}, {machine['cores']} cores,"
        f" {report['workers']} workers each, {report['date'][:10]}."
    )


def rates() -> str:
    """Images a second of each loader: recipes that decode and augment, decoding alone, small images."""
    report = load("xeon-2-cores-peers.json")
    parts, y = [], 20.0
    for recipe in ("A", "D", "F", "G"):
        drawn, y = bars(report, recipe, y, lambda row: f"{row['images_per_s']['median']:,.0f}")
        parts += drawn
        y += 26
    parts.append(text(0, y - 6, measured_on(report), "small muted"))
    return svg(y + 4, "Images a second of gpufeed and of other loaders", parts)


def factors() -> str:
    """ImageNet's training recipe alone, with how many times as fast gpufeed is: the README's first picture."""
    report = load("xeon-2-cores-peers.json")
    own = rows_of(report, "A")[OWN]

    def label(row: Any) -> str:
        rate = f"{row['images_per_s']['median']:,.0f} images/s"
        return rate if row["name"].startswith("gpufeed") else f"{rate}: gpufeed is {factor(own, row):.1f} × as fast"

    parts, y = bars(report, "A", 20.0, label)
    parts.append(text(0, y + 20, measured_on(report), "small muted"))
    return svg(y + 30, "Images a second of gpufeed and of other loaders for ImageNet's training recipe", parts)


STAGES = {"draw": "parameters", "params": "parameters", "put": "copy", "upload": "submit"}


def stages() -> str:
    """Where the time of one image goes, on the CPU executor and by shaders."""
    reports = [load("epyc-2-cores-bench-cpu.json"), load("epyc-2-cores-bench-llvmpipe.json")]
    named = [{STAGES.get(stage["name"], stage["name"]): stage["seconds_per_image"] * 1e3 for stage in report["stages"]} for report in reports]
    names = list(dict.fromkeys(name for times in named for name in times))
    scale = 600 / max(sum(times.values()) for times in named)
    parts, y = [], 0.0
    for report, times in zip(reports, named, strict=True):
        parts.append(text(0, y + 16, f"{executor(report)}: {sum(times.values()):.2f} ms of the threads for an image", "title"))
        x = 0.0
        for name, time in times.items():
            parts.append(rect(x, y + 26, max(time * scale, 0.5), 26, "", fill=COLOURS[names.index(name)]))
            if time * scale > 60:
                parts.append(text(x + 6, y + 43, name, "on"))
            x += time * scale
        y += 72
    for number, name in enumerate(names):
        x = 106 + 92 * number
        parts += [rect(x - 18, y, 12, 12, "", fill=COLOURS[number]), text(x, y + 11, name, "small")]
        for row, times in enumerate(named):
            parts.append(text(x, y + 31 + 18 * row, f"{times[name]:.4f}" if name in times else "–", "small"))
    for row, words in enumerate(["ms", "native code", "shaders"]):
        parts.append(text(0, y + 11 + 19 * row, words, "small muted"))
    cpu = " and ".join(f"{report['cpu_seconds_per_image'] * 1e3:.2f}" for report in reports)
    first = reports[0]
    parts.append(text(0, y + 78, f"CPU time of all threads, those of the software GPU too: {cpu} ms an image.", "small muted"))
    parts.append(text(0, y + 94, f"Recipe {first['recipe']}, {first['machine']['cpu']}, {first['workers']} workers.", "small muted"))
    return svg(y + 102, "The time of each stage for one image", parts)


def executor(report: Any) -> str:
    return "Native code" if report["executor"] == "CPU executor" else "Shaders on a software GPU"


def workers() -> str:
    """The worker sweep."""
    parts, y = [], 0.0
    for name in ("epyc-2-cores-bench-cpu.json", "epyc-2-cores-bench-llvmpipe.json"):
        report = load(name)
        sweep = report["sweep"]
        scale = 400 / max(point["images_per_second"]["max"] for point in sweep)
        parts.append(text(0, y + 16, executor(report), "title"))
        y += 26
        for point in sweep:
            rate = point["images_per_second"]
            low, high = 90 + rate["min"] * scale, 90 + rate["max"] * scale
            parts.append(text(80, y + 17, f"{point['workers']} workers" if point["workers"] > 1 else "1 worker", "", "end"))
            parts.append(rect(90, y, rate["median"] * scale, 24, "own"))
            parts.append(f'<path class="spread" d="M{low:.1f} {y + 12:g}H{high:.1f}M{low:.1f} {y + 8:g}v8M{high:.1f} {y + 8:g}v8"/>')
            parts.append(text(high + 10, y + 17, f"{rate['median']:,.0f}"))
            y += 34
        y += 10
    machine = report["machine"]
    parts.append(text(0, y + 8, f"Images a second, median and range. Recipe {report['recipe']},", "small muted"))
    parts.append(text(0, y + 24, f"{machine['cpu']}, {machine['cores']} cores.", "small muted"))
    return svg(y + 32, "Images a second by the number of workers", parts)


# What is decoded has no shade.
SHADES = {"skipped": ("#0550ae", ".66"), "never read": ("#1b1f24", ".86")}


def regions() -> str:
    """One photograph: the MCUs that are decoded, skipped over and never read, for three crops."""
    found = json.loads((PICTURES / "regions.json").read_text(encoding="utf-8"))
    photograph = base64.b64encode((PICTURES / found["file"]).read_bytes()).decode("ascii")
    (width, height), (columns, rows) = found["size"], found["mcus"]
    side, gap = 232.0, 12.0
    scale = side / width
    tall = height * scale
    mcu = 16 * scale  # MCUs of 16 pixels; the last ones hang over the edge
    defs = f'<defs><image id="photograph" width="{width}" height="{height}" href="data:image/jpeg;base64,{photograph}"/><clipPath id="edge"><rect width="{side:g}" height="{tall:.1f}"/></clipPath></defs>'
    parts = []
    for number, title in enumerate(["without an index", "first epoch, which builds it", "later epochs"]):
        parts.append(text(number * (side + gap), 16, title, "title"))
    y = 28.0
    for crop in found["crops"]:
        for number, way in enumerate(crop["ways"]):
            kinds = [["never read"] * columns for _ in range(rows)]
            for row, start, end, decoded in way["read"]:
                kinds[row][start:end] = ["decoded" if decoded else "skipped"] * (end - start)
            counts = {kind: sum(row.count(kind) for row in kinds) for kind in ("decoded", *SHADES)}
            shades = "".join(shade(kinds, kind, mcu) for kind in SHADES)
            left, top, wide, high = (value * scale for value in crop["crop"])
            frame = f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="none" stroke="#ffffff" stroke-width="2"/>'
            x = number * (side + gap)
            parts.append(f'<g transform="translate({x:g} {y:g})" clip-path="url(#edge)"><use href="#photograph" transform="scale({scale:.5f})"/>{shades}{frame}</g>')
            parts.append(text(x, y + tall + 15, f"{counts['decoded']} decoded, {counts['skipped']} skipped, {counts['never read']} unread", "small"))
        y += tall + 30
    x = 0.0
    for kind, words in {"decoded": "decoded: all of the work", "skipped": "skipped: Huffman codes alone", "never read": "never read"}.items():
        fill, opacity = SHADES.get(kind, ("none", "1"))
        middle = f"{width // 3} {height // 3} {width // 30} {height // 30}"
        parts.append(f'<svg x="{x:g}" y="{y:g}" width="16" height="12" viewBox="{middle}" preserveAspectRatio="xMidYMid slice"><use href="#photograph"/><rect width="{width}" height="{height}" fill="{fill}" fill-opacity="{opacity}"/></svg>')
        parts.append(text(x + 22, y + 11, words, "small"))
        x += 48 + 6.4 * len(words)
    parts.append(text(WIDTH, y + 11, f"of {rows * columns} MCUs; white: the crop", "small muted", "end"))
    return svg(y + 20, "The parts of a JPEG that a crop decodes, skips over and never reads", parts, defs)


def shade(kinds: list[list[str]], kind: str, mcu: float) -> str:
    """All MCUs of one kind as one path, so that neighbours leave no lines."""
    runs = []
    for row, names in enumerate(kinds):
        for column, name in enumerate(names):
            if name != kind:
                continue
            if column and names[column - 1] == kind:
                runs[-1][2] += 1
            else:
                runs.append([row, column, 1])
    path = "".join(f"M{column * mcu:.2f} {row * mcu:.2f}h{length * mcu:.2f}v{mcu:.2f}h-{length * mcu:.2f}z" for row, column, length in runs)
    fill, opacity = SHADES[kind]
    return f'<path shape-rendering="crispEdges" fill="{fill}" fill-opacity="{opacity}" d="{path}"/>'


def box(x: float, y: float, width: float, height: float, title: str, *lines: str) -> list[str]:
    parts = [rect(x, y, width, height, "box", rx="6"), text(x + width / 2, y + 20, title, "", "middle")]
    return parts + [text(x + width / 2, y + 37 + 15 * number, line, "small muted", "middle") for number, line in enumerate(lines)]


ARROW = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#8c959f"/></marker></defs>'


def arrow(path: str, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="5 3"' if dashed else ""
    return f'<path class="line" d="{path}" marker-end="url(#arrow)"{dashes}/>'


def queue(x: float, y: float, end: float, name: str) -> list[str]:
    """A bounded queue between two threads: an arrow through its places."""
    first = (x + end) / 2 - 22
    cells = [rect(first + 10 * number, y - 9, 10, 18, "box") for number in range(4)]
    label = text((x + end) / 2 - 2, y - 17, name, "small muted", "middle")
    return [f'<path class="line" d="M{x:g} {y:g}H{first:g}"/>', *cells, arrow(f"M{first + 40:g} {y:g}H{end - 2:g}"), label]


def pipeline() -> str:
    """The threads of a run, the queues between them, and the way back of the buffers."""
    parts = box(2, 46, 110, 76, "feeder", "orders samples,", "makes jobs")
    for step in (12, 6):  # the edges of those behind
        parts.append(f'<path class="line" d="M{182 + step} {30 - step + 6}v-6h162v108h-6"/>')
    parts += box(182, 30, 162, 108, "workers, one a core", "read the file", "make the parameters", "decode the crop alone", "augment, or copy", "for the GPU")
    parts += box(428, 46, 134, 76, "batch thread", "joins in order,", "submits to the GPU")
    parts += box(630, 46, 88, 76, "your loop", "trains")
    parts += queue(112, 84, 182, "jobs") + queue(356, 84, 428, "messages") + queue(562, 84, 630, "batches")
    parts.append(arrow("M470 122V160H263V142", True))
    parts.append(text(366, 177, "GPU: room in a staging slot", "small muted", "middle"))
    parts += [arrow("M674 122V200H57V126", True), arrow("M520 200V126", True)]
    parts += [text(65, 140, "CPU", "small muted"), text(528, 140, "GPU", "small muted")]
    parts.append(text(360, 217, "a batch that you drop gives its output buffer back", "small muted", "middle"))
    return svg(226, "The threads of a run, the queues between them, and the way back of the buffers", parts, ARROW)


def cache() -> str:
    """What a cache keeps: the transforms before the first random one run once."""
    parts = [text(2, 16, "once a sample", "title"), text(322, 16, "in every epoch", "title")]
    parts += box(2, 30, 112, 52, "read, decode", "the whole image") + box(142, 30, 128, 52, "Resize", "nothing random yet")
    parts += box(322, 30, 136, 52, "RandomCrop", "the first random one")
    parts += box(486, 30, 90, 52, "flip", "random") + box(604, 30, 114, 52, "Normalize", "comes after")
    parts += [arrow("M114 56H138"), arrow("M270 56H318"), arrow("M458 56H482"), arrow("M576 56H600")]
    parts += box(142, 124, 316, 52, "cache, in RAM or GPU memory", "decoded pixels, or what a resize makes of them")
    parts += [arrow("M206 82V120"), arrow("M390 124V86", True)]
    parts += [text(198, 106, "the first epoch stores", "small muted", "end"), text(400, 106, "later epochs begin here", "small muted")]
    return svg(180, "The cache keeps what the transforms before the first random one make", parts, ARROW)


def order() -> str:
    """An order of blocks: the data set, the line of its blocks, the lanes, and the batches of two ranks."""
    blocks, samples, window, lanes = 16, 6, 2, 4
    python = runpy.run_path(str(ROOT / "tests" / "golden" / "block_order.py"))
    line, found = python["line"](blocks * samples, samples, 5, 0), python["lanes"](blocks * samples, samples, window, lanes, 5, 0)
    colour = lambda block: f"hsl({22 * block} 60% 42%)"
    parts = [text(0, 14, f"The data set in blocks of {samples} samples", "title")]
    for block in range(blocks):
        parts += [rect(45 * block, 24, 43, 22, "", fill=colour(block)), text(45 * block + 21.5, 39, str(block), "on", "middle")]
    parts.append(text(0, 78, f"The line: the blocks in a random order, cut into {lanes} lanes", "title"))
    for place, block in enumerate(each[0] // samples for each in line):
        x = 44 * place + 4 * (place * lanes // blocks)
        parts += [rect(x, 88, 42, 22, "", fill=colour(block)), text(x + 21, 103, str(block), "on", "middle")]
    for lane in range(lanes):
        x = 44 * 4 * lane + 4 * lane
        parts += [f'<path class="line" d="M{x} 115v6h174v-6"/>', text(x + 87, 135, f"lane {lane}", "small muted", "middle")]
    parts.append(text(0, 166, f"The lanes, shuffled in windows of {window} blocks", "title"))
    side, left, top = 23, 128, 200
    for lane, (order, _) in enumerate(found):
        y = top + 30 * lane
        parts.append(text(0, y + 16, f"lane {lane}, rank {lane % 2} of 2"))
        for place, index in enumerate(order):
            x = left + side * place + 8 * (place // (samples * window))
            parts += [rect(x, y, side - 2, side - 2, "", fill=colour(index // samples)), text(x + 10.5, y + 14.5, str(index // samples), "on", "middle")]
    for batch in range(2):
        x = left + 2 * side * batch - 1.5
        parts.append(f'<path class="line" stroke-dasharray="4 2" d="M{x:g} {top - 6}h{2 * side}v130h-{2 * side}z"/>')
        parts.append(text(x + side, top - 10, f"batch {batch}", "small", "middle"))
    parts.append(text(left, top + 142, "window 0; a batch takes samples of all lanes", "small muted"))
    parts.append(text(left + side * samples * window + 8, top + 142, "window 1", "small muted"))
    return svg(top + 150, "An order of blocks: the data set, the line, the lanes, and the batches", parts)


DRAWN: dict[str, Callable[[], str]] = {
    "cache.svg": cache,
    "order.svg": order,
    "pipeline.svg": pipeline,
    "factors.svg": factors,
    "rates.svg": rates,
    "regions.svg": regions,
    "stages.svg": stages,
    "workers.svg": workers,
}

# Pictures of a chapter that would make the package half as large again: rustdoc says where they are.
ELSEWHERE = ["operators-1.jpg", "operators-2.jpg", "operators-3.jpg", "operators-4.jpg", "report.png"]


def reference(name: str, picture: str) -> str:
    """A Markdown reference to the picture as a data URL."""
    content = quote(" ".join(picture.split()), safe="=:/;,+!*@?&|")
    return f"[{name}]: data:image/svg+xml,{content}\n"


def elsewhere(name: str) -> str:
    path = f"docs/pictures/{name}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="24">{STYLE}{text(0, 16, f"The picture is in the repository: {path}", "muted")}</svg>'


def files() -> dict[Path, str]:
    """All files of this script, with their content."""
    drawn = {name: draw() for name, draw in DRAWN.items()}
    found = {PICTURES / name: picture for name, picture in drawn.items()}
    found |= {RUSTDOC / f"{name}.md": reference(name, picture) for name, picture in drawn.items() if name not in ("rates.svg", "factors.svg")}
    return found | {RUSTDOC / f"{name}.md": reference(name, elsewhere(name)) for name in ELSEWHERE}


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    different = []
    for path, content in files().items():
        if check and (not path.exists() or path.read_text(encoding="utf-8") != content):
            different.append(str(path.relative_to(ROOT)))
        elif not check:
            path.write_text(content, encoding="utf-8")
    if different:
        print(f"not as drawn from the committed files: {', '.join(different)}; run scripts/pictures.sh", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
