"""Opens the chapters in JupyterLab; where there is no terminal, says how to."""

import importlib.util
import os
import subprocess
import sys

from tinyjax.learn.exercise import root


def lab_command() -> list[str]:
    """The command that opens the chapters."""
    command = [sys.executable, "-m", "jupyterlab", str(root() / "chapters")]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # JupyterLab refuses the root user, such as in a container
    return command


def start() -> int:
    """Runs JupyterLab in the foreground; the exit code."""
    if importlib.util.find_spec("jupyterlab") is None:
        print("JupyterLab is not installed: run `make learn`, or pip install 'tinyjax[learn]'.")
        return 1
    command = lab_command()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print("No terminal here, so JupyterLab was not started. To read the chapters, run:")
        print("  " + " ".join(command))
        return 0
    print("Opening the chapters in JupyterLab; Ctrl-C twice ends it.", flush=True)
    try:
        return subprocess.call(command)
    except KeyboardInterrupt:
        return 0
