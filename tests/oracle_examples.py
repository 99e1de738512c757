"""The examples in JAX's own docstrings, run on tinyjax: `make oracle-examples`.

    python -m tests.oracle_examples                     every public module
    python -m tests.oracle_examples numpy.fft random    these only
    python -m tests.oracle_examples --list              the names that pass, too

The installed jax is read, not copied: a first process collects the docstrings of everything public,
runs their examples on jax itself and notes what they print. A second process runs them on tinyjax,
where `import jax` means tinyjax. An example passes if tinyjax prints what jax prints, or what the
docstring promises. Numbers may differ in their last digits. Of an error, only its class counts.
"""

import argparse
import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import textwrap

from tqdm import tqdm

# What JAX has for CPUs: no accelerators or exported programs.
TOP = (
    "numpy lax random tree tree_util nn ops errors dtypes test_util flatten_util debug image typing"
    " sharding"
)
TOP += " ad_checkpoint custom_derivatives custom_batching stages lax.linalg nn.initializers"
TOP += " numpy.linalg numpy.fft example_libraries.optimizers example_libraries.stax"
SCIPY = "linalg special stats signal fft ndimage interpolate integrate optimize sparse.linalg"
SCIPY += " cluster.vq spatial.transform"
MODULES = ["jax"]
MODULES += [f"jax.{name}" for name in TOP.split()] + [f"jax.scipy.{name}" for name in SCIPY.split()]
SECONDS = 60  # for one docstring

# ---- collecting ---------------------------------------------------------------------------------


def documented(module):
    """(name, object) of a public module, its functions, its classes and their methods."""
    yield module.__name__, module
    for name in sorted(n for n in dir(module) if not n.startswith("_")):
        thing = getattr(module, name)
        if inspect.ismodule(thing):
            continue
        yield f"{module.__name__}.{name}", thing
        if inspect.isclass(thing):
            for method in sorted(n for n in vars(thing) if not n.startswith("_")):
                yield f"{module.__name__}.{name}.{method}", getattr(thing, method)


def collect(modules):
    """name -> docstring with examples; one that several names share is listed once."""
    found = {}
    for name in modules:
        for path, thing in documented(importlib.import_module(name)):
            doc = inspect.getdoc(thing) or ""
            if ">>>" in doc and doc not in found.values():
                found[path] = doc
    return found


# ---- running ------------------------------------------------------------------------------------


def tinyjax_as_jax():
    """From now on `import jax` and everything below it give tinyjax's modules."""
    import tinyjax

    folder = os.path.dirname(tinyjax.__file__)
    for path, _, files in os.walk(folder):
        for file in files:
            name = os.path.relpath(os.path.join(path, file), os.path.dirname(folder))
            name = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if file.endswith(".py") and not name.startswith("tinyjax.learn"):
                with contextlib.suppress(ImportError):
                    module = importlib.import_module(name)
                    sys.modules["jax" + name.removeprefix("tinyjax")] = module
    return tinyjax


class Late(Exception):
    """A docstring took too long."""


def out_of_time(*_):
    raise Late(f"more than {SECONDS} s")


def run_example(source, names):
    """What one example prints, or the error it raises."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            sys.displayhook = lambda x: None if x is None else print(repr(x))
            exec(compile(source, "<example>", "single"), names)
        except Late:
            raise
        except BaseException as error:
            return {"error": type(error).__name__, "message": str(error)}
    return {"printed": out.getvalue()}


def run_docstring(doc, jax):
    """The results of all its examples, in one namespace."""
    import numpy as np

    names = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np, "__name__": "__main__"}
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(SECONDS)
    results = []
    try:
        for example in doctest.DocTestParser().get_examples(doc):
            results.append(run_example(example.source, names))
    except Late as late:
        results.append({"error": "Late", "message": str(late)})
    finally:
        signal.alarm(0)
    return results


def serve(world):
    """A worker: reads {name, doc} lines, answers {name, results} lines."""
    jax = tinyjax_as_jax() if world == "tinyjax" else importlib.import_module("jax")
    answers = os.fdopen(os.dup(1), "w")  # what examples print past Python must not come between
    os.dup2(2, 1)
    for line in sys.stdin:
        task = json.loads(line)
        print(json.dumps(run_docstring(task, jax)), file=answers, flush=True)


class Worker:
    """A process that runs docstrings in one world; a crash costs one docstring."""

    def __init__(self, world):
        self.world, self.process = world, None

    def __call__(self, doc):
        if self.process is None:
            command = [sys.executable, "-m", "tests.oracle_examples", "--serve", self.world]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, env={**os.environ, "JAX_NUM_CPU_DEVICES": "8"},  # tinyjax's number
            )  # fmt: skip
        try:
            self.process.stdin.write(json.dumps(doc) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            code = self.process.wait()
            self.process = None
            return [{"error": "Crash", "message": f"the process ended with code {code}"}]

    def close(self):
        """Ends the process."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


# ---- comparing ----------------------------------------------------------------------------------

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def close(got, want):
    """The same text, with numbers that agree to five digits or so."""
    numbers, wanted = (NUMBER.findall(text) for text in (got, want))
    words, expected = (NUMBER.sub("#", text).split() for text in (got, want))
    if "".join(words) != "".join(expected) or len(numbers) != len(wanted):
        return False
    pairs = zip(map(float, numbers), map(float, wanted), strict=True)
    return all(a == b or abs(a - b) <= 2e-5 * max(abs(a), abs(b)) + 1e-6 for a, b in pairs)


def unlike_the_docstring(example, result):
    """None if a result is what the docstring promises, else what is different."""
    if "error" in result:
        raised = f"{result['error']}: {result['message']}"
        if example.exc_msg is None:
            return raised
        wanted = example.exc_msg.split(":")[0].split(".")[-1].strip()
        return None if wanted == result["error"] else f"{raised}, but not {wanted}"
    if example.exc_msg is not None:
        return f"no error, but {example.exc_msg.strip()}"
    got, want = result["printed"], example.want
    if not want or doctest.OutputChecker().check_output(want, got, FLAGS) or close(got, want):
        return None
    return f"printed\n{got.rstrip()}\nbut not\n{want.rstrip()}"


def unlike_the_oracle(result, oracle):
    """Whether a result is not what jax did."""
    if "error" in result or "error" in oracle:
        return result.get("error") != oracle.get("error")
    return not close(result["printed"], oracle["printed"])


def judge(doc, ours, oracle):
    """-> the first example that fails and why, "" if none does, None if jax cannot run it."""
    examples = doctest.DocTestParser().get_examples(doc)
    for i, example in enumerate(examples):
        if example.options.get(doctest.SKIP):
            continue
        result, peer = (r[i] if i < len(r) else r[-1] for r in (ours, oracle))
        why = unlike_the_docstring(example, result)
        if why is None or not unlike_the_oracle(result, peer):
            continue
        if "error" in peer and example.exc_msg is None:
            return None  # it asks for more than this jax has: devices, a package
        return f">>> {example.source.rstrip()}\n{why}"
    return ""


# ---- the command --------------------------------------------------------------------------------


def main(argv=None):
    """Run and report; the exit code is 0 whatever fails: this is a measure, not a test."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle_examples",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("modules", nargs="*", help="parts of jax, e.g. numpy.fft (default: all)")
    parser.add_argument("--list", action="store_true", help="also name the docstrings that pass")
    parser.add_argument("--serve", choices=["jax", "tinyjax"], help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.serve:
        return serve(options.serve)
    wanted = [f"jax.{m}".removesuffix(".jax") for m in options.modules] or MODULES
    docs = collect(wanted)
    workers = Worker("tinyjax"), Worker("jax")
    verdicts = {}
    for name, doc in tqdm(docs.items(), desc="docstrings", unit="", disable=None):
        ours, oracle = (worker(doc) for worker in workers)
        verdicts[name] = judge(doc, ours, oracle)
    for worker in workers:
        worker.close()
    for name, why in verdicts.items():
        if why:
            print(f"FAILED {name}\n{textwrap.indent(why, '    ')}")
        elif options.list:
            print("passed" if why == "" else "left out (jax fails here)", name)
    ran = [why for why in verdicts.values() if why is not None]
    passed = ran.count("")
    share = 100 * passed / max(len(ran), 1)
    print(f"{passed} of {len(ran)} docstrings pass ({share:.1f} %); "
          f"{len(verdicts) - len(ran)} left out, because jax itself fails here.")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
