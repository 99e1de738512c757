"""Where everything lies in the memory that all processes of the local engine share.

    control     an abort flag, a cell for each call under way, a record for each pair of devices
    regions     one for each device: what it hands to its peers and to the controller
    heap        the buffers

The memory is sparse: what is never touched costs nothing, so regions can be huge.
"""

WORD, LINE = 8, 64
MOST_DEVICES = 128

# ---- control -------------------------------------------------------------------------------------

ABORT = 0  # not zero: whoever waits for a peer gives up
CALLS_AT_ONCE = 32
COUNTED, FINISHED = 0, WORD  # in a call's cell: devices that are done; the last call that is

# What a device tells one peer, and nobody else writes. (What it would tell itself has the number of
# the last call that it has ended.)
COUNT = 0  # how often it has met that peer
PRINT = 1  # two words, by the parity of the count: what it came for
PLACE = 3  # two words likewise: where its operand lies
SEEN = 5  # up to which meeting it has read the peer's operand
USED = 6  # four words: the meeting in which it last handed out each of its slots
PAIR = 16 * WORD

CELLS = LINE
PAIRS = CELLS + CALLS_AT_ONCE * LINE
CONTROL = 1 << 24  # its size
assert PAIRS + MOST_DEVICES**2 * PAIR <= CONTROL


def cell(number):
    """The place of a call's cell."""
    return CELLS + number % CALLS_AT_ONCE * LINE


def pairs(device):
    """The place of what a device tells its peers: PAIR bytes for each of them."""
    return PAIRS + device * MOST_DEVICES * PAIR


# ---- regions -------------------------------------------------------------------------------------

SMALL = 1 << 16  # bytes of a small slot

# Inside a region:
TAILS = 0  # for each call under way SMALL bytes: operands that the last device reduces
SLOTS = CALLS_AT_ONCE * SMALL  # two small slots
MESSAGE = 1 << 22  # what goes to the controller


class Regions:
    """The devices' regions. heap, slot: bytes of the heap, of a large slot and of a message."""

    def __init__(self, heap, slot):
        self.sizes, self.slot = (heap, slot), slot
        self.size = MESSAGE + 3 * self.slot
        self.heap = CONTROL + MOST_DEVICES * self.size  # where the heap begins
        self.total = self.heap + heap

    def start(self, device):
        """The place of a device's region."""
        return CONTROL + device * self.size

    def small(self, device, slot):
        """The place of slot 0 or 1."""
        return self.start(device) + SLOTS + slot * SMALL

    def large(self, device, slot):
        """The place of slot 2 or 3."""
        return self.start(device) + MESSAGE + (slot - 1) * self.slot
