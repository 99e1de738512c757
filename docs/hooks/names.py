"""A MkDocs hook: `<!-- names of tinyjax.numpy -->` becomes a table of what that module offers, and
each name leads to its entry, on pages that stand under reference/.

A module offers what coverage.md lists: JAX's names, not the helpers that a file has beside them.
"""

import enum
import functools
import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from types import ModuleType

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from places import tab
from prose import escaped, fenced, prose

PLACE = re.compile(r"^<!-- names of (?P<module>[\w.]+) -->$", re.MULTILINE)
COVERAGE = Path(__file__).parents[1] / "coverage.md"
EXTRAS = {  # names that JAX has not
    "tinyjax.lax": {"broadcast_to"},
    "tinyjax.errors": {"ImpureFunctionError", "IndexOutOfBoundsWarning", "KeyReuseWarning"},
}
FEW, MANY = 5, 60  # a module of many names has a page for each file that defines more than a few
WHOLE = {"tinyjax.scipy.stats"}  # has one page all the same
WIDTH = 88
TOPICS = {  # files whose names are found elsewhere
    "tinyjax.numpy": "scalar_types",
    "tinyjax.numpy.ufunc_api": "ufuncs",
    "tinyjax.primitives.conv_shapes": "convolution",
    **{
        f"tinyjax.transforms.{n}": "control_flow" for n in ("cond", "control", "scan", "while_loop")
    },
    "tinyjax.mapping": "control_flow",
    **{f"tinyjax.{n}": "windows" for n in ("primitives.pooling", "transforms.folding")},
}


# ---- the site ------------------------------------------------------------------------------------


def modules(config: MkDocsConfig, overview: str) -> list[ModuleType]:
    """The modules of which a page lists the names."""
    text = (Path(config.docs_dir) / overview).read_text(encoding="utf-8")
    return [importlib.import_module(found["module"]) for found in PLACE.finditer(text)]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the pages with the entries below the page that lists the names."""
    for item in tab(config, "Reference"):
        for title, page in item.items():
            if isinstance(page, str) and (found := modules(config, page)):
                below = [address for module in found for address, _ in pages(module, page)]
                called = part if len(found) == 1 else full
                item[title] = [{"All names": page}, *({called(name): name} for name in below)]
    return config


def full(address: str) -> str:
    """What a page with entries is called: its module, and its part of it."""
    module, slash, file = address.removeprefix("reference/").removesuffix(".md").partition("/")
    return f"{module}: {file.replace('_', ' ')}" if slash else module


def part(address: str) -> str:
    """What it is called among the pages of its module."""
    return full(address).rpartition(": ")[2]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages with the entries."""
    for path in sorted(Path(config.docs_dir).glob("*.md")):
        for module in modules(config, path.name):
            for address, content in pages(module, path.name):
                files.append(File.generated(config, address, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fills in the tables that a page asks for; its title is its headline, not its line in nav."""
    headline = markdown.lstrip().partition("\n")[0].removeprefix("# ")
    if page.file.src_uri.startswith("reference/"):
        page.meta["title"] = headline
    elif PLACE.search(markdown):
        page.meta["title"] = f"{headline}: all names"
    return PLACE.sub(lambda match: table(importlib.import_module(match["module"])), markdown)


# ---- names ---------------------------------------------------------------------------------------


def names(module: ModuleType) -> Iterator[tuple[str, object]]:
    """The public functions and classes of a module that say what they are."""
    public = listed().get(module.__name__, set()) | EXTRAS.get(module.__name__, set())
    for name in sorted(public, key=str.lower):
        value = attrgetter(name)(module)
        is_own = (getattr(value, "__module__", None) or "").startswith("tinyjax")
        if callable(value) and is_own and inspect.getdoc(value):
            yield name, value


@functools.cache
def listed() -> dict[str, set[str]]:
    """The names that coverage.md lists for each module of ours."""
    _, *sections = re.split(r"^## jax", COVERAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {f"tinyjax{s.split()[0]}": set(re.findall(r"`([\w.]+)`", s)) for s in sections}


def places(module: ModuleType) -> dict[str, str]:
    """The address of each name's entry. A second name of the same thing has none of its own."""
    values = dict(names(module))
    sizes = Counter(topic(value) for value in values.values())
    folder, first, found = module.__name__.removeprefix("tinyjax."), {}, {}
    for name, value in values.items():
        page = f"reference/{folder}"
        if len(values) > MANY and module.__name__ not in WHOLE:
            where = topic(value)
            page += f"/{where if sizes[where] >= FEW else 'others'}"
        entry = first.setdefault(id(value), name)
        found[name] = f"{page}.md#{module.__name__}.{entry}"
    return found


def topic(value: object) -> str:
    """What the file that defines a name is called."""
    return TOPICS.get(value.__module__) or value.__module__.rpartition(".")[2]


# ---- what is written -----------------------------------------------------------------------------


def table(module: ModuleType) -> str:
    """Name, arguments and the first sentence of every public function of a module."""
    rows, at = ["| name | what it gives |", "|---|---|"], places(module)
    for name, value in names(module):
        says = escaped((inspect.getdoc(value) or "").partition("\n")[0])
        rows.append(f"| [`{name}{arguments(value)}`]({at[name]}) | {says} |")
    return "\n".join(rows)


def pages(module: ModuleType, overview: str) -> Iterator[tuple[str, str]]:
    """The pages with the entries of a module."""
    at, entries = places(module), {}
    for name, value in names(module):
        page, _, anchor = at[name].partition("#")
        if anchor == f"{module.__name__}.{name}":
            aliases = [other for other in at if at[other] == at[name] and other != name]
            entries.setdefault(page, []).append(entry(anchor, name, value, aliases))
    for page, texts in sorted(entries.items(), key=lambda item: ("/others" in item[0], item[0])):
        back = "../" * page.count("/") + overview
        head = f"# tinyjax.{full(page)}\n\n[All names of the module]({back})\n\n"
        yield page, head + "\n\n".join(texts)


def entry(anchor: str, name: str, value: object, aliases: list[str]) -> str:
    """The entry of a name: its signature, and all that its docstring says."""
    parts = [f"## `{name}` {{ #{anchor} }}", fenced(name + signature(value))]
    if isinstance(value, enum.EnumType):
        parts[1] = fenced("\n".join(f"{name}.{member}" for member in value.__members__))
    if aliases:
        parts.append("Also called " + ", ".join(f"`{alias}`" for alias in aliases) + ".")
    return "\n\n".join([*parts, prose(inspect.getdoc(value) or "")])


def parameters(function: object) -> list[inspect.Parameter] | None:
    """The parameters of a function, if they can be known; those of an enumeration do not matter."""
    if isinstance(function, enum.EnumType):
        return None
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def arguments(function: object) -> str:
    """The names of the arguments, without their defaults."""
    found = parameters(function)
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    named = [marks.get(p.kind, "") + p.name for p in found or []]
    return "" if found is None else f"({', '.join(named)})"


def signature(function: object) -> str:
    """The arguments with their defaults, in one line or in several."""
    found = parameters(function)
    if found is None:
        return ""
    plain = [p.replace(annotation=p.empty, default=default(p)) for p in found]
    text = str(inspect.Signature(plain))
    if len(text) <= WIDTH:
        return text
    return "(\n" + "".join(f"    {part},\n" for part in re.split(r", (?=[\w*/])", text[1:-1])) + ")"


class Shown:
    """Prints as a text."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def default(parameter: inspect.Parameter) -> object:
    """A default as it is written down; what has no such form is three dots."""
    value = parameter.default
    if isinstance(value, type):
        return value if value is parameter.empty else Shown(value.__name__)
    return Shown("...") if repr(value).startswith("<") else value
