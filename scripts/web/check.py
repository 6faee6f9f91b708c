#!/usr/bin/env python3
"""Looks at the page in web/ with headless Chromium and WebGPU by SwiftShader; scripts/test-web.sh starts it.

    scripts/web/check.py [--quick] [--shots FOLDER]

--quick leaves out the draws of each recipe, groups, draws together and alone, small buffers and the lost GPU. --shots writes screenshots: light and
dark, wide and narrow.
"""

from __future__ import annotations

import argparse
import http.server
import sys
import tempfile
import threading
from pathlib import Path

from chromium import SWIFTSHADER, Chromium, Page
from data import offered
from expectations import expect, say
from results import DRAWN, UNDRAWN, check_batches, check_golden, check_magnitudes, check_parameters, verdict

ROOT = Path(__file__).resolve().parent.parent.parent
PHOTOGRAPH = ROOT / "docs" / "pictures" / "photographs" / "coffee.jpg"
# Draws as one number, which changes if a pixel does; those that the selector names.
PIXELS_OF = """[...document.querySelectorAll('#draws {}')].reduce((sum, canvas) => {{
    const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.reduce((inner, byte) => (Math.imul(inner, 31) + byte) | 0, sum);
}}, 0)"""
PIXELS = PIXELS_OF.format("canvas")
# The images where three draws are asked for and a recipe has groups: whole epochs.
IMAGES = {"dino": 10}


class Files(http.server.SimpleHTTPRequestHandler):
    """The files of web/. Below /tampered/, one number of torchvision's results is another; below /bare/, the photograph is missing."""

    def do_GET(self) -> None:  # noqa: N802, the name that the library calls
        if self.path.endswith("/tampered/data/golden.bin"):
            vectors = bytearray((ROOT / "web" / "data" / "golden.bin").read_bytes())
            # The sign of the first number of the last case.
            vectors[-4 * 3 * 11 * 11 + 3] ^= 0x80
            self.send_response(200)
            self.end_headers()
            self.wfile.write(vectors)
            return
        if self.path == "/bare/chelsea.jpg":
            self.send_error(404)
            return
        self.path = self.path.replace("/tampered/", "/", 1).replace("/bare/", "/", 1)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


def check_without_photograph(page: Page, url: str) -> None:
    page.open(f"{url}bare/")
    page.wait("document.getElementById('message')?.textContent.includes('is missing on the server')", "the message about the photograph")
    shown = page.value("!document.getElementById('main').hidden && document.getElementById('file').offsetParent !== null")
    expect(shown, "without its first photograph the page does not let one choose another")
    say("a first photograph that is missing is named, and another may be chosen")


def message(page: Page) -> str:
    return str(page.value("document.getElementById('message').hidden ? '' : document.getElementById('message').textContent"))


def few_draws(page: Page) -> None:
    page.value("(() => { const count = document.getElementById('count'); count.value = 3; count.dispatchEvent(new Event('input')); })()")


def check_draws(page: Page) -> None:
    page.wait(f"{DRAWN} === 12", "draws of the first photograph")
    status = str(page.value("document.getElementById('status').textContent"))
    expect("swiftshader" in status.lower(), f"the page runs on SwiftShader, not: {status}")
    colours = page.value("new Set(document.querySelector('#draws canvas').getContext('2d').getImageData(0, 0, 200, 200).data).size")
    expect(isinstance(colours, int) and colours > 20, f"a draw shows a photograph, not {colours} levels")
    name = str(page.value("document.getElementById('original-name').textContent"))
    expect(name == "chelsea.jpg, 451×300, by Stefan van der Walt, from scikit-image 0.26.0; licence CC0", name)

    # A GPU in software takes seconds for twelve.
    few_draws(page)
    page.wait(f"{DRAWN} === 3", "three draws")
    before = page.value(PIXELS)
    page.value("document.getElementById('again').click()")
    page.wait(f"{PIXELS} !== {before}", "another seed changes the draws")
    before = page.value(PIXELS)
    # By the keyboard, as a reader without a mouse moves it.
    page.value("[...document.querySelectorAll('#sliders label')].find((label) => label.textContent === 'brightness').control.focus()")
    for _ in range(3):
        page.key("ArrowRight")
    page.wait(f"{PIXELS} !== {before}", "a slider changes the draws")
    page.value("document.getElementById('reset').click()")
    page.wait(f"{PIXELS} === {before}", "the recipe's own arguments give the draws before the slider")
    say("draws appear, and change with the seed and with a slider; reset gives the same pixels again")


def check_files(page: Page, folder: Path) -> None:
    before = page.value(PIXELS)
    broken = folder / "broken.jpg"
    broken.write_bytes(b"\xff\xd8\xff\xe0 no JPEG")
    page.choose_file("#file", broken)
    page.wait("document.getElementById('message')?.hidden === false", "a sentence about the broken file")
    expect(message(page).startswith("broken.jpg is no image that this browser can read"), message(page))
    page.choose_file("#file", PHOTOGRAPH)
    page.wait(f"{PIXELS} !== {before}", "a photograph changes the draws")
    page.wait("document.getElementById('message').hidden", "the sentence about the broken file goes")
    name = str(page.value("document.getElementById('original-name').textContent"))
    expect(name.startswith(PHOTOGRAPH.name), name)
    page.value("""(async () => {
        const blob = await fetch('chelsea.jpg').then((response) => response.blob());
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([blob], 'dropped.jpg'));
        document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    })()""")
    page.wait("document.getElementById('original-name').textContent === 'dropped.jpg, 451×300'", "a dropped photograph replaces the other")
    say(f"a broken file is told in words; {name} is drawn, and a dropped photograph in its place")


def check_undrawn(page: Page, name: str) -> None:
    reason, transforms = UNDRAWN[name]
    told = str(page.value("document.getElementById('reason').textContent"))
    expect(reason in told, f"the reason why {name} is not drawn: {told}")
    listed = page.value("[...document.querySelectorAll('#transforms li')].map((item) => item.textContent.split(':')[0])")
    expect(listed == transforms, f"the transforms of {name}: {listed}")
    expect(page.value(f"{DRAWN} + document.querySelectorAll('#shaders-part:not([hidden])').length") == 0, "neither draws nor shaders are shown")


def choose(page: Page, name: str) -> None:
    page.value("document.getElementById('draws').replaceChildren()")
    page.value(f"""(() => {{ const select = document.getElementById('recipe'); select.value = '{name}';
        select.dispatchEvent(new Event('change')); }})()""")


def check_recipes(page: Page) -> None:
    """Each recipe draws, and shows its shaders; of one that it does not draw the page says why."""
    names = page.value("[...document.getElementById('recipe').options].map((option) => option.value)")
    built_in = {*offered()}
    expect(len(built_in) == 20 and built_in <= set(names), f"built-in recipes that cannot be chosen: {built_in - set(names)}")
    few_draws(page)
    for name in names:
        choose(page, name)
        expect(page.value("document.getElementById('undrawn').hidden") == (name not in UNDRAWN), f"{name} is drawn, or the page says why it is not")
        if name in UNDRAWN:
            check_undrawn(page, name)
            continue
        page.wait(f"{DRAWN} === {IMAGES.get(name, 3)} || !document.getElementById('message').hidden", f"draws of {name}")
        expect(message(page) == "", f"{name}: {message(page)}")
        page.value("document.querySelector('#shaders summary').click()")
        page.wait("document.querySelectorAll('#shaders code').length > 100", f"the shader of {name}")
    say(f"{len(names) - len(UNDRAWN)} recipes draw and show their shaders; of {' and '.join(UNDRAWN)} the page says why it does not draw them")


def check_groups(page: Page) -> None:
    """DINO's views: what the page shows of groups, and that a group draws what its list alone draws."""
    few_draws(page)
    choose(page, "dino-global")
    page.wait(f"{DRAWN} === 3", "draws of dino-global")
    alone = page.value(PIXELS_OF.format("li:first-child canvas"))
    choose(page, "dino")
    page.wait(f"{DRAWN} === {IMAGES['dino']}", "draws of dino")
    groups = page.value("""[...document.querySelectorAll('#draws .sample:only-child section')].map((group) => [
        group.querySelector('h3').textContent, ...[...group.querySelectorAll('canvas')].map(({ width, height }) => `${width}x${height}`)])""")
    expect(groups == [["first", "224x224"], ["second", "224x224"], ["local", *["96x96"] * 8]], f"the groups of dino: {groups}")
    summary = str(page.value("document.getElementById('summary').textContent"))
    expect(summary.startswith("10 draws, first of 224×224×3, second of 224×224×3, local of 96×96×3, in "), summary)
    expect(page.value(PIXELS_OF.format("section:first-child canvas")) == alone, "the group first does not draw what dino-global draws")
    headings = page.value("[...document.querySelectorAll('#sliders h3')].map((heading) => heading.textContent)")
    expect(headings == ["first", "second", "local"], f"headings of sliders: {headings}")
    listed = page.value("[...new Set([...document.querySelectorAll('#shaders summary')].map((each) => each.textContent.split(', ')[0]))]")
    expect(listed == headings, f"groups of the listed shaders: {listed}")

    others, local = "section:not(:last-child) canvas", "section:last-child canvas"
    before = [page.value(PIXELS_OF.format(each)) for each in (others, local)]
    page.value("[...document.querySelectorAll('#sliders section:last-child label')].find((label) => label.textContent === 'least area').control.focus()")
    page.key("ArrowRight")
    page.wait(f"{PIXELS_OF.format(local)} !== {before[1]}", "a slider of the group local changes its draws")
    expect(page.value(PIXELS_OF.format(others)) == before[0], "a slider of the group local changes other groups")
    page.value("(() => { const count = document.getElementById('count'); count.value = 11; count.dispatchEvent(new Event('input')); })()")
    page.wait(f"{DRAWN} === 20 && document.querySelectorAll('#draws .sample').length === 2", "eleven draws need two epochs")
    check_room(page)
    few_draws(page)
    page.wait(f"{DRAWN} === {IMAGES['dino']}", "three draws again")
    say("dino draws 1, 1 and 8 views below their groups' names; its first group has dino-global's pixels; sliders and shaders are by groups")


def check_room(page: Page) -> None:
    for width in (1280, 400, 320):
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        found = page.value("[document.documentElement.scrollWidth, innerWidth]")
        expect(found[0] <= found[1], f"{width} pixels wide, the page needs {found[0]}")
    page.call("Emulation.setDeviceMetricsOverride", width=1280, height=1000, deviceScaleFactor=1, mobile=False)


def check_width(page: Page) -> None:
    check_room(page)
    nameless = page.value("""[...document.querySelectorAll('input, select')].filter((field) => !field.labels.length).map((field) => field.id)""")
    expect(nameless == [], f"fields without a label: {nameless}")
    say("nothing is cut off from 320 to 1280 pixels, and every field has a label")


def check_clean(page: Page, url: str) -> None:
    complaints, strange = page.complaints(), [request for request in page.requests() if not request.startswith((url, "about:"))]
    expect(complaints == [], f"the console: {complaints}")
    expect(strange == [], f"requests to elsewhere: {strange}")
    expect(len(page.requests()) > 10, "the requests of the page were seen")
    say(f"no error and no warning in the console; all {len(page.requests())} requests went to this machine")


def check_limits(browser: Chromium, url: str) -> None:
    """A GPU that says it has small buffers."""
    page = browser.page()
    limit = "Object.defineProperty(GPUSupportedLimits.prototype, 'maxStorageBufferBindingSize', { get: () => 3000000 })"
    page.call("Page.addScriptToEvaluateOnNewDocument", source=limit)
    page.open(url)
    page.wait("document.getElementById('message')?.hidden === false", "a sentence about the buffers")
    expect(message(page).startswith("7.2 million bytes do not fit a buffer of this GPU, which holds 3.0"), message(page))
    few_draws(page)
    page.wait(f"{DRAWN} === 3 && document.getElementById('message').hidden", "fewer draws fit")
    expect(page.complaints() == [], f"the console: {page.complaints()}")
    say("draws that do not fit the GPU's buffers are told in words, and fewer fit")


def check_lost(browser: Chromium, page: Page) -> None:
    """Ends the browser's GPU process under the page."""
    browser.call("Browser.crashGpuProcess")
    page.wait("document.getElementById('message').textContent.startsWith('The GPU was lost')", "a sentence about the lost GPU")
    say(f"a lost GPU is told in words: {message(page)}")


def check_absent(folder: Path, url: str) -> None:
    browser = Chromium(folder / "without")
    try:
        page = browser.page()
        page.open(url)
        page.wait("document.getElementById('message')?.hidden === false", "a sentence about WebGPU")
        expect(message(page).startswith("WebGPU is absent: this browser knows WebGPU, but gives no adapter"), message(page))
        expect(page.value("document.getElementById('main').hidden"), "without WebGPU nothing can be chosen")
        page.call("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined })")
        page.open(f"{url}index.html")
        page.wait("document.getElementById('message')?.hidden === false", "a sentence about WebGPU")
        expect(message(page).startswith("WebGPU is absent: this browser does not have it"), message(page))
        say("without an adapter, and without WebGPU, the page says so")
    finally:
        browser.close()


def shots(page: Page, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    page.value("document.activeElement.blur(), scrollTo(0, 0)")
    for scheme in ("light", "dark"):
        for width, height in ((1280, 1000), (400, 1900)):
            page.shot(folder / f"{scheme}-{width}.png", width, height, scheme)
    page.value("scrollTo(0, 0)")
    page.value("document.querySelector('#shaders summary').click()")
    page.value("document.getElementById('shaders-title').scrollIntoView()")
    page.shot(folder / "light-1280-below.png", 1280, 1300, "light")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--shots", type=Path)
    arguments = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *each: Files(*each, directory=str(ROOT / "web")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        browser = Chromium(folder / "profile", *SWIFTSHADER)
        try:
            page = browser.page()
            page.call("Emulation.setDeviceMetricsOverride", width=1280, height=1000, deviceScaleFactor=1, mobile=False)
            page.open(url)
            check_draws(page)
            check_files(page, folder)
            check_width(page)
            if arguments.shots:
                verdict(page)
                shots(page, arguments.shots)
            check_parameters(page)
            check_magnitudes(page)
            if not arguments.quick:
                check_recipes(page)
                check_groups(page)
                check_batches(page)
            check_golden(page, url)
            check_clean(page, url)
            check_without_photograph(page, url)
            if not arguments.quick:
                check_limits(browser, url)
                check_lost(browser, page)
        except (AssertionError, TimeoutError, RuntimeError, ConnectionError) as error:
            print(f"the page is not as it should be: {error}", file=sys.stderr)
            return 1
        finally:
            browser.close()
        try:
            check_absent(folder, url)
        except (AssertionError, TimeoutError, RuntimeError, ConnectionError) as error:
            print(f"the page is not as it should be: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
