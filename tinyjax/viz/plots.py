"""tangent_lines and loss_landscape: curves and contours, with what grad says of them."""

import inspect

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.autodiff import grad
from tinyjax.mapping import vmap
from tinyjax.viz.canvas import (
    EDGES,
    GREY,
    SIZE,
    WIDTH,
    Picture,
    called,
    count,
    font,
    listed,
    new_figure,
)

SAMPLES = 200  # points of a curve whose range is given
PLACES = [(0, 16), (0, -16), (48, 12), (-48, 12), (48, -14), (-48, -14), (0, 32), (0, -32)]


def new_axes(width, height, x_label, y_label):
    """-> a figure and its axes, whose lines and numbers read on light and dark pages."""
    figure = new_figure(width, height)
    left, bottom = 58 / width, 46 / height
    axes = figure.add_axes((left, bottom, 1 - left - 14 / width, 1 - bottom - 34 / height))
    axes.set_facecolor("none")
    axes.tick_params(colors=GREY, labelsize=SIZE, labelfontfamily="DejaVu Sans")
    for side, spine in axes.spines.items():
        spine.set_color(GREY)
        spine.set_visible(side in ("left", "bottom"))
    axes.set_xlabel(x_label, color=GREY, fontproperties=font(SIZE + 0.5))
    axes.set_ylabel(y_label, color=GREY, fontproperties=font(SIZE + 0.5))
    axes.grid(color=GREY, alpha=0.25, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure, axes


def fit(figure, axes):
    """Give the labels beside the axes the room that they need."""
    width = figure.get_size_inches()[0] * figure.dpi
    box = axes.get_tightbbox(figure.canvas.get_renderer())
    left, right = max(4 - box.x0, 0) / width, max(box.x1 + 4 - width, 0) / width
    place = axes.get_position()
    axes.set_position((place.x0 + left, place.y0, place.width - left - right, place.height))


def legend(axes):
    """What the lines are, in a row above the axes."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=4,
        frameon=False,
        labelcolor=GREY,
        prop=font(SIZE),
        borderaxespad=0.1,
        handlelength=1.8,
    )


def number(x):
    """A number with three digits, and a proper minus."""
    return f"{float(x):.3g}".replace("-", "−")


# ---- tangents -----------------------------------------------------------------------------------


def tangent_lines(f, xs, at=(), derivative=False):
    """Draw the curve of a function and its tangents, whose slopes are those that grad finds.

    Args:
      f: a function of a number that returns a number, both real.
      xs: where the curve is drawn: an array of numbers that rise, or a pair (low, high).
      at: the points with a tangent; at most eight.
      derivative: also draw the curve of grad(f).

    Returns a Picture; `facts["slopes"]` are the slopes.

    Raises ValueError for xs that are no curve or too many points.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import viz
    >>> picture = viz.tangent_lines(lambda x: x**2, jnp.linspace(-2, 2, 50), at=[-1.0, 1.5])
    >>> print(picture.alt)
    The curve of f from x = −2 to 2, with 2 tangents: slope −2 at x = −1 and slope 3 at x = 1.5.
    """
    name, xs = checked_curve(f, xs)
    points = [float(x) for x in np.ravel(np.asarray(at))]
    if len(points) > len(PLACES):
        raise ValueError(f"tangent_lines draws at most {len(PLACES)} tangents, got at={at!r}")
    ys, slope = np.asarray(vmap(f)(jnp.asarray(xs))), grad(f)
    if ys.shape != xs.shape:
        raise ValueError(
            f"tangent_lines: f must return one number, but {name} returned {ys.shape[1:]}"
        )
    slopes = [float(slope(x)) for x in points]
    heights = [float(f(x)) for x in points]
    finite = np.isfinite(heights) & np.isfinite(slopes)  # the rest is told, but has no line
    drawn = [points[k] for k in np.flatnonzero(finite)]
    tops, rises = [[v[k] for k in np.flatnonzero(finite)] for v in (heights, slopes)]
    figure, axes = new_axes(WIDTH * 0.85, 330, "x", "")
    axes.plot(xs, ys, color=EDGES["blue"], linewidth=2.2, label=f"{name}(x)", zorder=3)
    low, high = padded([ys])
    if derivative:
        rise = np.asarray(vmap(slope)(jnp.asarray(xs)))
        label = f"grad({name})(x)"
        axes.plot(xs, rise, "--", color=EDGES["purple"], linewidth=1.8, label=label, zorder=3)
        low, high = padded([ys, rise])
    reach = (xs[-1] - xs[0]) * 0.14
    for k, (x, y, m) in enumerate(zip(drawn, tops, rises)):
        # as long on the page whatever the slope is
        half = reach / np.hypot(1, m * reach * 6 / (high - low) / 2)
        label = "tangents" if k == 0 else None
        axes.plot(
            [x - half, x + half],
            [y - m * half, y + m * half],
            color=EDGES["orange"],
            linewidth=1.8,
            label=label,
            zorder=4,
        )
        axes.plot([x], [y], "o", color=EDGES["orange"], markersize=6, zorder=5)
    axes.set_xlim(xs[0], xs[-1])
    axes.set_ylim(low, high)
    legend(axes)
    fit(figure, axes)
    label_points(figure, axes, drawn, tops, [f"slope {number(m)}" for m in rises])
    tangents = listed(f"slope {number(m)} at x = {number(x)}" for x, m in zip(points, slopes))
    alt = f"The curve of {name} from x = {number(xs[0])} to {number(xs[-1])}"
    alt += f", with {count(len(points), 'tangent')}: {tangents}" if points else ""
    alt += ", and the curve of its derivative as a dashed line." if derivative else "."
    return Picture(figure, alt, {"points": points, "heights": heights, "slopes": slopes})


def checked_curve(f, xs):
    """-> the function's name, and xs as an array."""
    if not callable(f):
        raise TypeError(f"tangent_lines: f must be a function, got {f!r}")
    xs = np.asarray(xs)
    if xs.shape == (2,) and xs[0] < xs[1]:
        xs = np.linspace(xs[0], xs[1], SAMPLES)
    if xs.ndim != 1 or len(xs) < 2 or not (np.diff(xs) > 0).all():
        raise ValueError(
            "tangent_lines: xs must be an array of at least two numbers that rise, or (low, high)"
        )
    return called(f), xs.astype(np.float32)


def padded(curves):
    """The range of curves and some room."""
    finite = np.concatenate([c[np.isfinite(c)] for c in curves])
    low, high = (finite.min(), finite.max()) if finite.size else (0, 1)
    room = 0.12 * (high - low) or 1.0
    return float(low - room), float(high + room)


def label_points(figure, axes, xs, ys, labels):
    """Write each label near its point: where it covers no other label and as little as possible."""
    renderer = figure.canvas.get_renderer()
    taken = [axes.transData.transform((x, y)) for x, y in zip(xs, ys)]
    frame, boxes = axes.get_window_extent(renderer), []
    lines = [axes.transData.transform(line.get_xydata()) for line in axes.get_lines()]
    dots = np.concatenate([dense(line) for line in lines])
    for (px, py), label in zip(taken, labels):
        width, height, _ = renderer.get_text_width_height_descent(label, font(SIZE), False)
        best = None
        for rank, (dx, dy) in enumerate(PLACES):
            cx, cy = px + dx + np.sign(dx) * max(width / 2 - 34, 0), py + dy
            left, right, low, top = cx - width / 2, cx + width / 2, cy - height / 2, cy + height / 2
            inside = left > frame.x0 and right < frame.x1 and low > frame.y0 and top < frame.y1
            clash = [
                b
                for b in boxes
                if left < b[1] + 4 and right > b[0] - 4 and low < b[3] + 2 and top > b[2] - 2
            ]
            covered = (
                (dots[:, 0] > left - 3)
                & (dots[:, 0] < right + 3)
                & (dots[:, 1] > low - 2)
                & (dots[:, 1] < top + 2)
            ).sum()
            cost = (not inside, len(clash), covered, rank)
            if best is None or cost < best[0]:
                best = cost, (cx, cy), (left, right, low, top)
        boxes.append(best[2])
        x, y = axes.transData.inverted().transform(best[1])
        axes.text(
            x, y, label, color=EDGES["orange"], ha="center", va="center", fontproperties=font(SIZE)
        )


def dense(points):
    """Points along a line, a few pixels apart."""
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < 2:
        return points
    pieces = [
        np.linspace(a, b, 1 + int(min(np.abs(b - a).max() / 3, 400)))
        for a, b in zip(points, points[1:])
    ]
    return np.concatenate(pieces)


# ---- loss ---------------------------------------------------------------------------------------


def loss_landscape(loss, x_range, y_range, path=None, labels=("w", "b")):
    """Draw a loss over two parameters as contours, and the way that training took through them.

    Args:
      loss: a function of two numbers, or of one array of two.
      x_range, y_range: pairs (from, to): where the parameters lie.
      path: the parameters after each step: a list of pairs, or an array of shape (steps, 2).
      labels: what the parameters are called.

    Returns a Picture; `facts["losses"]` are those along the path.

    Raises ValueError for ranges or paths of other shapes.

    >>> from tinyjax import viz
    >>> bowl = lambda w, b: (w - 3) ** 2 + (b + 1) ** 2
    >>> path = [(1.0, 1.0), (2.0, 0.0), (2.9, -0.8)]
    >>> picture = viz.loss_landscape(bowl, (0, 5), (-3, 2), path=path)
    >>> print(picture.alt)  # doctest: +NORMALIZE_WHITESPACE
    Contours of f for w from 0 to 5 and b from −3 to 2. A path of 2 steps starts at w = 1, b = 1
    with loss 8 and ends at w = 2.9, b = −0.8 with loss 0.05.
    """
    for name, pair in (("x_range", x_range), ("y_range", y_range)):
        if np.shape(pair) != (2,) or not pair[0] < pair[1]:
            raise ValueError(f"loss_landscape: {name} must be a pair (from, to), got {pair!r}")
    steps = (
        np.zeros((0, 2)) if path is None else np.array([np.asarray(p) for p in path], np.float32)
    )
    if path is not None and (steps.ndim != 2 or steps.shape[1] != 2 or not len(steps)):
        raise ValueError(
            f"loss_landscape: path must be pairs (w, b), got an array of shape {steps.shape}"
        )
    f = of_two(loss)
    xs, ys = [np.linspace(*pair, 90, dtype=np.float32) for pair in (x_range, y_range)]
    grid = np.asarray(vmap(lambda y: vmap(lambda x: f(x, y))(xs))(ys))
    losses = [float(f(*map(jnp.asarray, p))) for p in steps]
    figure, axes = new_axes(WIDTH * 0.75, 400, *labels)
    low, high = float(np.nanmin(grid)), float(np.nanmax(grid))
    span = high - low or 1.0
    levels = low + span * np.linspace(0, 1, 15)[1:-1] ** 2  # rings near the minimum, too
    axes.contour(xs, ys, grid, levels=levels, cmap=ring_colors(), linewidths=1.3)
    if len(steps):
        color = EDGES["orange"]
        axes.plot(
            steps[:, 0], steps[:, 1], ".-", color=color, linewidth=1.4, markersize=6, label="steps"
        )
        axes.plot(*steps[0], "s", color=color, markersize=8, label="start", linestyle="none")
        axes.plot(*steps[-1], "*", color=color, markersize=14, label="end", linestyle="none")
    else:
        k = np.unravel_index(np.nanargmin(grid), grid.shape)
        axes.plot(
            xs[k[1]],
            ys[k[0]],
            "+",
            color=EDGES["orange"],
            markersize=12,
            label="lowest",
            linestyle="none",
        )
    legend(axes)
    axes.set_xlim(*x_range)
    axes.set_ylim(*y_range)
    fit(figure, axes)
    alt = landscape_words(loss, x_range, y_range, labels, steps, losses)
    return Picture(figure, alt, {"path": steps.tolist(), "losses": losses, "grid": grid})


def of_two(loss):
    """The loss as a function of two numbers."""
    if not callable(loss):
        raise TypeError(f"loss_landscape: loss must be a function, got {loss!r}")
    try:
        params = inspect.signature(loss).parameters.values()
    except (TypeError, ValueError):
        params = ()
    needed = [
        p
        for p in params
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return loss if len(needed) >= 2 else lambda x, y: loss(jnp.stack([x, y]))


def ring_colors():
    """From green for small losses to purple for large ones; all of a middle brightness."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "rings", [EDGES["green"], EDGES["blue"], EDGES["purple"]]
    )


def landscape_words(loss, x_range, y_range, labels, steps, losses):
    """The picture in words."""
    x, y = labels
    name = called(loss)
    text = f"Contours of {name} for {x} from {number(x_range[0])} to {number(x_range[1])} and {y} "
    text += f"from {number(y_range[0])} to {number(y_range[1])}."
    if len(steps):
        ends = [
            f"{x} = {number(p[0])}, {y} = {number(p[1])} with loss {number(l)}"
            for p, l in zip(steps[[0, -1]], (losses[0], losses[-1]))
        ]
        text += (
            f" A path of {count(len(steps) - 1, 'step')} starts at {ends[0]} and ends at {ends[1]}."
        )
    return text
