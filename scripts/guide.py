#!/usr/bin/env python3
"""Checks the README, the guide and the other pages: links, anchors, fences, the commands and programs that they show.

    scripts/guide.py links       every relative link and anchor resolves; no table has an empty heading; every fence is tested or
                                 says why it is not
    scripts/guide.py commands    runs the commands of the README and the guide on a small drawn data set, with the programs
                                 `gpufeed` of target/debug; needs `cargo build -p gpufeed-cli`
    scripts/guide.py programs    pastes the first program of the README and of each chapter into a new crate outside the
                                 workspace that depends on this one by its path, and runs it

A fence of commands says what it needs that is not here: `sh,ignore` (a build of minutes, another machine, a desktop).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs" / "guide"
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
# How code in each language is tested; what is not in this table has to say `ignore` or be one of the texts below.
TESTED = {
    "rust": "doc tests",
    "sh": "scripts/guide.py commands",
    "python": "python/tests/test_pages.py",
}
# Not code: output, diagrams, configuration that stands beside a program.
TEXTS = {"text", "toml", "diff", "json", ""}


@dataclass
class Fence:
    page: Path
    line: int
    info: str
    code: str

    @property
    def language(self) -> str:
        return self.info.split(",")[0].strip()

    @property
    def is_ignored(self) -> bool:
        return "ignore" in self.info

    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]


def fences(page: Path) -> list[Fence]:
    text = page.read_text(encoding="utf-8")
    return [Fence(page, text.count("\n", 0, found.start()) + 1, found[1].strip(), found[2]) for found in FENCE.finditer(text)]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#{1,6} (.+?)#*$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).replace("`", "").lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        names.add(name if count == 0 else f"{name}-{count}")
    return names


def links(page: Path) -> list[tuple[int, str]]:
    """The targets of a page's links and pictures with their lines, those in code left out."""
    text = page.read_text(encoding="utf-8")
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])  # noqa: E731
    text = re.sub(r"`[^`\n]+`", blank, FENCE.sub(blank, text))
    patterns = (r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)", r"^\[[^\]]+\]: (\S+)", r"(?:src|href|srcset)=\"([^\"]+)\"")
    return [
        (text.count("\n", 0, found.start()) + 1, found[1])
        for pattern in patterns
        for found in re.finditer(pattern, text, re.MULTILINE)
    ]


def check_links() -> list[str]:
    wrong = []
    for page in pages():
        for line, target in links(page):
            if re.match(r"[a-z]+:", target) or target.startswith("crate::"):
                continue
            path, _, anchor = target.partition("#")
            file = page if path == "" else (page.parent / path).resolve()
            where = f"{page.relative_to(ROOT)}:{line}: {target}"
            if not file.exists():
                wrong.append(f"{where}: there is no such file")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                wrong.append(f"{where}: there is no such heading")
    return wrong


def check_references() -> list[str]:
    """Chapters refer to each other as [text][chapter]: the reference has to be defined, or it shows as plain brackets."""
    wrong = []
    for page in pages():
        text = re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
        defined = set(re.findall(r"^\[([^\]]+)\]: ", text, re.MULTILINE))
        for name in re.findall(r"\]\[([^\]]+)\]", text):
            if name not in defined:
                wrong.append(f"{page.relative_to(ROOT)}: the reference [{name}] is not defined")
    return wrong


def check_summary() -> list[str]:
    listed = {(GUIDE / target).resolve() for _, target in links(GUIDE / "SUMMARY.md")}
    written = {page.resolve() for page in GUIDE.rglob("*.md")} - {(GUIDE / "SUMMARY.md").resolve()}
    return [f"docs/guide/SUMMARY.md lacks {page.relative_to(GUIDE)}" for page in sorted(written - listed)]


def check_tables() -> list[str]:
    """A table whose heading is empty does not say what its columns are."""
    wrong = []
    for page in pages():
        text = FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), page.read_text(encoding="utf-8"))
        for found in re.finditer(r"^\|(?:\s*\|)+[ \t]*\n\|[\s:|-]+\|[ \t]*$", text, re.MULTILINE):
            wrong.append(f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}: a table with an empty heading")
    return wrong


def shown() -> list[Path]:
    """The pages whose commands and programs are for users."""
    return [ROOT / "README.md", *sorted(GUIDE.rglob("*.md"))]


def check_fences() -> list[str]:
    wrong = []
    for page in shown():
        for fence in fences(page):
            if fence.is_ignored:
                print(f"not tested: {fence.place()}: {fence.info}")
            elif fence.language not in TESTED and fence.language not in TEXTS:
                wrong.append(f"{fence.place()}: nothing tests {fence.language!r}; say `{fence.language},ignore`, or why it is text")
    return wrong


def draw(folder: Path) -> None:
    """A data set of class folders, by the example that draws one."""
    subprocess.run(["cargo", "run", "--quiet", "--example", "draw", "--", str(folder), "12"], cwd=ROOT, check=True)


def run_commands() -> list[str]:
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        draw(home / "imagenet" / "train")
        binaries = ROOT / "target" / "debug"
        environment = os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": temporary, "NODEVICE_SELECT": "1"}
        for page in shown():
            for fence in fences(page):
                if fence.language != "sh" or fence.is_ignored:
                    continue
                for command in re.sub(r"\\\n", "", fence.code).splitlines():
                    command = command.split(" #")[0].strip()
                    if not command.startswith("gpufeed "):
                        continue
                    done = subprocess.run(command, shell=True, cwd=home, env=environment, capture_output=True, text=True)
                    print(f"{done.returncode} {command}", flush=True)
                    if done.returncode not in (0, 3):
                        wrong.append(f"{fence.place()}: {command}: {done.stderr.strip()}")
    return wrong


def first_program(page: Path, language: str = "rust") -> str | None:
    return next((fence.code for fence in fences(page) if fence.language == language and not fence.is_ignored), None)


def run_programs() -> list[str]:
    """Builds all in one crate, each as a program of its own, and runs each that reads no store with a drawn folder."""
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        crate = Path(temporary) / "new"
        (crate / "src" / "bin").mkdir(parents=True)
        (crate / "Cargo.toml").write_text(
            '[package]\nname = "new"\nversion = "0.1.0"\nedition = "2024"\n\n'
            f'[dependencies]\ngpufeed = {{ path = "{ROOT}", features = ["remote"] }}\nserde_json = "1"\n',
            encoding="utf-8",
        )
        names = []
        for page in shown():
            program = first_program(page) if page.name != "burn.md" else None
            if program is None or "fn main" not in program:
                continue
            name = page.stem.lower()
            # One that reads a bucket is built alone.
            if "s3://" not in program:
                names.append(name)
            # A line that rustdoc hides is part of the program.
            code = re.sub(r"^# ?", "", program, flags=re.MULTILINE)
            (crate / "src" / "bin" / f"{name}.rs").write_text(code, encoding="utf-8")
        draw(crate / "imagenet" / "train")
        target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target" / "guide-programs"))
        environment = os.environ | {"CARGO_TARGET_DIR": target, "NODEVICE_SELECT": "1"}
        subprocess.run(["cargo", "build", "--quiet"], cwd=crate, env=environment, check=True)
        for name in names:
            command = [str(Path(target) / "debug" / name), "imagenet/train"]
            done = subprocess.run(command, cwd=crate, env=environment, capture_output=True, text=True)
            lines = done.stdout.strip().splitlines()
            print(f"{done.returncode} {name}: {lines[-1] if lines else 'prints nothing'}", flush=True)
            if done.returncode != 0 or not lines:
                wrong.append(f"{name}: ended with {done.returncode}: {done.stderr.strip() or 'it prints nothing'}")
    return wrong


def main() -> int:
    checks = {
        "links": lambda: check_links() + check_references() + check_summary() + check_tables() + check_fences(),
        "commands": run_commands,
        "programs": run_programs,
    }
    if len(sys.argv) != 2 or sys.argv[1] not in checks:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] != "links" and shutil.which("cargo") is None:
        print("cargo is not on PATH", file=sys.stderr)
        return 2
    wrong = checks[sys.argv[1]]()
    for each in wrong:
        print(each, file=sys.stderr)
    print(f"{sys.argv[1]}: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
