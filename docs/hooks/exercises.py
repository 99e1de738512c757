"""A MkDocs hook: each exercise becomes a page under Solve, out of its card, without the solutions.

What a page shows is what the student is handed: the statement, the file, the names of the checks,
and the hints, folded.
"""

import ast
import itertools
import re
import textwrap

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from places import Links, chapter_title, exercise_page, notebooks, tab

from tinyjax.learn.exercise import Exercise, exercises


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the exercises last under Solve, a section for each chapter."""
    solve = tab(config, "Solve")
    titles = {path.stem: chapter_title(path) for path in notebooks(config)}
    for topic, members in itertools.groupby(exercises(), key=lambda exercise: exercise.topic):
        pages = [{exercise.title: exercise_page(exercise)} for exercise in members]
        section = {titles[topic]: pages}
        if section not in solve:
            solve.append(section)
    return config


@event_priority(-50)  # when the pages of all others are known
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for every exercise."""
    links = Links(files, config)
    titles = {path.stem: chapter_title(path) for path in notebooks(config)}
    for exercise in exercises():
        page = render(exercise, titles[exercise.topic], links)
        files.append(File.generated(config, exercise_page(exercise), content=page))
    return files


# --- A page --------------------------------------------------------------------------------------

PAGE = """\
# {title}

`{name}` · {stars} · about {minutes} minutes{kind} · chapter [{chapter}](../../chapters/{topic}.md)

{statement}
{note}
## Your file

`exercises/{topic}/{name}.py` begins like this:

```python
{code}
```

## Run it

```console
$ tinyjax watch {name}    # checks it whenever you save, until it passes
$ tinyjax check {name}    # checks it once
```

In a notebook, run `%load_ext tinyjax.learn` once, and put `%%exercise {name}` on top of the
cell with your answer. [How exercises work](../../exercises.md) tells the rest.

## What is checked

{checks}

{limits}

## Hints {{ data-search-exclude }}

One at a time: first a question, then the concept, then a skeleton with holes.

{hints}
"""

NOTE = """
!!! info "You build a piece of tinyjax"
    The checks put your piece into the package, in place of its own, and run the package on it.
    It must give what it gives without it. All this happens in a process of its own: your tinyjax
    stays as it is. [More about such exercises](../../exercises.md#build-a-piece-of-tinyjax).
"""

HINTS = ("A question", "The concept", "A skeleton")


def render(exercise: Exercise, chapter: str, links: Links) -> str:
    """The Markdown of an exercise's page."""
    page = exercise_page(exercise)
    _, _, statement = exercise.titled("statement")[0].prose.partition("\n")
    hints = [links.in_prose(fence_code(hint), page) for hint in exercise.hints]
    given, stub = (exercise.titled(title)[0].text for title in ("given", "stub"))
    is_piece = exercise.kind == "B"
    return PAGE.format(
        title=exercise.title,
        stars="★" * exercise.about["difficulty"],
        minutes=exercise.about["minutes"],
        kind=" · kind B" if is_piece else "",
        chapter=chapter,
        topic=exercise.topic,
        name=exercise.name,
        statement=links.in_prose(fence_code(statement), page).strip(),
        note=NOTE if is_piece else "",
        code=f"{given}\n\n\n{stub}",
        checks="\n".join(f"- {check.name}" for check in exercise.checks),
        limits=limits(exercise),
        hints="\n".join(map(fold, HINTS, hints)),
    )


def limits(exercise: Exercise) -> str:
    """How long a check may take, and how many devices it finds."""
    devices = f", on {exercise.devices} devices" if exercise.devices else ""
    return f"Each on random inputs{devices}. Your code has {exercise.seconds:.0f} seconds."


def fold(title: str, hint: str) -> str:
    """A hint that opens on a click."""
    return f'??? question "{title}"\n{textwrap.indent(hint, "    ")}\n'


INDENTED = re.compile(r"(?:^    .*\n(?:\n+(?=    ))?)+", re.MULTILINE)


def fence_code(prose: str) -> str:
    """The prose of a card with its indented blocks fenced: as Python where they are Python."""
    return INDENTED.sub(fence, prose + "\n").rstrip("\n")


def fence(block: re.Match) -> str:
    """One indented block as a fenced one."""
    code = textwrap.dedent(block[0]).strip("\n")
    try:
        ast.parse(code.replace("...", "gap"))  # so dots may stand for anything
        language = "python"
    except SyntaxError:
        language = "text"
    return f"```{language}\n{code}\n```\n"


# --- Links from the list of all exercises --------------------------------------------------------

ROW = re.compile(r"^\| `(?P<name>\w+)` \|", re.MULTILINE)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """In the tables of exercises.md, the name of an exercise leads to its page."""
    if page.file.src_uri != "exercises.md":
        return markdown
    pages = {exercise.name: exercise_page(exercise) for exercise in exercises()}

    def linked(row: re.Match) -> str:
        name = row["name"]
        return f"| [`{name}`]({pages[name]}) |" if name in pages else row[0]

    return ROW.sub(linked, markdown)
