"""What people arrive with: the introductions' examples, run as written in both worlds.

Each snippet is run with `import jax` and with the import line changed; what it prints must be the
same, to the digit. Errors print their class and must hold the words that teach.
"""

import contextlib
import io
import textwrap

import pytest

HEAD = """
import numpy as np
import {world} as jax
import {world}.numpy as jnp
from {world} import grad, jit, vmap, lax, random

def failing(f, *words):
    try:
        f()
    except Exception as e:
        lacking = [w for w in words if w not in str(e)]
        assert not lacking, (lacking, str(e))
        print([c.__name__ for c in type(e).__mro__ if c.__module__ == "builtins"][0])
    else:
        print("no error")
"""

SNIPPETS = {
    "first_gradients": """
        f = lambda x: x**3 + 2*x
        print(grad(f)(2.0), grad(grad(f))(2.0), grad(grad(grad(f)))(2.0))
        print(repr(grad(f)(2.0)))
        print(repr(grad(lambda x: jnp.sum(x**2))(jnp.array([1.0, 2.0, 3.0]))))
    """,
    "tanh": """
        def tanh(x):
            y = jnp.exp(-2.0 * x)
            return (1.0 - y) / (1.0 + y)
        print(grad(tanh)(1.0), grad(grad(grad(tanh)))(1.0))
    """,
    "arrays": """
        x = jnp.arange(10)
        print(x, repr(x), x.dtype, x.shape)
        print(repr(jnp.linspace(0, 1, 5)), repr(jnp.ones((2, 3))), repr(jnp.zeros(3)))
        print(repr(jnp.array([1, 2.5])), repr(jnp.float32(3)), repr(jnp.array(True)))
        a, b = jnp.array([1.0, 2.0])
        print(a, b, float(a), f"{b:.3f}", [int(v) for v in jnp.arange(3)])
        print(np.sin(jnp.ones(2)), np.asarray(x).flags.writeable, x.sum(), x.mean(), x.std())
    """,
    "immutable": """
        x = jnp.arange(10)
        failing(lambda: x.__setitem__(0, 10), "immutable", ".at[")
        y = x.at[0].set(10)
        print(x); print(y)
        print(x.at[1:4].add(100), x.at[::2].mul(3), x.at[-1].min(5), x.at[2].get())
        print(jnp.zeros((3, 3)).at[1, :].set(1.0))
    """,
    "out_of_bounds": """
        x = jnp.arange(5)
        print(x[10], x.at[10].set(7), x[jnp.array([-1, 7])], x.at[jnp.array([1, 1])].add(1))
        print(x.at[11].get(mode="fill", fill_value=-1), x.at[11].get(mode="clip"))
    """,
    "promotion": """
        print(jnp.add(1, 1.0), repr(jnp.add(1, 1.0)), repr(jnp.arange(2) * 1.5))
        failing(lambda: lax.add(jnp.int32(1), jnp.float32(1.0)), "int32", "float32")
        failing(lambda: lax.add(jnp.arange(2), jnp.ones(2)), "int32", "float32")
        print(repr(jnp.array([1, 2], jnp.int8) + 1), repr(jnp.float16(1) * 2.0))
    """,
    "selu": """
        def selu(x, alpha=1.67, lmbda=1.05):
            return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)
        x = jnp.arange(5.0)
        print(selu(x)); print(jit(selu)(x)); print(repr(jit(selu)(x - 2)))
        print(jax.make_jaxpr(selu)(x))
    """,
    "norm": """
        def norm(X):
            X = X - X.mean(0)
            return X / X.std(0)
        X = jnp.reshape(jnp.sin(jnp.arange(12.0) * 7.3), (4, 3))
        print(np.round(np.asarray(jit(norm)(X)), 4) + 0.0)
        print(np.allclose(norm(X), jit(norm)(X), atol=1e-6))
    """,
    "sum_of_logistic": """
        def sum_logistic(x):
            return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))
        print([f"{v:.5f}" for v in grad(sum_logistic)(jnp.arange(3.0))])
        print(f"{jit(grad(jit(grad(jit(lambda x: sum_logistic(x * jnp.ones(2)))))))(1.0):.5f}")
    """,
    "vmap": """
        print(vmap(lambda x, y: x + y, in_axes=(0, None))(jnp.arange(3), 10))
        mat, v = jnp.arange(6.0).reshape(2, 3), jnp.array([1.0, 2.0, 3.0])
        print(vmap(jnp.dot, in_axes=(0, None))(mat, v), vmap(jnp.dot, (0, 0))(mat, mat))
        print(vmap(lambda x: x**2, in_axes=1, out_axes=1)(mat))
        print(vmap(grad(lambda x: jnp.sin(x) * x))(jnp.array([0.0, 1.0])))
        print(vmap(vmap(lambda x, y: x * y, (None, 0)), (0, None))(jnp.arange(3), jnp.arange(2)))
    """,
    "compositions": """
        f = lambda x: x**3 + 2*x
        print(jit(vmap(grad(grad(f))))(jnp.arange(4.0)))
        print(vmap(jit(grad(f)))(jnp.arange(3.0)), grad(lambda x: vmap(f)(x).sum())(jnp.ones(2)))
        failing(lambda: jit(grad(grad(vmap(f))))(jnp.arange(4.0)), "scalar-output")
        failing(lambda: grad(lambda x: (x, x))(1.0), "scalar-output")
        failing(lambda: grad(f)(3), "inexact", "int32")
    """,
    "control_flow": """
        @jit
        def f(x):
            if x < 3:
                return 3.0 * x**2
            return -4 * x
        failing(lambda: f(2), "bool")
        g = jit(f.__wrapped__, static_argnums=0)
        print(g(2), g(5))
        print(lax.cond(True, lambda x: x + 1, lambda x: x - 1, 5))
        print(lax.fori_loop(0, 5, lambda i, x: x + i, 0))
        print(lax.while_loop(lambda x: x < 100, lambda x: x * 2, 1))
        print(lax.scan(lambda c, x: (c + x, c * x), 0.0, jnp.arange(4.0)))
    """,
    "impure": """
        def impure_print_side_effect(x):
            print("Executing function")
            return x
        print("First call: ", jit(impure_print_side_effect)(4.0))
        h = jit(impure_print_side_effect)
        print("Again: ", h(4.0), h(5.0)); print("Third call, different type: ", h(jnp.array([5.0])))
        g = 0.0
        def impure_uses_globals(x):
            return x + g
        k = jit(impure_uses_globals)
        print("First call: ", k(4.0)); g = 10.0
        print("Second call: ", k(5.0)); print("Third call, different type: ", k(jnp.array([4.0])))
        def impure_saves_global(x):
            global saved
            saved = x
            return x
        jit(impure_saves_global)(4.0)
        failing(lambda: saved + 1, "tracer")
        def pure_uses_internal_state(x):
            state = dict(even=0, odd=0)
            for i in range(10):
                state["even" if i % 2 == 0 else "odd"] += x
            return state["even"] + state["odd"]
        print(jit(pure_uses_internal_state)(5.0))
    """,
    "keys": """
        key = random.PRNGKey(0)
        print(key, repr(key), repr(random.key(0)))
        print(random.normal(key, (1,)), random.normal(key, (1,)))
        key, subkey = random.split(key)
        print(key, subkey, random.normal(subkey, (1,)))
        print(random.split(key, 3)); print(random.uniform(random.PRNGKey(7), (3,)))
        print(random.randint(key, (4,), 0, 10), random.permutation(key, 5))
        print(random.bernoulli(key, 0.5, (3,)), random.choice(key, jnp.arange(5), (2,)))
        print(random.fold_in(key, 3), random.bits(key, (2,)))
    """,
    "jaxpr": """
        print(jax.make_jaxpr(lambda x: jnp.sin(x) * 2 + x)(jnp.ones(3)))
        print(jax.make_jaxpr(lambda x, y: jnp.dot(x, y) + 1.0)(jnp.ones((2, 3)), jnp.ones(3)))
        def log2(x):
            ln_x = jnp.log(x)
            return ln_x / jnp.log(2.0)
        print(jax.make_jaxpr(log2)(3.0))
        print(jax.make_jaxpr(jit(lambda x: jnp.where(x > 0, x, 0.0)))(1.0))
    """,
    "argnums": """
        def loss(w, b, x):
            return jnp.sum((w * x + b) ** 2)
        x = jnp.arange(3.0)
        print(grad(loss)(1.0, 2.0, x), grad(loss, argnums=1)(1.0, 2.0, x))
        print(grad(loss, (0, 1))(1.0, 2.0, x))
        print(jax.value_and_grad(loss)(1.0, 2.0, x))
        print(grad(lambda x: (x**2, x + 1), has_aux=True)(3.0))
        print(jax.jacobian(lambda x: x**2)(x), jax.hessian(lambda x: (x**3).sum())(x[:2]))
    """,
    "pytrees": """
        params = {"w": jnp.ones((2,)), "b": 0.5, "layers": [jnp.zeros(1), None]}
        print(jax.tree_util.tree_structure(params), jax.tree.leaves(params))
        loss = lambda p, x: (p["w"] * x + p["b"]).sum() ** 2
        print(grad(lambda p: loss(p, 2.0))({"w": jnp.ones((2,)), "b": 0.5}))
        print(jax.tree.map(lambda p, g: p - 0.1 * g, {"a": 1.0}, {"a": 2.0}))
    """,
    "training_loop": """
        rng = np.random.RandomState(0)
        xs = rng.normal(size=(100,)).astype("float32")
        noise = rng.normal(scale=0.1, size=(100,)).astype("float32")
        ys = xs * 3 - 1 + noise
        def model(theta, x):
            w, b = theta
            return w * x + b
        def loss_fn(theta, x, y):
            return jnp.mean((model(theta, x) - y) ** 2)
        def update(theta, x, y, lr=0.1):
            return theta - lr * grad(loss_fn)(theta, x, y)
        theta, fast = jnp.array([1.0, 1.0]), jnp.array([1.0, 1.0])
        step = jit(update)
        for _ in range(1000):
            theta = update(theta, xs, ys) if _ < 100 else theta
            fast = step(fast, xs, ys)
        w, b = fast
        print(f"w: {w:.2f}, b: {b:.2f}", np.allclose(theta, fast, atol=1e-3))
        print(fast.block_until_ready().shape)
    """,
    "closures_and_views": """
        data = np.arange(3.0)
        f = jit(lambda x: x + data)
        print(f(1.0)); data[0] = 100.0; print(f(1.0))
        a = jnp.asarray(np.arange(3)); print(a + np.ones(3), np.arange(3) + a, 2 * a, a @ a)
        print(jnp.dot(a, a), jnp.stack([a, a]).T, jnp.where(a > 1, a, -a), (a > 1).any())
    """,
}


def run_in(world, source):
    """What the snippet prints with this import line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(HEAD.format(world=world) + textwrap.dedent(source), {"__name__": "snippet"})
    return out.getvalue()


@pytest.mark.parametrize("name", SNIPPETS)
def test_prints_what_jax_prints(name):
    assert run_in("tinyjax", SNIPPETS[name]) == run_in("jax", SNIPPETS[name])


def test_the_forms_that_the_introductions_show():
    """The texts as the posts print them."""
    text = run_in(
        "tinyjax",
        """
        print(repr(grad(lambda x: (x**2).sum())(jnp.array([1.0, 2.0, 3.0]))))
        print(jnp.array([1.0, 2.0, 3.0, 4.0]) * 2)
        x = jnp.arange(3)
        try:
            x[0] = 10
        except TypeError as e:
            print(".at[0].set(10)" in str(e))
        """,
    )
    assert text.splitlines() == ["Array([2., 4., 6.], dtype=float32)", "[2. 4. 6. 8.]", "True"]
