"""Which of JAX's public names exist here: `make api-table` writes docs/coverage.md.

The names are read from the installed jax: what its public modules offer, without a few that the
page names as left out.
"""

import importlib
import inspect
import pathlib
import sys
from operator import attrgetter

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from oracle_examples import MODULES

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "coverage.md"

# Left out on purpose: arrays that change, programs cut by a compiler, several hosts, XLA's tools.
ELSEWHERE = """Ref ad empty_ref free_ref freeze jax2tf_associative_scan_reductions
    make_user_context memory new_ref remove_size_one_mesh_axis_from_type reshard shard_map smap
    pbroadcast pcast precv psend ragged_all_to_all ragged_all_to_all_p scaled_matmul
    ManualAxisType auto_axes explicit_axes use_abstract_mesh"""
WALKED = "jax.scipy.stats"  # its distributions are modules

HOMES = (
    "jax",
    "numpy",
    "ml_dtypes",
    "builtins",
    "typing",
    "types",
    "None",
)  # where JAX's public things are from

HEAD = """# Which of JAX's names exist here

`make api-table` writes this page: it asks the installed JAX {version} for the public names of each
module, and tinyjax which of them it has.

Left out, and not counted, are whole modules that are missing, or here only in part: `jax.export`,
`jax.ffi`, `jax.profiler`, `jax.experimental` ... ([what is missing](from_jax.md#missing), and what
to use instead); and these names, none of which is here: {left_out}.

"""


def names(module):
    """The public names of a module of jax that belong to this comparison."""
    left_out = set(ELSEWHERE.split())
    found = []
    for name in sorted(vars(module) if not hasattr(module, "__all__") else module.__all__):
        thing = getattr(module, name, None)
        if inspect.ismodule(thing):
            if thing.__name__ == f"{WALKED}.{name}":
                found += [f"{name}.{inner}" for inner in names(thing)]
            continue
        home = getattr(thing, "__module__", "jax")
        library = module.__name__.startswith("jax.example_libraries")
        foreign = home != module.__name__ if library else not str(home).startswith(HOMES)
        if not name.startswith("_") and name not in left_out and not foreign:
            found.append(name)
    return found


def left_out():
    """The names of ELSEWHERE, with their modules."""
    modules = [importlib.import_module(path) for path in MODULES]
    return [f"{m.__name__}.{n}" for n in ELSEWHERE.split() for m in modules if hasattr(m, n)]


def coverage():
    """module of jax -> (names that tinyjax has, names that it has not)."""
    table = {}
    for path in MODULES:
        wanted = names(importlib.import_module(path))
        ours = "tinyjax" + path.removeprefix("jax")
        try:
            module = importlib.import_module(ours)
        except ModuleNotFoundError:
            module = None
        table[path] = (
            [n for n in wanted if has(module, n)],
            [n for n in wanted if not has(module, n)],
        )
    return table


def has(module, name):
    """Whether a module has a name, such as `grad` or `norm.pdf`."""
    try:
        attrgetter(name)(module)
    except AttributeError:
        return False
    return True


def page():
    """The page as Markdown."""
    import jax

    table = coverage()
    lines = [
        HEAD.format(version=jax.__version__, left_out=", ".join(f"`{n}`" for n in left_out())),
        "| module | names here | missing |\n|---|---|---|\n",
    ]
    for path, (have, missing) in table.items():
        lacking = ", ".join(f"`{n}`" for n in missing) or "none"
        share = f"{len(have)} of {len(have) + len(missing)}"
        lines.append(f"| [`{path}`](#{anchor(path)}) | {share} | {lacking} |\n")
    for path, (have, _) in table.items():
        listed = " ".join(f"`{n}`" for n in have) or "none"
        lines.append(f"\n## {path} {{#{anchor(path)}}}\n\n{listed}\n")
    return "".join(lines)


def anchor(path):
    """A module's place on the page."""
    return path.replace(".", "-")


def main():
    """Write the page, and say how many names there are."""
    table = coverage()
    PAGE.write_text(page())
    have, missing = (sum(len(row[i]) for row in table.values()) for i in (0, 1))
    print(f"{have} of {have + missing} names ({100 * have / (have + missing):.1f} %): {PAGE.name}")
    for path, (_, lacking) in table.items():
        if lacking:
            print(f"  {path}: {' '.join(lacking)}")


if __name__ == "__main__":
    main()
