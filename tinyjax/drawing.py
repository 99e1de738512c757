"""Pictures of shardings in text: a box for each part, with the devices that hold it."""


def draw_sharding(shape, sharding, scale=1.0, min_width=9, max_width=80):
    """The picture of how an array of one or two axes is cut, as a text of several lines.

    The boxes stand as the parts do in the array. scale: 1 is about ten lines of text for two axes.
    min_width, max_width: of a box with its borders. If a picture becomes wider than max_width, its
    boxes shrink as far as the names allow.
    """
    holders = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        holders.setdefault((0, *map(number_of, index))[-2:], []).append(device)
    names = {place: name_of(devices) for place, devices in holders.items()}
    rows, columns = (1 + max(place[k] for place in names) for k in (0, 1))
    full = int(10 * scale)
    height = 1 if len(shape) == 1 else full // rows
    aspect = (shape[1] if len(shape) == 2 else 1) / max(shape[0], 1)
    width = min(max(int(int(full * aspect) / columns * 2.5), min_width), max_width) - 2
    room = (max_width - 1) // columns - 1
    widths = [
        max(min(width, room), *[len(names[i, j]) for i in range(rows)]) for j in range(columns)
    ]
    grid = [
        [box(names[i, j], width, height, widths[j]) for j in range(columns)] for i in range(rows)
    ]
    return "\n".join(with_borders(grid, widths))


def number_of(piece):
    """Which of the equal pieces of an axis a slice is."""
    return 0 if piece.stop is None else piece.start // max(piece.stop - piece.start, 1)


def name_of(devices):
    """What is written into a box: CPU 0,1."""
    ids = ",".join(str(i) for i in sorted(d.id for d in devices))
    return f"{devices[0].platform.upper()} {ids}"


def box(name, wanted, height, width):
    """The lines inside a box: a name in the middle, or just left of it and above."""
    left = max((min(wanted, width) - len(name)) // 2, 0)
    left += (width - max(min(wanted, width), len(name))) // 2
    above = max((height - 2) // 2, 0)
    below = max((height - 1) // 2, 0)
    line = (" " * left + name).ljust(width)
    return [" " * width] * above + [line] + [" " * width] * below


def with_borders(grid, widths):
    """The lines of a table of boxes."""
    bars = ["─" * width for width in widths]
    lines = ["┌" + "┬".join(bars) + "┐"]
    for i, row in enumerate(grid):
        if i:
            lines.append("├" + "┼".join(bars) + "┤")
        lines += ["│" + "│".join(parts) + "│" for parts in zip(*row)]
    return [*lines, "└" + "┴".join(bars) + "┘"]
