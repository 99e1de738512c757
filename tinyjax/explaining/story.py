"""The stages of a call, from the function inside of all transformations outwards.

Every program here is made by the machinery that makes it when the function is called; nothing is
done a second way. For each transformation there is a function that tells what it does at a level.
"""

from tinyjax.core import all_eqns, check_runnable
from tinyjax.explaining.derivatives import chosen_by, derivative, joint, with_custom_rule
from tinyjax.explaining.inner import calls_inside
from tinyjax.explaining.kernels import compiled_programs, tell_kernels
from tinyjax.explaining.levels import levels
from tinyjax.explaining.stack import described
from tinyjax.explaining.stages import Stage, count, program_lines, program_stage, residual_names
from tinyjax.explaining.words import mapped, plural, residual_words, typed


def tell(fun, args, kwargs, kernels=None):
    """-> the stages of a call. kernels: whether to show them; None: if something is jitted."""
    stages, whole, calls = tell_levels(levels(fun, args, kwargs))
    jitted = {level.name for level in calls if level.layer and level.layer.transform == "jit"}
    if kernels is not False:
        for jaxpr, name in compiled_programs(whole, jitted, kernels, calls[0]):
            stages += tell_kernels(jaxpr, name)
    return stages


def tell_levels(calls):
    """-> the stages up to the program of the outermost call; this program; the levels."""
    outermost = next(calls)
    whole = outermost.program()  # first: whatever is wrong is said as by the call itself
    check_runnable(whole)
    calls, stages = [outermost, *calls], []
    for level in reversed(calls):
        name = level.layer.transform if level.layer else None
        program = whole if level is outermost else level.program()
        stages += TELLERS.get(name, tell_other)(level, program)
    if stages[-1].program is not whole:  # after the stories of the calls inside
        name = described(outermost.fun)
        stages.append(program_stage(f"{name}: all of it", BACK, whole))
    return stages, whole, calls


BACK = "The program of the first stage again: what the functions above are parts of."


# ---- tellers: (level, its whole program) -> stages -----------------------------------------------


def tell_function(level, program):
    """The function inside of all."""
    backward = sum(e.source is not None and e.source.phase == "backward" for e in all_eqns(program))
    prose = f"Called with {typed(level)}, it is a program of {plural(count(program), 'equation')}."
    if backward:
        prose += f" It takes a derivative itself: {backward} of them go backward (marked with ←)."
    name = described(level.fun)
    stories = calls_inside(level, lambda calls: tell_levels(calls)[0])
    if stories:
        prose += f" It calls {plural(len(stories), 'transformed function')}: see the next stages."
    yield program_stage(f"{name}, as written", prose, program)
    for story in stories:
        for stage in story:
            yield stage._replace(title=f"inside {name}: {stage.title}")


def tell_derivative(level, program):
    """grad, value_and_grad, jacrev, vjp, linearize: forward, linear, backward, all together."""
    name, inner = level.layer.transform, described(level.layer.function)
    parts = derivative(level, chosen_by(level), level.layer.options.get("has_aux", False))
    kept = parts.forward.outvars[parts.values :]
    lines, names = program_lines(parts.forward)
    yield Stage(
        f"{name}, step 1: forward",
        f"{inner} is run, and each operation also computes what its derivative will need. Outputs: "
        f"{plural(parts.values, 'result')}, then {residual_words(kept, names)}.",
        lines,
        parts.forward,
    )
    opaque = any(eqn.primitive.reverse_only for eqn in all_eqns(parts.linear))
    naming = {"given": residual_names(names, kept, parts.linear.invars)}
    naming["taken"] = set(names.values())
    yield program_stage(
        f"{name}, step 2: the linear program",
        "Residuals and a small change of the input in, the change of the result out. "
        + LINEAR[opaque],
        parts.linear,
        **naming,
    )
    if name != "linearize":
        naming["given"] = residual_names(names, kept, parts.backward.invars)
        backward = program_stage(
            f"{name}, step 3: backward",
            "The linear program transposed: read from its last equation to its first, with outputs "
            "for inputs. From residuals and the cotangent of the result to that of the input.",
            parts.backward,
            **naming,
        )
        yield backward._replace(beside=True)
    yield program_stage(f"{described_call(level)}: all of it", ALL_OF_IT[name], program)


LINEAR = {
    False: "It is linear in the change: nothing but sums, and products with residuals.",
    True: "custom_lin stands for a custom_vjp function: of it only the way back is known.",
}
ALL_OF_IT = {
    "grad": "Forward, then backward from the cotangent 1.0 of the one number that comes out.",
    "linearize": "The value and the residuals; the linear program waits for a tangent.",
    "vjp": "The value and the residuals; the backward program waits for a cotangent.",
    "jacrev": "Forward once; then backward from a basis of cotangents, all at once by vmap.",
    "jacfwd": "A basis of tangents pushed forward, all at once by vmap.",
}
ALL_OF_IT["value_and_grad"] = ALL_OF_IT["grad"] + " The value is a result, too."


def described_call(level):
    """The transformed function of a level, written down."""
    name = level.layer.transform
    if name in ("jvp", "linearize", "vjp"):
        return f"{name}({described(level.layer.function)}, ...)"
    return described(level.fun)


def tell_jvp(level, program):
    """jvp: values and tangents side by side."""
    yield program_stage(
        described_call(level),
        "Each operation is followed by what it does to the tangents: value and derivative go "
        "forward together, and nothing is kept.",
        program,
    )


def tell_jacfwd(level, program):
    """jacfwd: the pushforward of one tangent, then of all."""
    yield program_stage(
        "jacfwd, step 1: the pushforward of one tangent",
        "Inputs and a tangent in; value and tangent of the result out, as jvp computes them.",
        joint(level, chosen_by(level)),
    )
    yield program_stage(f"{described_call(level)}: all of it", ALL_OF_IT["jacfwd"], program)


def tell_custom_jvp(level, program):
    """custom_jvp: the opaque call, and what the rule does."""
    name = level.name
    yield program_stage(
        f"custom_jvp: the rule of {name}",
        "What a derivative runs instead of looking into the function: primals and tangents in, "
        "the value and its tangent out.",
        joint(level, with_custom_rule(level)),
    )
    yield program_stage(
        f"custom_jvp: {name} as others see it", "One equation, which knows its rule.", program
    )


def tell_custom_vjp(level, program):
    """custom_vjp: the opaque call, fwd and bwd."""
    name = level.name
    parts = derivative(level, with_custom_rule(level))
    yield program_stage(
        f"custom_vjp: fwd of {name}", "The value, then the residuals.", parts.forward
    )
    yield program_stage(
        f"custom_vjp: bwd of {name}",
        "Residuals and the cotangent of the result in, cotangents of the arguments out.",
        parts.backward,
    )
    yield program_stage(
        f"custom_vjp: {name} as others see it", "One equation, which knows its rules.", program
    )


def tell_vmap(level, program):
    """vmap: the batched program."""
    size, how = mapped(level)
    yield program_stage(
        f"{described_call(level)}: the batched program",
        f"Each equation of the program above, for {plural(size, 'example')} at once. {how}",
        program,
    )


def tell_pmap(level, program):
    """pmap: the program of one device, and how arguments are cut."""
    size, how = mapped(level)
    [eqn] = [e for e in program.eqns if e.primitive.name == "pmap"][-1:]
    yield program_stage(
        f"pmap: what each of {plural(size, 'device')} runs",
        f"The same program on every device, each with its part of the arguments. {how}",
        eqn.params["jaxpr"],
    )
    yield program_stage(
        f"{described_call(level)}: all of it",
        "One equation, which holds that program and knows which axes are cut.",
        program,
    )


def tell_jit(level, program):
    """jit: one equation."""
    yield program_stage(
        f"{described_call(level)}: one equation",
        "Traced once for each kind of argument; what was traced is compiled as a whole. For other "
        "transformations it is one equation, which holds the program.",
        program,
    )


def tell_checkpoint(level, program):
    """checkpoint: one equation, too."""
    yield program_stage(
        f"{described_call(level)}: one equation",
        "A derivative of it keeps the inputs, not what was computed in between, and runs the "
        "program again on the way back.",
        program,
    )


def tell_other(level, program):
    """Anything else: its program."""
    yield program_stage(f"{described_call(level)}", "Its program.", program)


TELLERS = {
    None: tell_function,
    "grad": tell_derivative,
    "value_and_grad": tell_derivative,
    "jacrev": tell_derivative,
    "vjp": tell_derivative,
    "linearize": tell_derivative,
    "jvp": tell_jvp,
    "jacfwd": tell_jacfwd,
    "custom_jvp": tell_custom_jvp,
    "custom_vjp": tell_custom_vjp,
    "vmap": tell_vmap,
    "pmap": tell_pmap,
    "jit": tell_jit,
    "checkpoint": tell_checkpoint,
}
