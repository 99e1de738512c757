"""A headless Chromium, as the tests of the site drive it, and the server that it reads from."""

import functools
import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

AXE = Path(__file__).with_name("axe") / "axe.min.js"  # axe-core 4.14.1, from npm; MPL 2.0
DESKTOP = (1280, 900)
PHONE = (390, 844)

# --- The browser ----------------------------------------------------------------------------------


class Browser:
    """One window of Chromium, without a screen."""

    def __init__(self, scripts: bool = True):
        options = webdriver.ChromeOptions()
        options.binary_location = program("chromium", "chromium-browser", "google-chrome")
        # A container has neither a sandbox nor much shared memory; the pages are our own.
        for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if not scripts:
            blocked = {"profile.managed_default_content_settings.javascript": 2}
            options.add_experimental_option("prefs", blocked)
        self.driver = webdriver.Chrome(options, Service(program("chromedriver")))
        self.run = self.driver.execute_script
        self.show_as(DESKTOP)

    def show_as(self, size: tuple[int, int], scheme: str = "light", media: str = "screen") -> None:
        """Sets the size of the window, what the reader's system prefers, and screen or paper."""
        width, height = size
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=size == PHONE,
        )
        prefers = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", media=media, features=[prefers])

    def command(self, name: str, **arguments) -> None:
        """A command of the Chrome DevTools Protocol."""
        self.driver.execute_cdp_cmd(name, arguments)

    def open(self, address: str) -> None:
        """Goes to a page as a new reader; errors() and requests() are of it from now on."""
        self.driver.get("about:blank")  # the last page has nothing more to store
        if address.startswith("http"):
            self.command("Storage.clearDataForOrigin", origin=address, storageTypes="local_storage")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(address)

    def errors(self) -> list[str]:
        """What the console says is wrong."""
        log = self.driver.get_log("browser")
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> set[str]:
        """The addresses that the page asked for."""
        messages = [json.loads(entry["message"]) for entry in self.driver.get_log("performance")]
        sent = [m["message"] for m in messages]
        sent = [m for m in sent if m["method"] == "Network.requestWillBeSent"]
        return {m["params"]["request"]["url"] for m in sent}

    def excess_width(self) -> int:
        """By how many pixels the page is wider than the window."""
        # Not innerWidth: a phone zooms out until a page that is too wide fits.
        page = "document.documentElement"
        return self.run(f"return {page}.scrollWidth - {page}.clientWidth")

    def violations(self) -> list[str]:
        """What axe-core calls serious or critical, with the elements."""
        self.run(AXE.read_text(encoding="utf-8"))
        # What moves has its colours in the end only.
        self.run("for (const moving of document.getAnimations()) moving.finish()")
        found = self.driver.execute_async_script(
            "axe.run({resultTypes: ['violations']}).then(r => arguments[0](r.violations))"
        )
        return [
            f"{rule['id']}: {[node['html'][:200] for node in rule['nodes'][:5]]}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
        ]

    def wait_for(self, script: str, seconds: float = 20):
        """What a script returns, as soon as that is something."""
        end = time.monotonic() + seconds
        while not (result := self.run(script)):
            assert time.monotonic() < end, f"after {seconds} s nothing from: {script}"
            time.sleep(0.05)
        return result


def program(*names: str) -> str:
    """The first of these programs that is installed."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise AssertionError(
        f"This test needs {names[0]}, which is not installed. On Debian: "
        "apt-get install chromium chromium-driver"
    )


# --- The server -----------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing about it."""

    def log_message(self, *args):
        """Says nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address below which a folder can be read."""
    handler = functools.partial(Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
