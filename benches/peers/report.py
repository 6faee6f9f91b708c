"""Rows, their JSON and their table."""

import statistics

import recipes


def middle(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def spread(runs):
    return {"median": statistics.median(runs), "min": min(runs), "max": max(runs), "runs": runs}


def row(cell, outcomes, workers):
    """A cell's row; `outcomes` in the order of the rounds."""
    done = [outcome for outcome in outcomes if outcome["failed"] is None]
    reasons = [outcome["failed"] for outcome in outcomes if outcome["failed"] is not None]
    notes = [cell.note, *(dict.fromkeys(outcome["note"] for outcome in done))]
    if done and reasons:
        notes.append(f"{len(reasons)} of {len(outcomes)} runs failed: {reasons[0]}")
    elif reasons:
        notes.append(f"failed: {reasons[0]}" if reasons[0] != cell.missing else reasons[0])
    if any(outcome["memory"] == "RSS" for outcome in done):
        notes.append("memory: pages that its processes share are counted for each")
    return {
        "recipe": cell.recipe,
        "name": cell.name,
        "version": next((outcome["version"] for outcome in done if outcome["version"]), cell.version),
        "variant": cell.variant,
        "workers": workers,
        "batch_size": cell.batch,
        "images_per_s": spread([outcome["images_per_s"] for outcome in done]) if done else None,
        "cpu_ms_per_image": middle(outcome["cpu_ms_per_image"] for outcome in done),
        "peak_rss_mb": max((outcome["peak_rss_mb"] or 0 for outcome in done), default=0) or None,
        "note": "; ".join(filter(None, notes)),
        "failed": None if done else (reasons[0] if reasons else "no run"),
    }


def described(letter):
    """A recipe in one line."""
    recipe = recipes.ALL[letter]
    steps = {"files": ["decode"], "bytes": ["decode"], "resident": ["384x384 pixels"], "small": ["32x32 pixels"]}[
        recipe.source
    ]
    if recipe.random_resized:
        steps.append(f"RandomResizedCrop({recipe.side}{', bicubic' if recipe.cubic else ''})")
    if recipe.resize:
        steps.append(f"Resize({recipe.resize}, {recipe.resize})")
    if recipe.crop:
        steps.append(f"RandomCrop({recipe.side}" + (f", padding {recipe.padding})" if recipe.padding else ")"))
    if recipe.vertical:
        steps.append("VFlip")
    if recipe.horizontal:
        steps.append("HFlip")
    if any(recipe.jitter):
        strengths = ", ".join(f"{strength:g}" for strength in recipe.jitter if strength)
        steps.append(f"ColorJitter({strengths})" + (f" with p = {recipe.jitter_p:g}" if recipe.jitter_p < 1 else ""))
    if recipe.gray:
        steps.append(f"RandomGrayscale({recipe.gray:g})")
    if recipe.blur:
        steps.append("GaussianBlur(23) with p = 0.5")
    if recipe.policy:
        steps.append(recipe.policy)
    if recipe.normalize:
        steps.append("Normalize")
    if recipe.erasing:
        steps.append(f"RandomErasing({recipe.erasing:g}{', noise' if recipe.noise else ''})")
    if recipe.mix:
        steps.append("MixUp(0.8) or CutMix(1.0)")
    if recipe.views > 1:
        steps[1:] = [f"{recipe.views} views of " + steps[1], *steps[2:]]
    steps.append("f32 NCHW" if recipe.side else "RGB, 8 bits")
    return f"{recipe.name}: " + ", ".join(steps)


def document(machine, when, data, settings, rows):
    """`machine` holds `other_cores_busy`, too; `when` is a datetime with its zone."""
    letters = list(dict.fromkeys(entry["recipe"] for entry in rows))
    return {
        "schema": 1,
        "machine": machine,
        "date": when.isoformat(timespec="seconds"),
        "unix_time": int(when.timestamp()),
        "data": data,
        "settings": settings,
        "workers": settings["workers"],
        "batch_size": settings["batch_size"],
        "recipes": [{"name": letter, "what": described(letter)} for letter in letters],
        "rows": rows,
    }


def number(value):
    """Three digits or more."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(document):
    """For a person: a block for each recipe, the fastest first, failures last."""
    lines = []
    for recipe in document["recipes"]:
        rows = [entry for entry in document["rows"] if entry["recipe"] == recipe["name"]]
        rows.sort(key=lambda entry: -(entry["images_per_s"] or {"median": 0})["median"])
        width = max(len(entry["name"]) for entry in rows)
        lines += ["", f"{recipe['name']}  {recipe['what']}"]
        lines.append(f"   {'':{width}}  {'images/s':>9}  {'least - most':>19}  {'CPU ms':>7}  {'MB':>6}")
        for entry in rows:
            rate = entry["images_per_s"]
            if rate is None:
                lines.append(f"   {entry['name']:{width}}  {entry['failed']}")
                continue
            between = f"{number(rate['min'])} - {number(rate['max'])}"
            cpu, memory = number(entry["cpu_ms_per_image"]), number(entry["peak_rss_mb"])
            numbers = f"{number(rate['median']):>9}  {between:>19}  {cpu:>7}  {memory:>6}"
            lines.append(f"   {entry['name']:{width}}  {numbers}  {entry['note']}")
    return "\n".join(lines)
