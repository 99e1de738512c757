"""What all tests share: workers that do not grow, and settings that stay as they are."""

import itertools
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
import site_pages

import tinyjax

tinyjax.config.update("tinyjax_traceback", "full")  # who tests wants to see it all
jax.config.update("jax_num_cpu_devices", 8)  # as many as tinyjax has: the oracle of pmap
collect_ignore = [
    "transcripts",  # cells, which test_transcripts.py runs in both worlds
    "offline",  # changes the process that imports it; test_chapters.py gives it to kernels
]
EVERY = 1500  # tests; by then the caches of compiled programs hold a gigabyte or more
_count = itertools.count(1)


def settings() -> dict[str, object]:
    """What a test could change for all tests that the same process runs after it."""
    return {
        "the folder": os.getcwd(),
        "the environment": {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
        "NumPy's print options": np.get_printoptions(),
        "NumPy's error handling": np.geterr(),
        "flags of tinyjax": dict(tinyjax.config.values),
        "flags of JAX": dict(jax.config.values),
    }


@pytest.fixture(autouse=True)
def leaves_settings_alone():
    """Tests run in any order, and side by side: none may change what another one sees."""
    before = settings()
    yield
    after = settings()
    changed = [name for name in before if before[name] != after[name]]
    assert not changed, f"the test did not put back: {', '.join(changed)}"


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site; processes of pytest share it."""
    base = tmp_path_factory.getbasetemp()
    is_alone = "PYTEST_XDIST_WORKER" not in os.environ
    return site_pages.build_once(base if is_alone else base.parent)


@pytest.fixture(scope="session")
def pages(site):
    """Every page of the site by its address below the root."""
    found = sorted(site.rglob("*.html"))
    return {path.relative_to(site).as_posix(): site_pages.Page(path) for path in found}


def pytest_runtest_teardown():
    """Both worlds keep every program that they compiled; the tests of a worker are thousands."""
    if next(_count) % EVERY == 0:
        jax.clear_caches()
        tinyjax.clear_caches()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test marked `apart` runs in a process of its own: a Ctrl-C that it sends could otherwise
    hit pytest, and end all."""
    if pyfuncitem.get_closest_marker("apart") is None or "TINYJAX_APART" in os.environ:
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, pyfuncitem.nodeid],
        cwd=pyfuncitem.config.rootpath,
        env={**os.environ, "TINYJAX_APART": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode:
        pytest.fail(f"{done.stdout}\n{done.stderr}", pytrace=False)
    return True
