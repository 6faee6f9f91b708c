"""Finds files or folders of a Rust crate that lie side by side and import each other in a circle.

    python3 scripts/circles.py [--arrows] FOLDER...     each with a lib.rs or a main.rs

Reads the text, not the compiler's tables: `use` declarations and paths that begin with `crate`, `self` or `super`, followed
through re-exports to the file that defines the name. Left out are arrows between a file and the parents that it lies
under, and whatever stands under `#[cfg(test)]`.
"""

import re
import sys
from pathlib import Path

DEFINITION = re.compile(r"\b(?:struct|enum|union|trait|type|fn|const|static|macro_rules!)\s+(?:mut\s+)?(\w+)")
INLINE = re.compile(r"(?<![\w:$])((?:crate|self|super)(?:::\w+)+)")


def without_comments(text):
    """The code with comments, strings and characters blanked."""
    pattern = re.compile(
        r"//[^\n]*|/\*.*?\*/|r(#*)\".*?\"\1|\"(?:\\.|[^\"\\])*\"|'(?:\\.[^']*|[^\\'\n])'", re.DOTALL
    )
    return pattern.sub(lambda found: " " if found[0][0] == "/" else '""', text)


def without_tests(text):
    """The code without items under `#[cfg(test)]`, and the names of the modules among them."""
    modules = []
    while found := re.search(r"#\[cfg\((?:all\()?test\b[^\]]*\]", text):
        at, depth = found.end(), 0
        while at < len(text):
            if text[at] in "{([":
                depth += 1
            elif text[at] in "})]":
                depth -= 1
                if depth == 0 and text[at] == "}":
                    break
            elif text[at] == ";" and depth == 0:
                break
            at += 1
        item = text[found.end() : at + 1]
        if declared := re.match(r"\s*(?:#\[[^\]]*\]\s*)*(?:pub\s*(?:\([^)]*\)\s*)?)?mod\s+(\w+)\s*;", item):
            modules.append(declared[1])
        text = text[: found.start()] + text[at + 1 :]
    return text, modules


def leaves(tree, prefix=()):
    """`a::{b, c as d, e::*}` as (path, name) pairs."""
    tree = tree.strip()
    if not tree:
        return
    if "{" not in tree:
        path, _, name = tree.partition(" as ")
        path = prefix + tuple(part.strip() for part in path.split("::") if part.strip())
        if path[-1] == "self" and len(path) > 1:
            path = path[:-1]
        yield path, name.strip() or path[-1]
        return
    head, _, rest = tree.partition("{")
    head = prefix + tuple(part.strip() for part in head.split("::") if part.strip())
    depth, start, inner = 0, 0, rest[: rest.rindex("}")]
    for at, letter in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield from leaves(inner[start:at], head)
            start = at + 1


class Crate:
    def __init__(self, folder):
        self.folder = folder
        self.file, self.code, self.bound, self.defined, self.tests = {}, {}, {}, {}, set()
        for file in sorted(folder.rglob("*.rs")):
            parts = file.relative_to(folder).with_suffix("").parts
            if parts[-1] == "main" and (file.parent / "lib.rs").exists():
                continue  # a program beside its library
            if parts[-1] in ("mod", "lib", "main"):
                parts = parts[:-1]
            self.file[parts] = file
        for module, file in self.file.items():
            code, tests = without_tests(without_comments(file.read_text()))
            self.tests |= {module + (test,) for test in tests}
            self.code[module] = code
        self.file = {module: file for module, file in self.file.items() if not self.is_test(module)}
        for module in self.file:
            uses = re.findall(r"\buse\s+([^;]+);", self.code[module])
            self.bound[module] = [leaf for tree in uses for leaf in leaves(tree)]
            self.defined[module] = set(DEFINITION.findall(self.code[module]))

    def is_test(self, module):
        return any(module[: len(test)] == test for test in self.tests)

    def absolute(self, path, module):
        """The path from the crate's root, or None where it leads out of the crate."""
        if path[0] == "crate":
            return path[1:]
        if path[0] == "self":
            return module + path[1:]
        if path[0] == "super":
            while path and path[0] == "super":
                module, path = module[:-1], path[1:]
            return module + path
        return module + path if module + path[:1] in self.file else None

    def owner(self, path, seen=frozenset()):
        """The module that defines what the path names."""
        module = ()
        for at, name in enumerate(path):
            if module + (name,) in self.file:
                module += (name,)
                continue
            if name in self.defined[module] or (module, name) in seen:
                return module
            for target, bound in self.bound[module]:
                if bound == name and (target := self.absolute(target, module)) is not None:
                    return self.owner(target + path[at + 1 :], seen | {(module, name)})
            for target, bound in self.bound[module]:
                target = self.absolute(target[:-1], module) if bound == "*" and len(target) > 1 else None
                if target in self.file and name in self.defined[target]:
                    return target
            return module
        return module

    def arrows(self):
        """(from, to) → names."""
        found = {}
        for module in self.file:
            paths = [path for path, _ in self.bound[module]]
            paths += [tuple(path.split("::")) for path in INLINE.findall(self.code[module])]
            for path in paths:
                path = self.absolute(path, module)
                if path is None:
                    continue
                owner = self.owner(tuple(part for part in path if part != "*"))
                if owner != module:
                    found.setdefault((module, owner), set()).add(path[-1])
        return found


def circles(edges):
    """The strongly connected sets of more than one, of a small graph."""
    reach = {}
    for start in edges:
        seen, left = set(), [start]
        while left:
            for target in edges.get(left.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    left.append(target)
        reach[start] = seen
    sets = {frozenset({a} | {b for b in reach[a] if a in reach.get(b, ())}) for a in edges if a in reach[a]}
    return sorted(sets, key=sorted)


def main(arguments):
    found = 0
    for folder in (Path(argument) for argument in arguments if argument != "--arrows"):
        crate = Crate(folder)
        assert () in crate.file, f"{folder} has no lib.rs or main.rs"
        levels = {}
        for (source, target), names in crate.arrows().items():
            shared = 0
            while shared < min(len(source), len(target)) and source[shared] == target[shared]:
                shared += 1
            if shared in (len(source), len(target)):
                continue  # one lies under the other
            sides = source[shared], target[shared]
            tie = f"{'/'.join(source)} -> {'/'.join(target)}: {', '.join(sorted(names))}"
            levels.setdefault(source[:shared], {}).setdefault(sides, []).append(tie)
        if "--arrows" in arguments:
            for level, sides in sorted(levels.items()):
                for ties in sides.values():
                    print("\n".join(ties))
        for level, sides in sorted(levels.items()):
            edges = {}
            for source, target in sides:
                edges.setdefault(source, set()).add(target)
            for circle in circles(edges):
                found += 1
                print(f"circle in {folder.joinpath(*level)}: {', '.join(sorted(circle))}")
                for (source, target), ties in sorted(sides.items()):
                    if {source, target} <= circle:
                        print(*(f"    {tie}" for tie in sorted(ties)), sep="\n")
        print(f"{folder}: {len(crate.file)} files")
    if found:
        sys.exit(f"{found} circles")


main(sys.argv[1:])
