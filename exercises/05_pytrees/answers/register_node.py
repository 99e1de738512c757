# The card of the exercise register_node. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # Teach JAX a class
#
# `Spring`, below, is a class that is no dataclass. Its `stiffness` and its `length` are numbers
# to differentiate by. Its `power` is a setting, an integer that never changes.
#
# Write `register(cls)`. It makes a container of `Spring`, or of another class with the same three
# attributes, by a call of `jax.tree_util.register_pytree_node`. The children are the stiffness
# and the length, in this order. The power belongs to the structure. After `register(Spring)`
#
#     jax.tree.leaves(Spring(3.0, 1.0, power=4))   # [3.0, 1.0]
#
# and `jax.grad` of a function of a spring is a `Spring` again. Derivatives may be negative, and
# the constructor refuses a negative stiffness.
#
# Run this file, or `tinyjax check register_node`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


class Spring:
    """A spring, whose force grows with a power of how far it is pulled."""

    def __init__(self, stiffness, length, power=2):
        if stiffness <= 0:
            raise ValueError("a spring needs a stiffness above zero")
        self.stiffness, self.length, self.power = stiffness, length, power

    def energy(self, x):
        return self.stiffness * (x - self.length) ** self.power / self.power


# %% stub
def register(cls):
    """Makes a container of a class like Spring."""
    raise NotImplementedError


# %% [markdown] hint
# Which attributes change when you differentiate, and which one does the function that puts the
# spring together get from elsewhere?

# %% [markdown] hint
# `register_pytree_node` takes the class and two functions. The first returns a pair: the
# children, and the rest, which must be something that Python can compare and hash. The second
# gets the rest and the children. `object.__new__(cls)` makes an instance without calling the
# constructor.

# %% [markdown] hint
#     def register(cls):
#         def take_apart(spring):
#             return (..., ...), ...
#
#         def put_together(power, children):
#             spring = object.__new__(cls)
#             spring.stiffness, spring.length = ...
#             spring.power = ...
#             return spring
#
#         jax.tree_util.register_pytree_node(cls, ..., ...)

# %% checks
import tinyjax as jax
from tinyjax.learn import check

seconds = 30.0  # a kernel is compiled


def registered(student):
    """A class like Spring that nobody has registered before, registered."""

    class Spring:
        def __init__(self, stiffness, length, power=2):
            if stiffness <= 0:
                raise ValueError("a spring needs a stiffness above zero")
            self.stiffness, self.length, self.power = stiffness, length, power

        def energy(self, x):
            return self.stiffness * (x - self.length) ** self.power / self.power

    student.register(Spring)
    return Spring


def fields(spring):
    """What a spring consists of."""
    return [spring.stiffness, spring.length, spring.power]


def draw(rng):
    """A spring that is pulled."""
    return {
        "stiffness": round(rng.uniform(2.0, 5.0), 2),
        "length": round(rng.uniform(0.5, 1.5), 2),
        "power": int(rng.integers(3, 5)),
        "x": round(rng.uniform(2.5, 3.5), 2),
    }


def draw_powers(rng):
    """The powers of six springs, some of them the same."""
    return {"powers": [int(p) for p in rng.integers(2, 6, size=6)]}


@check("its leaves, and labels in their place")
def labels(student, stiffness, length, power, x):
    spring = registered(student)(stiffness, length, power)
    labelled = jax.tree.map(lambda leaf: f"about {leaf:.1f}", spring)
    return [jax.tree.leaves(spring), fields(labelled)]


@check("the gradient by a spring, compiled")
def gradient(student, stiffness, length, power, x):
    spring = registered(student)(stiffness, length, power)
    slope = jax.grad(lambda spring, x: spring.energy(x))
    return fields(jax.jit(slope)(spring, x))


@check("the number of structures of springs with these powers", draw=draw_powers)
def structures(student, powers):
    Spring = registered(student)
    found = [jax.tree.structure(Spring(1.0 + i, 2.0, p)) for i, p in enumerate(powers)]
    return [len(set(found)), len({structure.node_data()[1] for structure in found})]


# %% reference
def register(cls):
    """Makes a container of a class like Spring."""

    def take_apart(spring):
        return (spring.stiffness, spring.length), spring.power

    def put_together(power, children):
        spring = object.__new__(cls)  # leaves the constructor aside, and its test
        spring.stiffness, spring.length = children
        spring.power = power
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% right: with keys
def register(cls):
    def take_apart(spring):
        name = jax.tree_util.GetAttrKey
        pairs = [(name("stiffness"), spring.stiffness), (name("length"), spring.length)]
        return pairs, (spring.power,)

    def put_together(aux, children):
        spring = cls.__new__(cls)
        vars(spring).update(stiffness=children[0], length=children[1], power=aux[0])
        return spring

    jax.tree_util.register_pytree_with_keys(cls, take_apart, put_together)


# %% right: methods of the class
def register(cls):
    def tree_flatten(self):
        return [self.stiffness, self.length], ("power", self.power)

    def tree_unflatten(cls, aux, children):
        new = cls(1.0, 1.0, aux[1])
        new.stiffness, new.length = children
        return new

    cls.tree_flatten = tree_flatten
    cls.tree_unflatten = classmethod(tree_unflatten)
    return jax.tree_util.register_pytree_node_class(cls)


# %% right: lambdas
def register(cls):
    def made(fields):
        new = object.__new__(cls)
        new.__dict__ = fields
        return new

    jax.tree_util.register_pytree_node(
        cls,
        lambda s: ((s.stiffness, s.length), str(s.power)),
        lambda p, c: made({"power": int(p), "length": c[1], "stiffness": c[0]}),
    )


# %% wrong: the constructor
# You put the spring together with its constructor, which checks the stiffness: derivatives and
# tracers do not pass that test. Set the attributes of object.__new__(cls) instead.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), spring.power

    def put_together(power, children):
        return cls(*children, power)

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: the power is a child
# You made the power a child: it is a setting, so it belongs into the second part, the metadata.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length, spring.power), None

    def put_together(_, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length, spring.power = children
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: the power is lost
# You put every spring together with the power 2: take_apart must hand the power on.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), None

    def put_together(_, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = children
        spring.power = 2
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: the length is static
# Only the stiffness is a child of yours: the length is a number to differentiate by, too.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness,), (spring.length, spring.power)

    def put_together(aux, children):
        spring = object.__new__(cls)
        (spring.stiffness,) = children
        spring.length, spring.power = aux
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: the children change places
# Your put_together takes the children in another order than take_apart gives them.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), spring.power

    def put_together(power, children):
        spring = object.__new__(cls)
        spring.length, spring.stiffness = children
        spring.power = power
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: children first
# Your put_together has its arguments the wrong way round: first comes the metadata, then the
# children.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), spring.power

    def put_together(children, power):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = children
        spring.power = power
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: arrays only
# You made arrays of the children: put_together gets all kinds of things, and must take them as
# they are.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), spring.power

    def put_together(power, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = map(jnp.asarray, children)
        spring.power = power
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: numbers only
# You made floats of the children, but under jit there are tracers in their place: hand on what is
# there.
def register(cls):
    def take_apart(spring):
        return (float(spring.stiffness), float(spring.length)), spring.power

    def put_together(power, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = children
        spring.power = power
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: the whole spring as metadata
# Your metadata are the spring itself, and no two springs are equal: jit would compile for each.
# Hand on the power alone.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), spring

    def put_together(old, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = children
        spring.power = old.power
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: a dict as metadata
# Your metadata are a dict, which Python cannot hash: a number or a tuple can be hashed.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), {"power": spring.power}

    def put_together(aux, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = children
        spring.power = aux["power"]
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: the power is not set
# Your spring comes back without its power: put_together must set all three attributes.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), spring.power

    def put_together(power, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = children
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: nothing is put together
# Your put_together returns None: does it end in a return?
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), spring.power

    def put_together(power, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = children
        spring.power = power

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: the length first
# Your children are the length and the stiffness: the stiffness comes first.
def register(cls):
    def take_apart(spring):
        return (spring.length, spring.stiffness), spring.power

    def put_together(power, children):
        spring = object.__new__(cls)
        spring.length, spring.stiffness = children
        spring.power = power
        return spring

    jax.tree_util.register_pytree_node(cls, take_apart, put_together)


# %% wrong: not registered
# The class is still a leaf: register must call jax.tree_util.register_pytree_node with cls.
def register(cls):
    def take_apart(spring):
        return (spring.stiffness, spring.length), spring.power

    def put_together(power, children):
        spring = object.__new__(cls)
        spring.stiffness, spring.length = children
        spring.power = power
        return spring
