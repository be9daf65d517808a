"""A web server of a folder that answers ranges of bytes, and counts what it sends."""

from __future__ import annotations

import functools
import http.server
import threading
import time
from pathlib import Path


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        content = path.read_bytes() if path.is_file() else None
        if content is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = self.headers.get("Range") if self.server.knows_ranges else None
        first, last = 0, len(content) - 1
        if asked:
            start, _, stop = asked.removeprefix("bytes=").partition("-")
            if start:
                first, last = int(start), min(int(stop or last), last)
            else:
                first = len(content) - int(stop)
        body = content[first : last + 1]
        with self.server.lock:
            self.server.sent.append((path.name, len(body)))
        time.sleep(self.server.latency + len(body) * self.server.byte_time)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body)))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    """`sent` has the name and the bytes of each answer."""

    def __init__(self, folder: Path, latency: float = 0.0, byte_time: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        self.lock = threading.Lock()
        self.sent: list[tuple[str, int]] = []
        self.knows_ranges = True
        self.latency, self.byte_time = latency, byte_time  # seconds
        self.folder = folder
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def chunks_sent(self) -> list[int]:
        """The bytes of the answers so far that are no metadata; forgets them."""
        with self.lock:
            sizes = [size for name, size in self.sent if not name.startswith((".", "zarr.json"))]
            self.sent.clear()
        return sizes
