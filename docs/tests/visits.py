"""Visits to the built site, in a browser."""

import functools
import gzip
import http.server
from collections import Counter
from pathlib import Path
from typing import ClassVar

from playwright.sync_api import Browser, Page, TimeoutError, expect

SITE = Path(__file__).parents[2] / "site"
PAGES = sorted(
    str(file.parent.relative_to(SITE)).removeprefix(".")
    for file in SITE.rglob("index.html")
    if "assets" not in file.parts
)

# In milliseconds: the first run of a cell fetches Python, and other work may hold the processors.
expect.set_options(timeout=60_000)

WIDE, NARROW = {"width": 1366, "height": 900}, {"width": 390, "height": 800}


TEXTS = {".css", ".html", ".js", ".json", ".mjs", ".svg", ".xml"}


@functools.cache
def compressed(file: Path) -> bytes:
    return gzip.compress(file.read_bytes())


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site as hosts of static sites do, texts compressed; remembers what was fetched."""

    fetched: ClassVar[list[str]] = []
    sent: ClassVar[Counter[str]] = Counter()  # bytes, by path

    def __init__(self, *args, **kwargs):
        super().__init__(*args, directory=SITE, **kwargs)

    def do_GET(self):
        self.fetched.append(self.path)
        file = Path(self.translate_path(self.path))
        if file.is_dir() and self.path.endswith("/"):
            file /= "index.html"
        if file.suffix not in TEXTS or not file.is_file():
            return super().do_GET()
        content = compressed(file)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(file)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def send_header(self, name, value):
        if name == "Content-Length":
            self.sent[self.path] += int(value)
        super().send_header(name, value)

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def log_message(self, *args):
        pass


class Visit:
    """A tab of the browser, and what went wrong in it."""

    def __init__(self, browser: Browser, address: str, viewport: dict[str, int], scheme: str):
        self.address = address
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme)
        self.context.set_default_timeout(20_000)
        self.problems: list[str] = []
        self.page = self.new_page()

    def new_page(self) -> Page:
        page = self.context.new_page()
        page.on("console", self.heed_console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("requestfailed", self.heed_failure)
        page.on("response", self.heed_response)
        return page

    def heed_console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def heed_failure(self, request):
        if request.failure != "net::ERR_ABORTED":  # by the next page
            self.problems.append(f"failed: {request.url}: {request.failure}")

    def heed_response(self, response):
        url = response.url
        if not url.startswith((self.address, "data:", "blob:")):
            self.problems.append(f"foreign: {url}")
        if response.status >= 400:
            self.problems.append(f"{response.status}: {url}")

    def open(self, path: str) -> Page:
        address = f"{self.address}/{path}"
        try:
            self.page.goto(address, wait_until="load")
        except TimeoutError:  # a page of the browser that hangs would fail all that come after
            self.page = self.new_page()
            self.page.goto(address, wait_until="load")
        return self.page
