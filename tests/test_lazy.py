"""The start: packages that load their files at the first use of a name, and look as if they had."""

import ast
import builtins
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tinyjax
from tinyjax.lazy import lazy_imports

ROOT = Path(tinyjax.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MODULES = [
    ".".join(("tinyjax", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in FILES
]
LAZY = [name for name, path in zip(MODULES, FILES) if "with _lazy_imports(" in path.read_text()]


def run(code, **environment):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- the packages -------------------------------------------------------------------------------


@pytest.mark.parametrize("package", LAZY)
def test_every_name_is_what_its_import_says(package):
    module = importlib.import_module(package)
    places = module.__getattr__.__self__.names
    assert places
    for name, place in places.items():
        home = importlib.import_module(place.module)
        assert getattr(module, name) is getattr(home, place.name), name
        assert vars(module)[name] is getattr(module, name)  # from now on without __getattr__


@pytest.mark.parametrize("package", LAZY)
def test_no_lazy_name_is_hidden_by_a_file(package):
    """Python binds a file of the package to its name when it is loaded, whoever loads it."""
    module = importlib.import_module(package)
    for name, place in module.__getattr__.__self__.names.items():
        path = Path(module.__file__).with_name(name)
        if path.with_suffix(".py").exists() or (path / "__init__.py").exists():
            assert place == (package, name), f"{package}.{name} must be imported at once"


@pytest.mark.parametrize("package", LAZY)
def test_all_lists_names_that_exist(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert not [name for name in module.__all__ if not hasattr(module, name)]


@pytest.mark.parametrize("package", ["tinyjax", "tinyjax.numpy", "tinyjax.lax"])
def test_all_lists_every_import_of_a_package_that_has_no_list_of_its_own(package):
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.asname or alias.name for node in imports for alias in node.names}
    assert set(module.__all__) == {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("package", LAZY)
def test_names_are_listed_before_they_are_loaded(package):
    listed = run(f"import {package} as m; print(*dir(m))").split()
    assert set(importlib.import_module(package).__all__) <= set(listed)


def test_star_import_binds_every_public_name():
    found = run("from tinyjax.numpy import *; print(sin(0.0), argsort.__name__, linalg.__name__)")
    assert found == "0.0 argsort tinyjax.numpy.linalg"


def test_a_function_that_is_called_like_its_file_stays_a_function():
    code = (
        "import tinyjax, tinyjax.random.uniform, tinyjax.devices, tinyjax.config\n"
        "import tinyjax.random.distributions\n"
        "print(callable(tinyjax.random.uniform), callable(tinyjax.devices))\n"
        "print(tinyjax.config.jax_enable_x64)"
    )
    assert run(code).split() == ["True", "True", "False"]


def test_a_wrong_name_is_refused_with_advice():
    with pytest.raises(AttributeError, match=r"module 'tinyjax.numpy' has no attribute 'sine'"):
        tinyjax.numpy.sine
    with pytest.raises(ImportError, match="cannot import name 'sine' from 'tinyjax.numpy'"):
        from tinyjax.numpy import sine  # noqa: F401
    done = subprocess.run(
        [sys.executable, "-c", "import tinyjax.numpy as jnp; jnp.argsrot"],
        capture_output=True,
        text=True,
    )
    assert "Did you mean: 'argsort'?" in done.stderr


def test_functions_are_pickled_by_their_home():
    for function in (tinyjax.numpy.argsort, tinyjax.lax.cond, tinyjax.grad):
        assert pickle.loads(pickle.dumps(function)) is function
        assert "def " in inspect.getsource(function)


# ---- what a program pays for --------------------------------------------------------------------


def test_a_small_program_loads_a_small_part():
    code = (
        "import sys, tinyjax as jax, tinyjax.numpy as jnp\n"
        "jax.jit(lambda x: jnp.sum(jnp.sin(x) ** 2 + x))(jnp.arange(3.0))\n"
        "print(*[m for m in sys.modules if m.startswith('tinyjax')])"
    )
    loaded = run(code).split()
    for name in (
        "scipy",
        "image",
        "nn",
        "random",
        "debug",
        "transforms.pmap",
        "numpy.fft",
        "learn",
    ):
        assert f"tinyjax.{name}" not in loaded, name


def test_all_parts_can_be_reached_from_the_top():
    code = (
        "import tinyjax as jax\n"
        "print(jax.scipy.stats.norm.pdf.__name__, jax.nn.initializers.zeros.__name__)\n"
        "print(jax.numpy.linalg.norm.__name__, jax.lax.linalg.cholesky.__name__)\n"
        "print(jax.tree_util.tree_map.__name__, jax.debug.print.__name__)\n"
        "print(jax.random.key(0).dtype)\n"
        "import tinyjax.scipy.optimize\n"
        "print(jax.scipy.optimize.minimize.__name__)"
    )
    words = "pdf zeros norm cholesky tree_map print key<fry> minimize"
    assert run(code).split() == words.split()


def test_every_file_can_be_the_first_to_be_loaded():
    code = (
        "import importlib, os, sys, tinyjax\n"
        "for name in sys.argv[1:]:\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        try:\n"
        "            importlib.import_module(name)\n"
        "        except BaseException as error:\n"
        "            if str(getattr(error, 'name', 'tinyjax')).startswith('tinyjax'):\n"
        "                print(name, repr(error), flush=True)  # not: no jupytext here\n"
        "        os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
    )
    skip = {"tinyjax.learn.__main__", "tinyjax.parallel.mpi_worker"}  # programs
    names = [name for name in MODULES if name not in skip]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0)


def test_methods_are_loaded_when_they_are_first_used_and_look_like_any_other():
    code = (
        "import sys, pydoc, tinyjax as jax\n"
        "loaded = lambda: 'tinyjax.numpy.linear' in sys.modules\n"
        "x = jax.numpy.arange(3.0)\n"
        "print('__matmul__' in dir(x), 'dot' in dir(jax.Array), loaded(), x @ x, loaded())\n"
        "print(x.dot(x), jax.Array.dot is jax.numpy.dot, jax.Array.argmax.__name__, 7 // (x + 1))\n"
        "text = pydoc.plain(pydoc.render_doc(jax.Array))\n"
        "print(all(name in text for name in ('argmax', 'mT', 'flatten')))"
    )
    said = "True True False 5.0 True 5.0 True argmax [7. 3. 2.] True"
    assert run(code).split() == said.split()


# ---- the block ----------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make a package from the text of its files; gives it imported."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def make(**files):
        name = f"lazy_package_{len(made)}_{os.getpid()}"
        made.append(name)
        (tmp_path / name).mkdir()
        for file, text in files.items():
            text = text.replace("HERE", name).replace("BLOCK", "with lazy_imports(globals())")
            (tmp_path / name / f"{file}.py").write_text(
                "from tinyjax.lazy import lazy_imports\n" + text
            )
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for name in list(sys.modules):
        if name.partition(".")[0] in made:
            del sys.modules[name]


def test_a_file_is_loaded_when_its_name_is_used(package):
    made = package(
        __init__="BLOCK:\n    from HERE.words import first as one, second\n",
        words="first = 1\nsecond = 2",
    )
    words = f"{made.__name__}.words"
    assert words not in sys.modules and "one" in dir(made)
    assert made.one == 1 and words in sys.modules
    assert made.second == 2 and not hasattr(made, "first")


def test_an_error_in_a_file_is_shown_and_the_next_use_tries_again(package):
    made = package(__init__="BLOCK:\n    from HERE.bad import x\n", bad="x = 1 / 0")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            made.x


def test_an_error_in_the_block_leaves_imports_as_they_were(package):
    before = builtins.__import__
    with pytest.raises(ZeroDivisionError):
        package(__init__="BLOCK:\n    1 / 0\n")
    assert builtins.__import__ is before


def test_imports_of_others_are_done_at_once_while_a_block_is_open():
    namespace = {"__name__": "nothing"}
    with lazy_imports(namespace):
        thread = threading.Thread(target=lambda: found.append(importlib.import_module("colorsys")))
        found = []
        thread.start()
        thread.join()
        from wave import Error  # this file's, not the namespace's
    assert found[0].__name__ == "colorsys"
    assert issubclass(Error, Exception)


def test_many_threads_may_ask_for_a_name_at_once(package):
    made = package(
        __init__="BLOCK:\n    from HERE.slow import x\n",
        slow="import time; time.sleep(0.1); x = object()",
    )
    found = []
    threads = [threading.Thread(target=lambda: found.append(made.x)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1
