"""What all tests share: workers that do not grow."""

import itertools

import jax

import tinyjax

jax.config.update("jax_num_cpu_devices", 8)  # as many as tinyjax has: the oracle of pmap
collect_ignore = ["transcripts"]  # cells, which test_transcripts.py runs in both worlds
EVERY = 1500  # tests; by then the caches of compiled programs hold a gigabyte or more
_count = itertools.count(1)


def pytest_runtest_teardown():
    """Both worlds keep every program that they compiled; the tests of a worker are thousands."""
    if next(_count) % EVERY == 0:
        jax.clear_caches()
        tinyjax.clear_caches()
