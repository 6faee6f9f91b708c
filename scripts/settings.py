#!/usr/bin/env python3
"""Generates code and documentation from the Rust structs that define the settings: the keywords of
`gpufeed.DataLoader`, `gpufeed.open` and `gpufeed.pack` with their types, defaults and documentation, the check of each
keyword's value, and the tables of settings in the guide and in python/README.md.

    scripts/settings.py [--check]     --check compares with the files instead of writing them

Reads `LoaderSettings` (src/loader/settings.rs), the words of its enums (src/loader/settings/written.rs), `PackSettings`
(src/pack/settings.rs), and the keywords of paths (python/src/opening/keywords.rs). A new setting is added to these Rust
files alone. Keywords that only Python has are in the tables of this script.
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACK = ROOT / "src" / "pack" / "settings.rs"
LOADER = ROOT / "src" / "loader" / "settings.rs"
WRITTEN = ROOT / "src" / "loader" / "settings" / "written.rs"
OPENING = ROOT / "python" / "src" / "opening" / "keywords.rs"
PACKAGE = ROOT / "python" / "gpufeed"
WIDTH = 128


@dataclass(frozen=True)
class Keyword:
    """A setting, as a keyword of a Python function."""

    name: str
    # The Python type, as an annotation has it.
    type: str
    # The default value, as a Python literal.
    default: str
    # The Python expression of the function that checks a value and converts it for the native module. Empty if the
    # loader's own code does this.
    check: str
    doc: str
    # The default in words, if the literal (such as None) does not say it.
    otherwise: str = ""
    # The default as TOML writes it, for the guide's table of settings.
    toml: str = ""
    formats: tuple[str, ...] = ()


# The keywords of `gpufeed.DataLoader` that only Python has, each with name, type, default, check and documentation.
PYTHON = [
    Keyword("recipe", "Any", "None", "", "The name of a built-in recipe, a TOML file, or a dictionary of its content, in the place of `transforms`."),
    Keyword("groups", "Any", "None", "", 'Groups of views of each sample, each with a list of its own: `{"global": (transforms, 2), "local": (others, 8)}`, where `gpufeed.Views` may stand for a pair; or an object that makes views by its lists, as the `DataAugmentationDINO` of DINO does. A batch is a dictionary then.', "none: all images by one list"),
    Keyword("sampler", "Any", "None", "", "The order of each epoch, in the place of `shuffle`: an iterable of indices, such as torch's samplers, or a function of the epoch that returns one; `gpufeed.orders` has some. It is asked once an epoch, after `set_epoch(epoch)` if it has that, and is as long in each.", "none"),
    Keyword("batch_sampler", "Any", "None", "", "As `sampler`, of batches: an iterable of lists of indices, of up to `batch_size`. With 1, that is the sampler's own `batch_size`, or its largest batch of epoch 0. A rank takes every `world`-th batch.", "none"),
    Keyword("batch_transforms", "Any", "None", "", "torchvision's `MixUp`, `CutMix`, or a `RandomChoice` of them."),
    Keyword("num_classes", "int | None", "None", "", "The classes of the soft labels of `batch_transforms`.", "those that these or the data set name"),
    Keyword("drop_last", "bool", "False", "", 'Leaves out an incomplete last batch, as `last_batch="drop"` does.'),
    Keyword("device", "Any", '"cpu"', "", 'The device of the tensors; `"cuda"` copies ahead on a stream of its own, and copies nothing of what the shaders of `backend="gpu"` make on that card.'),
    Keyword("normalize_on_device", "bool", "False", "", "Leaves the last `Normalize` to that device."),
    Keyword("channels_last", "bool", "False", "", "Tensors in torch's `channels_last` format."),
    Keyword("backend", "str", '"cpu"', "arguments.text", 'What augments: `"cpu"`; `"gpu"`, which with a CUDA device is that device\'s card; `"auto"`, which takes the CPU where there is no GPU; or an adapter\'s number, UUID, PCI address, or part of a name, as `gpufeed.adapters()` has them.'),
    Keyword("handover", "bool", "True", "", "Leaves batches in the memory of the CUDA device's card, where its shaders have made them and memory can be handed over; `False` copies them through the host, where `backend=\"auto\"` takes the CPU."),
    Keyword("targets", 'Literal["per_image", "flat"]', '"per_image"', "", 'The form of a [field of objects](fields.md#boxes-and-keypoints): a list of dictionaries, one an image, as torchvision\'s detectors take them; or `"flat"`, one dictionary of tensors with all objects, and the image of each.'),
    Keyword("thread_safe", "bool | None", "None", "", "For an object in Python: its reads share no state, so several calls at a time may be inside it. Lists, torch's `TensorDataset`, and torchvision's `ImageFolder`, `CIFAR10`, `MNIST` and their like are known to be so; an attribute `thread_safe` of the object says the same.", "what it says itself, or is known of its type"),
    Keyword("exit_timeout", "float", "5", "arguments.seconds", "Seconds that closing an iteration, and the interpreter's exit, wait for threads inside an object in Python. A later read ends with an error where one of a closed iteration has not returned for as long, and at least 5 seconds."),
]

# The keywords of `gpufeed.pack` that only Python has. They choose a step of packing on several machines, or report
# progress.
PACK_PYTHON = [
    Keyword("plan", "bool", "False", "arguments.flag", "Lists the samples for `parts` machines, once, and packs nothing; parts take the settings of a plan."),
    Keyword("parts", "int | None", "None", "partial(arguments.whole, least=1)", "The number of parts of a plan, 1 to 100000.", "none"),
    Keyword("part", "tuple[int, int] | None", "None", "arguments.part", "Packs one part of a plan: its number, from 0 on, and the number of parts. It may be stopped and repeated, and waits for another process that packs it.", "none"),
    Keyword("join", "bool", "False", "arguments.flag", "Makes a data set of all parts, or names those that are missing."),
    Keyword("progress", "bool | Callable[[int, int], object]", "False", "", "A function that is called about 20 times a second with the number of samples that are done and that of all; `True` writes a line to standard error."),
]

# The settings whose default in Python differs from the default in Rust: the Python literal, and the default in words.
DEFAULTS = {
    "shard": ('"auto"', "`torch.distributed` if it is initialised, else the launcher's variables; None is all of it"),
    "last_batch": ("None", '`"partial"`, or `"drop"` with `drop_last`'),
    "on_error": ("None", '`"fail"` without `shuffle` and for a recipe whose name ends in `-eval`, else `"skip"`'),
}

# The settings for which None works although it is not their default: no cache, and no sharding.
NONE_WORKS = ("cache", "shard")

PATH = "str | PathLike[str]"
COLUMN = "str | Sequence[str]"
ARRANGEMENT = 'Literal["uniform", "padded", "listed"] | tuple[Any, ...]'
# The Python annotation and the Python check for each Rust type. For an enum whose variants are words, annotation and
# check are made from the words instead.
TYPES = {
    "bool": ("bool", "arguments.flag"),
    "Orientation": ("bool", "arguments.flag"),
    "u64 of bytes": ("int | str", "arguments.size"),
    "Size": ("int | str", "arguments.size"),
    "u8": ("int", "arguments.whole"),
    "u32": ("int", "arguments.whole"),
    "u64": ("int", "arguments.whole"),
    "usize": ("int", "arguments.whole"),
    "f64": ("float", "arguments.seconds"),
    "char": ("str", "arguments.character"),
    "String": ("str", "arguments.text"),
    "PathBuf": (PATH, "arguments.path"),
    "Vec<String>": (COLUMN, "arguments.texts"),
    "ColumnNames": (COLUMN, "arguments.columns"),
    "ClassNames": ("bool | Sequence[str]", "arguments.class_names"),
    "BTreeMap<String, String>": ("Mapping[str, str]", "arguments.texts_by_name"),
    "DType": ("Any", "arguments.dtype"),
    "Arrangement": (ARRANGEMENT, "arguments.arrangement"),
    "Order": ('Literal["full"] | tuple[Literal["blocks"], int, int]', "arguments.order"),
    "ShardChoice": ('Literal["auto"] | tuple[int, int]', ""),
    "OnError": ('Literal["fail", "skip"] | float', "arguments.on_error"),
    "Cache": ("str", "arguments.cache"),
    "SeekIndexes": (PATH, "arguments.path"),
    "FieldChoice": ('Literal["all", "none"] | Sequence[str] | Mapping[str, Any]', "arguments.fields"),
    "(PathBuf, u64)": (f"tuple[{PATH}, int | str]", "arguments.remote_cache"),
    "Shape": ("tuple[int, int]", "arguments.pair"),
    "(PathBuf, Size)": (f"tuple[{PATH}, int | str]", "arguments.remote_cache"),
}

FIELD = re.compile(r"((?: *///.*\n)*)((?: *#\[.*\]\n)*) *(?:pub(?:\(super\))? )?(\w+): ([^{}\n]+),\n")


def words_of_enums() -> dict[str, list[str]]:
    (block,) = re.findall(r"^words! \{\n(.*?)^\}", WRITTEN.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    rows = re.findall(r"(\w+) \{ (.*) \}", block)
    return {name: re.findall(r'= "(\w+)"', variants) for name, variants in rows}


def keyword(doc: str, attributes: str, name: str, rust: str, enums: dict[str, list[str]]) -> Keyword:
    said = " ".join(line.strip().removeprefix("///").strip() for line in doc.splitlines())
    said, _, default = said.partition(" Default: ")
    default = default.removesuffix(".")
    optional = re.fullmatch(r"Option<(.+)>", rust)
    rust = optional[1] if optional else rust
    if 'with = "size"' in attributes:
        rust += " of bytes"
    if rust in ("Word", "PackFormat", "Split") or rust in enums and rust not in TYPES:
        words = enums[rust] if rust in enums else re.findall(r'`"(\w+)"`', said)
        quoted = ", ".join(f'"{word}"' for word in words)
        python, check = f"Literal[{quoted}]", f"partial(arguments.word, words=({quoted}))" if words else ""
    elif rust in TYPES:
        python, check = TYPES[rust]
    else:
        raise SystemExit(f"{name}: no type of Python for {rust}: add it to scripts/settings.py")
    least = re.search(r"at least (\d+)|\b(\d+) to (\d+)", said)
    if check == "arguments.whole" and least:
        # Python checks the upper limit of small integer types, because serde's error for a number that is too large
        # does not name the keyword.
        most = f", most={least[3]}" if rust in ("u8", "u32") else ""
        check = f"partial(arguments.whole, least={least[1] or least[2]}{most})"
    if "tuple[" in python:
        # Writes a value that TOML has as a list, `[a, b]`, as a Python tuple, `(a, b)`.
        said = re.sub(r"`\[([^`]*)\]`", r"`(\1)`", said)
    value = re.fullmatch(r"`([^`]*)`", default)
    literal = {"true": "True", "false": "False"}.get(value[1], value[1]) if value else "None"
    return Keyword(name, python, literal, check, said, "" if value else default, value[1] if value else "")


def struct_keywords(file: Path, name: str) -> list[Keyword]:
    """Returns a keyword for each field of the Rust struct `name` in a file."""
    enums = words_of_enums()
    (struct,) = re.findall(rf"^pub struct {name} \{{\n(.*?)^\}}", file.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    found = [keyword(*field, enums) for field in FIELD.findall(struct)]
    if len(found) != len(re.findall(r"^    pub ", struct, re.MULTILINE)):
        raise SystemExit(f"{file.relative_to(ROOT)}: a field is none that this script reads")
    return found


def loader_keywords() -> list[Keyword]:
    return struct_keywords(LOADER, "LoaderSettings")


def path_keywords() -> list[Keyword]:
    """Returns the keywords of `gpufeed.open`, each once, with the formats of data sets that take it."""
    text = OPENING.read_text(encoding="utf-8")
    (table,) = re.findall(r"^formats! \{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    (remote,) = re.findall(r"^pub\(super\) struct Remote \{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    found: dict[str, Keyword] = {}
    for words, fields in re.findall(r'^    \w+ "([^"]+)" \{\n(.*?)^    \}', table, re.DOTALL | re.MULTILINE):
        for field in FIELD.findall(fields):
            made = keyword(*field, {})
            known = found.get(made.name)
            if known is None:
                if not made.doc:
                    raise SystemExit(f"{made.name}: no documentation where it stands first in {OPENING.relative_to(ROOT)}")
                known = replace(made, otherwise=made.otherwise or default_words(made.toml), default="None")
            elif made.doc:
                raise SystemExit(f"{made.name}: documented twice in {OPENING.relative_to(ROOT)}")
            # The check admits every value that some format takes. If this format takes less, such as one column but not
            # several, opening the data set raises the error.
            found[made.name] = replace(widest(known, made), formats=(*known.formats, words))
    return [*found.values(), *(replace(keyword(*field, {}), formats=("remote data",)) for field in FIELD.findall(remote))]


def widest(known: Keyword, other: Keyword) -> Keyword:
    if other.check == "arguments.columns" and known.check == "arguments.text":
        return replace(known, type=other.type, check=other.check)
    return known


def default_words(toml: str) -> str:
    return f"`{toml}`" if toml else ""


def rendered() -> dict[Path, str]:
    """Returns the path of each generated file with the text that the file has to have."""
    loader = [pythonic(each) for each in loader_keywords()]
    paths = path_keywords()
    # A keyword that the loader and the path share, such as `remote_cache`, is listed once, as the loader's: `DataLoader`
    # passes its value to both.
    beside = [each for each in paths if each.name not in {own.name for own in loader}]
    pack = [*struct_keywords(PACK, "PackSettings"), *PACK_PYTHON]
    files = {
        PACKAGE / "keywords.py": checks(loader, paths, pack),
        PACKAGE / "packing.py": (PACKAGE / "packing.py").read_text(encoding="utf-8"),
        PACKAGE / "loader.py": (PACKAGE / "loader.py").read_text(encoding="utf-8"),
        PACKAGE / "__init__.py": (PACKAGE / "__init__.py").read_text(encoding="utf-8"),
    }
    documented = {PACKAGE / "loader.py": [*PYTHON, *loader, *beside], PACKAGE / "__init__.py": paths, PACKAGE / "packing.py": pack}
    for file, keywords in documented.items():
        indent = "        " if file.name == "loader.py" else "    "
        text = between(files[file], r" *# Keywords by scripts/settings.py\.\n", r" *# End of keywords\.\n", signature(keywords, indent))
        files[file] = between(text, r" *Args:\n", r' *"""\n', arguments(keywords, "        "))
    guide = ROOT / "docs" / "guide" / "settings.md"
    of_guide = {"loader": guide_table(loader_keywords()), "python": python_table([*PYTHON, *(each for each in loader if each.name in DEFAULTS)])}
    files[guide] = tables(guide.read_text(encoding="utf-8"), of_guide)
    readme = ROOT / "python" / "README.md"
    files[readme] = tables(readme.read_text(encoding="utf-8"), {"paths": path_table(paths)})
    return files


def pythonic(keyword: Keyword) -> Keyword:
    default, words = DEFAULTS.get(keyword.name, (keyword.default, keyword.otherwise))
    return replace(keyword, default=default, otherwise=words)


def annotation(keyword: Keyword) -> str:
    """Returns the annotation of a keyword: its type, with `| None` if the keyword may be None."""
    none = keyword.default == "None" or keyword.name in NONE_WORKS
    return f"{keyword.type} | None" if none and keyword.type != "Any" and "None" not in keyword.type else keyword.type


def in_python(text: str) -> str:
    """Returns the text with `True` and `False`, as Python writes them, in the place of TOML's `true` and `false`."""
    return text.replace("`true`", "`True`").replace("`false`", "`False`")


def signature(keywords: list[Keyword], indent: str) -> str:
    return "".join(f"{indent}{each.name}: {annotation(each)} = {each.default},\n" for each in keywords)


def arguments(keywords: list[Keyword], indent: str) -> str:
    """Returns the documentation of the keywords as the lines of a docstring's `Args:` section, which editors show."""
    lines = []
    for each in keywords:
        said = each.doc if each.doc.endswith(".") else f"{each.doc}."
        if each.formats:
            said = f"{said} For {', '.join(each.formats)}."
        if each.otherwise:
            said = f"{said} Default: {each.otherwise}."
        text = f"{each.name}: {in_python(said).replace('`', '``')}"
        lines += textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ", break_long_words=False, break_on_hyphens=False)
    return "".join(f"{line}\n" for line in lines)


def checks(loader: list[Keyword], paths: list[Keyword], pack: list[Keyword]) -> str:
    """Returns the source of the module gpufeed/keywords.py, which has the check of each keyword."""

    def table(name: str, keywords: list[Keyword]) -> str:
        rows = []
        for each in keywords:
            check = f"arguments.optional({each.check})" if each.default == "None" or each.name in NONE_WORKS else each.check
            rows += [f'    "{each.name}": {check},\n'] if each.check else []
        return f"{name}: dict[str, arguments.Check] = {{\n{''.join(rows)}}}\n"

    return (
        '"""The checks of keywords, which also make the form for the native module. Written by scripts/settings.py."""\n\n'
        "from __future__ import annotations\n\nfrom functools import partial\n\nfrom gpufeed import arguments\n\n"
        f"# The fields of ``LoaderSettings``, but for the share, which is known at the first iteration.\n{table('LOADER', loader)}\n"
        f"# The keywords that only Python has.\n{table('PYTHON', PYTHON)}\n"
        f"# The keywords of paths. ``python/src/opening/keywords.rs`` says which formats know each.\n{table('PATHS', paths)}\n"
        f"# The keywords of ``gpufeed.pack``, and which of them are no settings.\n{table('PACK', pack)}\n"
        f"PACK_STEPS = {tuple(each.name for each in PACK_PYTHON)!r}\n".replace("'", '"')
    )


def guide_table(keywords: list[Keyword]) -> str:
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for each in keywords:
        said = re.sub(r"`\(([^`]*)\)`", r"`[\1]`", each.doc).rstrip(".")
        rows.append(f"| `{each.name}` | {default_words(each.toml) or each.otherwise} | {said} |")
    return "\n".join(rows) + "\n"


def python_table(keywords: list[Keyword]) -> str:
    rows = ["| keyword | default | meaning |", "|---|---|---|"]
    for each in keywords:
        rows.append(f"| `{each.name}` | {each.otherwise or f'`{each.default}`'} | {each.doc.rstrip('.')} |")
    return in_python("\n".join(rows)) + "\n"


def path_table(keywords: list[Keyword]) -> str:
    rows = ["| keyword | of | meaning | default |", "|---|---|---|---|"]
    for each in keywords:
        rows.append(f"| `{each.name}` | {', '.join(each.formats)} | {each.doc.rstrip('.')} | {each.otherwise} |")
    return in_python("\n".join(rows)) + "\n"


def between(text: str, begin: str, end: str, content: str) -> str:
    """Returns the text with `content` in the place of what is between two lines, which match `begin` and `end`."""
    place = re.compile(rf"(?P<begin>^{begin}).*?(?P<end>^{end})", re.DOTALL | re.MULTILINE)
    found, count = place.subn(lambda match: match["begin"] + content + match["end"], text, count=1)
    if count != 1:
        raise SystemExit(f"no place between {begin!r} and {end!r}")
    return found


def tables(text: str, by_name: dict[str, str]) -> str:
    for name, content in by_name.items():
        text = between(text, rf"<!-- settings: {name} -->\n", r"<!-- end -->\n", f"\n{content}\n")
    return text


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    files = rendered()
    differ = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if not sys.argv[1:]:
        for path in differ:
            path.write_text(files[path], encoding="utf-8")
    elif differ:
        names = ", ".join(str(path.relative_to(ROOT)) for path in differ)
        print(f"{names}: not what the structs of the settings say: run scripts/settings.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
