#!/usr/bin/env python3
"""Writes llms.txt (https://llmstxt.org), a list of the documentation's pages for language models. The list has the
title, the first sentence and the section headings of each page.

    scripts/llms.py [--check]     --check compares with the committed file instead of writing it
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs" / "guide"
# The sections of llms.txt, with their pages. The empty section gets the pages of the guide that "Start" does not have.
SECTIONS = {
    "Start": ["README.md", "python/README.md", "docs/guide/first-batch.md", "docs/guide/coming-from.md"],
    "The guide": [],
    "The project": ["BENCHMARKS.md", "CHANGELOG.md", "ROADMAP.md", "CONTRIBUTING.md", "src/README.md", "docs/decisions.md", "SECURITY.md"],
}


def described(page: Path) -> tuple[str, str]:
    """Returns a page's heading, and a description: the first sentence of the page, and the headings of its sections."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{page}: no heading")
    before = re.split(r"^## ", text[found.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    paragraphs = (" ".join(part.split()) for part in before.split("\n\n"))
    sentence = next((part for part in paragraphs if part and part[0] not in "#|!<-*[>"), "")
    plain = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?", r"\1", sentence)
    sections = "; ".join(re.findall(r"^## (.+)$", text, re.MULTILINE)[:12])
    parts = [re.split(r"(?<=[.?]) ", plain)[0].rstrip(":"), f"Sections: {sections}." if sections else ""]
    return found[1], " ".join(filter(None, parts))


def listing() -> str:
    name, summary = described(ROOT / "README.md")
    lines = [f"# {name}", "", f"> {summary.split(' Sections: ')[0]}", ""]
    chapters = re.findall(r"\]\(([^)]+\.md)\)", (GUIDE / "SUMMARY.md").read_text(encoding="utf-8"))
    first = set(SECTIONS["Start"])
    for section, pages in SECTIONS.items():
        lines += [f"## {section}", ""]
        for path in pages or [f"docs/guide/{chapter}" for chapter in chapters if f"docs/guide/{chapter}" not in first]:
            title, words = described(ROOT / path)
            lines.append(f"- [{title}]({path}): {words}")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    file = ROOT / "llms.txt"
    if not sys.argv[1:]:
        file.write_text(listing(), encoding="utf-8")
    elif not file.exists() or file.read_text(encoding="utf-8") != listing():
        print("llms.txt differs from the pages: run scripts/llms.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
