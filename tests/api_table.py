"""Which of JAX's public names exist here: `make api-table` writes docs/coverage.md.

The names are read from the installed jax: what its public modules offer, without what only makes
sense with accelerators, programs cut by a compiler, or XLA's own files.
"""

import importlib
import inspect
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from oracle_examples import MODULES

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "coverage.md"

# Left out on purpose: other machines, several hosts, XLA's files and tools.
ELSEWHERE = """Ref ad api_util distributed dlpack empty_ref export ffi free_ref freeze
    interpreters jax2tf_associative_scan_reductions lib make_user_context
     memory monitoring new_ref profiler ref
    remove_size_one_mesh_axis_from_type reshard shard_map smap pbroadcast pcast precv psend
    ragged_all_to_all ragged_all_to_all_p scaled_dot stage stage_p scaled_matmul Layout Format
    composite experimental RequestedOptimizerState ManualAxisType auto_axes explicit_axes
    use_abstract_mesh"""

HOMES = ("jax", "numpy", "ml_dtypes", "builtins", "None")  # where JAX's public things are from

HEAD = """# Which of JAX's names exist here

`make api-table` writes this page: it asks the installed JAX {version} for the public names of each
module, and tinyjax which of them it has. Names that make sense only with accelerators, several
hosts or XLA's own files are left out.

"""


def names(module):
    """The public names of a module of jax that belong to this comparison."""
    left_out = set(ELSEWHERE.split())
    found = []
    for name in sorted(vars(module) if not hasattr(module, "__all__") else module.__all__):
        thing = getattr(module, name, None)
        if inspect.ismodule(thing):
            continue
        home = getattr(thing, "__module__", "jax")
        library = module.__name__.startswith("jax.example_libraries")
        foreign = home != module.__name__ if library else not str(home).startswith(HOMES)
        if not name.startswith("_") and name not in left_out and not foreign:
            found.append(name)
    return found


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
            [n for n in wanted if hasattr(module, n)],
            [n for n in wanted if not hasattr(module, n)],
        )
    return table


def page():
    """The page as Markdown."""
    import jax

    table = coverage()
    lines = [
        HEAD.format(version=jax.__version__),
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
