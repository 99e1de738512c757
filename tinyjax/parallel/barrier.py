"""How devices wait for one another: a few functions in LLVM IR, called without Python's lock.

When two devices meet, each adds one to the count that it shows the other, and waits until the
other has done so as well. No one else writes these cells, so loads and stores are all it takes.
Beside the count stands what the device came for (its print): two that do not match are an error at
once, instead of a wrong result or a wait for ever.

A device is at most one meeting ahead of a peer. That is why two places, used in turn, are enough.
"""

import ctypes
import platform
from functools import cache
from typing import NamedTuple

from tinyjax.compiler.backend import object_of, stored_or_compiled
from tinyjax.compiler.cache import key
from tinyjax.compiler.loader import load_symbols
from tinyjax.parallel.cells import (
    ABORT,
    COUNT,
    MOST_DEVICES,
    PAIR,
    PAIRS,
    PLACE,
    PRINT,
    SEEN,
    SMALL,
    USED,
    WORD,
)

OK, ABORTED, MISMATCH = 0, 1, 2  # what waiting returns; a mismatch: 2 + 256 times the peer

YIELDS = 300  # times that a waiting device lets others run before it sleeps: some 100 us
NAPS = 20, 1000  # microseconds, the first and the longest

# ---- the text ------------------------------------------------------------------------------------

PAUSES = {"x86_64": "x86.sse2.pause()", "amd64": "x86.sse2.pause()"}
PAUSES |= {"aarch64": "aarch64.hint(i32 1)", "arm64": "aarch64.hint(i32 1)"}


def pause_ir():
    """(declaration, call) of the instruction that tells the processor that this is a wait."""
    pause = PAUSES.get(platform.machine().lower())
    if pause is None:
        return "", ""
    declared = pause.replace("i32 1", "i32")
    return f"declare void @llvm.{declared}", f"call void @llvm.{pause}"


def function(name, body):
    """A function whose argument is a list of 64-bit words. It starts by reading them:

    0 the arena  1 this device  2 the members (32-bit numbers)  3 how many  4 print  5 place
    6 slot, or -1  7 spins (negative: so many looks fewer before it sleeps)  8 where to write
    the members' places
    """
    kinds = "ptr arena, i64 me, ptr members, i64 count, i64 print, i64 place, i64 slot, i64 spins"
    lines = [f"  %a{k} = getelementptr i64, ptr %list, i64 {k}" for k in range(9, 15)]
    for k, word in enumerate(f"{kinds}, ptr places".split(", ")):
        kind, variable = word.split()
        lines.append(f"  %a{k} = getelementptr i64, ptr %list, i64 {k}")
        lines.append(f"  %{variable} = load {kind}, ptr %a{k}")
    lines.append(f"  %abort = getelementptr i8, ptr %arena, i64 {ABORT}")
    return f"define i64 @tinyjax_{name}(ptr %list) {{\nentry:\n" + "\n".join(lines) + body + "}\n"


def helpers_ir():
    """Addresses, and the wait for one cell."""
    declaration, pause = pause_ir()
    return f"""
declare i32 @sched_yield()
declare i32 @usleep(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{declaration}

define internal i64 @member(ptr %members, i64 %k) alwaysinline {{
  %at = getelementptr i32, ptr %members, i64 %k
  %narrow = load i32, ptr %at
  %device = zext i32 %narrow to i64
  ret i64 %device
}}

define internal ptr @record(ptr %arena, i64 %owner, i64 %peer) alwaysinline {{
  %row = mul i64 %owner, {MOST_DEVICES}
  %pair = add i64 %row, %peer
  %bytes = mul i64 %pair, {PAIR}
  %place = add i64 %bytes, {PAIRS}
  %at = getelementptr i8, ptr %arena, i64 %place
  ret ptr %at
}}

define internal ptr @word(ptr %record, i64 %first, i64 %k) alwaysinline {{
  %which = add i64 %first, %k
  %at = getelementptr i64, ptr %record, i64 %which
  ret ptr %at
}}

define i64 @tinyjax_until(ptr %cell, i64 %wanted, ptr %abort, i64 %spins) {{
entry:
  %patience = add i64 %spins, {YIELDS}
  br label %look
look:
  %tries = phi i64 [ 0, %entry ], [ %tries.next, %again ]
  %nap = phi i32 [ {NAPS[0]}, %entry ], [ %nap.next, %again ]
  %now = load atomic i64, ptr %cell acquire, align 8
  %there = icmp sge i64 %now, %wanted
  br i1 %there, label %arrived, label %check
check:
  %flag = load atomic i64, ptr %abort acquire, align 8
  %stop = icmp ne i64 %flag, 0
  br i1 %stop, label %aborted, label %wait
wait:
  %tries.next = add i64 %tries, 1
  %early = icmp slt i64 %tries, %spins
  br i1 %early, label %spin, label %late
spin:
  {pause}
  br label %again
late:
  %patient = icmp slt i64 %tries, %patience
  br i1 %patient, label %yield, label %sleep
yield:
  %yielded = call i32 @sched_yield()
  br label %again
sleep:
  %slept = call i32 @usleep(i32 %nap)
  %half = lshr i32 %nap, 1
  %more = add i32 %nap, %half
  %short = icmp slt i32 %more, {NAPS[1]}
  %grown = select i1 %short, i32 %more, i32 {NAPS[1]}
  br label %again
again:
  %nap.next = phi i32 [ %nap, %spin ], [ %nap, %yield ], [ %grown, %sleep ]
  br label %look
arrived:
  ret i64 {OK}
aborted:
  ret i64 {ABORTED}
}}

define i64 @tinyjax_add_one(ptr %cell) {{
  %before = atomicrmw add ptr %cell, i64 1 seq_cst
  ret i64 %before
}}

define i64 @tinyjax_set(ptr %cell, i64 %value) {{
  store atomic i64 %value, ptr %cell seq_cst, align 8
  ret i64 {OK}
}}
"""


def meet_ir():
    """Tell every member that we are here, and for what; then wait for them, one after the other."""
    return function(
        "meet",
        f"""
  br label %tell
tell:
  %t = phi i64 [ 0, %entry ], [ %t.next, %told ]
  %t.more = icmp slt i64 %t, %count
  br i1 %t.more, label %tell.whom, label %listen
tell.whom:
  %hearer = call i64 @member(ptr %members, i64 %t)
  %t.self = icmp eq i64 %hearer, %me
  br i1 %t.self, label %told, label %tell.peer
tell.peer:
  %mine = call ptr @record(ptr %arena, i64 %me, i64 %hearer)
  %count.at = call ptr @word(ptr %mine, i64 {COUNT}, i64 0)
  %before = load i64, ptr %count.at
  %now = add i64 %before, 1
  %turn = and i64 %now, 1
  %print.at = call ptr @word(ptr %mine, i64 {PRINT}, i64 %turn)
  store i64 %print, ptr %print.at
  %place.at = call ptr @word(ptr %mine, i64 {PLACE}, i64 %turn)
  store i64 %place, ptr %place.at
  %in.slot = icmp sge i64 %slot, 0
  br i1 %in.slot, label %tell.slot, label %tell.count
tell.slot:
  %used.at = call ptr @word(ptr %mine, i64 {USED}, i64 %slot)
  store i64 %now, ptr %used.at
  br label %tell.count
tell.count:
  store atomic i64 %now, ptr %count.at release, align 8
  br label %told
told:
  %t.next = add i64 %t, 1
  br label %tell

listen:
  %l = phi i64 [ 0, %tell ], [ %l.next, %heard ]
  %l.more = icmp slt i64 %l, %count
  br i1 %l.more, label %listen.whom, label %met
listen.whom:
  %peer = call i64 @member(ptr %members, i64 %l)
  %l.self = icmp eq i64 %peer, %me
  br i1 %l.self, label %heard, label %listen.peer
listen.peer:
  %own = call ptr @record(ptr %arena, i64 %me, i64 %peer)
  %wanted.at = call ptr @word(ptr %own, i64 {COUNT}, i64 0)
  %wanted = load i64, ptr %wanted.at
  %theirs = call ptr @record(ptr %arena, i64 %peer, i64 %me)
  %shown.at = call ptr @word(ptr %theirs, i64 {COUNT}, i64 0)
  %waited = call i64 @tinyjax_until(ptr %shown.at, i64 %wanted, ptr %abort, i64 %spins)
  %alone = icmp ne i64 %waited, {OK}
  br i1 %alone, label %aborted, label %compare
compare:
  %parity = and i64 %wanted, 1
  %other.at = call ptr @word(ptr %theirs, i64 {PRINT}, i64 %parity)
  %other = load i64, ptr %other.at
  %same = icmp eq i64 %other, %print
  br i1 %same, label %agreed, label %mismatch
agreed:
  %there.at = call ptr @word(ptr %theirs, i64 {PLACE}, i64 %parity)
  %there = load i64, ptr %there.at
  br label %heard
heard:
  %where = phi i64 [ %place, %listen.whom ], [ %there, %agreed ]
  %where.at = getelementptr i64, ptr %places, i64 %l
  store i64 %where, ptr %where.at
  %l.next = add i64 %l, 1
  br label %listen

met:
  ret i64 {OK}
aborted:
  ret i64 {ABORTED}
mismatch:
  %code = shl i64 %peer, 8
  %tagged = or i64 %code, {MISMATCH}
  ret i64 %tagged
""",
    )


def settle_ir():
    """Wait until everyone has read what lay in a slot last. Word 14: devices there are."""
    return function(
        "settle",
        f"""
  %devices = load i64, ptr %a14
  br label %next
next:
  %peer = phi i64 [ 0, %entry ], [ %peer.next, %settled ]
  %more = icmp slt i64 %peer, %devices
  br i1 %more, label %look, label %free
look:
  %mine = call ptr @record(ptr %arena, i64 %me, i64 %peer)
  %used.at = call ptr @word(ptr %mine, i64 {USED}, i64 %slot)
  %used = load i64, ptr %used.at
  %theirs = call ptr @record(ptr %arena, i64 %peer, i64 %me)
  %seen.at = call ptr @word(ptr %theirs, i64 {SEEN}, i64 0)
  %waited = call i64 @tinyjax_until(ptr %seen.at, i64 %used, ptr %abort, i64 %spins)
  %unread = icmp ne i64 %waited, {OK}
  br i1 %unread, label %aborted, label %settled
settled:
  %peer.next = add i64 %peer, 1
  br label %next
free:
  ret i64 {OK}
aborted:
  ret i64 {ABORTED}
""",
    )


def seen_ir():
    """Tell the members that we have read what they brought."""
    return function(
        "seen",
        f"""
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %done ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %whom, label %all
whom:
  %peer = call i64 @member(ptr %members, i64 %k)
  %self = icmp eq i64 %peer, %me
  br i1 %self, label %done, label %tell
tell:
  %mine = call ptr @record(ptr %arena, i64 %me, i64 %peer)
  %count.at = call ptr @word(ptr %mine, i64 {COUNT}, i64 0)
  %now = load i64, ptr %count.at
  %seen.at = call ptr @word(ptr %mine, i64 {SEEN}, i64 0)
  store atomic i64 %now, ptr %seen.at release, align 8
  br label %done
done:
  %k.next = add i64 %k, 1
  br label %next
all:
  ret i64 {OK}
""",
    )


def swap_ir():
    """A whole exchange of small operands. 9: the operand, 10: its bytes, 11: where to copy those of
    all members, 12: the place of the first small slot, 13: where the number of the next one is."""
    return function(
        "swap",
        f"""
  %operand = load ptr, ptr %a9
  %bytes = load i64, ptr %a10
  %stack = load ptr, ptr %a11
  %first = load i64, ptr %a12
  %turn = load ptr, ptr %a13
  %next = load i64, ptr %turn
  %after = sub i64 1, %next
  store i64 %after, ptr %turn
  store i64 %next, ptr %a6
  %step = mul i64 %next, {SMALL}
  %to = add i64 %first, %step
  store i64 %to, ptr %a5
  %settling = call i64 @tinyjax_settle(ptr %list)
  %unsettled = icmp ne i64 %settling, {OK}
  br i1 %unsettled, label %failed, label %give
give:
  %to.at = getelementptr i8, ptr %arena, i64 %to
  call void @llvm.memcpy.p0.p0.i64(ptr %to.at, ptr %operand, i64 %bytes, i1 false)
  %meeting = call i64 @tinyjax_meet(ptr %list)
  %unmet = icmp ne i64 %meeting, {OK}
  br i1 %unmet, label %failed, label %take
take:
  %k = phi i64 [ 0, %give ], [ %k.next, %copy ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %copy, label %taken
copy:
  %place.at = getelementptr i64, ptr %places, i64 %k
  %from.place = load i64, ptr %place.at
  %from = getelementptr i8, ptr %arena, i64 %from.place
  %row.bytes = mul i64 %k, %bytes
  %row = getelementptr i8, ptr %stack, i64 %row.bytes
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %from, i64 %bytes, i1 false)
  %k.next = add i64 %k, 1
  br label %take
taken:
  %told = call i64 @tinyjax_seen(ptr %list)
  ret i64 {OK}
failed:
  %failure = phi i64 [ %settling, %entry ], [ %meeting, %give ]
  ret i64 %failure
""",
    )


def ir():
    """The whole module."""
    return helpers_ir() + meet_ir() + settle_ir() + seen_ir() + swap_ir()


# ---- the functions -------------------------------------------------------------------------------


class Atomics(NamedTuple):
    """The functions; those of one argument take the address of a list of words."""

    meet: object  # wait for all members -> OK, ABORTED or MISMATCH
    settle: object  # wait until all members have read what was last in a slot
    seen: object  # say that this device has read what the members brought
    swap: object  # settle, copy the operand into a slot, meet, copy all operands, seen
    until: object  # (cell, value, abort flag, spins): wait until a cell is that large
    add_one: object  # (cell): add one -> what it was before
    set: object  # (cell, value)


@cache
def atomics():
    """Load them: compiled once per machine."""
    text = ir()
    code = stored_or_compiled(key(text, ("atomics",)), lambda: object_of(text))
    found = load_symbols(code, [f"tinyjax_{name}" for name in Atomics._fields])
    word = ctypes.c_int64
    kinds = {"until": [word] * 4, "set": [word] * 2}
    return Atomics(*[
        ctypes.CFUNCTYPE(word, *kinds.get(name, [word]))(address)
        for name, address in zip(Atomics._fields, found)
    ])  # fmt: skip


assert WORD == 8
