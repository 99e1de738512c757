"""Which pieces of a stretch of memory are taken, and by whom none: an allocator.

Programs that run again and again ask for the same sizes, so pieces given back are first kept as
they are, to be handed out again. When they do not serve, they are merged with their neighbours,
and the smallest piece that is large enough is cut.
"""

from bisect import bisect_left, insort

GRAIN = 64  # pieces begin and end at multiples of this
LARGE = 1 << 20  # the pages of larger pieces go back to the system when they are merged
KEPT = 1 << 28  # bytes kept as they are; more are merged


class Heap:
    """Memory from start on. give_back(place, size): the system may have these pages."""

    def __init__(self, start, size, give_back):
        self.start, self.size, self.give_back = start, size, give_back
        self.taken = {}  # place -> size
        self.kept, self.kept_bytes = {}, 0  # size -> places
        self.free, self.begins, self.ends = (
            [],
            {},
            {},
        )  # (size, place), sorted; place -> size; end -> size
        self.release(start, size // GRAIN * GRAIN)
        self.limit = min(KEPT, size // 8)

    # ---- taking and giving ----------------------------------------------------------------------

    def take(self, size):
        """The place of a piece of at least this size.

        Raises:
          MemoryError: there is none.
        """
        size = -(-size // GRAIN) * GRAIN
        kept = self.kept.get(size)
        if kept:
            place = kept.pop()
            self.kept_bytes -= size
        else:
            place = self.cut(size)
        self.taken[place] = size
        return place

    def give(self, place):
        """Take a piece back."""
        size = self.taken.pop(place)
        self.kept.setdefault(size, []).append(place)
        self.kept_bytes += size
        if self.kept_bytes > self.limit:
            self.merge_kept()

    # ---- free pieces, merged --------------------------------------------------------------------

    def cut(self, size):
        """Cut a piece from the smallest free one that is large enough."""
        at = bisect_left(self.free, (size, 0))
        if self.kept_bytes and (at == len(self.free) or self.free[at][1] == self.frontier()):
            self.merge_kept()  # before fresh memory is touched
            at = bisect_left(self.free, (size, 0))
        if at == len(self.free):
            used = sum(self.taken.values())
            raise MemoryError(
                f"no room for an array of {readable(size)} on the devices: {readable(used)} of "
                f"{readable(self.size)} are taken, and the largest free piece has "
                f"{readable(self.free[-1][0] if self.free else 0)}"
            )
        found, place = self.free.pop(at)
        del self.begins[place], self.ends[place + found]
        if found > size:
            self.insert(place + size, found - size)
        return place

    def frontier(self):
        """Where the free piece at the end of the memory begins: what follows was never touched."""
        end = self.start + self.size // GRAIN * GRAIN
        return end - self.ends.get(end, 0)

    def merge_kept(self):
        """Merge all pieces that were kept as they are."""
        for size, places in self.kept.items():
            for place in places:
                if size >= LARGE:
                    self.give_back(place, size)
                self.release(place, size)
        self.kept, self.kept_bytes = {}, 0

    def release(self, place, size):
        """Make a piece free, as one with its free neighbours."""
        before = self.ends.get(place)
        if before is not None:
            self.remove(place - before, before)
            place, size = place - before, size + before
        after = self.begins.get(place + size)
        if after is not None:
            self.remove(place + size, after)
            size += after
        self.insert(place, size)

    def insert(self, place, size):
        """Note a free piece."""
        insort(self.free, (size, place))
        self.begins[place] = self.ends[place + size] = size

    def remove(self, place, size):
        """Forget a free piece."""
        del self.free[bisect_left(self.free, (size, place))]
        del self.begins[place], self.ends[place + size]


def readable(size):
    """A number of bytes in words.

    >>> readable(3 << 19)
    '1.5 MB'
    """
    value, units = float(size), ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.{0 if units[0] == 'bytes' else 1}f} {units[0]}"
