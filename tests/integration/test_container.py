"""The container starts as its file says, as far as that is seen without containers."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "examples" / "container" / "Containerfile").read_text("utf-8").splitlines()
PAGE = (ROOT / "docs" / "howto" / "offline.md").read_text("utf-8")


def of(word):
    """Return what the one line that begins with a word says."""
    (line,) = (line for line in LINES if line.startswith(f"{word} "))
    return line.partition(" ")[2]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
def test_the_command_gets_its_arguments_and_leaves_no_dump(tmp_path):
    command = tmp_path / "dpboost"
    command.write_text("#!/bin/sh\nulimit -c\nprintf '%s\\n' \"$@\"\n")
    command.chmod(0o755)
    arguments = ["fit", "two words.csv", "$HOME"]
    done = subprocess.run(
        [*json.loads(of("ENTRYPOINT")), *arguments],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["0", *arguments], done.stderr


def test_the_user_is_not_root_and_has_the_number_of_the_page():
    made = next(line for line in LINES if "useradd" in line)
    number = re.search(r"--uid (\d+) (\w+)", made)
    assert int(number[1]) >= 1000
    assert of("USER") == number[2]
    assert f"the number {number[1]}" in PAGE
    starts = [line.partition(" ")[0] for line in LINES]
    assert starts.index("USER") < starts.index("ENTRYPOINT")


def test_the_wheelhouse_is_installed_without_an_index_as_on_the_page():
    page = re.search(r"pip install (--no-index .*) 'dpboost\[pandas\]'", PAGE)[1]
    run = f"python -m pip install {page.replace('wheelhouse', '/wheelhouse')} "
    assert of("RUN").startswith(run)


def test_the_page_runs_it_without_network_swap_and_dumps():
    (run,) = re.findall(r"^    docker run .*$", PAGE, re.MULTILINE)
    options = dict(re.findall(r"--(\S+) ([^-\s]\S*)", run))
    assert options["memory"] == options["memory-swap"]
    assert (options["network"], options["ulimit"], options["cap-drop"]) == ("none", "core=0", "all")
