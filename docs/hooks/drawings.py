"""A MkDocs hook: pictures are drawn at each build, by the code beside them.

`<!-- jaxpr of f(2.0) -->` becomes a picture of that program, after the definitions of the page's
examples; `<!-- drawn by tinyjax.viz.key_tree -->` the picture in the example of that docstring.
"""

import ast
import doctest
import io
import posixpath
import re

import matplotlib
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tinyjax import viz

PLACE = re.compile(
    r"^<!-- (?:jaxpr of (?P<call>.+)|drawn by tinyjax\.viz\.(?P<name>\w+)) -->$", re.MULTILINE
)
CODE = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Draws what a page asks for, and puts the files beside the page."""
    if not PLACE.search(markdown):
        return markdown
    names = definitions("\n".join(CODE.findall(markdown)))
    folder = posixpath.dirname(page.file.src_uri)

    def drawn(place: re.Match) -> str:
        if place["call"]:
            picture = picture_of(place["call"], names)
            file = f"jaxpr-{re.sub(r'[^a-z0-9]+', '-', place['call']).strip('-')}.svg"
        else:
            picture = definitions(getattr(viz, place["name"]).__doc__)["picture"]
            file = f"{place['name']}.svg"
        path = posixpath.join(folder, file)
        files.append(File.generated(config, path, content=svg(picture)))
        return f"![{picture.alt}]({file})"

    return PLACE.sub(drawn, markdown)


def definitions(text: str) -> dict:
    """What the examples of a text define; those that show a result are not run."""
    names: dict = {}
    for example in doctest.DocTestParser().get_examples(text):
        if not example.want:
            exec(example.source, names)
    return names


def picture_of(call: str, names: dict) -> viz.Picture:
    """The jaxpr of a call, as a picture: `g(x)` is drawn as `jaxpr_graph(g, x)`."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call), f"not a call: {call}"
    function, *arguments = [eval(ast.unparse(part), names) for part in (tree.func, *tree.args)]
    return viz.jaxpr_graph(function, *arguments)


def svg(picture: viz.Picture) -> bytes:
    """The same bytes whenever it is drawn."""
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "tinyjax"}):
        picture.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
