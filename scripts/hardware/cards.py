"""What a report card of `gpufeed bench` says, in fewer numbers and in words."""

from __future__ import annotations

from typing import Optional

RATE = ("name", "images", "bytes", "seconds", "gb_per_second", "of_copy", "predicted_seconds")


def kernels(card: dict) -> dict:
    """The kernels' and uploads' rates beside the copy, and the recipe's rate beside its roofline."""

    def rates(rows: list) -> list:
        return [{key: row.get(key) for key in RATE} for row in rows]

    return {
        "executor": card["executor"],
        "clock": card["kernels"]["clock"],
        "rows": rates(card["kernels"]["rows"]),
        "roofline": card["kernels"]["roofline"],
        "upload": rates(card["upload"]),
        "slots": card.get("slots"),
        "images_per_second": card["images_per_second"]["median"],
        "workers": card["workers"],
        "limit": limit(card),
    }


def pipeline(card: dict) -> dict:
    points = [(point["workers"], point["images_per_second"]["median"]) for point in card["sweep"]]
    return {
        "executor": card["executor"],
        "images_per_second": points or [(card["workers"], card["images_per_second"]["median"])],
        "cpu_seconds_per_image": card["cpu_seconds_per_image"],
        "limit": limit(card),
        "gpu": card.get("gpu"),
        "slots": card.get("slots"),
    }


def limit(card: dict) -> str:
    bottleneck = card["bottleneck"]
    part = bottleneck.get("resource") or "nothing known"
    return f"limited by {part}: {bottleneck['verdict']}"


def words(card: dict) -> str:
    """One sentence of the kernels."""
    rows = {row["name"]: row for row in card["kernels"]["rows"]}
    copy, strip = rows.get("copy kernel"), rows.get("strip, f32")
    said = []
    if copy:
        said.append(f"copy {copy['gb_per_second']:,.0f} GB/s")
    if strip:
        said.append(
            f"sampling {strip['gb_per_second']:,.0f} GB/s, {100 * (strip.get('of_copy') or 0):.0f} % of the copy"
        )
    roofline = card["kernels"]["roofline"]
    if roofline:
        measured = roofline.get("measured_images_per_second")
        said.append(f"kernels {measured:,.0f} images/s" if measured else "kernels not measured")
        said.append(f"roofline {roofline['predicted_images_per_second']:,.0f} ({roofline['limit']})")
    if not said:
        said.append(f"no kernels ({card['kernels']['clock']})")
    said.append(f"pipeline {card['images_per_second']['median']:,.0f} images/s with {card['workers']} workers")
    return ", ".join(said)


def slots(found: Optional[dict]) -> str:
    """What staging slots cost; empty where nothing was timed."""
    said = []
    for key, what in (("write_gb_per_second", "written"), ("copy_gb_per_second", "copied")):
        if found and found.get(key):
            said.append(f"{what} at {found[key]:,.1f} GB/s")
    return ", ".join(said)


def answer(switch: str, card: dict) -> str:
    """The numbers of a card that a switch is about."""
    kernels = card["kernels"]
    if switch == "f16":
        said = [f"{row['name']} {1e3 * row['seconds']:.3f} ms" for row in kernels["rows"] if "f16" in row["name"]]
    elif switch == "rows":
        rate = (kernels["roofline"] or {}).get("measured_images_per_second")
        said = [f"kernels {rate:,.0f} images/s"] if rate else []
    else:
        rate = card["images_per_second"]
        ends = f" ({rate['min']:,.0f} to {rate['max']:,.0f})" if "min" in rate else ""
        said = [f"{rate['median']:,.0f} images/s{ends}", slots(card.get("slots"))]
    return ", ".join(filter(None, said)) or f"not measured ({kernels['clock']})"
