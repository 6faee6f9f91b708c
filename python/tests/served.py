"""A folder on a web server of this machine's loopback, which answers ranges."""

from __future__ import annotations

import email.utils
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Served:
    """Serves a folder until it is closed; ``requests`` are the paths and ranges that were asked."""

    def __init__(self, folder: Path) -> None:
        requests: list[tuple[str, str, str | None]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.answer(False)

            def do_GET(self) -> None:
                self.answer(True)

            def answer(self, body: bool) -> None:
                asked = self.headers["Range"]
                requests.append((self.command, self.path, asked))
                path = folder / self.path.partition("?")[0].lstrip("/")
                if not path.is_file():
                    self.send_response(404)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                data = path.read_bytes()
                first, last = 0, len(data) - 1
                if asked is not None:
                    begin, _, end = asked.removeprefix("bytes=").partition("-")
                    first, last = int(begin or len(data) - int(end)), min(int(end), last) if begin and end else last
                self.send_response(200 if asked is None else 206)
                if asked is not None:
                    self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
                self.send_header("Content-Length", str(last + 1 - first))
                self.send_header("ETag", f'"{path.stat().st_mtime_ns}-{len(data)}"')
                self.send_header("Last-Modified", email.utils.formatdate(path.stat().st_mtime, usegmt=True))
                self.send_header("Accept-Ranges", "bytes")
                self.end_headers()
                if body:
                    self.wfile.write(data[first : last + 1])

            def log_message(self, *_: Any) -> None:
                pass

        self.requests = requests
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
