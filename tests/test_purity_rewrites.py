"""The code that a finding proposes runs, and does what the function did; where that is not sure,
there are words instead."""

import datetime
import json
import os
import random
import time
from collections import Counter

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import check_pure, lax

X, KEY = jnp.ones(3), jax.random.key(0)
SIZE, PLACE, total, calls = (3,), os.path.join(os.path.dirname(__file__), "number.txt"), 0.0, 3
words, table, nested, seen = [3.0, 1.0], {"w": 1.0, "b": 2.0}, {5: [1.0]}, {}
numbers, counted, members = np.zeros(3), Counter("aab"), {1, 2}
MEANS, PLACES, HALF = np.zeros(3), 3, 0.5
generator = np.random.default_rng(0)


def rewrite_of(f, *args):
    """The only rewrite of a function."""
    findings = check_pure(f, *args).findings
    assert len(findings) == 1, findings
    return findings[0].rewrite


def run(f, *args, **names):
    """The names after the rewrite of a function of x has run."""
    text = rewrite_of(f, *args)
    assert text[0] != "#" and "..." not in text, text
    space = {**globals(), "x": args[0], f.__name__: f, "key": KEY, **names}
    space.update(jax=jax, jnp=jnp)
    last = text.splitlines()
    if "y" not in {line.partition(",")[0].partition(" =")[0] for line in last}:
        last[-1] = f"y = {last[-1]}"
    exec("\n".join(last), space)
    return space


# ---- random numbers ------------------------------------------------------------------------------

DRAWS = {  # a function that draws, and what the rewrite has to give with the key `sub`
    "normal": (
        lambda x: x + np.random.normal(2.0, 0.1, size=SIZE),
        lambda k: 2.0 + 0.1 * jax.random.normal(k, (3,)),
    ),
    "uniform": (
        lambda x: x + np.random.uniform(-1, 1, size=(3,)),
        lambda k: jax.random.uniform(k, (3,), minval=-1, maxval=1),
    ),
    "scale": (
        lambda x: x + np.random.normal(scale=3.0),
        lambda k: 3.0 * jax.random.normal(k),
    ),
    "randint": (
        lambda x: x + np.random.randint(0, 5),
        lambda k: jax.random.randint(k, (), 0, 5),
    ),
    "upper bound": (
        lambda x: x + generator.integers(4, size=3),
        lambda k: jax.random.randint(k, (3,), 0, 4),
    ),
    "rand": (lambda x: x + np.random.rand(3), lambda k: jax.random.uniform(k, (3,))),
    "randn": (lambda x: x + np.random.randn(1, 3), lambda k: jax.random.normal(k, (1, 3))),
    "python's": (lambda x: x + random.randint(1, 6), lambda k: jax.random.randint(k, (), 1, 7)),
    "gauss": (lambda x: x + random.gauss(1, 2), lambda k: 1 + 2 * jax.random.normal(k)),
    "permutation": (
        lambda x: x + np.random.permutation(3),
        lambda k: jax.random.permutation(k, 3),
    ),
    "exponential": (
        lambda x: x + np.random.exponential(2.0, 3),
        lambda k: 2.0 * jax.random.exponential(k, (3,)),
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws(name):
    f, drawn = DRAWS[name]
    expected = X + drawn(jax.random.split(KEY)[1])
    assert np.allclose(run(f, X)["y"], expected)


def statement_draw(x):
    noise = np.random.normal(size=x.shape)
    return x + noise


UNSURE = {
    "choice": lambda x: x + np.random.choice([1, 2]),
    "array of means": lambda x: x + np.random.normal(MEANS),
    "beta": lambda x: x + np.random.beta(1.0, 2.0),
    "two on a line": lambda x: x + np.random.rand() * np.random.rand(),
    "endpoint": lambda x: x + generator.integers(0, 4, endpoint=True),
    "with a default": lambda x, n=1: x + np.random.rand(n),
}


@pytest.mark.parametrize("name", UNSURE)
def test_draws_that_are_not_sure(name):
    assert rewrite_of(UNSURE[name], X).startswith("# Take a key")


def test_a_draw_in_a_statement():
    lines = rewrite_of(statement_draw, X).splitlines()
    assert lines[2].strip() == "noise = jax.random.normal(key, x.shape)"
    assert check_pure(statement_draw, X)[0].line == statement_draw.__code__.co_firstlineno + 1


# ---- state ---------------------------------------------------------------------------------------


def adds_up(x):
    global total
    total += jnp.sum(x)
    return x


def counts(x):
    global calls
    calls += 1
    return x * calls


def appends(x):
    words.append(4.0)
    return x


def pops_key(x):
    table.pop("w")
    return x


def clears(x):
    table.clear()
    return x


def deletes_key(x):
    del table["w"]
    return x


def nested_append(x):
    nested[5].append(2.0)
    return x


def sets_key(x):
    seen[PLACES] = 2.0
    return x


def adds_to_value(x):
    table["w"] += 2.0
    return x


def sets_item(x):
    words[0] = 7.0
    return x


def adds_in_place(x):
    global words
    words += (5.0,)
    return x


def sorts(x):
    words.sort()
    return x


def adds_member(x):
    members.add(3)
    return x


def adds_in_array(x):
    numbers[1] += 2.0
    return x


CHANGES = {
    adds_up: ("total", 3.0),
    counts: ("calls", 4),
    appends: ("words", [3.0, 1.0, 4.0]),
    pops_key: ("table", {"b": 2.0}),
    clears: ("table", {}),
    deletes_key: ("table", {"b": 2.0}),
    nested_append: ("nested", {5: [1.0, 2.0]}),
    sets_key: ("seen", {3: 2.0}),
    adds_to_value: ("table", {"w": 3.0, "b": 2.0}),
    sets_item: ("words", [7.0, 1.0]),
    adds_in_place: ("words", [3.0, 1.0, 5.0]),
    sorts: ("words", [1.0, 3.0]),
    adds_member: ("members", {1, 2, 3}),
}


@pytest.mark.parametrize("f", CHANGES)
def test_changes(f):
    name, value = CHANGES[f]
    space = run(f, X)
    assert space[name] == value
    assert np.array_equal(space["y"], X * 4 if f is counts else X)
    assert (total, calls, words, seen) == (0.0, 3, [3.0, 1.0], {})


def test_a_change_in_an_array():
    assert np.array_equal(run(adds_in_array, X)["numbers"], [0.0, 2.0, 0.0])


def deletes_item(x):
    del words[0]
    return x


def sets_slice(x):
    words[:] = [0.0]
    return x


def adds_out(x):
    np.add(numbers, 1, out=numbers)
    return x


def in_a_comprehension(x):
    [words.append(i) for i in range(3)]
    return x


def counts_words(x):
    counted["a"] += 1
    return x


def under_an_if(x):
    if x.ndim:
        words.append(1.0)
    return x


def uses_the_value(x):
    return x * table.pop("w")


def two_on_a_line(x):
    words.append(1.0); words.append(2.0)  # fmt: skip  # noqa: E702
    return x


NO_CODE = [
    *(deletes_item, sets_slice, adds_out, in_a_comprehension, counts_words, under_an_if),
    *(uses_the_value, two_on_a_line),
]


@pytest.mark.parametrize("f", NO_CODE)
def test_changes_that_are_not_sure(f):
    assert rewrite_of(f, X).startswith("# Take `")


# ---- leaks ---------------------------------------------------------------------------------------


def leaks(x):
    h = jnp.sin(x)
    words.append(h)
    return h * 2


def leaks_in_a_loop(x):
    for i in range(3):
        words.append(x * i)
    return x


def leaks_in_a_scan(x):
    def body(c, y):
        words.append(c)
        return c + 1, c

    return lax.scan(body, 0.0, x)[1]


def leaks_in_a_branch(x):
    def positive(y):
        words.append(y)
        return y

    return lax.cond(x.sum() > 0, positive, lambda y: y, x)


def rebinds(x):
    h = jnp.sin(x)
    words.append(h)
    h = h * 2
    return h  # noqa: RET504


def test_leaks():
    last, *after = rewrite_of(leaks, X).splitlines()
    body = f"def leaks(x):\n    h = jnp.sin(x)\n    {last}\n"
    space = {"x": X, "words": [], "jnp": jnp}
    exec("\n".join([body, *after]), space)
    assert np.array_equal(space["y"], jnp.sin(X) * 2)
    assert np.array_equal(space["words"][0], jnp.sin(X))


@pytest.mark.parametrize(
    "f", [leaks_in_a_loop, leaks_in_a_scan, leaks_in_a_branch, rebinds, jax.grad(leaks)]
)
def test_leaks_that_are_not_sure(f):
    x = 1.0 if f not in (leaks_in_a_loop, leaks_in_a_scan, leaks_in_a_branch, rebinds) else X
    assert rewrite_of(f, x).startswith("# ")


# ---- files and clocks ----------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path, monkeypatch):
    path = tmp_path / "number.txt"
    path.write_text("2.5")
    monkeypatch.setitem(globals(), "PLACE", str(path))


READS = {
    "float": lambda x: x * float(open(PLACE).read()),  # noqa: SIM115
    "json": lambda x: x * json.load(open(PLACE)),  # noqa: SIM115
}


@pytest.mark.parametrize("name", READS)
def test_reading_a_file(name, place):
    findings = check_pure(READS[name], X).findings
    assert {f.kind for f in findings} == {"I/O"}
    assert np.allclose(run(READS[name], X)["y"], 2.5)


def seeds_by_the_clock(x):
    return x + jax.random.normal(jax.random.key(int(time.time())))


def times_itself(x):
    start = time.time()
    y = x * 2
    words.copy().append(time.time() - start)
    return y


def test_the_clock_as_an_argument():
    assert np.all(run(lambda x: x * time.time(), X)["y"] > 1e9)
    assert "f(x, datetime.datetime.now().hour)" in rewrite_of(
        lambda x: x * datetime.datetime.now().hour, X
    )
    text = rewrite_of(seeds_by_the_clock, X)
    assert text.splitlines()[-1] == "seeds_by_the_clock(x, int(time.time()))"
    assert run(seeds_by_the_clock, X)["y"].shape == (3,)
    assert "jax.block_until_ready(times_itself(x))" in check_pure(times_itself, X)[0].rewrite


def test_two_prints_on_a_line(capsys):
    f = lambda x: (print("a"), print("b", x), x)[2]
    texts = [finding.rewrite for finding in check_pure(f, X)]
    assert 'jax.debug.print("a")' in texts or 'jax.debug.print("b {}", x)' in texts
    (finding,) = check_pure(lambda x: print(f"{HALF:.2f} and {x}") or x, 1.0)
    assert finding.rewrite == 'jax.debug.print("{:.2f} and {}", HALF, x)'
    exec(finding.rewrite, {"jax": jax, "x": 0.125, "HALF": HALF})
    assert capsys.readouterr().out == "0.50 and 0.125\n"
