"""Jaxprs as text, the way JAX writes them: `{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }`.

First a small pretty-printer in the style of Wadler and Lindig: a document describes all layouts
of a text at once, and `layout` picks the widest that fits. Then the documents of jaxprs, whose
variables are named in the order in which they are written down.
"""

import itertools
import re
from collections import Counter

from tinyjax.core import Jaxpr, JaxprEqn, Literal, Var

# ---- documents --------------------------------------------------------------------------------
#
# A document is a str, a tuple of documents one after the other, or one of these.


class Break:
    """A place where a line may end; it prints as `text` if it does not."""

    __slots__ = ("text",)

    def __init__(self, text=" "):
        self.text = text


class Group:
    """All breaks directly inside end their lines, unless the whole group fits on this one."""

    __slots__ = ("body",)

    def __init__(self, *body):
        self.body = body


class Nest:
    """Lines that begin inside are indented by `by` more columns."""

    __slots__ = ("body", "by")

    def __init__(self, by, *body):
        self.by, self.body = by, body


class Styled:
    """Text in a colour, where colours are wanted."""

    __slots__ = ("style", "text")

    def __init__(self, style, text):
        self.style, self.text = style, text


def join(separator, docs):
    """Documents with a separator between each two."""
    docs = list(docs)
    return tuple(part for doc in docs for part in (separator, doc))[1:]


def fits(doc, room):
    """Whether doc takes at most `room` columns when none of its breaks ends a line."""
    todo = [doc]
    while todo and room >= 0:
        doc = todo.pop()
        if isinstance(doc, tuple):
            todo.extend(reversed(doc))
        elif isinstance(doc, (Group, Nest)):
            todo.append(doc.body)
        else:
            room -= len(doc if isinstance(doc, str) else doc.text)
    return room >= 0


STYLES = {  # the escape codes that begin and end a style on a terminal
    "keyword": ("\x1b[34;1m", "\x1b[39;22m"),
    "type": ("\x1b[35m", "\x1b[39m"),
    None: ("", ""),
}


class Writer:
    """Collects text, remembers the column, and switches colours when text needs another."""

    def __init__(self, use_color):
        self.parts, self.column, self.style, self.use_color = [], 0, None, use_color

    def write(self, text, style=None):
        """Append text."""
        if self.use_color and style != self.style:
            self.parts += [STYLES[self.style][1], STYLES[style][0]]
            self.style = style
        self.parts.append(text)
        self.column += len(text)

    def newline(self, indent):
        """End the line and indent the next one."""
        self.parts.append("\n" + " " * indent)
        self.column = indent

    def finish(self):
        """Everything written."""
        return "".join([*self.parts, STYLES[self.style][1]])


def layout(doc, width=80, use_color=False):
    """The text of a document, in lines of at most `width` columns where that is possible.

    >>> print(layout(Group("f(", Nest(2, Break(""), "x,", Break(), "y"), Break(""), ")"), 5))
    f(
      x,
      y
    )
    """
    out = Writer(use_color)
    todo = [(0, False, doc)]  # indentation, whether all on one line, document
    while todo:
        indent, flat, doc = todo.pop()
        if isinstance(doc, str):
            out.write(doc)
        elif isinstance(doc, tuple):
            todo.extend((indent, flat, part) for part in reversed(doc))
        elif isinstance(doc, Nest):
            todo.append((indent + doc.by, flat, doc.body))
        elif isinstance(doc, Styled):
            out.write(doc.text, doc.style)
        elif isinstance(doc, Group):
            # Only the group itself must fit: what follows it on the line does not count.
            todo.append((indent, flat or fits(doc.body, width - out.column), doc.body))
        elif flat:
            out.write(doc.text)
        else:
            out.newline(indent)
    return out.finish()


# ---- names ------------------------------------------------------------------------------------


def letters(n):
    """The n-th name: a, b, ..., z, ba, bb, ... (digits of base 26).

    >>> [letters(0), letters(25), letters(26), letters(26 * 26)]
    ['a', 'z', 'ba', 'baa']
    """
    head, digit = divmod(n, 26)
    return (letters(head) if head else "") + chr(ord("a") + digit)


class Names:
    """Hands out the names of variables, in order of demand, over all nested jaxprs.

    shared: jaxpr -> name, for jaxprs that are written once, in front, and then go by name.
    """

    def __init__(self, unused=(), shared=()):
        self.shared = dict(shared)
        self.names = dict.fromkeys(unused, "_")
        taken = set(self.shared.values())
        self.fresh = (name for name in map(letters, itertools.count()) if name not in taken)

    def __getitem__(self, var):
        if var not in self.names:
            self.names[var] = next(self.fresh)
        return self.names[var]

    def suggest(self, inner, outer):
        """Give the variables of an inner jaxpr the names of those they stand for outside."""
        if len(inner) != len(outer):
            return  # an ill-typed call, which must still print
        lent = set()  # a name is lent once, or two inner variables would share it
        for v, like in zip(inner, outer):
            both = isinstance(v, Var) and isinstance(like, Var)
            if both and like not in lent and v not in self.names:
                lent.add(like)
                self.names[v] = self[like]


def unused_vars(jaxpr):
    """The results that no later equation and no output reads: they print as `_`."""
    used = {v for v in jaxpr.outvars if isinstance(v, Var)}
    for eqn in reversed(jaxpr.eqns):
        yield from (v for v in eqn.outvars if v not in used)
        used.update(v for v in eqn.invars if isinstance(v, Var))


def shown_jaxprs(eqn):
    """The jaxprs among the printed parameters, in the order in which the call gave them."""
    order = list(eqn.params)
    shown = dict(eqn.primitive.shown_params(eqn.params))
    for key in sorted(shown, key=lambda k: order.index(k) if k in order else len(order)):
        value = shown[key]
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Jaxpr):
                yield item


LONG = 10  # an inner jaxpr with more equations is written in front, even if it occurs once


def shared_jaxprs(top):
    """{jaxpr: name} of the inner jaxprs that are written in front: the repeated and the long."""
    visits: Counter[Jaxpr] = Counter()
    names: dict[Jaxpr, str] = {}
    queue = [top]
    for jaxpr in queue:  # breadth first; the queue grows while it is read
        visits[jaxpr] += 1
        if visits[jaxpr] > 2:
            continue  # all that is inside has been seen twice, too
        for eqn in jaxpr.eqns:
            # The name of a custom rule is for its equation only, as in JAX.
            custom = eqn.primitive.name.startswith("custom_")
            name = None if custom else eqn.params.get("name")
            for inner in shown_jaxprs(eqn):
                queue.append(inner)
                if name is not None:
                    names.setdefault(inner, str(name).strip("<>"))
    shared: dict[Jaxpr, str] = {}
    counts: Counter[str] = Counter()
    for jaxpr, n in visits.items():
        if n > 1 or (jaxpr is not top and len(jaxpr.eqns) > LONG):
            name = names.get(jaxpr, "jaxpr")
            namesakes = counts[name]
            counts[name] += 1
            if namesakes:  # f, f1, f2, ...: the name made up here counts as given, too
                name += str(namesakes)
                counts[name] += 1
            shared[jaxpr] = name
    return shared


# ---- documents of jaxprs ----------------------------------------------------------------------


class JaxprPrinter:
    """Builds the documents of one jaxpr and of all that it holds."""

    def __init__(self, names, print_shapes=True):
        self.names, self.print_shapes = names, print_shapes

    def atom(self, x):
        """A variable's name or a literal's number and type."""
        if isinstance(x, Var):
            return self.names[x]
        if not isinstance(x, Literal):
            return repr(x)  # an ill-formed jaxpr must print, too
        return f"{literal_text(x)}:{x.aval.str_short(short_dtypes=True)}"

    def binder(self, v):
        """A variable with its type, where it is bound."""
        if not self.print_shapes:
            return self.names[v]
        return self.names[v], Styled("type", ":" + v.aval.str_short(short_dtypes=True))

    def row(self, items, separator=""):
        """Items on one line, or as many on each line as it holds."""
        return Nest(2, Group(*join((separator, Group(Break())), items)))

    def binders(self, variables):
        """Variables with their types."""
        return self.row([self.binder(v) for v in variables])

    def atoms(self, xs, separator=""):
        """Variables and literals that are read."""
        return self.row([self.atom(x) for x in xs], separator)

    def value(self, value):
        """The value of a parameter."""
        if isinstance(value, Jaxpr):
            return self.jaxpr(value)
        if type(value) is tuple and all(isinstance(v, Jaxpr) for v in value):
            body = Break(""), *join(Break(), map(self.jaxpr, value))
            return Group(Nest(2, "(", *body), Break(""), ")")
        return value_text(value)

    def params(self, pairs):
        """`[name=value ...]`, or nothing if there are none."""
        if not pairs:
            return ""
        items = [(f"{key}=", self.value(value)) for key, value in pairs]
        return Group(Nest(2, "[", Break(""), *join(Break(), items)), Break(""), "]")

    def eqn(self, eqn):
        """`b:f32[] = sin a`."""
        if eqn.primitive.name == "jit" and eqn.params["jaxpr"] not in self.names.shared:
            inner = eqn.params["jaxpr"]
            self.names.suggest(inner.invars, eqn.invars)
            self.names.suggest(inner.outvars, eqn.outvars)
        left = (self.binders(eqn.outvars), " = ") if eqn.outvars else ""
        pairs = eqn.primitive.shown_params(eqn.params)
        pairs = sorted(pairs, key=lambda pair: pair[0] != "name")  # a name comes first
        return left, eqn.primitive.name, self.params(pairs), " ", self.atoms(eqn.invars)

    def jaxpr(self, jaxpr):
        """`{ lambda ; ... }`, or only its name if the program is written elsewhere."""
        return self.names.shared.get(jaxpr) or self.program(jaxpr)

    def program(self, jaxpr):
        """`{ lambda constants; inputs. let equations in (outputs) }`."""
        # The order matters: writing a variable down for the first time names it.
        head = self.binders(jaxpr.constvars), "; ", self.binders(jaxpr.invars), ". "
        eqns = join(Break("; "), [self.eqn(e) for e in jaxpr.eqns])
        outs = "(", self.atoms(jaxpr.outvars, ","), ",)" if len(jaxpr.outvars) == 1 else ")"
        let = Styled("keyword", "let"), Nest(2, Break(), *eqns), Break()
        inside = "{ ", Styled("keyword", "lambda "), *head, *let, Styled("keyword", "in "), *outs
        return Group(Nest(2, *inside), " }")

    def top(self, jaxpr):
        """The shared programs, then the jaxpr itself."""
        shared = [
            ("let ", name, " = ", self.program(inner), " in", Break())
            for inner, name in self.names.shared.items()
        ]
        return *shared, self.jaxpr(jaxpr)


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


# ---- the methods that jaxprs, equations and variables print with ------------------------------


def pretty_print(jaxpr, *, use_color=False, print_shapes=True, width=80):
    """The text of a jaxpr.

    use_color: with the escape codes that colour keywords and types on a terminal.
    print_shapes: with the types of variables. width: of a line.
    """
    names = Names(unused_vars(jaxpr), shared_jaxprs(jaxpr))
    return layout(JaxprPrinter(names, print_shapes).top(jaxpr), width, use_color)


def eqn_text(eqn):
    """The text of one equation."""
    return layout(JaxprPrinter(Names()).eqn(eqn)).rstrip()


def install(cls, **methods):
    """Give a class of core methods that are defined here."""
    for name, method in methods.items():
        setattr(cls, name, method)


install(Jaxpr, pretty_print=pretty_print, __str__=pretty_print, __repr__=pretty_print)
install(JaxprEqn, __str__=eqn_text, __repr__=eqn_text)
install(Var, __repr__=lambda v: f"Var(id={id(v)}):{v.aval.str_short()}")
install(Literal, __repr__=lambda x: f"Literal({literal_text(x)})")
