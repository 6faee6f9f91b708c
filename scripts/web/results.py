"""Checks the numbers that the web page computes: the random parameters of its draws against those of the command
`gpufeed`, and its magnitudes and pixels against torchvision's.
"""

from __future__ import annotations

import json
from pathlib import Path

from chromium import Page
from expectations import expect, say
from golden import CASES

ROOT = Path(__file__).resolve().parent.parent.parent
DRAWN = "document.querySelectorAll('#draws canvas').length"
# The recipes that the page does not draw, with a part of the reason that it gives and the transforms that it lists.
UNDRAWN = {
    "imagenet-augmix": ("AugMix has no shader", ["RandomResizedCrop", "RandomHorizontalFlip", "AugMix", "Normalize"]),
}


def check_parameters(page: Page) -> None:
    """Checks that web/draws.js has the command's random parameters and descriptions of them, for every operator."""
    different = """(async (shift) => {
        const [{ OPERATORS, makeParams }, { inWords }] = await Promise.all(['draws', 'words'].map((name) => import(`./${name}.js`)));
        const [{ recipes }, entries] = await Promise.all(
            ['recipes', 'draws'].map((name) => fetch(`data/${name}.json`).then((response) => response.json())));
        const sorted = (value) => {
            if (typeof value === 'number') return Math.fround(value);
            if (Array.isArray(value)) return value.map(sorted);
            if (value === null || typeof value !== 'object') return value;
            return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
        };
        const [wrong, otherWords, emitting] = [[], [], new Set()];
        const names = new Set(entries.map(({ recipe }) => recipe));
        let compared = 0;
        for (const { recipe, seed, sample, width, height, draws } of entries) {
            const { groups } = recipes.find(({ name }) => name === recipe);
            for (const { epoch, group: of, view, ops, words } of draws) {
                const group = groups.findIndex(({ name }) => name === of);
                const { shaders } = groups[group];
                const made = makeParams(shaders, { width, height }, { seed: seed + shift, epoch, sample, group, view });
                compared += 1;
                ops.forEach(({ slot }) => emitting.add(shaders.slots[slot].transform));
                if (inWords(ops).join() !== words.join()) otherWords.push(`${inWords(ops)} | ${words}`);
                if (JSON.stringify(sorted(made.ops)) !== JSON.stringify(sorted(ops))) wrong.push(`${recipe}, seed ${seed}, epoch ${epoch}, ${of} ${view}`);
            }
        }
        const silent = Object.keys(OPERATORS).filter((name) => !emitting.has(name));
        return { compared, wrong, otherWords, silent, unseen: recipes.map(({ name }) => name).filter((name) => !names.has(name)) };
    })"""
    found = page.value(f"{different}(0)")
    expect(found["unseen"] == list(UNDRAWN), f"recipes whose draws are not compared: {found['unseen']}")
    expect(found["silent"] == [], f"operators that no compared draw has: {found['silent']}")
    expect(found["otherWords"] == [], f"words other than the command's: {found['otherWords'][:5]}")
    expect(found["compared"] > 200 and found["wrong"] == [], f"draws other than the command's: {found['wrong'][:5]}")
    # With another seed all draws differ, except those of decode-only and imagenet-eval, which have no random
    # parameters.
    other = page.value(f"{different}(1)")
    expect(len(other["wrong"]) > 200, f"with another seed only {len(other['wrong'])} draws differ: the comparison compares nothing")
    say(f"{found['compared']} draws have the command's parameters and words, those of every operator; with another seed {len(other['wrong'])} have others")


def check_magnitudes(page: Page) -> None:
    """Checks that the magnitudes of web/policy.js equal torchvision's at every bin (step of strength)."""
    lines = [line.split() for line in (ROOT / "tests" / "golden" / "magnitudes.txt").read_text().splitlines()]
    lines = [line for line in lines if line[0] in ("RandAugment", "TrivialAugmentWide")]
    found = page.value(f"""(async (lines) => {{
        const {{ RAND_AUGMENT, TRIVIAL_AUGMENT_WIDE, magnitudeOf }} = await import('./policy.js');
        const [wrong, spaces] = [[], {{ RandAugment: RAND_AUGMENT, TrivialAugmentWide: TRIVIAL_AUGMENT_WIDE }}];
        let compared = 0;
        for (const [policy, bins, width, height, ids, sign, ...numbers] of lines) {{
            for (const id of ids.split(',')) numbers.forEach((number, bin) => {{
                const [magnitude, isSigned] = magnitudeOf(spaces[policy], id, bin, Number(bins), {{ width, height }});
                compared += 1;
                if (magnitude !== Math.fround(number) || isSigned !== (sign === '+-')) wrong.push(`${{policy}}, ${{id}}, bin ${{bin}} of ${{bins}}`);
            }});
        }}
        return {{ compared, wrong }};
    }})({json.dumps(lines)})""")
    expect(found["compared"] > 9000 and found["wrong"] == [], f"of {found['compared']} magnitudes other than torchvision's: {found['wrong'][:5]}")
    say(f"{found['compared']} magnitudes of policies are torchvision's")


def verdict(page: Page) -> str:
    page.value("document.getElementById('check').click()")
    page.wait(f"/ of {CASES} cases/.test(document.getElementById('verdict').textContent)", "the comparison with torchvision")
    return str(page.value("document.getElementById('verdict').textContent"))


def check_golden(page: Page, url: str) -> None:
    told = verdict(page)
    failures = page.value("document.getElementById('failures').innerText")
    expect(told.startswith(f"{CASES} of {CASES} cases equal torchvision's"), f"{told}\n{failures}")
    say(told)
    page.open(f"{url}tampered/")
    page.wait(f"{DRAWN} === 12", "the page with a wrong number")
    told = verdict(page)
    named = page.value("[...document.querySelectorAll('#failures li')].map((item) => item.textContent)")
    expect(told.startswith(f"{CASES - 1} of {CASES}") and len(named) == 1 and "pad/symmetric/7x5x3/1-2-3-4" in named[0], f"one wrong number: {told} {named}")
    say("one wrong number among torchvision's is noticed")


def check_batches(page: Page) -> None:
    """Checks that images are the same, drawn together or each alone, if their stages begin with different operators."""
    found = page.value("""(async () => {
        const [{ compose }, { makeParams }, { Runner, openGpu }, { firstPhotograph }] = await Promise.all(
            ['compose', 'draws', 'gpu', 'picture'].map((name) => import(`./${name}.js`)));
        const [{ recipes, texts }, picture] = await Promise.all([fetch('data/recipes.json').then((each) => each.json()), firstPhotograph()]);
        const [{ shaders, output }] = recipes.find(({ name }) => name === 'imagenet-randaugment').groups;
        const passes = shaders.passes.map((pass) => ({ ...pass, wgsl: texts[pass.wgsl] }));
        const { device } = await openGpu({ onLost() {}, onError() {} });
        const runner = await Runner.make(device, { ...shaders, passes }, output);
        const programs = Array.from({ length: 24 }, (_, epoch) => (
            compose(shaders, makeParams(shaders, picture, { seed: 1, epoch }))));
        const kinds = new Set(programs.flat().map(({ gather }) => gather?.kind));
        const together = await runner.run(picture, programs);
        const different = [];
        for (const [i, program] of programs.entries()) {
            const [alone] = await runner.run(picture, [program]);
            if (alone.values.some((value, at) => value !== together[i].values[at])) different.push(i);
        }
        return { kinds: [...kinds].sort(), different };
    })()""")
    expect({"AFFINE", "SHARPEN", "AUTOCONTRAST", "EQUALIZE"} <= set(found["kinds"]), f"operators of the batch: {found['kinds']}")
    expect(found["different"] == [], f"draws that differ from the same draws alone: {found['different']}")
    say("24 draws of imagenet-randaugment, which begin their stages with different operators, are the same together and each alone")
