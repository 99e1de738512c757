"""Trees that grow from left to right: what pytrees and keys are drawn with.

A tree that is too deep for the page is drawn as a list, indented, as folders and files are.
"""

from tinyjax.viz.canvas import INK, SIZE, SMALL, SOFT, WIDTH, Canvas

ROW = 10  # between boxes one below the other
BEND = 34  # between columns, where the branches are
MARGIN = 10
MOST = 230  # pixels: the widest box


class Twig:
    """A box of a tree: its lines of text, its color, what grows from it.

    round: with round ends (values), or not (actions). dashed: with a dashed border.
    """

    def __init__(self, *lines, color="grey", children=(), round=4, dashed=False):
        self.lines, self.color, self.children = lines, color, list(children)
        self.round, self.dashed = round, dashed
        self.x = self.y = self.width = self.height = 0.0

    def walk(self, depth=0):
        """Every twig of the tree and how deep it is."""
        yield self, depth
        for child in self.children:
            yield from child.walk(depth + 1)


def draw_tree(canvas: Canvas, root: Twig, top=MARGIN):
    """Draw a tree, and make the canvas as wide as it needs -> the lowest point."""
    widths: dict[int, float] = {}
    for twig, depth in root.walk():
        sizes = [
            canvas.measure(line, SMALL if k else SIZE, True) for k, line in enumerate(twig.lines)
        ]
        twig.width, twig.height = min(max(sizes) + 20, MOST), 12 + 15 * len(twig.lines)
        widths[depth] = max(widths.get(depth, 0), twig.width)
    lefts = {d: MARGIN + sum(widths[k] + BEND for k in range(d)) for d in widths}
    canvas.width = max(lefts[max(lefts)] + widths[max(lefts)] + MARGIN, 240)
    if canvas.width > WIDTH:
        return draw_list(canvas, root, top)
    bottom = place(root, 0, top, lefts)
    for twig, _ in root.walk():
        for child in twig.children:
            start = twig.x + twig.width, twig.y + twig.height / 2
            end = child.x, child.y + child.height / 2
            bend = lefts[next_column(lefts, child.x)] - BEND
            canvas.line([start, (bend, start[1])])
            canvas.curve((bend, start[1]), end, sideways=True)
    for twig, _ in root.walk():
        canvas.box(
            twig.x,
            twig.y,
            twig.width,
            twig.height,
            twig.color,
            *twig.lines,
            round=twig.round,
            dashed=twig.dashed,
        )
    return bottom


def next_column(lefts, x):
    """The column that begins at x."""
    return min(lefts, key=lambda d: abs(lefts[d] - x))


def place(twig, depth, top, lefts):
    """Place a twig and all that grows from it, below a line -> the lowest point."""
    twig.x, bottom = lefts[depth], top
    for child in twig.children:
        bottom = place(child, depth + 1, bottom, lefts) + ROW
    if not twig.children:
        twig.y = top
        return top + twig.height
    first, last = twig.children[0], twig.children[-1]
    twig.y = (first.y + first.height / 2 + last.y + last.height / 2) / 2 - twig.height / 2
    twig.y = max(twig.y, top)
    return max(bottom - ROW, twig.y + twig.height)


# ---- deep trees ---------------------------------------------------------------------------------

LINE = 24  # the height of a box of one line


def draw_list(canvas: Canvas, root: Twig, top):
    """The same tree, one box in each row -> the lowest point."""
    deepest = max(depth for _, depth in root.walk())
    step = min(24, (WIDTH - MOST - 2 * MARGIN) / max(deepest, 1))
    y, right = top, 0.0
    for twig, depth in root.walk():
        rest = " · ".join(twig.lines[1:])
        first = canvas.measure(twig.lines[0], mono=True)
        twig.x, twig.y, twig.height = MARGIN + depth * step, y, LINE
        twig.width = first + (canvas.measure(rest, SMALL, True) + 10 if rest else 0) + 20
        right = max(right, twig.x + twig.width)
        y += LINE + ROW - 4
    for twig, _ in root.walk():
        for child in twig.children:
            x = twig.x + step / 2
            middle = child.y + LINE / 2
            canvas.line([(x, twig.y + LINE), (x, middle), (child.x, middle)])
    for twig, _ in root.walk():
        canvas.frame(
            twig.x, twig.y, twig.width, LINE, twig.color, round=twig.round, dashed=twig.dashed
        )
        canvas.text(twig.x + 10, twig.y + LINE / 2, twig.lines[0], INK, mono=True)
        rest = " · ".join(twig.lines[1:])
        end = twig.x + twig.width - 10
        canvas.text(end, twig.y + LINE / 2, rest, SOFT, SMALL, "right", mono=True)
    canvas.width = max(right + MARGIN, 240)
    return y - ROW + 4
