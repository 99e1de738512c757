"""What pictures are drawn on: a figure measured in pixels, with colours for light and dark pages.

Text inside of boxes is dark on a pale fill; text outside is of a grey that stands out as much from
white as from a dark page. Figures do not go through pyplot, so nothing has to be closed.
"""

import io

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path
except ImportError as error:
    raise ImportError(
        "tinyjax.viz draws with matplotlib, which is not installed: pip install matplotlib"
    ) from error

WIDTH = 640  # pixels: what a notebook shows without shrinking
DPI = 100  # one unit of a canvas is a pixel
SHARP = 2  # saved pixels for each that is shown
SIZE, SMALL = 9.5, 9.0  # points

# ---- colours ------------------------------------------------------------------------------------
#
# Pairs (fill, edge), after Okabe and Ito's colours, which people who are colour-blind tell apart.

GREY = "#7d7d7d"  # contrast 4.1 with white and with #1e1e1e
INK = "#1a1a1a"  # on pale fills
SOFT = "#4a4a4a"  # the second line in a box
COLORS = {
    "grey": ("#efefef", "#858585"),
    "blue": ("#d9e8f6", "#3b7db8"),
    "orange": ("#fbe3cd", "#c8641b"),
    "green": ("#d5eee1", "#1e8a5f"),
    "purple": ("#ecdff2", "#9457a8"),
    "yellow": ("#fdf3c8", "#a98600"),
    "red": ("#fad7d6", "#cf3a36"),
}
EDGES = {name: edge for name, (_, edge) in COLORS.items()}


class Picture:
    """A figure that says what is to be seen; what the functions of `viz` return.

    alt: a sentence for people who do not see it. facts: what was drawn, as Python values.
    figure: matplotlib's. (A Picture is no Figure itself: notebooks show these in their own way.)
    """

    def __init__(self, figure, alt, facts):
        self.figure, self.alt, self.facts = figure, alt, facts

    def __repr__(self):
        return f"<Picture: {self.alt}>"

    def savefig(self, file, **options):
        """Write the picture to a file, whose ending says how: .png, .svg, .pdf; the options are
        those of matplotlib's savefig."""
        self.figure.savefig(file, **{"dpi": SHARP * DPI} | options)

    def png(self):
        """The picture as bytes, in twice the resolution in which it is shown."""
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What notebooks show: the picture and, where there are none, its words."""
        width, height = [round(DPI * inches) for inches in self.figure.get_size_inches()]
        data = {"image/png": self.png(), "text/plain": repr(self)}
        return data, {"image/png": {"width": width, "height": height, "alt": self.alt}}


def new_figure(width=WIDTH, height=400):
    """An empty figure with a transparent background."""
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="none")
    FigureCanvasAgg(figure)
    return figure


def font(size=SIZE, mono=False, bold=False):
    """One of the fonts that come with matplotlib."""
    family = "DejaVu Sans Mono" if mono else "DejaVu Sans"
    return FontProperties(family=family, size=size, weight="bold" if bold else "normal")


class Canvas:
    """Draws in pixels, y downwards. The height may be said at the end.

    >>> canvas = Canvas(200)
    >>> canvas.box(10, 10, 80, 30, "blue", "x", "f32[3]")
    >>> canvas.finish(50, "A box.", boxes=1)
    <Picture: A box.>
    """

    def __init__(self, width=WIDTH):
        self.width = width
        self.figure = new_figure(width)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.renderer = self.figure.canvas.get_renderer()
        self.drawn = 0

    def finish(self, height, alt, **facts):
        """The picture. facts: what was drawn."""
        self.figure.set_size_inches(self.width / DPI, height / DPI)
        self.axes.set_xlim(0, self.width)
        self.axes.set_ylim(height, 0)
        return Picture(self.figure, alt, facts)

    def above(self):
        """A zorder above all that has been drawn."""
        self.drawn += 1
        return self.drawn

    # ---- text -----------------------------------------------------------------------------------

    def measure(self, text, size=SIZE, mono=False, bold=False):
        """The width of a text."""
        prop = font(size, mono, bold)
        return self.renderer.get_text_width_height_descent(text, prop, False)[0]

    def shorten(self, text, room, size=SIZE, mono=False, bold=False):
        """The text, or as much of it as fits, and an ellipsis."""
        if self.measure(text, size, mono, bold) <= room:
            return text
        while text and self.measure(text + "…", size, mono, bold) > room:
            text = text[:-1]
        return text.rstrip() + "…"

    def text(
        self, x, y, text, color=GREY, size=SIZE, align="left", mono=False, bold=False, room=None
    ):
        """A line of text, y at its middle. align: left, center or right of x. room: its width at
        most."""
        if room is not None:
            text = self.shorten(text, room, size, mono, bold)
        return self.axes.text(
            x,
            y,
            text,
            color=color,
            ha=align,
            va="center_baseline",
            fontproperties=font(size, mono, bold),
            parse_math=False,
            zorder=self.above(),
        )

    # ---- shapes ---------------------------------------------------------------------------------

    def frame(
        self, x, y, width, height, color="grey", filled=True, dashed=False, round=4, line=1.2
    ):
        """A rectangle with rounded corners."""
        fill, edge = COLORS[color]
        patch = FancyBboxPatch(
            (x + round, y + round),
            max(width - 2 * round, 0.1),
            max(height - 2 * round, 0.1),
            boxstyle=f"round,pad={round}",
            facecolor=fill if filled else "none",
            edgecolor=edge,
            linewidth=line,
            linestyle=(0, (3, 2)) if dashed else "solid",
            zorder=self.above(),
        )
        self.axes.add_patch(patch)

    def box(self, x, y, width, height, color, *lines, mono=True, round=4, dashed=False):
        """A rectangle with lines of text in its middle; the second and later ones are softer."""
        self.frame(x, y, width, height, color, round=round, dashed=dashed)
        step = 15
        first = y + height / 2 - step * (len(lines) - 1) / 2
        for k, line in enumerate(lines):
            size, ink = (SIZE, INK) if k == 0 else (SMALL, SOFT)
            self.text(
                x + width / 2,
                first + k * step,
                line,
                ink,
                size,
                "center",
                mono,
                room=width - 8,
            )

    def rectangle(self, x, y, width, height, color):
        """A rectangle with sharp corners: a cell of an array, a piece of time."""
        fill, edge = COLORS[color]
        points = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
        patch = Polygon(points, facecolor=fill, edgecolor=edge, linewidth=1, zorder=self.above())
        self.axes.add_patch(patch)

    def line(self, points, color=GREY, width=1.2, dashed=False):
        """Straight lines from point to point."""
        codes = [Path.MOVETO] + [Path.LINETO] * (len(points) - 1)
        self.path(points, codes, color, width, dashed)

    def curve(self, start, end, color=GREY, width=1.2, sideways=False):
        """A curve that leaves and arrives vertically, or sideways."""
        (x0, y0), (x1, y1) = start, end
        if sideways:
            points = [start, ((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), end]
        else:
            points = [start, (x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), end]
        self.path(points, [Path.MOVETO] + [Path.CURVE4] * 3, color, width)

    def path(self, points, codes, color, width, dashed=False):
        """Any line."""
        style = (0, (3, 2)) if dashed else "solid"
        patch = PathPatch(Path(points, codes), facecolor="none", edgecolor=color, linewidth=width)
        patch.set_linestyle(style)
        patch.set_zorder(self.above())
        self.axes.add_patch(patch)

    def head(self, x, y, direction="down", color=GREY):
        """The head of an arrow, whose point is at (x, y)."""
        dx, dy = {"down": (0, 1), "up": (0, -1), "right": (1, 0), "left": (-1, 0)}[direction]
        base = x - 6 * dx, y - 6 * dy
        left = base[0] - 3.5 * dy, base[1] + 3.5 * dx
        right = base[0] + 3.5 * dy, base[1] - 3.5 * dx
        self.axes.add_patch(Polygon([(x, y), left, right], facecolor=color, zorder=self.above()))


# ---- words --------------------------------------------------------------------------------------


def count(number, noun):
    """A number and its noun.

    >>> count(1, "equation"), count(3, "equation")
    ('1 equation', '3 equations')
    """
    return f"{number} {noun}{'s' * (number != 1)}"


def listed(words):
    """Words, with commas and an "and".

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    words = list(map(str, words))
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def called(f):
    """What a function is called in a picture.

    >>> called(max), called(lambda x: x)
    ('max', 'f')
    """
    name = getattr(f, "__name__", type(f).__name__)
    return "f" if name == "<lambda>" else name
