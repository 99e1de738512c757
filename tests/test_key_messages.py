"""debug_key_reuse: what it says, and the warning of keys that nobody uses."""

import warnings

import numpy as np
import pytest
from test_key_reuse import SAMPLERS, draw, draw_all, key, scan_captured, under_flag, while_captured
from worlds import OURS

# ---- words --------------------------------------------------------------------------------------


def said(run):
    """The lines of our message."""
    return str(under_flag(run, OURS)).splitlines()


def test_the_message_names_both_lines_and_the_fix():
    def run(jax):
        noise = jax.random.key(0)
        jax.random.normal(noise, (2,))
        jax.random.split(noise)

    lines = said(run)
    line = run.__code__.co_firstlineno
    assert lines[0] == "Previously-consumed key passed to random_split at index 0."
    assert lines[1].startswith("Used first at ")
    assert lines[1].endswith(f":{line + 2} (run): jax.random.normal(noise, (2,))")
    assert lines[2].startswith("used again at ")
    assert lines[2].endswith(f":{line + 3} (run): jax.random.split(noise)")
    assert "`noise, sub = jax.random.split(noise)`" in lines[3]
    assert "`jax.random.clone(noise)`" in lines[4]


def test_the_message_of_a_program():
    def step(k):
        a = draw(OURS, k)
        return a + OURS.random.uniform(k)

    lines = said(lambda jax: jax.jit(step)(jax.random.key(0)))
    assert lines[0] == "In jit, argument 0 is already consumed."
    assert "(draw): return jax.random.normal(k)" in lines[1]
    assert "(step): return a + OURS.random.uniform(k)" in lines[2]
    call = said(lambda jax: [jax.jit(lambda k: draw(jax, k))(k) for k in [key(jax)] * 2])
    assert call[0] == "Previously-consumed key passed to jit-compiled function at index 0."
    assert call[2] == "and once more in the same line, when it ran again."


def test_the_message_of_a_loop():
    lines = said(lambda jax: scan_captured(jax, key(jax)))
    assert lines[0].startswith("scan body function leads to key reuse when repeatedly executed")
    assert "(draw): return jax.random.normal(k)" in lines[1]
    assert "`sub = jax.random.fold_in(k, i)`" in "".join(lines)
    lines = said(lambda jax: while_captured(jax, key(jax)))
    assert lines[0].startswith("while_loop body function leads to key reuse")


# ---- keys that nobody uses ----------------------------------------------------------------------


def unused(f, *args):
    """What is said of unused keys while f is traced."""
    with OURS.debug_key_reuse(True), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        OURS.make_jaxpr(f)(*args)
    return [str(w.message) for w in heard]


@pytest.mark.parametrize("make", [OURS.random.key, OURS.random.PRNGKey])
def test_unused_rows_of_a_split(make):
    def one_of_two(k):
        new, sub = OURS.random.split(k)
        return draw(OURS, sub)

    def last_of_four(k):
        return [draw(OURS, row) for row in OURS.random.split(k, 4)[:3]]

    (text,) = unused(one_of_two, make(0))
    assert "Of the 2 keys that jax.random.split made, number 0 (from 0) is never used" in text
    assert "(one_of_two): new, sub = OURS.random.split(k)" in text
    assert len(text.splitlines()) <= 8
    (text,) = unused(last_of_four, make(0))
    assert "Of the 4 keys that jax.random.split made, number 3 (from 0)" in text


@pytest.mark.parametrize("make", [OURS.random.key, OURS.random.PRNGKey])
def test_used_rows_of_a_split(make):
    random = OURS.random

    def on_purpose(k):
        _, sub = random.split(k)
        return draw(OURS, sub)

    def returned(k):
        k, sub = random.split(k)
        return k, draw(OURS, sub)

    def all_rows(k):
        return draw_all(OURS, random.split(k, 3))

    def carried(k):
        def body(k, x):
            k, sub = random.split(k)
            return k, draw(OURS, sub)

        return OURS.lax.scan(body, k, np.arange(3))[1]

    def once(k):
        k, sub = random.split(k)
        return draw(OURS, sub)

    def textbook(k):
        out = []
        for _ in range(3):
            k, sub = random.split(k)
            out.append(draw(OURS, sub))
        return out

    def rows_in_a_loop(k):
        out = []
        for _ in range(3):
            rows = random.split(k)
            k = rows[0]
            out.append(draw(OURS, rows[1]))
        return out

    loops = once, textbook, rows_in_a_loop, OURS.jit(textbook)
    loops += (OURS.grad(lambda x, k: sum(y.sum() for y in textbook(k)) * x),)
    for f in loops[:-1]:
        assert unused(f, make(0)) == []
    assert unused(loops[-1], 1.0, make(0)) == []
    for f in (on_purpose, returned, all_rows, carried):
        assert unused(f, make(0)) == []
    for name, args in SAMPLERS.items():  # what they split inside is nobody's business
        assert unused(lambda k, n=name, a=args: getattr(random, n)(k, *a), make(0)) == []


def test_the_warning_stands_at_the_split():
    """Not at the call that had the program traced."""

    def swapped(k):
        k, sub = OURS.random.split(k)
        return draw(OURS, k)

    with OURS.debug_key_reuse(True), pytest.warns(OURS.errors.KeyReuseWarning) as heard:
        OURS.jit(swapped)(OURS.random.key(0))
    (warning,) = heard
    assert "number 1 (from 0) is never used" in str(warning.message)
    start = swapped.__code__.co_firstlineno
    assert (warning.filename, warning.lineno) == (__file__, start + 1)
