"""How exact the elementwise functions and the reductions are: `make accuracy` writes
docs/accuracy.md.

Each function is measured in a compiled kernel, in eager mode and in JAX, at the same points.
"""

import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import accuracy
import accuracy_complex
import accuracy_reductions
import accuracy_special
import jax
import numpy as np
from accuracy import BF16, F16, F32, F64, FUNCTIONS
from tqdm import tqdm

import tinyjax

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "accuracy.md"
POINTS = 1_200_000  # for a function that has a wider one to compare with
POINTS_OF_MPMATH = 20_000
PIECE = 1 << 14  # elements, for which eager mode takes NumPy's loops


def in_pieces(function):
    """A function that is called for some elements after the other."""

    def run(*args):
        pieces = range(0, len(args[0]), PIECE)
        return np.concatenate(
            [np.asarray(function(*(a[i : i + PIECE] for a in args))) for i in pieces]
        )

    return run


WORLDS = {
    "kernel": lambda f: tinyjax.jit(f.of(tinyjax)),
    "eager": lambda f: in_pieces(f.of(tinyjax)),
    "JAX": lambda f: jax.jit(f.of(jax)),
}

HEAD = """# Accuracy

`make accuracy` writes this page{versions}.

Compiled kernels do not call the C library: they compute `exp`, `sin`, `erf` and the others by
polynomials without branches ([`compiler/vector_*.py`](architecture.md#the-compiler-room-by-room)),
which LLVM turns into vector instructions. Here every function is measured over its whole range:
all exponents, subnormal numbers, the neighbourhood of roots, poles and multiples of pi/2, where
results overflow and underflow, and angles up to the largest number.

An error is given in **ulp**, units in the last place: the distance between the result and the
exact value, divided by the distance between neighbouring numbers there. Correct rounding gives at
most 0.5. The exact value of a float32 function is a float64 one; that of a float64 function is a
long double one. The largest errors are measured again with
[mpmath](https://mpmath.org), at {bits} bits or more, and only these are printed.

"Eager" is what a function gives outside of `jit`, where NumPy computes it. (Arrays of more than
30,000 elements take kernels there, too; most functions of up to 4,096 float32 numbers are computed
in double precision and rounded once, which is off by 0.5 ulp at most.)
"JAX" is `jax.jit` at the same points, without those where an argument or the result is
subnormal: JAX takes such numbers for 0 on CPUs, tinyjax keeps them.

"""


# ---- errors --------------------------------------------------------------------------------------


def number(x):
    """A number in few digits that still show what it is."""
    return f"{float(x):.9g}"


def ulps(error):
    """An error with two digits after the point, if it is small enough for them to count."""
    return f"{error:.2f}" if error < 99.5 else f"{error:.2g}"


def measure(function, form):
    """The largest error of each world."""
    few = accuracy.reference(function, form) is None or form in (F16, BF16)
    count = POINTS_OF_MPMATH if few else POINTS
    args = accuracy.points(function, form, count, np.random.default_rng(0))
    exact = accuracy.exact_values(function, args, form)
    kept = accuracy.normal(args, exact, form)
    found = {}
    for name, world in WORLDS.items():
        got = np.asarray(world(function)(*args))
        where = kept if name == "JAX" or not function.subnormal else None
        found[name] = accuracy.worst(function, form, args, got, exact, where)
    return found


def single_and_double(rows):
    """A table of float32 and one of float64."""
    lines = []
    for form in (F32, F64):
        lines += [
            f"### {form.name}",
            "",
            "| function | limit | kernel | eager | JAX | the kernel's largest error is at |",
            "|---|--:|--:|--:|--:|---|",
        ]
        for function in FUNCTIONS.values():
            found = rows[function.name, form.name]
            at = ", ".join(map(number, found["kernel"].at)) if found["kernel"].error else ""
            errors = [ulps(found[world].error) for world in WORLDS]
            cells = [f"`{function.name}`", f"{function.limit(form):g}", *errors, at]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return lines


ERRORS = """## Errors

"Limit" is what the tests allow a kernel.

"""

NOTES = """- `tanh` and `erf_inv` in float32 are XLA's approximations, digit by digit. Random normal
  numbers are made with `erf_inv`, and they must be JAX's.
- `lgamma` and `digamma` have roots at negative numbers that no float meets; their errors count in
  ulp of the value, or of 1 if that is larger. They are computed by NumPy in both modes.
- `integer_pow` multiplies, as XLA does, so its error grows with the exponent; with a negative one
  it takes the reciprocal of the power, which may overflow where the result is subnormal. Such
  results are left out.
- Eager `erfc` in float64 is SciPy's, which gives 0 for results below the smallest normal number;
  so does eager `logistic`, as JAX does, where exp(-x) overflows.

"""

HALVES = """### float16 and bfloat16

Kernels and eager mode compute in float32 and round once. These are the errors at all 65,536
numbers (of functions with two arguments: at {points:,} pairs). Between two functions of one
expression, too, a kernel rounds to the half, as JAX does.

| function | float16: kernel | eager | JAX | bfloat16: kernel | eager | JAX |
|---|--:|--:|--:|--:|--:|--:|
"""


def halves(rows):
    """The table of the two small formats."""
    lines = HALVES.format(points=POINTS_OF_MPMATH).splitlines()
    for name in FUNCTIONS:
        errors = [
            ulps(rows[name, form.name][world].error) for form in (F16, BF16) for world in WORLDS
        ]
        lines.append(f"| `{name}` | {' | '.join(errors)} |")
    return [*lines, ""]


# ---- special values ------------------------------------------------------------------------------

SPECIAL = """## Special values

What a compiled kernel gives in float32. The values at zeros, infinities and NaN are those of C99,
Annex F, and NaN gives NaN everywhere; float64 and eager mode are the same. "Elsewhere" has zeros,
poles, and points outside of the domain.

| function | 0 | -0 | inf | -inf | {low} | -{low} | {high} | -{high} | elsewhere |
|---|---|---|---|---|---|---|---|---|---|
"""
CORNERS = """`pow`, `atan2`, `rem`, `div` and `nextafter` agree with C for all {count} pairs out of
{numbers}.
So `pow(x, 0)` and `pow(1, y)` are 1 even for NaN, and `pow(-0, -3)` is -inf. `max` and `min` give
NaN if either operand is NaN, and kernels take 0 for larger than -0, as IEEE 754-2019 asks.

### Where JAX differs

JAX on CPUs takes subnormal numbers for 0, in most functions and in arithmetic. At these special
values it gives something else than the table above, by more than {ulp} ulp:

| function | at | tinyjax | JAX |
|---|---|---|---|
"""
LOOSE = 4  # ulp that a special value of JAX may be off before it is called different


def special_table():
    """The special values of kernels, and a list of JAX's where they differ."""
    form = F32
    low, high = number(2.0**form.lowest), f"{float(accuracy.largest(form)):.3g}"
    lines = SPECIAL.format(low=low, high=high).splitlines()
    differences = []
    for name in accuracy_special.AT_ENDS:
        function = FUNCTIONS[name]
        x, _ = accuracy_special.expectations(name, form)
        ours = np.asarray(WORLDS["kernel"](function)(x))
        theirs = np.asarray(WORLDS["JAX"](function)(x))
        cells = [brief(v) for v in ours]
        more = [f"{number(a)}: {v}" for a, v in zip(x[5:-4], cells[5:-4])]
        lines.append(f"| `{name}` | {' | '.join(cells[:4] + cells[-4:])} | {', '.join(more)} |")
        with np.errstate(all="ignore"):
            off = accuracy.errors_in_ulps(theirs, ours.astype(form.wide), form, function.absolute)
        off = (off > LOOSE) | (np.isinf(ours) != np.isinf(theirs))
        off |= (np.signbit(ours) != np.signbit(theirs)) & ~np.isnan(ours)
        differences += [
            f"| `{name}` | {number(a)} | {brief(u)} | {brief(v)} |"
            for a, u, v in zip(x[off], ours[off], theirs[off])
        ]
    numbers = ", ".join(number(c) for c in accuracy_special.CORNERS)
    count = len(accuracy_special.CORNERS) ** 2
    corners = CORNERS.format(count=count, numbers=numbers, ulp=LOOSE)
    return [*lines, "", *corners.splitlines(), *differences, ""]


def brief(x):
    """A value in few digits, with its sign."""
    return f"{float(x):.4g}"


# ---- the page ------------------------------------------------------------------------------------


def measured():
    """All errors, with a progress bar: (function, format) -> world -> worst."""
    cases = [(f, form) for form in (F32, F64, F16, BF16) for f in FUNCTIONS.values()]
    rows = {}
    for function, form in tqdm(cases, desc="functions", disable=None):
        rows[function.name, form.name] = measure(function, form)
    return rows


def page():
    """The text of docs/accuracy.md."""
    versions = f" (jax {jax.__version__}, NumPy {np.__version__})"
    lines = HEAD.format(versions=versions, bits=accuracy.PRECISION).splitlines()
    rows = measured()
    lines += ERRORS.splitlines()
    lines += [*single_and_double(rows), *NOTES.splitlines(), *halves(rows)]
    of_name = [lambda name, w=w: w(accuracy.Function(name, None)) for w in WORLDS.values()]
    lines += accuracy_complex.table(of_name, (F32, F64))
    lines += special_table()
    lines += accuracy_reductions.table()
    return "\n".join(lines).rstrip() + "\n"


def main():
    """Measure, and write the page."""
    warnings.simplefilter("error", RuntimeWarning)  # a kernel that fell back would measure NumPy
    np.seterr(all="ignore")
    for world in (jax, tinyjax):
        world.config.update("jax_enable_x64", True)
    PAGE.write_text(page())
    print(f"{PAGE}: written")


if __name__ == "__main__":
    main()
