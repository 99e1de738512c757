"""jaxpr_graph: the equations of a jaxpr, and what flows between them."""

from tinyjax.api import make_jaxpr
from tinyjax.core import Jaxpr, Literal, Var
from tinyjax.printer import JaxprPrinter, Names, layout, literal_text, shown_jaxprs, unused_vars
from tinyjax.viz.canvas import INK, SIZE, SMALL, SOFT, WIDTH, Canvas, count, listed
from tinyjax.viz.layers import Box, Layout

MARGIN = 12
PAD = 10  # inside of boxes that hold programs
TITLE = 24  # height of their titles
LABEL = 22  # height of the names of several programs in one box
LONGEST = 26  # characters of an equation with its parameters; longer ones go without
MOST = 240  # pixels: the width of an equation


def jaxpr_graph(f_or_jaxpr, *args, depth=2):
    """Draw a jaxpr as a graph: inputs, equations and results, and the arrays that flow between.

    Args:
      f_or_jaxpr: a function, traced for args; or a jaxpr, without args.
      args: arrays and pytrees, or ShapeDtypeStructs.
      depth: so many programs inside of one another are drawn (those of jit, scan, cond ...); deeper
        ones are boxes that tell how many equations they hold.

    Returns a Picture; `facts["equations"]` are the texts in it.

    Raises TypeError for what is neither a function nor a jaxpr.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import viz
    >>> picture = viz.jaxpr_graph(lambda x: jnp.sin(x) * 2, 1.0)
    >>> picture.facts["equations"]
    ['b = sin a', 'c = mul b 2.0']
    >>> print(picture.alt)  # doctest: +NORMALIZE_WHITESPACE
    A graph of 2 equations: sin and mul. It has 1 input, a of type f32[], and 1 result, c of type
    f32[].
    """
    if isinstance(f_or_jaxpr, Jaxpr):
        if args:
            raise TypeError("jaxpr_graph: a jaxpr is drawn as it is, so give no args with it")
        jaxpr = f_or_jaxpr
    elif callable(f_or_jaxpr):
        jaxpr = make_jaxpr(f_or_jaxpr)(*args)
    else:
        raise TypeError(f"jaxpr_graph takes a function or a jaxpr, got f_or_jaxpr={f_or_jaxpr!r}")
    names = printed_names(jaxpr)
    canvas = Canvas()
    graph = Graph(canvas, jaxpr, names, depth, WIDTH - 2 * MARGIN)
    canvas.width = max(graph.width + 2 * MARGIN, 240)
    graph.draw((canvas.width - graph.width) / 2, MARGIN)
    return canvas.finish(
        graph.height + 2 * MARGIN,
        words(jaxpr, names),
        equations=graph.equations,
        edges=graph.edges,
    )


def printed_names(jaxpr):
    """The names that variables have where the jaxpr is printed."""
    names = Names(unused_vars(jaxpr))
    layout(tuple(JaxprPrinter(names).top(jaxpr)))
    return names


def words(jaxpr, names):
    """The picture in a sentence or two."""

    def described(atoms):
        return listed([f"{atom_text(v, names)} of type {short(v)}" for v in atoms])

    kinds = [eqn.primitive.name for eqn in jaxpr.eqns]
    shown = listed(kinds) if len(kinds) <= 12 else ", ".join(kinds[:12]) + " and more"
    text = f"A graph of {count(len(kinds), 'equation')}{': ' * bool(kinds)}{shown}. It has "
    text += f"{count(len(jaxpr.invars), 'input')}"
    text += f", {described(jaxpr.invars)}," if jaxpr.invars else ""
    text += f" and {count(len(jaxpr.outvars), 'result')}"
    text += f", {described(jaxpr.outvars)}." if jaxpr.outvars else "."
    inner = [(e.primitive.name, len(j.eqns)) for e in jaxpr.eqns for j in shown_jaxprs(e)]
    for name, size in inner[:4]:
        text += f" The {name} is a box that holds a program of {count(size, 'equation')}."
    return text


# ---- texts --------------------------------------------------------------------------------------


def short(atom):
    """The type of a variable."""
    return atom.aval.str_short(short_dtypes=True)


def atom_text(atom, names):
    """A variable's name, or a number, with four digits if it has many."""
    if not isinstance(atom, Literal):
        return names[atom]
    text = literal_text(atom)
    return text if len(text) <= 8 or atom.val.dtype.kind != "f" else f"{float(atom.val):.4g}"


def equation_text(eqn, names):
    """An equation as a jaxpr shows it, without types and without long parameters."""
    outs = " ".join(names[v] for v in eqn.outvars)
    ins = " ".join(atom_text(v, names) for v in eqn.invars)
    shown = eqn.primitive.shown_params(eqn.params)
    pairs = [(k, v) for k, v in shown if k != "name" and plain(v)]
    params = f"[{' '.join(f'{k}={v}' for k, v in pairs)}]" if pairs else ""
    full = f"{outs} = {eqn.primitive.name}{params} {ins}".strip()
    return full if len(full) <= LONGEST else f"{outs} = {eqn.primitive.name} {ins}".strip()


def plain(value):
    """Whether a parameter is worth its place."""
    if isinstance(value, tuple):
        return all(map(plain, value))
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def program_names(eqn):
    """What the programs of an equation are, if there are several."""
    found = {}
    for key, value in eqn.params.items():
        for k, program in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(program, Jaxpr):
                name = f"branch {k}" if key == "branches" else key.removesuffix("_jaxpr")
                found.setdefault(program, name)
    return [found[program] for program in shown_jaxprs(eqn)]


# ---- the graph ----------------------------------------------------------------------------------


class Graph:
    """A jaxpr that knows its size and can draw itself; so do the programs inside of it."""

    def __init__(self, canvas, jaxpr, names, depth, room):
        self.canvas, self.names, self.depth = canvas, names, depth
        self.equations, self.edges = [], []
        makers, boxes = {}, []
        for v in [*jaxpr.constvars, *jaxpr.invars]:
            kind = "purple" if v in jaxpr.constvars else "blue"
            boxes.append(self.pill(names[v], short(v), kind))
            makers[v] = boxes[-1]
        for eqn in jaxpr.eqns:
            box = self.equation(eqn, room)
            box.sources = [makers[v] for v in eqn.invars if isinstance(v, Var) and v in makers]
            self.edges += [(names[v], box.label) for v in eqn.invars if isinstance(v, Var)]
            makers.update(dict.fromkeys(eqn.outvars, box))
            boxes.append(box)
        for v in jaxpr.outvars:
            box = self.pill(atom_text(v, names), short(v), "orange")
            box.sources = [makers[v]] if isinstance(v, Var) and v in makers else []
            box.last = True
            boxes.append(box)
        self.boxes, self.layout = boxes, Layout(boxes, room)
        self.width, self.height = self.layout.width, self.layout.height

    def pill(self, name, kind, color):
        """An input or result."""
        label = f"{name}:{kind}"
        box = Box(max(self.canvas.measure(label, mono=True) + 20, 44), 24)
        box.draw = lambda x, y: self.canvas.box(x, y, box.width, box.height, color, label, round=11)
        return box

    def equation(self, eqn, room):
        """An equation: a box with a text, or around the programs that it holds."""
        label = equation_text(eqn, self.names)
        self.equations.append(label)
        inner = list(shown_jaxprs(eqn))
        if inner and self.depth > 0:
            box = self.holder(eqn, label, inner, room)
        else:
            kinds = ", ".join(map(short, eqn.outvars)) or "no result"
            if inner:
                kinds = f"{count(sum(len(j.eqns) for j in inner), 'equation')} inside"
                kinds = f"{eqn.params.get('name', '')} {kinds}".strip()
            wide = max(
                self.canvas.measure(label, mono=True), self.canvas.measure(kinds, SMALL, True)
            )
            box = Box(min(wide + 18, MOST), 40)
            box.draw = lambda x, y: self.canvas.box(x, y, box.width, 40, "grey", label, kinds)
        box.label = label
        return box

    def holder(self, eqn, label, programs, room):
        """A box around programs, one below the other."""
        name = eqn.params.get("name")
        title = f"{label}   {name}" if isinstance(name, str) else label
        graphs = [
            Graph(self.canvas, j, self.names, self.depth - 1, room - 2 * PAD) for j in programs
        ]
        for graph in graphs:
            self.equations += graph.equations
            self.edges += graph.edges
        labels = program_names(eqn) if len(graphs) > 1 else [""] * len(graphs)
        wide = min(self.canvas.measure(title, mono=True) + 4, room - 2 * PAD)
        wide = max([wide, *(g.width for g in graphs)])
        high = TITLE + PAD * len(graphs)
        high += sum(g.height + LABEL * bool(text) for g, text in zip(graphs, labels))
        box = Box(wide + 2 * PAD, high)

        def draw(x, y):
            self.canvas.frame(x, y, box.width, box.height, "green", round=6)
            self.canvas.text(x + PAD, y + 14, title, INK, SIZE, mono=True, room=box.width - 2 * PAD)
            y += TITLE
            for graph, text in zip(graphs, labels):
                if text:
                    self.canvas.text(x + PAD, y + 8, text, SOFT, SMALL)
                    y += LABEL
                graph.draw(x + (box.width - graph.width) / 2, y + 4, SOFT)
                y += graph.height + PAD

        box.draw = draw
        return box

    def draw(self, x, y, color=None):
        """Draw all with the left upper corner at x, y. color: of the edges, in a box."""
        layout, paint = self.layout, {"color": color} if color else {}
        drawn = set()
        for source, box, lanes in layout.edges:
            stops = [source, *lanes, box]
            for upper, lower in zip(stops, stops[1:]):
                if (upper, lower) in drawn:
                    continue
                drawn.add((upper, lower))
                start = x + upper.center, y + layout.bottoms[upper.layer]
                end = x + lower.center, y + layout.tops[lower.layer]
                self.canvas.line([(start[0], y + upper.y + upper.height), start], **paint)
                self.canvas.curve(start, (end[0], end[1] - 3 * (lower is box)), **paint)
                if lower is box:
                    self.canvas.head(*end, **paint)
                else:
                    self.canvas.line([end, (end[0], y + layout.bottoms[lower.layer])], **paint)
        for box in self.boxes:
            box.draw(x + box.x, y + box.y)
