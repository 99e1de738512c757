"""Runs chapters and stores their notebooks: `python -m tinyjax.learn.chapters 04 05`.

A chapter is named by the beginning of its name, `04` or `04_random`; without a name all are run,
two at a time; with `--changed`, those whose text, data or tinyjax itself changed since their run.
"""

import argparse
import hashlib
import json
import multiprocessing
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from tqdm import tqdm

import tinyjax
from tinyjax.learn.exercise import root
from tinyjax.learn.notebooks import SECONDS, execute, read_text

# --- Which ---------------------------------------------------------------------------------------


def texts(names: Sequence[str]) -> list[Path]:
    """The texts of the chapters whose names begin so; all of them without names."""
    known = sorted((root() / "chapters" / "text").glob("*.py"))
    for name in names:
        if not any(path.stem.startswith(Path(name).stem) for path in known):
            raise SystemExit(
                f"no chapter begins with {name!r}; there are {[path.stem for path in known]}"
            )
    return [
        path
        for path in known
        if not names or any(path.stem.startswith(Path(name).stem) for name in names)
    ]


def stamps_file() -> Path:
    """Where it is kept what the chapters were run from; it is no part of the repository."""
    return root() / "chapters" / ".built.json"


def read_stamps() -> dict[str, str]:
    """By chapter, the digest of what it was run from."""
    try:
        return json.loads(stamps_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def digest(files: Iterable[Path]) -> str:
    """One hash of the contents of files."""
    total = hashlib.sha256()
    for path in files:
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def stamp(text: Path, package: str) -> str:
    """The digest of all that a chapter is run from."""
    data = (path for path in sorted((text.parents[1] / "data").glob("*")) if path.is_file())
    return digest([text, *data]) + package


def package_digest() -> str:
    """The digest of tinyjax itself."""
    assert tinyjax.__file__ is not None
    return digest(sorted(Path(tinyjax.__file__).parent.rglob("*.py")))


# --- Running -------------------------------------------------------------------------------------


def build(text: Path) -> float:
    """Runs one chapter and writes its notebook; the seconds that took."""
    start = time.perf_counter()
    notebook = execute(read_text(text), text.parents[1])
    seconds = time.perf_counter() - start
    nbformat.write(notebook, text.parents[1] / f"{text.stem}.ipynb")
    return seconds


def build_all(chosen: Sequence[Path], jobs: int) -> dict[Path, str]:
    """Runs chapters, so many at a time, with a progress bar; what went wrong, by chapter."""
    failures = {}
    processes = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(jobs, mp_context=processes) as pool,
        tqdm(total=len(chosen), desc="chapters", unit="chapter", smoothing=0) as bar,
    ):
        running = {pool.submit(build, text): text for text in chosen}
        for done in as_completed(running):
            text = running[done]
            try:
                seconds = done.result()
                bar.write(f"{text.stem}: {seconds:.0f} s")
                if seconds > SECONDS:
                    failures[text] = f"took {seconds:.0f} s; a chapter has {SECONDS}"
            except (CellExecutionError, CellTimeoutError) as error:
                failures[text] = str(error)
            bar.update()
    return failures


def main(argv: Sequence[str] | None = None) -> int:
    """Builds the chapters named on the command line."""
    parser = argparse.ArgumentParser(prog="chapters", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="chapters, by the beginning of their name")
    parser.add_argument("--changed", action="store_true", help="leave out what was run as it is")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    args = parser.parse_args(argv)

    package, stamps = package_digest(), read_stamps()
    chosen = texts(args.names)
    if args.changed:
        chosen = [text for text in chosen if stamps.get(text.stem) != stamp(text, package)]
    if not chosen:
        print("Every chapter was run as it is.")
        return 0
    failures = build_all(chosen, args.jobs)
    stamps |= {text.stem: stamp(text, package) for text in chosen if text not in failures}
    stamps_file().write_text(json.dumps(stamps, indent=1), encoding="utf-8")
    for text, why in failures.items():
        print(f"\n{text.stem}: {why}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
