"""The demonstration of `make learn`: a line is fitted to points, as written and compiled."""

import time
from collections.abc import Callable
from pathlib import Path

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn.exercise import root

STEPS = 300


# --- The whole program: what chapter 02 explains -------------------------------------------------


def model(theta, x):
    """A line with slope w and height b."""
    w, b = theta
    return w * x + b


def loss(theta, x, y):
    """The mean squared error."""
    return jnp.mean((model(theta, x) - y) ** 2)


def update(theta, x, y, lr=0.1):
    """One step of gradient descent."""
    return theta - lr * jax.grad(loss)(theta, x, y)


def make_data() -> tuple:
    """100 points around the line with w = 3 and b = -1."""
    key_x, key_noise = jax.random.split(jax.random.PRNGKey(2))
    x = jax.random.normal(key_x, (100,))
    return x, 3 * x - 1 + 0.1 * jax.random.normal(key_noise, (100,))


def train(step: Callable, x, y):
    """The loop; the theta it ends at and the steps per second, the first call left out."""
    theta = step(jnp.array([1.0, 1.0]), x, y)
    start = time.perf_counter()
    for _ in range(STEPS):
        theta = step(theta, x, y)
    theta.block_until_ready()
    return theta, STEPS / (time.perf_counter() - start)


# --- Telling about it ----------------------------------------------------------------------------


def save_plot(x, y, theta, path: Path) -> None:
    """The points and the line, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4))
    axes = figure.add_subplot()
    axes.scatter(x, y, s=12, label="100 points around y = 3 x - 1")
    ends = jnp.array([x.min(), x.max()])
    axes.plot(ends, model(theta, ends), "r", label="the line that gradient descent found")
    axes.set(xlabel="x", ylabel="y", title="tinyjax: the first loop")
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Fits the line twice and says how fast that went."""
    print(
        "Fitting w * x + b to 100 points with theta - lr * grad(loss)(theta, x, y) ...", flush=True
    )
    x, y = make_data()
    theta, eager = train(update, x, y)
    w, b = theta
    print(f"w: {w:.2f}, b: {b:.2f}", flush=True)
    compiled_theta, compiled = train(jax.jit(update), x, y)
    if not jnp.allclose(theta, compiled_theta, atol=1e-4):
        raise SystemExit(f"the compiled loop ends at {compiled_theta}, not at {theta}")
    print(f"as written:    {eager:10,.0f} steps per second")
    print(
        f"jit-compiled:  {compiled:10,.0f} steps per second ({compiled / eager:.0f} times as fast)"
    )
    path = root() / "first_loop.png"
    save_plot(x, y, theta, path)
    print(f"plot saved to {path}")


if __name__ == "__main__":
    main()
