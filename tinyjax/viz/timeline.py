"""device_timeline: what each device does while a pmapped function runs."""

import math

from tinyjax.viz.canvas import GREY, INK, SMALL, WIDTH, Canvas, count
from tinyjax.viz.clock import measure

MARGIN = 12
LEFT = 74  # names of devices
BAR = 20
ROW = 28


def device_timeline(f, *args):
    """Run a pmapped function, and draw when each of its devices computes and when it exchanges.

    The function runs three times, with clocks between its equations; the last run is drawn. An
    exchange begins when a device has its operand and ends when it has the result, so waiting for
    slower devices is part of it. Exchanges inside of loops are not told apart from computing.

    Args:
      f: a pmapped function.
      args: its arguments.

    Returns a Picture; `facts["devices"]` has a list of pairs (start, end) for each device, in
    seconds since the call, first computing, then exchanging, computing ... `facts["exchanges"]`
    names the exchanges, and `facts["seconds"]` is the time from the call to the results.

    Raises TypeError for a function that calls no pmap, or several.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> from tinyjax import viz
    >>> normalize = jax.pmap(lambda x: x / jax.lax.psum(jnp.sum(x), "i"), axis_name="i")
    >>> picture = viz.device_timeline(normalize, jnp.ones((2, 1000)))
    >>> picture.facts["exchanges"], len(picture.facts["devices"])
    (['psum'], 2)
    """
    if not callable(f):
        raise TypeError(f"device_timeline takes a pmapped function, got f={f!r}")
    measured = measure(f, args)
    seconds = (measured.ready - measured.start) / 1e9
    devices = [
        [((a - measured.start) / 1e9, (b - measured.start) / 1e9) for a, b in zip(row, row[1:])]
        for row in measured.times.tolist()
    ]
    canvas = Canvas(WIDTH)
    height = draw(canvas, measured, devices, seconds)
    return canvas.finish(
        height,
        words(measured, devices, seconds),
        devices=devices,
        exchanges=measured.exchanges,
        seconds=seconds,
    )


def span(seconds):
    """A time in words.

    >>> span(0.00123), span(2.5e-5)
    ('1.23 ms', '25 µs')
    """
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def words(measured, devices, seconds):
    """The picture in words."""
    text = f"A timeline of pmap of {measured.name} on {count(len(devices), 'device')}, "
    text += f"{span(seconds)} from the call to the results. "
    begins, ends = [d[0][0] for d in devices], [d[-1][1] for d in devices]
    text += (
        f"The first device begins after {span(min(begins))}, the last after {span(max(begins))}; "
    )
    text += f"the first ends after {span(min(ends))}, the last after {span(max(ends))}."
    if measured.exchanges:
        meeting = sum(b - a for d in devices for a, b in d[1::2])
        share = meeting / sum(d[-1][1] - d[0][0] for d in devices)
        text += f" {count(len(measured.exchanges), 'exchange')} ({', '.join(measured.exchanges)})"
        text += f" {'takes' if len(measured.exchanges) == 1 else 'take'} {share:.0%} of their time,"
        text += " waiting included."
    return text


# ---- the picture ---------------------------------------------------------------------------------


def draw(canvas, measured, devices, seconds):
    """Bars on a scale of time -> the height."""
    x0, width = MARGIN + LEFT, WIDTH - 2 * MARGIN - LEFT - 10
    scale = width / seconds
    legend(canvas, x0, bool(measured.exchanges))
    top = 44.0
    bottom = top + ROW * (len(devices) + 1)
    ticks(canvas, x0, width, seconds, top, bottom)
    canvas.text(MARGIN, top + BAR / 2, "you", mono=True)
    canvas.frame(x0, top, width, BAR, "grey", round=3)
    said = f"from the call to the results: {span(seconds)}"
    canvas.text(x0 + width / 2, top + BAR / 2, said, INK, SMALL, "center")
    for k, pieces in enumerate(devices):
        y = top + ROW * (k + 1)
        canvas.text(MARGIN, y + BAR / 2, f"cpu:{measured.devices[k]}", mono=True)
        for n, (start, end) in enumerate(pieces):
            x, wide = x0 + start * scale, max((end - start) * scale, 1.5)
            if n % 2:
                bar(canvas, x, y, wide, "orange", measured.exchanges[n // 2])
            else:
                bar(canvas, x, y, wide, "blue", "")
    return bottom + 42


def bar(canvas, x, y, width, color, text):
    """A piece of time. Exchanges are lower than computing, for those who do not see colors."""
    low = 4 if color == "orange" else 0
    canvas.rectangle(x, y + low, width, BAR - 2 * low, color)
    if text and canvas.measure(text, SMALL, True) < width - 4:
        canvas.text(x + width / 2, y + BAR / 2, text, INK, SMALL, "center", True)


def legend(canvas, x, exchanges):
    """What the bars are."""
    for color, text in (("blue", "computes"), ("orange", "exchanges and waits"))[: 1 + exchanges]:
        bar(canvas, x, 8, 22, color, "")
        canvas.text(x + 29, 8 + BAR / 2, text)
        x += 29 + canvas.measure(text) + 22


def ticks(canvas, x0, width, seconds, top, bottom):
    """Lines at round times, with their numbers below."""
    unit, name = (1e-6, "µs") if seconds < 1e-3 else (1e-3, "ms") if seconds < 1 else (1.0, "s")
    total = seconds / unit
    step = nice(total / 6)
    k = 0
    while k * step <= total * 1.0001:
        x = x0 + k * step / total * width
        canvas.line([(x, top - 6), (x, bottom)], GREY, 0.5)
        canvas.text(x, bottom + 12, f"{k * step:g}", size=SMALL, align="center")
        k += 1
    canvas.text(x0 + width / 2, bottom + 29, f"{name} since the call", align="center")


def nice(x):
    """1, 2 or 5 times a power of ten, not smaller than x.

    >>> nice(0.3), nice(17)
    (0.5, 20.0)
    """
    power = 10.0 ** math.floor(math.log10(x))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= x * 0.999)
