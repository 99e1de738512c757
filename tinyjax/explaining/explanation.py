"""explain and what it returns: a story that prints as text, and as HTML in notebooks."""

import html
import textwrap

from tinyjax.explaining.stack import described, unbound
from tinyjax.explaining.stages import WIDTH, elided
from tinyjax.explaining.story import tell
from tinyjax.source import here
from tinyjax.transforms.flat import wraps

PAGE = 100  # columns of the text
LIMIT = 40  # lines of a stage that are shown


def explain(fun, *, limit=LIMIT, kernels=None):
    """The story of a call: which programs the transformations of a function make of it, step by
    step, from the function as written to the kernels.

    Args:
      fun: a function, mostly a transformed one: any stack of grad, vmap, jit, jvp and the others.
        jvp, linearize and vjp themselves take the function as first argument of the call.
      limit: so many lines of each stage are printed; None prints all.
      kernels: True also shows what jit would make of a function that is not jitted; False never
        shows kernels. By default those are shown that the call would compile.

    Returns a function of fun's arguments (arrays, or ShapeDtypeStructs). It returns an
    Explanation: print it, or look at its `.stages`; in notebooks it shows itself. Next to each
    equation stands the line of your code that it comes from; behind ← the one that it is the
    derivative of.

    Raises TypeError for what is not a function, and whatever the call itself raises.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> story = jax.explain(jax.grad(jnp.sin))(1.0)
    >>> for stage in story.stages:
    ...     print(stage.title)
    sin, as written
    grad, step 1: forward
    grad, step 2: the linear program
    grad, step 3: backward
    grad(sin): all of it
    >>> print(story.stages[3].program)
    { lambda ; a:f32[] b:f32[]. let c:f32[] = mul b a in (c,) }
    """
    if not callable(fun):
        raise TypeError(
            f"Expected a callable value, got {fun!r}: explain takes a function, and then its "
            "arguments: tinyjax.explain(f)(x)."
        )

    def explain_f(*args, **kwargs):
        caller = here()
        stages = tell(fun, args, kwargs, kernels)
        return Explanation(described_with(fun, args), stages, limit, caller)

    return wraps(fun, explain_f)


def described_with(fun, args):
    """The function of a call, written down."""
    fun, args, _ = unbound(fun, args)
    name = described(fun)
    if name in ("jvp", "linearize", "vjp") and args and callable(args[0]):
        return f"{name}({described(args[0])}, ...)"
    return name


class Explanation:
    """The story of a call.

    title: the function; stages: a list with `title`, `prose`, `program` (a jaxpr, None for
    kernels) and `text` of each step. `program` is that of the call: what make_jaxpr shows.
    `only("backward")` is the part of the story that such a word selects.
    """

    def __init__(self, title, stages, limit=LIMIT, caller=None):
        self.title, self.stages, self.limit, self.caller = title, stages, limit, caller

    @property
    def program(self):
        """The program of the whole call, as make_jaxpr shows it."""
        made = [s.program for s in self.stages if not s.title.startswith("compiler")]
        return made[-1] if made else None

    def only(self, *words):
        """The story reduced to the stages whose titles contain one of the words.

        Raises ValueError, with all titles, if there is none.
        """
        found = [s for s in self.stages if any(word in s.title for word in words)]
        if not found:
            titles = "\n".join(f"  {stage.title}" for stage in self.stages)
            raise ValueError(f"no stage of this story is about {words}; there are\n{titles}")
        return Explanation(self.title, found, self.limit, self.caller)

    def remarks(self, lines):
        """What stands beside each line: the user's line of its equation. A ditto mark stands for
        the same line again; what only the caller of `explain` has caused has no remark."""
        before, found = None, []
        for line in lines:
            source = line.source
            if source is None or self.is_caller(source):
                found.append("")
                continue
            place = (source.code, source.line, source.phase)
            text = source.text or f"line {source.line} of {source.function}"
            text = f"← {text}" if source.phase == "backward" else text
            found.append('"' if place == before else text)
            before = place
        return found

    def is_caller(self, source):
        """Whether a place is the line that called explain."""
        own = self.caller
        return own is not None and (own.code, own.line) == (source.code, source.line)

    # ---- text -----------------------------------------------------------------------------------

    def __str__(self):
        parts = [f"How {self.title} comes about", ""]
        for k, stage in enumerate(self.stages, 1):
            parts.append(f"── {k}. {stage.title} ".ljust(PAGE, "─"))
            parts += textwrap.wrap(stage.prose, PAGE)
            parts += ["", *self.columns(stage), ""]
        return "\n".join(parts).rstrip()

    __repr__ = __str__

    def columns(self, stage):
        """The lines of a stage, with their remarks in a column on the right where they fit."""
        lines = elided(stage.lines, self.limit)
        remarks = self.remarks(lines)
        with_remark = [len(line.text) for line, r in zip(lines, remarks) if r]
        column = min(max(with_remark, default=0), WIDTH) + 2
        for line, remark in zip(lines, remarks):
            text = line.text.ljust(column - 2)
            room = PAGE - len(text) - 4
            if not remark or room < 8:
                yield line.text
            else:
                yield f"{text}  | {remark if len(remark) <= room else remark[: room - 4] + ' ...'}"

    # ---- HTML -----------------------------------------------------------------------------------

    def _repr_html_(self):
        blocks = []
        for k, stage in enumerate(self.stages, 1):
            text = self.html_of(k, stage)
            if stage.beside and blocks:
                text = f'<div style="{ROW}">{blocks.pop()}{text}</div>'
            blocks.append(text)
        stages, title = "".join(blocks), html.escape(self.title)
        return (
            f'<section style="color:inherit"><h3>How <code>{title}</code> comes about</h3>'
            f"{stages}</section>"
        )

    def html_of(self, number, stage):
        """A stage as HTML that takes its colours from the page around it."""
        lines = elided(stage.lines, self.limit)
        remarks = self.remarks(lines)
        title = html.escape(stage.title)
        is_open = ' open="open"' if stage.program is not None else ""
        body = html_table(lines, remarks) if any(remarks) else html_text(lines)
        return (
            f'<details{is_open} style="{BLOCK}">'
            f'<summary><h4 style="display:inline">{number}. {title}</h4></summary>'
            f"<p>{html.escape(stage.prose)}</p>"
            f'<div tabindex="0" role="region" aria-label="{title}" style="overflow-x:auto">'
            f"{body}</div></details>"
        )


ROW = "display:flex;flex-wrap:wrap;gap:0 2em"
BLOCK = "border-top:1px solid currentColor;padding:0.3em 0;flex:1 1 28em;min-width:0"
CELL = "padding:0 1em 0 0;text-align:left;border:0;background:none;color:inherit"
CODE = "white-space:pre;font-family:monospace"


def html_text(lines):
    """Lines without remarks."""
    text = html.escape("\n".join(line.text for line in lines))
    return f'<pre style="{CELL};{CODE}">{text}</pre>'


def html_table(lines, remarks):
    """Lines and their remarks. Pointing at a remark shows the file and the number of the line."""
    head = "".join(f'<th scope="col" style="{CELL}">{h}</th>' for h in ("Equation", "Your line"))
    rows = []
    for line, remark in zip(lines, remarks):
        place = f' title="{html.escape(str(line.source))}"' if remark else ""
        rows.append(
            f'<tr style="background:none"><td style="{CELL};{CODE}">{html.escape(line.text)}</td>'
            f'<td style="{CELL};{CODE}"{place}>{html.escape(remark)}</td></tr>'
        )
    return (
        f'<table style="border-collapse:collapse;color:inherit"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
