# %%
import collections

import jax
import jax.numpy as jnp

examples = [
    [1, "a", object],
    (1, (2, 3), ()),
    [1, {"k1": 2, "k2": (3, 4)}, 5],
    {"a": 2, "b": (2, 3)},
    jnp.array([1, 2, 3]),
]
for tree in examples:
    leaves = jax.tree.leaves(tree)
    print(f"{repr(tree):<45} has {len(leaves)} leaves: {leaves}")

# %%
lists = [[1, 2, 3], [1, 2], [1, 2, 3, 4]]
jax.tree.map(lambda x: x * 2, lists)

# %%
jax.tree.map(lambda x, y: x + y, lists, lists)

# %%
# raises ValueError: different lengths of list
jax.tree.map(lambda x, y: x + y, lists, lists[:2])

# %%
# raises ValueError: tuple
jax.tree.map(lambda x, y: x + y, [1, (2, 3)], [1, [2, 3]])

# %%
# raises ValueError: key
jax.tree.map(lambda x, y: x + y, {"a": 1}, {"b": 1})

# %%
Point = collections.namedtuple("Point", "x y")
leaves, treedef = jax.tree.flatten({"p": Point(1, 2), "n": None, "o": collections.OrderedDict(z=3)})
print(leaves)
print(treedef)
jax.tree.unflatten(treedef, [10, 20, 30])


# %%
def init(widths):
    params = []
    for n_in, n_out in zip(widths[:-1], widths[1:]):
        params.append(dict(weights=jnp.ones((n_in, n_out)) * 0.1, biases=jnp.zeros(n_out)))
    return params


params = init([1, 4, 1])
jax.tree.map(lambda x: x.shape, params)


# %%
def forward(params, x):
    *hidden, last = params
    for layer in hidden:
        x = jax.nn.relu(x @ layer["weights"] + layer["biases"])
    return x @ last["weights"] + last["biases"]


@jax.jit
def update(params, x, y):
    grads = jax.grad(lambda p: jnp.mean((forward(p, x) - y) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


x = jnp.linspace(0, 1, 8)[:, None]
for _ in range(3):
    params = update(params, x, x**2)
params


# %%
class Special:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __repr__(self):
        return f"Special(x={self.x}, y={self.y})"


jax.tree.leaves([Special(0, 1), Special(2, 4)])

# %%
# raises TypeError: Special
jax.tree.map(lambda x: x + 1, [Special(0, 1)])

# %%
jax.tree_util.register_pytree_node(Special, lambda s: ((s.x, s.y), None), lambda _, c: Special(*c))
jax.tree.map(lambda x: x + 1, [Special(0, 1), Special(2, 4)])

# %%
jax.tree.structure([Special(0, 1)])

# %%
# raises ValueError: Duplicate custom PyTreeDef type registration, Special
jax.tree_util.register_pytree_node(Special, lambda s: ((s.x,), None), lambda _, c: c)


# %%
from dataclasses import dataclass
import functools


@functools.partial(jax.tree_util.register_dataclass, data_fields=["a", "b"], meta_fields=["name"])
@dataclass
class Container:
    name: str
    a: int
    b: jax.Array


print(jax.tree.leaves(Container("c", 1, 2)))
jax.jit(lambda c: Container(c.name, c.a + 1, c.b * 2))(Container("c", 1, jnp.ones(2)))

# %%
jax.tree.structure(Container("c", 1, 2)), jax.tree.map(str, Container("c", 1, 2))

# %%
flat, _ = jax.tree_util.tree_flatten_with_path([1, {"k": 2, "l": (3, 4)}, Point(5, 6), Container("n", 7, 8)])
for key_path, value in flat:
    print(f"tree{jax.tree_util.keystr(key_path)} = {value}")

# %%
for key_path, value in flat:
    print(repr(key_path), jax.tree_util.keystr(key_path, simple=True, separator="/"))

# %%
jax.tree_util.tree_map_with_path(lambda path, x: jax.tree_util.keystr(path) + str(x), {"a": [1, 2]})

# %%
jax.tree.map(lambda x: x, [None, 1]), jax.tree.leaves([None, 1], is_leaf=lambda x: x is None)

# %%
jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure({"a": 0, "b": 0}), [{"a": 1, "b": 2}, {"a": 3, "b": 4}])

# %%
jax.tree.transpose(outer_treedef=jax.tree.structure([0, 0]), inner_treedef=None, pytree_to_transpose=[(1, 2), (3, 4)])

# %%
jax.tree.map(lambda *xs: jnp.stack(xs), *[{"a": 1, "b": 2.0}, {"a": 3, "b": 4.0}])

# %%
jax.tree.reduce(lambda a, b: a + b, [1, (2, 3)]), jax.tree.all([True, {"a": 1}]), jax.tree.map(lambda x, y: (x, y), (1, 2), (3, 4), is_leaf=lambda x: isinstance(x, int))

# %%
jax.tree_util.all_leaves([1, 2]), jax.tree_util.all_leaves([[1], 2]), jax.tree_util.tree_leaves(None)

# %%
a_tree = [jnp.zeros((2, 3)), jnp.zeros((3, 4))]
try:
    print(jax.tree.map(jnp.ones, jax.tree.map(jnp.shape, a_tree)))
except Exception as e:
    print(type(e).__name__)
jax.tree.map(jnp.shape, a_tree)

# %%
shapes = jax.tree.map(lambda x: np.array(x.shape) if False else x.shape, a_tree, is_leaf=None)
jax.tree.map(lambda s: s, shapes, is_leaf=lambda s: isinstance(s, tuple)), jax.tree.map(jnp.ones, shapes, is_leaf=lambda s: isinstance(s, tuple))

# %%
jax.vmap(lambda x: x)(jax.tree.map(jnp.asarray, {"a": [1.0, 2.0]}["a"] and {"a": jnp.ones(2)}))


# %%
@jax.tree_util.register_pytree_with_keys_class
class Keyed:
    def __init__(self, v):
        self.v = v

    def tree_flatten_with_keys(self):
        return ((jax.tree_util.GetAttrKey("v"), self.v),), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


jax.tree_util.tree_leaves_with_path(Keyed(3)), jax.tree.structure(Keyed(3)).num_leaves

# %%
jax.tree.structure((1, [2, {"a": None}])).children(), jax.tree.structure([1, 2]) == jax.tree.structure([3, 4])

# %%
jax.tree_util.Partial(jnp.add, 1)(2), jax.tree_util.tree_map(lambda x: x * 2, jax.tree_util.Partial(max, 3))

# %%
jax.tree.broadcast(1, {"a": 2, "b": [3, 4]}), jax.tree_util.tree_flatten_with_path({"a": {"b": 1}})
