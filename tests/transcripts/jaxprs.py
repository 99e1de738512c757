# %%
import jax
import jax.numpy as jnp
import numpy as np
from jax import jit, lax, make_jaxpr


def func1(first, second):
    temp = first + jnp.sin(second) * 3.0
    return jnp.sum(temp)


print(make_jaxpr(func1)(jnp.zeros(8), jnp.ones(8)))


# %%
def inner(second):
    if second.shape[0] > 4:
        return jnp.sin(second)
    raise AssertionError


def func3(first, second):
    temp = first + inner(second) * 3.0
    return jnp.sum(temp)


print(make_jaxpr(func3)(jnp.zeros(8), jnp.ones(8)))

# %%
print(make_jaxpr(lambda arg: jnp.sum(arg[0] + jnp.sin(arg[1]) * 3.0))((jnp.zeros(8), jnp.ones(8))))

# %%
print(make_jaxpr(lambda i, x: lax.switch(i, [lambda x: x + 1.0, lambda x: x - 2.0, lambda x: x + 3.0], x))(1, 5.0))

# %%
print(make_jaxpr(lambda arg: lax.cond(arg >= 0.0, lambda t: t + 3.0, lambda f: f - 3.0, arg))(5.0))


# %%
def func8(arg1, arg2):
    return lax.cond(arg1 >= 0.0, lambda t: t[0], lambda f: jnp.array([1]) + f[1], arg2)


print(make_jaxpr(func8)(5.0, (jnp.zeros(1), 2.0)))


# %%
def func10(arg, n):
    ones = jnp.ones(arg.shape)
    return lax.fori_loop(0, n, lambda i, carry: carry + ones * 3.0 + arg, arg + ones)


print(make_jaxpr(func10)(np.ones(16), 5))


# %%
def func11(arr, extra):
    ones = jnp.ones(arr.shape)

    def body(carry, elems):
        a, b = elems
        return (carry + a * b + extra, carry)

    return lax.scan(body, 0.0, (arr, ones))


print(make_jaxpr(func11)(np.ones(16), 5.0))


# %%
def func12(arg):
    @jit
    def inner(x):
        return x + arg * jnp.ones(1)

    return arg + inner(arg - 2.0)


print(make_jaxpr(func12)(1.0))


# %%
def examine(fun, *args):
    jaxpr = jax.make_jaxpr(fun)(*args)
    print("invars:", [v.aval for v in jaxpr.jaxpr.invars])
    print("outvars:", [v.aval for v in jaxpr.jaxpr.outvars])
    print("constvars:", jaxpr.jaxpr.constvars)
    for eqn in jaxpr.jaxpr.eqns:
        print("equation:", len(eqn.invars), eqn.primitive, [v.aval for v in eqn.outvars])
    print()
    print("jaxpr:", jaxpr)


examine(lambda x: x * x, 5)

# %%
examine(lambda w, b, x: jnp.dot(w, x) + b + jnp.ones(5), jnp.ones((5, 10)), jnp.ones(5), jnp.ones(10))

# %%
from functools import wraps

from jax.extend.core import Literal, jaxpr_as_fun

inverses = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}


def eval_jaxpr(jaxpr, consts, *args):
    env = {}

    def read(var):
        return var.val if type(var) is Literal else env[var]

    env.update(zip(jaxpr.invars, args))
    env.update(zip(jaxpr.constvars, consts))
    for eqn in jaxpr.eqns:
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
    return list(map(read, jaxpr.outvars))


closed = jax.make_jaxpr(lambda x: jnp.exp(jnp.tanh(x)))(jnp.ones(5))
eval_jaxpr(closed.jaxpr, closed.literals, jnp.ones(5))


# %%
def inverse(fun):
    @wraps(fun)
    def wrapped(*args, **kwargs):
        closed = jax.make_jaxpr(fun)(*args, **kwargs)
        env = dict(zip(closed.jaxpr.outvars, args))
        for eqn in closed.jaxpr.eqns[::-1]:
            if eqn.primitive not in inverses:
                raise NotImplementedError(f"{eqn.primitive} does not have registered inverse.")
            env[eqn.invars[0]] = inverses[eqn.primitive](env[eqn.outvars[0]])
        return env[closed.jaxpr.invars[0]]

    return wrapped


f = lambda x: jnp.exp(jnp.tanh(x))
inverse(f)(f(1.0))

# %%
jax.make_jaxpr(inverse(f))(f(1.0))

# %%
jit(jax.vmap(jax.grad(inverse(f))))((jnp.arange(5.0) + 1.0) / 5.0)

# %%
# raises NotImplementedError: sin does not have registered inverse
inverse(jnp.sin)(1.0)

# %%
jaxpr_as_fun(closed)(jnp.ones(5)), closed.in_avals, closed.out_avals, closed.consts, closed.eqns[0].primitive.name

# %%
jaxpr, shape = make_jaxpr(lambda x: (x, {"a": x + 1}), return_shape=True)(jnp.ones(2))
print(jaxpr, shape)

# %%
make_jaxpr(lambda x, n: [x] * n, static_argnums=1)(1.0, 3)

# %%
make_jaxpr(lambda x: x + np.arange(3) + jnp.arange(3))(1)

# %%
make_jaxpr(lambda x: x[1:, None] @ x[None, :2])(jnp.ones(3))

# %%
make_jaxpr(lambda x: jnp.mean(x, 0) + x.std() + jnp.linalg.norm(x) + x[0])(jnp.ones((2, 2)))

# %%
make_jaxpr(lambda x, y: (x / y, x // y, x**y, x**2, x == y, -x, abs(x), ~(x > y)))(1.0, 2)

# %%
make_jaxpr(lambda x: jax.nn.softmax(x) + jax.nn.relu(x))(jnp.ones(3))

# %%
make_jaxpr(lambda x: jnp.where(x > 0, x, 0).astype(int).sum())(jnp.ones(3))

# %%
make_jaxpr(lambda x: x.at[0].set(1.0).at[jnp.array([1, 2])].add(x[2]))(jnp.ones(3))

# %%
make_jaxpr(lambda x: x[0] + x[-1] + x[jnp.array([0, 1])].sum() + x[::2].max())(jnp.ones(3))

# %%
make_jaxpr(lambda k: jax.random.normal(k, (2,)))(jax.random.key(0))

# %%
make_jaxpr(lambda x: jnp.concatenate([x, x]).reshape(2, -1).T.argmax(0))(jnp.ones(4))

# %%
make_jaxpr(lambda x: jnp.sort(x) + jnp.cumsum(x) + jnp.flip(x) + jnp.roll(x, 1) + jnp.clip(x, 0, 1))(jnp.ones(4))

# %%
make_jaxpr(jax.vmap(lambda x: x * 2 + x.sum(), axis_name="i"))(jnp.ones((2, 3)))

# %%
make_jaxpr(lambda x: jnp.einsum("ij,jk->ik", x, x) + jnp.eye(2) + jnp.outer(x[0], x[1]))(jnp.ones((2, 2)))
