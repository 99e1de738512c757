"""Values survive the way between two processes, and are compared as a person would."""

import json
from collections import namedtuple

import numpy as np
import pytest

from tinyjax.learn.values import decode, encode, same, show

Pair = namedtuple("Pair", "w b")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        "text",
        [1, [2.0, None]],
        {"w": np.ones((2, 3), np.float32), "b": [1, 2]},
        np.array(3, np.int8),
        np.array([1 + 2j]),
        np.zeros((0, 3)),
        float("nan"),
        float("inf"),
    ],
    ids=repr,
)
def test_round_trip(value):
    there = json.loads(json.dumps(encode(value)))
    assert same(decode(there), value, rtol=0, atol=0)


def test_what_is_no_value_travels_as_its_repr():
    code = encode(print)
    assert code == {"object": "<built-in function print>"}
    assert show(decode(code)) == "<built-in function print>"


@pytest.mark.parametrize(
    "got, expected",
    [
        ((1.0, 2.0), np.array([1, 2])),
        ([np.float32(1), np.array(2.0)], np.array([1.0, 2.0])),
        (Pair(1.0, 2.0), (1, 2)),
        (np.float32(0.1), 0.1),
        (np.array(6.0), 6),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        (float("nan"), np.nan),
    ],
)
def test_same(got, expected):
    assert same(decode(encode(got)), decode(encode(expected)))


@pytest.mark.parametrize(
    "got, expected",
    [
        (None, 0.0),
        ("1.0", 1.0),
        ([1.0, [2.0]], np.array([1.0, 2.0])),
        (np.array([[1.0, 2.0]]), np.array([1.0, 2.0])),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, 1),
        (1.001, 1.0),
        (np.inf, 1e30),
        (print, print.__name__),
    ],
)
def test_not_same(got, expected):
    assert not same(decode(encode(got)), decode(encode(expected)))
