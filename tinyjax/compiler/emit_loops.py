"""scan, while and cond inside a kernel.

Carried numbers are local variables, carried arrays are scratch arrays; scanned arrays are read row
by row where they are. The body is a block like any other, so it is fused as if it stood alone.
"""

from tinyjax.compiler.emit_dot import emit_dot, is_small_product
from tinyjax.compiler.fusion import SCATTERS, CallOut, Copy, Nest, known_dtypes, plan
from tinyjax.compiler.index import read
from tinyjax.compiler.kernel import Place
from tinyjax.compiler.passes import Program, prepare
from tinyjax.compiler.roles import alike
from tinyjax.compiler.words import code_of
from tinyjax.core import Literal, memo
from tinyjax.primitives.rules import Elementwise

MAX_LOOP_EQUATIONS = 400  # a longer body is compiled on its own, and the loop runs in Python

# ---- what can be part of a kernel ---------------------------------------------------------------


def inner_programs(eqn):
    """The programs of a control flow equation."""
    p = eqn.params
    if eqn.primitive.name == "scan":
        return [p["jaxpr"]]
    if eqn.primitive.name == "while":
        return [p["cond_jaxpr"], p["body_jaxpr"]]
    if eqn.primitive.name == "cond":
        return list(p["branches"])
    return None


def loopable(eqn):
    """Whether an equation can be part of a kernel, with everything inside it."""
    if not known_dtypes(eqn):
        return False
    if eqn.primitive.name == "dot_general":
        return is_small_product(eqn)
    programs = inner_programs(eqn)
    if programs is None:
        return False
    if all(isinstance(program, Program) for program in programs):
        return True  # roles.py, which made them, has asked before
    return all(map(fits_kernel, programs)) and sum(map(length, programs)) <= MAX_LOOP_EQUATIONS


@memo
def fits_kernel(jaxpr):
    """Whether all equations of a program can be part of a kernel."""
    program = prepare(jaxpr)
    atoms = [*program.invars, *program.outvars, *program.consts]
    if not all(code_of(v.aval.dtype) for v in atoms):
        return False
    items, *_ = plan(program.eqns, outputs(program), loopable)
    return not any(type(item) is CallOut for item in items)


def length(jaxpr):
    """The number of equations, those of inner programs included."""
    eqns = prepare(jaxpr).eqns
    return len(eqns) + sum(length(j) for eqn in eqns for j in inner_programs(eqn) or [])


def outputs(program):
    """The variables among a program's outputs."""
    return [v for v in program.outvars if not isinstance(v, Literal)]


def emit_loop(em, eqn):
    """Write one of these equations."""
    return WRITERS[eqn.primitive.name](em, eqn)


# ---- values that pass from block to block -------------------------------------------------------


def share(em, var, atom):
    """Let an input of an inner program stand for a value of the block around it."""
    kernel = em.kernel
    forget(em, var)
    if isinstance(atom, Literal):
        kernel.scalars[var] = kernel.number(atom)
    elif atom in kernel.scalars:
        kernel.scalars[var] = kernel.scalars[atom]
    elif not atom.aval.shape:
        kernel.scalars[var] = read(em, atom, [])
    else:
        kernel.places[var] = kernel.array(atom)


def forget(em, var):
    """A program may be written twice: its variables start afresh."""
    em.kernel.places.pop(var, None)
    em.kernel.scalars.pop(var, None)


def run_inner(em, program, header, body=None):
    """Write a program as an indented block. body(outs): what follows its equations inside."""
    kernel = em.kernel
    kernel.open(header)
    outer, kernel.base = kernel.base, len(kernel.scopes) - 1
    em.run(program, outputs(program))
    if body is not None:
        body()
    kernel.base = outer
    kernel.close()


def text_of(em, atom):
    """A number of the block as text."""
    return em.kernel.number(atom) if isinstance(atom, Literal) else read(em, atom, [])


def copy_array(em, target, atom):
    """A loop that copies an array (or fills one with a number)."""
    em.nest, em.makers, em.members = None, {}, {}
    em.over(atom.aval.shape, lambda idx: em.store(target, idx, read(em, atom, idx)))


def carry_in(em, var, init, out):
    """A carried value before the loop: a local variable, or the array of the loop's result."""
    kernel = em.kernel
    forget(em, var)
    if not var.aval.shape:
        start = text_of(em, init)
        name = kernel.fresh(kernel.namer(var))
        kernel.line(f"{name} = {start}")
        kernel.scalars[var] = name
        return
    kernel.places[var] = em.storage(out)
    copy_array(em, kernel.places[var], init)


def carry_over(em, variables, atoms):
    """After a step: the new values take the places of the old ones."""
    kernel = em.kernel
    moves = [(v, a) for v, a in zip(variables, atoms) if not (a is v or same_place(em, v, a))]
    carried = {kernel.scalars.get(v) for v in variables} | set(variables)
    late = []
    for v, a in moves:  # a value that is itself carried is set aside first
        if not v.aval.shape:
            text = text_of(em, a)
            if text in carried:
                aside = kernel.fresh("old")
                kernel.line(f"{aside} = {text}")
                text = aside
            late.append((v, text))
        elif not isinstance(a, Literal) and a in carried:
            aside = kernel.scratch("old", code_of(a.aval.dtype), a.aval.shape)
            copy_array(em, aside, a)
            late.append((v, aside))
        else:
            late.append((v, a))
    for v, value in late:
        if isinstance(value, str):
            kernel.line(f"{kernel.scalars[v]} = {value}")
        elif isinstance(value, Place):
            move_array(em, kernel.places[v], value, v.aval.shape)
        else:
            copy_array(em, kernel.places[v], value)


def same_place(em, v, atom):
    """Whether a new value was written where the old one was."""
    places = em.kernel.places
    return not isinstance(atom, Literal) and atom in places and places[atom] is places.get(v)


def move_array(em, target, source, shape):
    """A loop from one array to another."""
    em.nest, em.makers, em.members = None, {}, {}

    def body(idx):
        if em.probing is not None:
            em.probing.append((source.shape, [*source.at, *idx]))
            value = "x"
        else:
            value = f"{source.name}[{em.kernel.flat(source, idx)}]"
        em.store(target, idx, value)

    em.over(shape, body)


def carry_out(em, out, var):
    """A carried value after the loop is the result."""
    kernel = em.kernel
    if not var.aval.shape:
        em.scalar(out, kernel.scalars[var])


# ---- carried arrays that are updated in place ---------------------------------------------------


def place_carries(em, program, variables, atoms):
    """Let new values be written over the old ones where nothing reads the old ones afterwards."""
    items, lazy, used_at, item_of = plan(program.eqns, outputs(program), loopable)
    for v, new in zip(variables, atoms):
        if not v.aval.shape or isinstance(new, Literal) or new not in item_of:
            continue
        if atoms.count(new) > 1 or v in program.outvars:
            continue
        at = item_of[new]
        if any(k > at for k in used_at.get(v, ())):
            continue
        if updates_in_place(items[at], v, new, lazy):
            em.kernel.places[new] = em.kernel.places[v]


def updates_in_place(item, old, new, lazy):
    """Whether an item reads each old element before, and only where, it writes the new one."""
    if type(item) is Copy:
        eqn = item.eqn
        updates = eqn.primitive.name in ("dynamic_update_slice", *SCATTERS)
        if not updates or eqn.invars[0] is not old:
            return False
        return not any(reads(v, old, lazy) for v in eqn.invars[1:])
    if type(item) is not Nest or item.mode != "map" or not alike(item.shape, old.aval.shape):
        return False
    return not any(elsewhere(eqn, old, lazy) for eqn in item.eqns)


def elsewhere(eqn, old, lazy):
    """Whether an equation reads another element of an array than the one it computes."""
    if not pointwise(eqn) or eqn.outvars[0].aval.shape != old.aval.shape:
        return any(reads(v, old, lazy) for v in eqn.invars)
    makers = [lazy[v][0] for v in eqn.invars if not isinstance(v, Literal) and v in lazy]
    return any(elsewhere(maker, old, lazy) for maker in makers)


POINTWISE = {"select_n", "clamp", "convert_element_type", "add_any", "copy", "stop_gradient"}


def pointwise(eqn):
    """Whether an equation reads its operands only where it writes (a gather does not)."""
    return isinstance(eqn.primitive, Elementwise) or eqn.primitive.name in POINTWISE


def reads(atom, var, lazy):
    """Whether reading an atom reads a variable."""
    if atom is var:
        return True
    if isinstance(atom, Literal) or atom not in lazy:
        return False
    return any(reads(v, var, lazy) for v in lazy[atom][0].invars)


# ---- scan ---------------------------------------------------------------------------------------


def emit_scan(em, eqn):
    """for t in range(length): ..."""
    p, kernel = eqn.params, em.kernel
    program = prepare(p["jaxpr"])
    n_consts, n_carry = p["num_consts"], p["num_carry"]
    n_fixed = n_consts + n_carry
    for v, atom in zip(program.invars[:n_consts], eqn.invars):
        share(em, v, atom)
    carried = program.invars[n_consts:n_fixed]
    for v, atom, out in zip(carried, eqn.invars[n_consts:n_fixed], eqn.outvars):
        carry_in(em, v, atom, out)
    t, length_name = kernel.fresh("t"), kernel.size(p["length"])
    row = t if not p["reverse"] else f"({length_name} - 1 - {t})"
    for v, xs in zip(program.invars[n_fixed:], eqn.invars[n_fixed:]):
        forget(em, v)
        if isinstance(xs, Literal):
            kernel.scalars[v] = kernel.number(xs)
        else:
            kernel.places[v] = kernel.array(xs).row(row)
    new, rows = program.outvars[:n_carry], program.outvars[n_carry:]
    forget_all(em, program)
    place_carries(em, program, carried, new)
    targets = [em.storage(v).row(row) for v in eqn.outvars[n_carry:]]
    done = place_rows(em, program, rows, targets)

    def after():
        for target, v in zip(targets, rows):
            if target in done:
                continue
            if v.aval.shape:
                copy_array(em, target, v)
            else:
                kernel.line(f"{target.name}[{kernel.flat(target, [])}] = {text_of(em, v)}")
        carry_over(em, carried, new)

    kernel.line(f"# {names(em, eqn)} = scan")
    run_inner(em, program, f"for {t} in range({length_name}):", after)
    for out, v in zip(eqn.outvars, carried):
        carry_out(em, out, v)


def names(em, eqn):
    """The names of an equation's results."""
    return " ".join(em.kernel.namer(v) for v in eqn.outvars)


def forget_all(em, program):
    """Start afresh with the variables that a program computes."""
    for eqn in program.eqns:
        for v in eqn.outvars:
            forget(em, v)
            em.also.pop(v, None)


def place_rows(em, program, rows, targets):
    """Let the rows that a scan stacks be written where they belong -> those that are."""
    items, *_, item_of = plan(program.eqns, outputs(program), loopable)
    done = []
    for v, target in zip(rows, targets):
        if isinstance(v, Literal) or v not in item_of or not v.aval.shape:
            continue
        item = items[item_of[v]]
        if program.outvars.count(v) == 1:
            em.kernel.places[v] = target
            done.append(target)
        elif type(item) is Nest and item.mode == "map":
            em.also.setdefault(v, []).append(target)
            done.append(target)
    return done


# ---- while --------------------------------------------------------------------------------------


def emit_while(em, eqn):
    """while True: condition; body"""
    p, kernel = eqn.params, em.kernel
    cond, body = prepare(p["cond_jaxpr"]), prepare(p["body_jaxpr"])
    n_cond, n_body = p["cond_nconsts"], p["body_nconsts"]
    for v, atom in zip(cond.invars[:n_cond], eqn.invars):
        share(em, v, atom)
    for v, atom in zip(body.invars[:n_body], eqn.invars[n_cond:]):
        share(em, v, atom)
    carried, initial = body.invars[n_body:], eqn.invars[n_cond + n_body :]
    for v, atom, out in zip(carried, initial, eqn.outvars):
        carry_in(em, v, atom, out)
    for v, u in zip(cond.invars[n_cond:], carried):
        forget(em, v)
        if u.aval.shape:
            kernel.places[v] = kernel.places[u]
        else:
            kernel.scalars[v] = kernel.scalars[u]
    forget_all(em, body)
    place_carries(em, body, carried, body.outvars)

    kernel.line(f"# {names(em, eqn)} = while")
    kernel.open("while True:")
    outer, kernel.base = kernel.base, len(kernel.scopes) - 1
    forget_all(em, cond)
    em.run(cond, outputs(cond))
    kernel.line(f"if not {text_of(em, cond.outvars[0])}:")
    kernel.line("    break")
    em.run(body, outputs(body))
    carry_over(em, carried, body.outvars)
    kernel.base = outer
    kernel.close()
    for out, v in zip(eqn.outvars, carried):
        carry_out(em, out, v)


# ---- cond ---------------------------------------------------------------------------------------


def emit_cond(em, eqn):
    """if index == 0: ... elif ... else: ..."""
    kernel = em.kernel
    index, *operands = eqn.invars
    index = text_of(em, index)
    branches = [prepare(j) for j in eqn.params["branches"]]
    for v in eqn.outvars:
        if v.aval.shape:
            em.storage(v)
        else:
            kernel.scalars[v] = kernel.fresh(kernel.namer(v))
    kernel.line(f"# {names(em, eqn)} = cond")
    operands = [hold(em, atom) for atom in operands]
    for k, program in enumerate(branches):
        for v, atom in zip(program.invars, operands):
            share(em, v, atom)
        forget_all(em, program)
        last = k == len(branches) - 1
        header = "else:" if last else f"{'el' if k else ''}if {index} == i32({k}):"
        if last and k == 0:
            header = "if True:"

        def assign(program=program):
            for out, v in zip(eqn.outvars, program.outvars):
                if out.aval.shape:
                    copy_array(em, kernel.places[out], v)
                else:
                    kernel.line(f"{kernel.scalars[out]} = {text_of(em, v)}")

        run_inner(em, program, header, assign)
    for v in eqn.outvars:
        if not v.aval.shape:
            em.scalar(v, kernel.scalars[v])


def hold(em, atom):
    """Read a number before the branches, so that all of them find it."""
    if not isinstance(atom, Literal) and not atom.aval.shape:
        em.kernel.scalars.setdefault(atom, read(em, atom, []))
    return atom


WRITERS = {"scan": emit_scan, "while": emit_while, "cond": emit_cond, "dot_general": emit_dot}
