"""A small layered layout of graphs, after Sugiyama: layers, order within them, positions.

Nodes are boxes of known sizes. Every edge goes down; one that passes a layer has a narrow node of
its own there, so that it finds a way between the boxes.
"""

GAP = 18  # between boxes of a layer
LANE_GAP = 10  # beside an edge that passes it
LAYER_GAP = 26  # between layers, where the edges bend
LANE = 6  # the width of an edge that passes a layer


class Box:
    """Something to be placed: its size, and the boxes that it depends on; then its place."""

    def __init__(self, width, height, sources=()):
        self.width, self.height, self.sources = width, height, list(sources)
        self.layer, self.x, self.y = 0, 0.0, 0.0
        self.is_lane = width == LANE

    @property
    def center(self):
        """The middle, across."""
        return self.x + self.width / 2


class Layout:
    """Boxes in layers. After it: each box's x and y, the whole width and height, and `edges`:
    (from, to, points to pass)."""

    def __init__(self, boxes, room):
        self.room = room
        self.last = [b for b in boxes if getattr(b, "last", False)]
        self.assign(boxes)
        self.cut_edges(boxes)
        self.order()
        self.place_across()
        self.place_down()

    # ---- layers ---------------------------------------------------------------------------------

    def assign(self, boxes):
        """The first layer below all that a box depends on in which there is room; results last."""
        used = {}
        for box in boxes:
            layer = max([s.layer + 1 for s in box.sources], default=0)
            while used.get(layer, 0) + box.width > self.room * 0.9 and used.get(layer, 0):
                layer += 1
            box.layer = layer
            used[layer] = used.get(layer, 0) + box.width + GAP
        bottom = max([b.layer for b in boxes if b not in self.last], default=-1) + 1
        for box in self.last:
            box.layer = max(box.layer, bottom)
        self.layers = [[] for _ in range(max([b.layer for b in boxes], default=0) + 1)]
        for box in boxes:
            self.layers[box.layer].append(box)

    def cut_edges(self, boxes):
        """Edges that pass layers get lanes there; edges from one box share them."""
        self.above, self.below, self.edges, lanes = {}, {}, [], {}
        for box in boxes:
            for source in dict.fromkeys(box.sources):
                chain = [source]
                for k in range(source.layer + 1, box.layer):
                    if (source, k) not in lanes:
                        lane = Box(LANE, 0)
                        lane.layer = k
                        lanes[source, k] = lane
                        self.layers[k].append(lane)
                        self.join(chain[-1], lane)
                    chain.append(lanes[source, k])
                self.join(chain[-1], box)
                self.edges.append((source, box, chain[1:]))

    def join(self, upper, lower):
        """Note that an edge goes from one layer to the next."""
        self.below.setdefault(upper, []).append(lower)
        self.above.setdefault(lower, []).append(upper)

    # ---- across ---------------------------------------------------------------------------------

    def order(self):
        """Sort each layer by where its neighbours stand, to and fro: few edges cross then."""
        for sweep in range(6):
            down = sweep % 2 == 0
            near = self.above if down else self.below
            for layer in self.layers if down else reversed(self.layers):
                at = {b: k / len(row) for row in self.layers for k, b in enumerate(row)}
                layer.sort(key=lambda b: mean([at[n] for n in near.get(b, ())], at[b]))

    def place_across(self):
        """Each box in the middle of its neighbours, as far as those beside it allow."""
        for layer in self.layers:
            left = (self.room - span(layer)) / 2
            for box, offset in zip(layer, offsets(layer)):
                box.x = left + offset
        for sweep in range(12):
            down = sweep % 2 == 0
            near = self.above if down else self.below
            for layer in self.layers if down else reversed(self.layers):
                wanted = [
                    mean([n.center for n in near.get(b, ())], b.center) - b.width / 2 for b in layer
                ]
                spread_out(layer, wanted, self.room)
        left = min([b.x for row in self.layers for b in row], default=0)
        for row in self.layers:
            for box in row:
                box.x -= left
        self.width = max([b.x + b.width for row in self.layers for b in row], default=0)

    # ---- down -----------------------------------------------------------------------------------

    def place_down(self):
        """Layer below layer."""
        y, self.tops, self.bottoms = 0, [], []
        for layer in self.layers:
            height = max([b.height for b in layer], default=0)
            self.tops.append(y)
            self.bottoms.append(y + height)
            for box in layer:
                box.y = y
                if box.height == 0:
                    box.height = height  # a lane passes the layer
            y += height + LAYER_GAP
        self.height = max(y - LAYER_GAP, 0)


def offsets(layer):
    """Where the boxes of a layer that stands close begin."""
    found, x, before = [], 0.0, None
    for box in layer:
        if before is not None:
            x += LANE_GAP if box.is_lane or before.is_lane else GAP
        found.append(x)
        x, before = x + box.width, box
    return found


def span(layer):
    """The width of a layer that stands close."""
    return offsets(layer)[-1] + layer[-1].width if layer else 0


def mean(numbers, default):
    """The mean, if there is anything."""
    return sum(numbers) / len(numbers) if numbers else default


def spread_out(layer, wanted, room):
    """Place the boxes of a layer as near as possible to where they want to be, without overlap.

    Without their widths, positions must not fall: neighbours that want to pass one another meet at
    the mean (isotonic regression, by pooling adjacent violators).
    """
    close, pools = offsets(layer), []  # pools: (sum, how many)
    for want, before in zip(wanted, close):
        pools.append((want - before, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            (total, n), (more, m) = pools[-2], pools.pop()
            pools[-1] = total + more, n + m
    slack = max(room - span(layer), 0)
    flat = [min(max(total / n, 0), slack) for total, n in pools for _ in range(n)]
    for box, x, before in zip(layer, flat, close):
        box.x = x + before
