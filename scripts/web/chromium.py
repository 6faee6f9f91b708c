"""Headless Chromium by its DevTools protocol, over a pipe: no port, and nothing but Python's standard library."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

# SwiftShader is a GPU in software, which Chromium brings along. Nothing but this machine has a name.
OPTIONS = [
    "--headless=new", "--no-sandbox", "--no-first-run", "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--remote-debugging-pipe", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]  # fmt: skip
SWIFTSHADER = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
# A page on a busy machine: compiling a recipe's shaders in software takes a second or two.
PATIENCE = 60.0


class Chromium:
    """A browser. Messages end with a zero byte; it reads them from file descriptor 3 and writes them to 4."""

    def __init__(self, profile: Path, *options: str) -> None:
        name = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
        if name is None:
            raise FileNotFoundError("there is no Chromium")
        # Above 4, so that one does not overwrite another.
        (theirs, ours_out), (ours_in, theirs_out) = (
            [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in os.pipe()] for _ in range(2)
        )

        def connect() -> None:
            os.dup2(theirs, 3)
            os.dup2(theirs_out, 4)

        command = [name, *OPTIONS, *options, f"--user-data-dir={profile}", "about:blank"]
        self.log = (profile.parent / f"{profile.name}.log").open("wb")
        self.process = subprocess.Popen(command, preexec_fn=connect, pass_fds=(3, 4), stdout=self.log, stderr=self.log)
        os.close(theirs)
        os.close(theirs_out)
        self.input, self.output = ours_out, ours_in
        self.rest = b""
        self.number = 0
        self.events: list[dict] = []

    def close(self) -> None:
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (ConnectionError, BrokenPipeError):
            self.process.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
        self.log.close()

    def message(self, seconds: float) -> dict | None:
        """The next message; None if none comes in this time."""
        until = time.monotonic() + seconds
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.output], [], [], left)[0]:
                return None
            part = os.read(self.output, 1 << 20)
            if not part:
                raise ConnectionError("Chromium has ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, session: str | None = None, **arguments: object) -> dict:
        self.number += 1
        request = {"id": self.number, "method": method, "params": arguments} | ({"sessionId": session} if session else {})
        os.write(self.input, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while (message := self.message(until - time.monotonic())) is not None:
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)
        raise TimeoutError(f"{method}: no answer in {PATIENCE:.0f} seconds")

    def page(self) -> Page:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        return Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])


class Page:
    """A tab, with what it has said and asked for."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self.browser, self.session = browser, session
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **arguments: object) -> dict:
        return self.browser.call(method, self.session, **arguments)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def value(self, expression: str) -> object:
        """The value of an expression in the page; promises are waited for."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def wait(self, expression: str, what: str) -> object:
        """Waits until an expression is true."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if found := self.value(expression):
                return found
            time.sleep(0.05)
        said = self.value("document.body.innerText.slice(0, 600)")
        raise TimeoutError(f"{what}: not within {PATIENCE:.0f} seconds; the page says: {said}; the console: {self.complaints()}")

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"ArrowRight": 39, "Tab": 9}[key])

    def choose_file(self, selector: str, file: Path) -> None:
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(file)])

    def shot(self, file: Path, width: int, height: int, scheme: str) -> None:
        """A screenshot of this part of the page's top."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def own(self, choose: Callable[[dict], str | None]) -> list[str]:
        self.value("0")
        found = (choose(event) for event in self.browser.events if event.get("sessionId") == self.session)
        return [text for text in found if text is not None]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions."""

        def complaint(event: dict) -> str | None:
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                return params["exceptionDetails"].get("exception", {}).get("description", params["exceptionDetails"]["text"])
            if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                return " ".join(str(each.get("value", each.get("description"))) for each in params["args"])
            if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                return f"{params['entry']['text']} {params['entry'].get('url', '')}"
            return None

        return self.own(complaint)

    def requests(self) -> list[str]:
        """The addresses that the page has asked for."""
        return self.own(lambda event: event["params"]["request"]["url"] if event["method"] == "Network.requestWillBeSent" else None)
