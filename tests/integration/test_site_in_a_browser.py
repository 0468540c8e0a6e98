"""The built site as a browser shows it: widths of pages and tables, and the search.

Runs where ``make -C docs html`` has built it and a Chromium is installed.
"""

import functools
import html
import http.server
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path
from urllib.parse import quote

import pytest

SITE = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
#: A wide screen, and a phone.
WIDE, NARROW = 1280, 390
#: Least width of the column in the middle on a wide screen.
LEAST = 750

pytestmark = pytest.mark.skipif(
    not BROWSER or not (SITE / "index.html").is_file(),
    reason="no browser, or the site is not built",
)

PAGES = (
    *("index", "install", "faq", "known-limits", "deviations", "howto/index", "howto/tuning"),
    *("howto/few-rows", "reference/parameters", "reference/command-line", "reference/lightgbm"),
    *("reference/api", "explanation/index"),
)

# Loads each page in a frame of each width, and writes down what reaches beyond it.
_SCRIPT = """<pre id="found"></pre><script>
const found = [];
async function look(page, width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.src = `/${page}.html`;
  document.body.append(frame);
  await new Promise(done => { frame.onload = done; });
  await new Promise(done => setTimeout(done, 300));
  const shown = frame.contentDocument;
  const cut = [...shown.querySelectorAll(".bd-article table")].filter(table => {
    const around = table.parentElement;
    return table.getBoundingClientRect().right > width + 1
      || around.scrollWidth > around.clientWidth + 1;
  });
  found.push({
    page, width,
    middle: shown.querySelector(".bd-article").getBoundingClientRect().width,
    beyond: shown.documentElement.scrollWidth - width,
    cut: cut.length,
  });
  frame.remove();
}
(async () => {
  for (const page of PAGES) for (const width of WIDTHS) await look(page, width);
  document.getElementById("found").textContent = JSON.stringify(found);
})();
</script>"""


@pytest.fixture(scope="module")
def address():
    """Address of the site, with the script beside it."""
    script = _SCRIPT.replace("PAGES", json.dumps(PAGES)).replace("WIDTHS", f"[{WIDE}, {NARROW}]")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path != "/look":
                return super().do_GET()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            return self.wfile.write(f"<body>{script}</body>".encode())

        def log_message(self, *args):
            pass

    handler = functools.partial(Handler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def shown(url, milliseconds):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"]
    command += [f"--virtual-time-budget={milliseconds}", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def test_pages_are_wide_enough_and_no_table_is_cut_off(address):
    page = shown(f"{address}/look", 3000 * len(PAGES))
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', page, re.DOTALL)[1]))
    assert len(found) == 2 * len(PAGES)
    wide = [each for each in found if each["width"] == WIDE]
    assert [each for each in wide if each["middle"] < LEAST] == []
    assert [each for each in found if each["beyond"] > 0] == []
    assert [each for each in found if each["width"] == NARROW and each["cut"]] == []


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("install", "install.html"),
        ("early stopping", "howto/early-stopping.html"),
        ("how many rows", "howto/few-rows.html"),
    ],
)
def test_the_search_puts_the_page_of_this_title_first(address, asked, page):
    found = shown(f"{address}/search.html?q={quote(asked)}", 20_000)
    first = re.search(
        r'<ul[^>]* class="search">\s*<li[^>]*>.*?<a href="([^"?#]*)', found, re.DOTALL
    )
    assert first is not None
    assert first[1] == page
