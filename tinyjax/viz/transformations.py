"""transformation_stack: functions around functions, and what each takes and returns."""

from tinyjax.avals import ShapedArray
from tinyjax.explaining.levels import levels
from tinyjax.explaining.stack import described, option_text
from tinyjax.explaining.stack import transformation_stack as layers_of
from tinyjax.transforms.flat import fun_name
from tinyjax.viz.canvas import INK, SIZE, SMALL, SOFT, WIDTH, Canvas, count, listed

MARGIN = 12
PAD = 14  # between a box and the one inside
LINE = 19

COLORS = {
    "jit": "green",
    "vmap": "blue",
    "pmap": "purple",
    "grad": "orange",
    "value_and_grad": "orange",
    "jacfwd": "orange",
    "jacrev": "orange",
    "jvp": "orange",
    "vjp": "orange",
    "linearize": "orange",
}
EFFECTS = {
    "jit": "traces it once per kind of argument, and compiles",
    "vmap": "an axis more: {axes}",
    "pmap": "an element on each device: {axes}",
    "grad": "the derivative by argument {argnums}",
    "value_and_grad": "the value, and the derivative by argument {argnums}",
    "jacfwd": "all derivatives of all results, column by column",
    "jacrev": "all derivatives of all results, row by row",
    "checkpoint": "computes again what the derivative needs",
    "custom_jvp": "has a derivative rule of its own",
    "custom_vjp": "has a derivative rule of its own",
    "custom_vmap": "has a batching rule of its own",
    "jvp": "the value, and the derivative along the tangents",
    "linearize": "the value, and the derivative as a function",
    "vjp": "the value, and the derivative backwards as a function",
}


class Ring:
    """One of the boxes. name: of a transformation, or of the function inside of all. takes,
    returns: texts, if arguments are known."""

    def __init__(self, name, effect, takes="", returns=""):
        self.name, self.effect, self.takes, self.returns = name, effect, takes, returns

    @property
    def lines(self):
        """The texts below the name."""
        pairs = (("takes", self.takes), ("returns", self.returns))
        return [f"{word:<8}{text}" for word, text in pairs if text]


def transformation_stack(f, *args):
    """Draw what a transformed function is made of, with what each part takes and returns.

    Each transformation is a box around what it transforms.

    Args:
      f: a function that jit, grad, vmap and so on have made, of one another or of your own.
      args: its arguments, or ShapeDtypeStructs; without them no types are shown.

    Returns a Picture; `facts["layers"]` are tuples (name, takes, returns), the outermost first.

    Raises TypeError for what is not a function.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> from tinyjax import viz
    >>> def loss(w, x):
    ...     return jnp.sum(w * x) ** 2
    >>> f = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0)))
    >>> picture = viz.transformation_stack(f, jnp.ones(3), jnp.ones((8, 3)))
    >>> for layer in picture.facts["layers"]:
    ...     print(*layer, sep=" | ")
    jit | w:f32[3] x:f32[8,3] | f32[8,3]
    vmap | w:f32[3] x:f32[8,3] | f32[8,3]
    grad | w:f32[3] x:f32[3] | f32[3]
    loss | w:f32[3] x:f32[3] | f32[]
    """
    if not callable(f):
        raise TypeError(f"transformation_stack takes a function, got f={f!r}")
    rings = rings_of(f, args)
    canvas = Canvas(WIDTH)
    whole = described(f)
    canvas.text(MARGIN, 18, whole, bold=True, mono=True, room=WIDTH - 2 * MARGIN)
    bottom = draw(canvas, rings, MARGIN, 36.0, WIDTH - 2 * MARGIN)
    return canvas.finish(
        bottom + MARGIN,
        words(whole, rings),
        layers=[(ring.name, ring.takes, ring.returns) for ring in rings],
    )


def rings_of(f, args):
    """The boxes, the outermost first."""
    if not args:
        layers, inner = layers_of(f)
        rings = [Ring(name, effect(name, options)) for name, options in layers]
        return [*rings, Ring(plain(inner), "the function itself")]
    rings = []
    for level in levels(f, args, {}):
        if level.layer is None:
            name, said = plain(level.fun), "the function itself"
        else:
            name, said = level.layer.transform, effect(level.layer.transform, level.layer.options)
        returns = " ".join(v.str_short(short_dtypes=True) for v in level.program().out_avals)
        rings.append(Ring(name, said, " ".join(map(typed, level.names, level.leaves)), returns))
    return rings


def plain(f):
    """A function's name."""
    name = fun_name(f)
    return "f" if name == "<lambda>" else name


def typed(name, x):
    """An argument with its type; constants as they are."""
    text = x.str_short(short_dtypes=True) if isinstance(x, ShapedArray) else option_text(x)
    return f"{name}:{text}"


def effect(name, options):
    """What a transformation does, in a few words."""
    axes = [
        f"{k}={option_text(v)}" for k in ("in_axes", "out_axes") if (v := options.get(k, 0)) != 0
    ]
    argnums = options.get("argnums", 0)
    chosen = listed(argnums) if isinstance(argnums, tuple) else argnums
    text = EFFECTS.get(name, "")
    return text.format(axes=", ".join(axes) or "in_axes=0", argnums=chosen)


def words(whole, rings):
    """The picture in words."""
    text = f"{count(len(rings), 'box')[:-1]}es" if len(rings) > 1 else "One box"
    text += f" inside of one another for {whole}, from the outside: "
    parts = []
    for ring in rings:
        said = f"{ring.name} ({ring.effect})"
        said += (
            f" takes {ring.takes or 'nothing'} and returns {ring.returns}" if ring.returns else ""
        )
        parts.append(said)
    return text + "; ".join(parts) + "."


def draw(canvas, rings, x, y, width):
    """The outermost box and all inside -> the lowest point."""
    ring, *rest = rings
    own = 30 + LINE * len(ring.lines) + 8 * bool(ring.lines)
    bottom = y + height(rings)
    color = COLORS.get(ring.name, "grey") if rest else "yellow"
    canvas.frame(x, y, width, bottom - y, color, round=8)
    canvas.text(x + PAD, y + 17, ring.name, INK, SIZE + 1, mono=True, bold=True)
    taken = canvas.measure(ring.name, SIZE + 1, True, True) + 14
    canvas.text(x + PAD + taken, y + 17, ring.effect, SOFT, room=width - 2 * PAD - taken)
    for k, line in enumerate(ring.lines):
        at = y + 28 + LINE * (k + 0.5) + 2
        canvas.text(x + PAD, at, line, INK, SMALL, mono=True, room=width - 2 * PAD)
    if rest:
        draw(canvas, rest, x + PAD, y + own, width - 2 * PAD)
    return bottom


def height(rings):
    """The height of a box with all inside."""
    own = 30 + LINE * len(rings[0].lines) + 8 * bool(rings[0].lines)
    return own + (height(rings[1:]) + PAD if rings[1:] else 8)
