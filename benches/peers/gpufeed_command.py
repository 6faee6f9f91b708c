"""gpufeed's own rows: which program, with which arguments."""

import glob
import os
import shlex

import cells
import recipes

ROOT = os.path.dirname(os.path.dirname(cells.HERE))

# By the name of a way to run it: the row's name and variant, arguments of `gpufeed bench`, those of benches/pipeline.rs.
WAYS = {
    "cpu": ("gpufeed", "CPU backend", "--backend cpu", "--backend cpu"),
    "gpu": ("gpufeed (GPU)", "the best GPU", "--backend gpu", "--backend auto"),
    "software": (
        "gpufeed (llvmpipe)",
        "software GPU, CPU executor, batches copied up",
        "--backend gpu --adapter llvmpipe",
        "--backend llvmpipe",
    ),
    "shaders": (
        "gpufeed (llvmpipe, shaders)",
        "software GPU, shaders",
        "--backend gpu --adapter llvmpipe --shaders",
        "--backend llvmpipe --force-gpu",
    ),
}
BENCH = (
    "bench --recipe {name} --workers {workers} --batch-size {batch} --data {data} --seconds {seconds} --quick --json -"
)
PIPELINE = "--recipe {pipeline} --workers {workers} --batch {batch} --data {data} --min-seconds {seconds}"
PLACES = "{recipe} {name} {pipeline} {workers} {batch} {data} {seconds} {backend}"


def program():
    """The template of what has been built last: the command, else the program of `cargo bench --bench pipeline`."""
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
    command = os.path.join(target, "release", "gpufeed")
    if os.path.exists(command):
        return f"{shlex.quote(command)} {BENCH} {{backend}}"
    built = [path for path in glob.glob(os.path.join(target, "release", "deps", "pipeline-*")) if os.access(path, os.X_OK)]
    if built:
        return f"{shlex.quote(max(built, key=os.path.getmtime))} {PIPELINE} {{backend}}"
    return None


def pixels(recipe, data, template):
    """`gpufeed bench` takes a data set as it is: the recipes of pixels in memory are measured on those that it draws."""
    bench = template and "{pipeline}" in template
    return "procedural" if recipe.source in ("resident", "small") and not bench else data


def name_of(recipe):
    """The name of a built-in recipe, or the path of a file."""
    path = os.path.join(cells.HERE, "recipes", f"{recipe.name}.toml")
    return shlex.quote(path) if recipe.file else recipe.name


def rows(letters, ways, template, data, workers, batch, seconds):
    """gpufeed's cells. `template`: a command line with the places of `PLACES`; None: what has been built."""
    template, built = template or program(), []
    for letter in letters:
        recipe, size = recipes.ALL[letter], cells.batch_size(letter, batch)
        for way in ways:
            name, variant, bench, pipeline = WAYS[way]
            values = {
                "recipe": letter,
                "name": name_of(recipe),
                "workers": workers,
                "batch": size,
                "data": shlex.quote(pixels(recipe, data, template)),
                "seconds": seconds,
                "backend": pipeline if template and "{pipeline}" in template else bench,
                # benches/pipeline.rs has lists of its own under these letters; it knows the others by name.
                "pipeline": letter if letter in "ABCDE" else name_of(recipe),
            }
            missing, command = None, ()
            if template is None:
                missing = "not built: cargo build --release -p gpufeed-cli, or --gpufeed COMMAND"
            else:
                command = tuple(shlex.split(template.format(**values)))
            built.append(cells.Cell(letter, name, variant, size, "", command, missing=missing))
    return built
