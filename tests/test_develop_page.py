"""The page for developers names what exists: make's targets, files and folders, commands."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CODE = re.findall(r"`([^`\n]+)`", (ROOT / "docs" / "develop.md").read_text(encoding="utf-8"))
MADE = {"site/", ".venv/bin/python"}  # by make


def test_the_targets_of_make_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {code.split()[1] for code in CODE if code.startswith("make ")}
    assert len(named) > 8
    assert named <= targets


def test_the_files_and_folders_exist():
    words = [word for code in CODE for word in code.split() if "<" not in code]
    paths = {word for word in words if "/" in word or word.endswith((".py", ".lock", ".yml"))}
    assert len(paths) > 15
    for path in paths - MADE:
        assert any(list(folder.glob(path)) for folder in (ROOT, ROOT / "tinyjax")), path


def test_the_commands_of_tinyjax_exist():
    named = {code for code in CODE if code.startswith("tinyjax ")}
    assert named
    for command in named:
        asked = [sys.executable, "-m", "tinyjax.learn", *command.split()[1:], "--help"]
        assert subprocess.run(asked, cwd=ROOT, capture_output=True).returncode == 0, command
