"""Random programs, tinyjax against jax: `python -m tests.fuzz --programs 300 --seed 0`.

Each program (tests/fuzz_programs.py) is run by jax under jit, and by tinyjax eagerly and under jit:
types, values and printed jaxprs must agree, or both must refuse with errors of one class. What jax
itself answers to arguments changed by 1e-6 says how well a program determines its result. A program
that fails is made smaller as long as it fails in the same way, and printed so that it can be run.
"""

import argparse
import contextlib
import dataclasses
import difflib
import pathlib
import re
import sys
import warnings

import jax
import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from fuzz_programs import Grower, Program, indented
from oracle_faults import explains, mended

import tinyjax

TOLERANCE = {"float16": 2e-2, "bfloat16": 6e-2, "float32": 1e-3, "complex64": 1e-3}

FORMS = ("plain", "vmap")  # calls whose jaxprs are compared; derivatives' may have other orders

# ---- running ------------------------------------------------------------------------------------


def compiled(program, world):
    """The function `run` of a program in one world."""
    scope = {"jax": world, "jnp": world.numpy, "lax": world.lax, "np": np}
    exec(program.source() + program.caller(), scope)
    return scope["run"]


def attempt(function, arguments):
    """-> (results, error): one of them is None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = function(*arguments)
            return [facts(leaf) for leaf in tinyjax.tree_util.tree_leaves(out)], None
        except Exception as error:
            return None, error


def facts(leaf):
    """-> (dtype, shape, weak type), value."""
    if isinstance(leaf, (bool, int, float, complex)):
        leaf = jax.numpy.asarray(leaf)
    weak = bool(getattr(leaf, "weak_type", False))
    return (str(leaf.dtype), tuple(np.shape(leaf)), weak), np.asarray(leaf)


def nudged(arguments, seed):
    """The arguments, with floats changed by a millionth of their size."""
    rng = np.random.default_rng(seed)
    return [
        (a * (1 + 1e-6 * rng.choice([-1, 1], a.shape))).astype(a.dtype) if is_wide(a) else a
        for a in arguments
    ]


def is_wide(array):
    """Whether an array can be changed by a millionth at all."""
    return array.dtype in (np.float32, np.complex64)


# ---- judging ------------------------------------------------------------------------------------


def wide(x):
    """A value as complex128, where anything can be subtracted."""
    return np.asarray(x, np.float32 if x.dtype.kind == "V" else None).astype(np.complex128)


def differ(ours, oracle, near):
    """Whether two values are more different than what jax says to nearby arguments explains."""
    a, b = wide(ours), wide(oracle)
    others = [wide(x) for x in near]
    with np.errstate(all="ignore"):
        spread = np.max([np.abs(o - b) for o in others], axis=0, initial=0)
        doubtful = ~np.isfinite(spread) & np.isfinite(b)
        doubtful |= np.any([np.isfinite(o) != np.isfinite(b) for o in others], axis=0)
        if oracle.dtype.kind in "biu":
            return bool(np.any((a != b) & (spread == 0)))
        scale = np.max(np.abs(b), initial=1, where=np.isfinite(b))
        small = 0.02 if oracle.dtype.itemsize > 2 else 0.1  # of the largest element
        allowed = TOLERANCE[oracle.dtype.name] * (np.abs(b) + small * scale) + 50 * spread
        same = np.isfinite(b) & (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
        same |= ~np.isfinite(b) & (a.real == b.real) & (ours.dtype.kind != "c")
        same |= ~np.isfinite(b) & ~np.isfinite(a) & (ours.dtype.kind == "c")
    return bool(np.any(~same & ~doubtful))


def compare(ours, oracle, near):
    """None, or how two lists of results differ."""
    types, wanted = ([f for f, _ in xs] for xs in (ours, oracle))
    if types != wanted:
        return f"types {types}, but jax: {wanted}"
    for i, ((_, a), (_, b)) in enumerate(zip(ours, oracle, strict=True)):
        if b.dtype != jax.dtypes.float0 and differ(a, b, [n[i][1] for n in near]):
            return f"values {a.tolist()}, but jax: {b.tolist()}"
    return None


def printed(run, make_jaxpr, arguments):
    """The jaxpr of a program as text."""
    text, error = None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = str(make_jaxpr(run)(*arguments))
        except Exception as e:
            error = e
    # jax lets slip NumPy's own numbers into some parameters; lines break elsewhere then
    return text and re.sub(r"np\.int64\((\d+)\)", r"\1", text), error


def judge(program, forms=True):
    """-> None, or (the kind of failure, what is different)."""
    arguments = program.arguments()
    theirs, ours = compiled(program, jax), compiled(program, tinyjax)
    want, oracle_error = attempt(jax.jit(theirs), arguments)
    jitted = jax.jit(theirs)
    near = [attempt(jitted, nudged(arguments, s))[0] for s in (1, 2)] if want else []
    own = [tinyjax.numpy.asarray(a) for a in arguments]
    for way, run in ("eager", ours), ("jit", tinyjax.jit(ours)):
        got, error = attempt(run, own)
        if oracle_error is not None or error is not None:
            if type(error).__name__ != type(oracle_error).__name__:
                return f"{way} error", f"{error!r}, but jax: {oracle_error!r}"
            continue
        near = [n for n in near if n]
        difference = compare(got, want, near)
        if difference:  # XLA reorders divisions and roots; jax op by op does not
            eager, _ = attempt(theirs, [jax.numpy.asarray(a) for a in arguments])
            if eager is None or compare(got, eager, [*near, want]):
                return f"{way} result", difference
    if forms and oracle_error is None and program.call in FORMS:
        text, wanted = (
            printed(run, world.make_jaxpr, arguments)[0]
            for run, world in ((ours, tinyjax), (theirs, jax))
        )
        if not mended(wanted) and re.sub(r"\s", "", text or "") != re.sub(r"\s", "", wanted):
            lines = difflib.unified_diff(
                (text or "").splitlines(), wanted.splitlines(), "tinyjax", "jax", lineterm="", n=1
            )
            return "printed form", "\n".join(lines)
    return None


# ---- making a failure small ---------------------------------------------------------------------


def smaller(program):
    """Programs with one thing less."""
    for output in program.outputs[:-1]:
        yield dataclasses.replace(program, outputs=tuple(o for o in program.outputs if o != output))
    for i, (name, _) in enumerate(program.lines[:-1], 1):
        yield dataclasses.replace(program, lines=program.lines[:i], outputs=(name,))
    for i, (name, _) in enumerate(program.lines):
        rest = program.lines[i + 1 :]
        if name not in program.outputs and not any(name in text for _, text in rest):
            yield dataclasses.replace(program, lines=program.lines[:i] + rest)
    for i, (dtype, shape, seed) in enumerate(program.args):
        for less in {(dtype, shape[1:], seed), ("float32", shape, seed), (dtype, shape, 0)}:
            if less != program.args[i]:
                args = (*program.args[:i], less, *program.args[i + 1 :])
                yield dataclasses.replace(program, args=args)
    if program.call != "plain":
        yield dataclasses.replace(program, call="plain")


def minimised(program, kind, forms):
    """The smallest program that fails in the same way."""
    shrinking = True
    while shrinking:
        shrinking = False
        for candidate in smaller(program):
            with contextlib.suppress(Exception):
                verdict = judge(candidate, forms)
                if verdict and verdict[0] == kind:
                    program, shrinking = candidate, True
                    break
    return program


# ---- the command --------------------------------------------------------------------------------


def program_of(seed) -> Program:
    """The program of a seed."""
    return Grower(seed).program()


def failure(seed, forms=True, shrink=True):
    """None, or a report on the program of a seed."""
    program = program_of(seed)
    verdict = judge(program, forms)
    if verdict is None or explains(program.source(), verdict[1]):
        return None
    if shrink:
        program = minimised(program, verdict[0], forms)
        verdict = judge(program, forms) or verdict
    return f"seed {seed}: {verdict[0]}\n{indented(program.text())}\n{indented(verdict[1])}"


def main(argv=None):
    """Run programs; the exit code is 1 if one of them fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--programs", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (default: 0)")
    parser.add_argument("--no-forms", action="store_true", help="do not compare printed jaxprs")
    parser.add_argument("--no-shrink", action="store_true", help="report programs as they are")
    options = parser.parse_args(argv)
    failures = 0
    seeds = range(options.seed, options.seed + options.programs)
    with tqdm(seeds, desc="programs", disable=None) as bar:
        for count, seed in enumerate(bar):
            report = failure(seed, not options.no_forms, not options.no_shrink)
            if report:
                failures += 1
                bar.write(report + "\n", file=sys.stdout)
            bar.set_postfix(failures=failures)
            if count % 100 == 99:
                jax.clear_caches()
    print(f"{failures} of {options.programs} programs differ (seeds {seeds.start} and following)")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
