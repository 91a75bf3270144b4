"""A browser, and the built site, as a local server serves it.

`GLASSJAX_BROWSER` names the browser, a Chromium; `./noxw -s tests-browser` finds it.
"""

import http.server
import os
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright
from visits import SITE, WIDE, Handler, Visit

# It runs as root, without a display, and asks nothing of anybody but the server.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
    "--js-flags=--liftoff-only",  # compile Python's WebAssembly quickly: no cell runs for long
]  # fmt: skip


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the site is."""
    if not (SITE / "index.html").is_file():
        pytest.exit(f"no site in {SITE}: `./noxw -s docs` builds it", returncode=4)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = os.environ.get("GLASSJAX_BROWSER", "/usr/bin/chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    """Returns a function that opens a tab; all must be well in it when the test ends."""
    visits = []

    def new(viewport=WIDE, scheme="light"):
        visits.append(Visit(browser, address, viewport, scheme))
        return visits[-1]

    yield new
    for each in visits:
        each.context.close()
    assert [problem for each in visits for problem in each.problems] == []
