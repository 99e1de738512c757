"""Jaxprs as text, the way JAX writes them: `{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }`.

First a small pretty-printer in the style of Wadler and Lindig: a document describes all layouts
of a text at once, and `layout` picks the widest that fits. Then the documents of jaxprs, whose
variables are named in the order in which they are written down.
"""

import itertools
import re
from collections import Counter

from tinyjax.core import Jaxpr, JaxprEqn, Literal, Var

# ---- documents ----------------------------------------------------------------------------------
#
# A document is a text (a str), or a tuple of documents one after the other.


class Break(str):
    """A place where a line may end; the text stands there if it does not."""

    def __new__(cls, text=" "):
        return super().__new__(cls, text)


class Keyword(str):
    """Text in the colour of keywords, where colours are wanted."""


class TypeText(str):
    """Text in the colour of types."""


class Noted(str):
    """Text with a note about the line it is on, such as where an equation comes from."""

    def __new__(cls, text, note):
        self = super().__new__(cls, text)
        self.note = note
        return self


class Group(tuple):
    """All breaks directly inside end their lines, unless the whole group fits on this one."""

    def __new__(cls, *docs):
        return super().__new__(cls, docs)


class Nest(Group):
    """The first item is a number: lines that begin inside are indented by as many more columns."""


def join(separator, docs):
    """Documents with a separator between each two."""
    return tuple([part for doc in docs for part in (separator, doc)][1:])


def brackets(left, docs, right):
    """Documents in brackets, each on a line of its own unless all fit on this one."""
    return Group(Nest(2, left, Break(""), *join(Break(), docs)), Break(""), right)


def fits(doc, room):
    """Whether doc takes at most `room` columns when none of its breaks ends a line."""
    todo = [doc]
    while todo and room >= 0:
        doc = todo.pop()
        if isinstance(doc, tuple):
            todo += reversed(doc)
        elif isinstance(doc, str):
            room -= len(doc)
    return room >= 0


# The escape codes that begin and end a style on a terminal.
STYLES = {Keyword: ("\x1b[34;1m", "\x1b[39;22m"), TypeText: ("\x1b[35m", "\x1b[39m")}


def layout(doc, width=80, use_color=False, notes=None):
    """The text of a document, in lines of at most `width` columns where that is possible.

    notes: a dict that takes the notes of the document, by the numbers of their lines.

    >>> print(layout(Group("f(", Nest(2, Break(""), "x,", Break(), "y"), Break(""), ")"), 5))
    f(
      x,
      y
    )
    """
    column, style, parts = 0, str, []  # parts: pairs (style, text)
    line, notes = 0, {} if notes is None else notes
    todo = [(0, False, doc)]  # indentation, whether all on one line, document
    while todo:
        indent, flat, doc = todo.pop()
        if isinstance(doc, tuple):
            if isinstance(doc, Nest):
                indent, doc = indent + doc[0], doc[1:]
            elif isinstance(doc, Group):
                # Only the group itself must fit: what follows it on the line does not count.
                flat = flat or fits(doc, width - column)
            todo += [(indent, flat, part) for part in reversed(doc)]
        elif isinstance(doc, Break) and not flat:
            parts.append((style, "\n" + " " * indent))
            column, line = indent, line + 1
        else:
            if isinstance(doc, Noted):
                notes[line] = doc.note
            style = type(doc) if use_color and type(doc) in STYLES else str
            parts.append((style, doc))
            column += len(doc)
    text = ""
    for style, run in itertools.groupby(parts, key=lambda part: part[0]):
        begin, end = STYLES.get(style, ("", ""))
        text += begin + "".join([piece for _, piece in run]) + end
    return text


# ---- names --------------------------------------------------------------------------------------


def letters(n):
    """The n-th name: a, b, ..., z, ba, bb, ... (digits of base 26).

    >>> [letters(0), letters(25), letters(26), letters(26 * 26)]
    ['a', 'z', 'ba', 'baa']
    """
    head, digit = divmod(n, 26)
    return (letters(head) if head else "") + chr(ord("a") + digit)


class Names(dict):
    """Variables -> names, handed out in order of demand over all nested jaxprs.

    shared: jaxpr -> name, for jaxprs that are written once, in front, and then go by name.
    """

    def __init__(self, unused=(), shared=()):
        super().__init__(dict.fromkeys(unused, "_"))
        self.shared = dict(shared)
        taken = set(self.shared.values())
        self.fresh = (name for name in map(letters, itertools.count()) if name not in taken)

    def __missing__(self, var):
        self[var] = next(self.fresh)
        return self[var]

    def suggest(self, pairs):
        """Give variables of an inner jaxpr the names of those outside that they stand for."""
        lent = set()  # a name is lent once, or two inner variables would share it
        for v, like in pairs:
            if isinstance(v, Var) and isinstance(like, Var) and v not in self and like not in lent:
                lent.add(like)
                self[v] = self[like]


def unused_vars(jaxpr):
    """The results that no later equation and no output reads: they print as `_`."""
    used = {v for v in jaxpr.outvars if isinstance(v, Var)}
    for eqn in reversed(jaxpr.eqns):
        yield from (v for v in eqn.outvars if v not in used)
        used.update(v for v in eqn.invars if isinstance(v, Var))


def shown_jaxprs(eqn):
    """The jaxprs among the printed parameters, in the order in which the call gave them."""
    shown = dict(eqn.primitive.shown_params(eqn.params))
    for key in [*[k for k in eqn.params if k in shown], *[k for k in shown if k not in eqn.params]]:
        items = shown[key] if isinstance(shown[key], tuple) else (shown[key],)
        yield from [item for item in items if isinstance(item, Jaxpr)]


LONG = 10  # an inner jaxpr with more equations is written in front, even if it occurs once


def shared_jaxprs(top):
    """{jaxpr: name} of the inner jaxprs that are written in front: the repeated and the long."""
    visits, names, queue = Counter(), {}, [top]
    for jaxpr in queue:  # breadth first; the queue grows while it is read
        visits[jaxpr] += 1
        if visits[jaxpr] > 2:
            continue  # all that is inside has been seen twice, too
        for eqn in jaxpr.eqns:
            inside = list(shown_jaxprs(eqn))
            queue += inside
            # The name of a custom rule is for its equation only, as in JAX.
            if "name" in eqn.params and not eqn.primitive.name.startswith("custom_"):
                for inner in inside:
                    names.setdefault(inner, str(eqn.params["name"]).strip("<>"))
    shared, counts = {}, Counter()
    for jaxpr, n in visits.items():
        if n > 1 or (jaxpr is not top and len(jaxpr.eqns) > LONG):
            name = names.get(jaxpr, "jaxpr")
            counts[name] += 1
            if counts[name] > 1:  # f, f1, f2, ...: the name made up here counts as given, too
                name += str(counts[name] - 1)
                counts[name] += 1
            shared[jaxpr] = name
    return shared


# ---- documents of jaxprs ------------------------------------------------------------------------


class JaxprPrinter:
    """Builds the documents of one jaxpr and of all that it holds."""

    def __init__(self, names, print_shapes=True):
        self.names, self.print_shapes = names, print_shapes

    def atom(self, x):
        """A variable's name or a literal's number and type."""
        if isinstance(x, Literal):
            return f"{literal_text(x)}:{x.aval.str_short(short_dtypes=True)}"
        return self.names[x] if isinstance(x, Var) else repr(x)  # ill-formed jaxprs print, too

    def binder(self, v):
        """A variable with its type, where it is bound."""
        kind = ":" + v.aval.str_short(short_dtypes=True) if self.print_shapes else ""
        return self.names[v], TypeText(kind)

    def row(self, show, items, separator=""):
        """Items on one line, or as many on each line as it holds."""
        return Nest(2, Group(*join((separator, Group(Break())), map(show, items))))

    def value(self, value):
        """The value of a parameter."""
        if isinstance(value, Jaxpr):
            return self.jaxpr(value)
        if type(value) is tuple and all(isinstance(v, Jaxpr) for v in value):
            return brackets("(", map(self.jaxpr, value), ")")
        return value_text(value)

    def params(self, pairs):
        """`[name=value ...]`, or nothing if there are none."""
        items = [(f"{key}=", self.value(value)) for key, value in pairs]
        return brackets("[", items, "]") if items else ""

    def eqn(self, eqn):
        """`b:f32[] = sin a`."""
        if eqn.primitive.name == "jit" and eqn.params["jaxpr"] not in self.names.shared:
            inner = eqn.params["jaxpr"]
            self.names.suggest(zip(inner.invars, eqn.invars))
            self.names.suggest(zip(inner.outvars, eqn.outvars))
        left = (self.row(self.binder, eqn.outvars), " = ") if eqn.outvars else ""
        pairs = eqn.primitive.shown_params(eqn.params)
        # a name comes first, but that of a composite
        pairs = sorted(pairs, key=lambda p: p[0] != "name" or eqn.primitive.name == "composite")
        name = Noted(eqn.primitive.name, eqn)
        return left, name, self.params(pairs), " ", self.row(self.atom, eqn.invars)

    def jaxpr(self, jaxpr):
        """`{ lambda ; ... }`, or only its name if the program is written elsewhere."""
        return self.names.shared.get(jaxpr) or self.program(jaxpr)

    def program(self, jaxpr):
        """`{ lambda constants; inputs. let equations in (outputs) }`."""
        # The order matters: writing a variable down for the first time names it.
        consts, args = self.row(self.binder, jaxpr.constvars), self.row(self.binder, jaxpr.invars)
        eqns = join(Break("; "), map(self.eqn, jaxpr.eqns))
        outs = self.row(self.atom, jaxpr.outvars, ",")
        head = "{ ", Keyword("lambda "), consts, "; ", args, ". "
        body = Keyword("let"), Nest(2, Break(), *eqns), Break(), Keyword("in ")
        return Group(
            Nest(2, head, *body, "(", outs, ",)" if len(jaxpr.outvars) == 1 else ")"), " }"
        )

    def top(self, jaxpr):
        """The shared programs, then the jaxpr itself."""
        for inner, name in self.names.shared.items():
            yield "let ", name, " = ", self.program(inner), " in", Break()
        yield self.jaxpr(jaxpr)


def literal_text(literal):
    """The number as the user wrote it, if it came from Python; else all digits of its float."""
    array = literal.array
    if isinstance(array.literal, tuple):
        return str(array.literal[0])
    return str(array.npy.item()) if array.npy.ndim == 0 else "[...]"


def value_text(value):
    """A parameter as text: functions by name, without the addresses of objects."""
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(map(repr, sorted(value)))}}})"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return re.sub(r"(?<= at 0x)[0-9a-fA-F]+", lambda m: "X" * len(m[0]), str(value))


# ---- the methods that jaxprs, equations and variables print with --------------------------------


def pretty_print(
    jaxpr, *, source_info=False, use_color=False, print_shapes=True, width=80, notes=None
):
    """The text of a jaxpr.

    source_info: with the user's line behind each equation, in a column of its own.
    notes: a dict that takes the equations, by the numbers of the lines that they begin on.
    use_color: with the escape codes that colour keywords and types on a terminal.
    print_shapes: with the types of variables. width: of a line.
    """
    names = Names(unused_vars(jaxpr), shared_jaxprs(jaxpr))
    notes = {} if notes is None else notes
    doc = tuple(JaxprPrinter(names, print_shapes).top(jaxpr))
    text = layout(doc, width, use_color, notes)
    return with_sources(text.split("\n"), notes, sources(jaxpr)) if source_info else text


def with_sources(lines, eqns, known):
    """Lines with ` # file:line:column (function)` where an equation begins."""
    column = max(map(len, lines))
    for k, eqn in eqns.items():
        if known.get(id(eqn)):
            lines[k] = f"{lines[k]:{column}} # {known[id(eqn)].exact()}"
    return "\n".join(lines)


def sources(jaxpr):
    """The places of equations, by the ids of these: transforms/package_lines.py defines it."""
    raise NotImplementedError


def eqn_text(eqn):
    """The text of one equation."""
    return layout(JaxprPrinter(Names()).eqn(eqn)).rstrip()


def install(thing, **attributes):
    """Give a class or module of a lower floor what is defined on a higher one."""
    for name, value in attributes.items():
        setattr(thing, name, value)


install(Jaxpr, pretty_print=pretty_print, __repr__=pretty_print)
install(JaxprEqn, __repr__=eqn_text)
install(Var, __repr__=lambda v: f"Var(id={id(v)}):{v.aval.str_short()}")
install(Literal, __repr__=lambda x: f"Literal({literal_text(x)})")
