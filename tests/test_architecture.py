"""The house: imports point one way, files stay small, the core stays small."""

import ast
import functools
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

import tinyjax

ROOT = Path(tinyjax.__file__).parent
FILES = sorted(p for p in ROOT.rglob("*.py"))

# The layers, lowest first. A name ending in "/" is a folder.
LAYERS = [
    [  # imports, warnings, places, words
        *("lazy", "quiet", "source", "errors", "messages", "user_code", "rewrites", "dependence"),
        *("numpy_names", "shape_messages", "logic_messages", "index_warnings", "wording"),
        *("format_messages", "index_messages"),
    ],
    [  # L0: knows nothing of arrays being traced
        *("config", "dtypes", "lattice", "util"),
        *("tree_util", "tree_registry", "treedef"),
    ],
    ["avals", "array", "core", "printer"],  # L1: the language
    ["primitives/", "tracebacks"],  # L2: cards
    ["transforms/stage", "transforms/ad", "transforms/batching", "transforms/programs"],  # L3
    ["compiler/", "check_jaxpr"],  # L3, beside the transformations
    ["transforms/", "parallel/"],  # L4: primitives that hold programs; devices
    ["mapping", "devices", "sharding/", "placement", "putting", "assembling", "drawing"],
    ["lax/"],
    [
        *("autodiff", "jacobians", "api", "tree", "numpy/", "random/", "nn/", "scipy/", "image"),
        *("ops", "flatten_util", "test_util", "custom_derivatives", "custom_batching"),
        "explaining/",
        *("callbacks", "debug", "debugger", "ad_checkpoint", "stages", "runtime", "foreign_flags"),
        *("typing", "version", "mpi", "extend/", "experimental/", "nans/", "purity/"),
        *("example_libraries/", "viz/"),
    ],  # L5: the surface
    ["__init__"],
    ["learn/"],  # L6: the school, a user of the public names like any other
]
# optional at run time, or so slow to import that only their use may pay for them
LAZY = {"numba", "llvmlite", "scipy", "matplotlib", "IPython", "tqdm", "ml_dtypes", "opt_einsum"}
LAZY |= {"cloudpickle", "mpi4py", "difflib"}


def module_name(path):
    """tinyjax/primitives/linear.py -> primitives/linear."""
    name = path.relative_to(ROOT).with_suffix("").as_posix()
    return name.removesuffix("/__init__") if name != "__init__" else name


def layer(name):
    """The layer that a module belongs to; exact names win over folders."""
    for i, names in enumerate(LAYERS):
        if name in names:
            return i
    for i, names in enumerate(LAYERS):
        if any(n.endswith("/") and (name + "/").startswith(n) for n in names):
            return i
    raise AssertionError(f"tinyjax/{name}.py has no layer: add it to LAYERS")


def is_module(name):
    """Whether tinyjax has such a module."""
    return (ROOT / f"{name}.py").exists() or (ROOT / name / "__init__.py").exists()


def imported(tree):
    """(module name, line) for every import of tinyjax's own modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("tinyjax"):
                    yield alias.name.removeprefix("tinyjax").strip(".") or "__init__", node.lineno
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tinyjax"):
            base = node.module.removeprefix("tinyjax").strip(".").replace(".", "/")
            for alias in node.names:
                inner = f"{base}/{alias.name}".strip("/")
                yield (inner if is_module(inner) else base or "__init__"), node.lineno


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_point_down(path):
    here = layer(module_name(path))
    for name, line in imported(ast.parse(path.read_text())):
        name = name.replace(".", "/")
        if not is_module(name):
            continue
        assert layer(name) <= here, f"{path.name}:{line} imports {name} from a higher layer"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_no_import_hides_in_a_function(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        for inner in ast.walk(node):
            names = []
            if isinstance(inner, ast.Import):
                names = [a.name for a in inner.names]
            if isinstance(inner, ast.ImportFrom):
                names = [inner.module or ""]
            for name in names:
                allowed = name.split(".")[0] in LAZY or is_lazy_module(name)
                assert allowed, f"{path.name}:{inner.lineno} imports {name} in a function"


@functools.cache
def is_lazy_module(name):
    """Modules of ours that import a slow library at their top, and so are imported late."""
    path = ROOT / (name.removeprefix("tinyjax.").replace(".", "/") + ".py")
    if not name.startswith("tinyjax.") or not path.exists():
        return False
    tops = [
        n for n in ast.parse(path.read_text()).body if isinstance(n, ast.Import | ast.ImportFrom)
    ]
    names = [a.name for n in tops if isinstance(n, ast.Import) for a in n.names]
    names += [n.module or "" for n in tops if isinstance(n, ast.ImportFrom)]
    return any(n.split(".")[0] in LAZY or is_lazy_module(n) for n in names if n != name)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= 500


def code_lines(path):
    """Lines of code: without blank lines, comments and docstrings."""
    source, lines, docs = path.read_text(), set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            docs.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skip and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docs)


def test_the_core_stays_small():
    """L0 to L3 without primitives and compiler: at most 2,000 lines of code."""
    core = [p for p in FILES if layer(module_name(p)) in (1, 2, 4)]
    assert sum(map(code_lines, core)) <= 2000


def test_import_loads_numpy_but_not_numba():
    code = (
        "import sys, tinyjax, tinyjax.numpy as jnp; jnp.sin(1.0) + 1\n"
        "assert 'numpy' in sys.modules\n"
        "print([m for m in ('numba', 'llvmlite', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
