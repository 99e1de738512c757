"""Pictures: what they show is what happened, and it can be read."""

import io
import itertools
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, viz
from tinyjax.compiler.executable import compile_jaxpr
from tinyjax.core import all_eqns
from tinyjax.viz.canvas import COLORS, EDGES, GREY, INK, SOFT, Canvas

matplotlib = pytest.importorskip("matplotlib")


# ---- programs to draw ---------------------------------------------------------------------------


def mlp_loss(params, x, y):
    """A small network: its gradient has about forty equations."""
    (w, b), (v, c) = params
    return jnp.mean((jnp.tanh(x @ w + b) @ v + c - y) ** 2)


PARAMS = [(jnp.ones((3, 4)), jnp.ones(4)), (jnp.ones((4, 1)), jnp.ones(1))]
BATCH = jnp.ones((5, 3)), jnp.ones((5, 1))


def train(w, _):
    """One step, for scan."""
    return w - jax.grad(lambda w: mlp_loss([(w, PARAMS[0][1]), PARAMS[1]], *BATCH))(w), 0.0


def wave(x):
    return jnp.sin(x) * x + x**2


def softmax(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def careful():
    """Every key is used once."""
    k1, k2, k3 = jax.random.split(jax.random.key(42), 3)
    x = jax.random.normal(k1, (3, 4)) + jax.random.uniform(k2)
    return x, [jax.random.permutation(jax.random.fold_in(k3, i), 5) for i in range(3)]


def careless():
    """The blog posts' pattern: draw, then split the same key; and one key drawn from twice."""
    key = jax.random.PRNGKey(0)
    x = jax.random.normal(key, (3,))
    key, sub = jax.random.split(key)
    return x, jax.random.normal(sub, (3,)), jax.random.normal(sub, (3,))


def long_chain():
    key = jax.random.key(0)
    for _ in range(12):
        key, sub = jax.random.split(key)
        jax.random.normal(sub)


def twisted(x1, x2):
    return jnp.log(x1) + x1 * x2 - jnp.sin(x2)


def diamond(x):
    a = jnp.sin(x)
    return a * a + x


def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


def bowl(theta):
    return (theta[0] - 3) ** 2 + 2 * (theta[1] + 1) ** 2


PATH = [(1.0, 1.0), (2.0, 0.0), (2.9, -0.8)]
STACK = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
STACK_ARGS = jnp.ones(3), jnp.ones((8, 5, 3)), jnp.ones((8, 5))
TREE = {"w": jnp.ones((3, 2)), "b": [jnp.zeros(2), None, 3.0], "opt": (jnp.int32(1), {"v": ()})}


def scanned(x):
    return lax.scan(lambda c, a: (c + a, c * a), 0.0, x)


def branches(x):
    return lax.cond(x > 0, jnp.sin, lambda x: x * 2, x)


def sorted_shift(x):
    return jnp.sort(x * 2) + 1


def network(w1, b1, w2, x):
    return jnp.tanh(x @ w1 + b1) @ w2


NETWORK_ARGS = jnp.ones((64, 128)), jnp.ones(128), jnp.ones((128, 10)), jnp.ones((256, 64))

PICTURES = {
    "graph": lambda: viz.jaxpr_graph(wave, 1.0),
    "graph of a gradient": lambda: viz.jaxpr_graph(jax.grad(mlp_loss), PARAMS, *BATCH),
    "graph of a scan of gradients": lambda: viz.jaxpr_graph(
        lambda w: lax.scan(train, w, jnp.arange(3.0)), PARAMS[0][0]
    ),
    "graph with jit": lambda: viz.jaxpr_graph(lambda x: jax.jit(wave)(x) + x, jnp.ones(3)),
    "graph with scan": lambda: viz.jaxpr_graph(scanned, jnp.ones(3)),
    "graph with cond": lambda: viz.jaxpr_graph(branches, 1.0),
    "graph of random numbers": lambda: viz.jaxpr_graph(jax.random.normal, jax.random.key(0)),
    "tangents": lambda: viz.tangent_lines(
        lambda x: x**3 - 2 * x, jnp.linspace(-2, 2, 80), at=[-1.5, -0.816, 0.0, 1.2]
    ),
    "tangents and derivative": lambda: viz.tangent_lines(
        jnp.sin, jnp.linspace(-3, 3, 80), at=[-1, 0, 1.5], derivative=True
    ),
    "loss": lambda: viz.loss_landscape(bowl, (0, 5), (-3, 2), path=PATH),
    "loss without path": lambda: viz.loss_landscape(lambda w, b: w**2 + b**2, (-1, 1), (-1, 1)),
    "keys": lambda: viz.key_tree(careful),
    "keys, reused": lambda: viz.key_tree(careless),
    "keys, deep": lambda: viz.key_tree(long_chain),
    "keys, wide": lambda: viz.key_tree(
        lambda: jax.vmap(jax.random.normal)(jax.random.split(jax.random.key(1), 100))
    ),
    "no keys": lambda: viz.key_tree(lambda: None),
    "tree": lambda: viz.tree_diagram(TREE),
    "tree of one leaf": lambda: viz.tree_diagram(1.0),
    "tree, wide": lambda: viz.tree_diagram(list(range(40))),
    "vmap": lambda: viz.vmap_axes(loss, (None, 0, 0), *STACK_ARGS),
    "vmap, other axes": lambda: viz.vmap_axes(jnp.cumsum, 1, jnp.ones((4, 3)), out_axes=1),
    "vmap, large": lambda: viz.vmap_axes(jnp.sum, 0, jnp.ones((500, 9, 30))),
    "jvp": lambda: viz.jvp_tape(twisted, (2.0, 5.0), (1.0, 0.0)),
    "vjp": lambda: viz.vjp_tape(twisted, 2.0, 5.0),
    "vjp of a diamond": lambda: viz.vjp_tape(diamond, -1.0),
    "vjp of arrays": lambda: viz.vjp_tape(loss, jnp.ones(2), jnp.ones((3, 2)), jnp.arange(3.0)),
    "fusion": lambda: viz.fusion_diagram(twisted, jnp.ones(1000), jnp.ones(1000)),
    "fusion of rows": lambda: viz.fusion_diagram(softmax, jnp.ones((100, 50))),
    "fusion with products": lambda: viz.fusion_diagram(network, *NETWORK_ARGS),
    "fusion around sort": lambda: viz.fusion_diagram(sorted_shift, jnp.ones(100)),
    "fusion, without": lambda: viz.fusion_diagram(softmax, jnp.ones((100, 50)), fused=False),
    "stack": lambda: viz.transformation_stack(STACK, *STACK_ARGS),
    "stack without arguments": lambda: viz.transformation_stack(jax.jit(jax.grad(jnp.sin))),
}
each_picture = pytest.mark.parametrize("name", PICTURES)


@pytest.fixture(scope="module")
def timeline():
    """A data-parallel step on four devices."""

    def step(w, x, y):
        return w - 0.1 * lax.pmean(jax.grad(loss)(w, x, y), "i")

    f = jax.pmap(step, axis_name="i", in_axes=(None, 0, 0), out_axes=None)
    return viz.device_timeline(f, jnp.ones(50), jnp.ones((4, 200, 50)), jnp.ones((4, 200)))


# ---- every picture ------------------------------------------------------------------------------


def texts(picture):
    """All texts that can be seen, and where they stand: pixels of the picture."""
    renderer = picture.figure.canvas.get_renderer()
    picture.figure.canvas.draw()
    found = picture.figure.findobj(matplotlib.text.Text)
    shown = [t for t in found if t.get_visible() and t.get_text() and visible_tick(t)]
    return [(t.get_text(), t.get_window_extent(renderer), t) for t in shown]


def visible_tick(text):
    """Labels of ticks outside of the axes exist, but are not drawn."""
    axes = text.axes
    if axes is None or not axes.axison:
        return True
    ticks = [*axes.xaxis.get_major_ticks(), *axes.yaxis.get_major_ticks()]
    all_labels = [t for tick in ticks for t in (tick.label1, tick.label2)]
    drawn = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    if text not in all_labels:
        return text.axes.axison
    if text not in drawn:
        return False
    x_low, x_high = sorted(axes.get_xlim())
    y_low, y_high = sorted(axes.get_ylim())
    x, y = text.get_position()
    on_x = text in axes.get_xticklabels()
    return x_low <= x <= x_high if on_x else y_low <= y <= y_high


def assert_readable(picture):
    """No text is cut off or covers another one; none is small or hard to see."""
    width, height = picture.figure.get_size_inches() * picture.figure.dpi
    found = texts(picture)
    assert found
    for text, box, artist in found:
        assert box.x0 >= -0.5 and box.x1 <= width + 0.5, f"{text!r} is cut off"
        assert box.y0 >= -0.5 and box.y1 <= height + 0.5, f"{text!r} is cut off"
        assert artist.get_fontsize() >= 9, text
    for (one, a, _), (other, b, _) in itertools.combinations(found, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert wide < 1 or high < 2, f"{one!r} and {other!r} overlap"


@each_picture
def test_a_picture_can_be_read(name):
    picture = PICTURES[name]()
    assert_readable(picture)
    width, height = picture.figure.get_size_inches() * picture.figure.dpi
    assert width <= 660, "wider than a notebook"
    assert len(picture.alt) > 20 and picture.alt.endswith(".") and "\n" not in picture.alt


def test_a_timeline_can_be_read(timeline):
    assert_readable(timeline)


def contrast(color, page):
    """The ratio of luminances that the WCAG defines."""
    light, dark = sorted(map(luminance, (color, page)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color):
    red, green, blue = matplotlib.colors.to_rgb(color)
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_colors_read_on_light_and_dark_pages():
    for page in ("#ffffff", "#1e1e1e"):
        assert contrast(GREY, page) >= 4, "text outside of boxes"
        for name, edge in EDGES.items():
            assert contrast(edge, page) >= 2.9, name
    for name, (fill, _) in COLORS.items():
        assert contrast(INK, fill) >= 12, name
        assert contrast(SOFT, fill) >= 6, name


def test_a_picture_shows_itself_in_a_notebook():
    picture = viz.tree_diagram({"a": 1.0})
    data, metadata = picture._repr_mimebundle_()
    image = matplotlib.image.imread(io.BytesIO(data["image/png"]), format="png")
    assert metadata["image/png"]["alt"] == picture.alt
    assert image.shape[1] == 2 * metadata["image/png"]["width"]
    assert image[0, 0, 3] == 0, "the background is transparent"
    assert data["text/plain"] == repr(picture) == f"<Picture: {picture.alt}>"


def test_notebooks_show_a_picture_once_and_keep_its_words():
    """Whether or not they have been told how to show figures in general."""
    from IPython.core.formatters import DisplayFormatter

    picture, formatter = viz.tree_diagram([1.0, 2.0]), DisplayFormatter()
    for general in (None, lambda figure: b"not this one"):
        if general:
            png = formatter.formatters["image/png"]
            png.for_type(matplotlib.figure.Figure, general)
        data, metadata = formatter.format(picture)
        assert data["image/png"].startswith(b"\x89PNG") and set(data) == {"image/png", "text/plain"}
        assert metadata["image/png"]["alt"] == picture.alt


def test_nothing_is_left_open():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    for name in ("graph", "tangents", "loss", "keys"):
        PICTURES[name]().png()
    assert plt.get_fignums() == before


def test_importing_tinyjax_and_viz_loads_no_matplotlib():
    code = (
        "import sys, tinyjax\n"
        "from tinyjax import viz\n"
        "tinyjax.viz.jaxpr_graph.__doc__ if 'draw' in sys.argv else 0\n"
        "print('matplotlib' in sys.modules, 'tinyjax.viz.canvas' in sys.modules)"
    )
    for args, said in (((), "False False"), (("draw",), "True True")):
        done = subprocess.run(
            [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == said


def test_without_matplotlib_the_error_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = sys.modules['matplotlib.figure'] = None\n"
        "from tinyjax import viz\n"
        "viz.tree_diagram(1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "tinyjax.viz draws with matplotlib, which is not installed" in done.stderr
    assert "pip install matplotlib" in done.stderr


# ---- jaxpr_graph --------------------------------------------------------------------------------


def squeezed(text):
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize(
    "f, args",
    [(wave, (1.0,)), (softmax, (jnp.ones((2, 3)),)), (jax.grad(wave), (1.0,)), (diamond, (1.0,))],
)
def test_the_graph_has_the_equations_of_the_jaxpr(f, args):
    jaxpr = jax.make_jaxpr(f)(*args)
    facts = viz.jaxpr_graph(f, *args).facts
    assert len(facts["equations"]) == len(jaxpr.eqns)
    printed = squeezed(re.sub(r"\[[^\]]*\]", "", re.sub(r":\w+\[[^\]]*\]", "", str(jaxpr))))
    for text, eqn in zip(facts["equations"], jaxpr.eqns):
        assert f" = {eqn.primitive.name}" in text
        without = re.sub(r"\[[^\]]*\]", "", text)
        if not re.search(r"\d\.\d{4,}|e-", printed):  # long numbers are shortened in pictures
            assert without in printed


def test_the_graph_shows_programs_inside():
    f = lambda x: jax.jit(wave)(x) + 1
    picture = viz.jaxpr_graph(f, 2.0)
    assert len(picture.facts["equations"]) == len(list(all_eqns(jax.make_jaxpr(f)(2.0))))
    assert "The jit is a box that holds a program of 4 equations." in picture.alt
    flat = viz.jaxpr_graph(f, 2.0, depth=0)
    assert len(flat.facts["equations"]) == 2
    assert "wave 4 equations inside" in [text for text, _, _ in texts(flat)]


def test_programs_of_one_equation_have_names():
    loop = lambda x: lax.while_loop(lambda c: c < 10, lambda c: c * 2, x)
    picture = viz.jaxpr_graph(loop, 1.0)
    rows = {text: box.y1 for text, box, _ in texts(picture)}  # upwards
    less, times = [next(y for text, y in rows.items() if f" {p} " in text) for p in ("lt", "mul")]
    assert rows["cond"] > less > rows["body"] > times
    labels = [text for text, _, _ in texts(viz.jaxpr_graph(branches, 1.0))]
    assert "branch 0" in labels and "branch 1" in labels


def test_the_graph_of_a_jaxpr_is_that_of_its_function():
    one, other = viz.jaxpr_graph(wave, 1.0), viz.jaxpr_graph(jax.make_jaxpr(wave)(1.0))
    assert one.facts == other.facts and one.alt == other.alt


def test_edges_are_the_uses_of_variables():
    edges = viz.jaxpr_graph(diamond, 1.0).facts["edges"]
    assert edges == [
        ("a", "b = sin a"),
        ("b", "c = mul b b"),
        ("b", "c = mul b b"),
        ("c", "d = add c a"),
        ("a", "d = add c a"),
    ]


def test_boxes_of_the_graph_do_not_touch():
    from tinyjax.viz.graph import Graph, printed_names

    jaxpr = jax.make_jaxpr(jax.grad(mlp_loss))(PARAMS, *BATCH)
    boxes = Graph(Canvas(), jaxpr, printed_names(jaxpr), 2, 616).boxes
    for a, b in itertools.combinations(boxes, 2):
        apart = a.x + a.width <= b.x + 0.01 or b.x + b.width <= a.x + 0.01
        assert apart or a.y + a.height <= b.y or b.y + b.height <= a.y
    for box in boxes:
        assert all(source.y + source.height < box.y for source in box.sources)


# ---- curves -------------------------------------------------------------------------------------


def test_slopes_are_those_of_grad():
    points = [-1.0, 0.5, 2.0]
    facts = viz.tangent_lines(wave, jnp.linspace(-3, 3, 50), at=points).facts
    assert facts["slopes"] == [float(jax.grad(wave)(x)) for x in points]
    assert facts["heights"] == [float(wave(x)) for x in points]


def test_a_pair_is_a_range():
    """(-3, 3) is not a curve of two points."""
    curve = viz.tangent_lines(jnp.sin, (-3, 3)).figure.axes[0].get_lines()[0]
    xs, ys = curve.get_data()
    assert len(xs) > 100 and (xs[0], xs[-1]) == (-3, 3)
    np.testing.assert_allclose(ys, np.sin(xs), atol=1e-5)
    with pytest.raises(ValueError, match=r"or \(low, high\)"):
        viz.tangent_lines(jnp.sin, (3, -3))


def test_points_without_a_tangent_are_told():
    """log(0): no line, no warning of NumPy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = viz.tangent_lines(jnp.log, (0.0, 3.0), at=[0.0, 1.0], derivative=True)
        picture._repr_mimebundle_()
    assert "slope inf at x = 0" in picture.alt
    assert picture.facts["slopes"] == [np.inf, 1.0]
    labels = [t.get_text() for t in picture.figure.axes[0].texts]
    assert labels == ["slope 1"]


def test_tangents_touch_the_curve():
    picture = viz.tangent_lines(jnp.cos, jnp.linspace(-3, 3, 50), at=[1.0])
    curve, tangent, point = picture.figure.axes[0].get_lines()
    (x0, x1), (y0, y1) = tangent.get_data()
    assert (y1 - y0) / (x1 - x0) == pytest.approx(-np.sin(1), rel=1e-4)
    assert (x0 + x1) / 2 == 1 and point.get_xdata() == [1]
    assert np.asarray(curve.get_ydata()) == pytest.approx(np.cos(curve.get_xdata()), abs=1e-6)


def test_the_path_and_the_losses_are_those_given():
    facts = viz.loss_landscape(bowl, (0, 5), (-3, 2), path=PATH).facts
    assert facts["path"] == pytest.approx(np.array(PATH), abs=1e-6)
    assert facts["losses"] == pytest.approx([float(bowl(jnp.array(p))) for p in PATH])
    assert facts["grid"].min() == pytest.approx(0, abs=0.01)


# ---- keys ---------------------------------------------------------------------------------------


def red_boxes(picture):
    edge = matplotlib.colors.to_rgba(EDGES["red"])
    return sum(patch.get_edgecolor() == edge for patch in picture.figure.axes[0].patches)


def test_keys_used_once_are_not_red():
    picture = viz.key_tree(careful)
    assert picture.facts["reused"] == []
    assert picture.facts["keys"] == [
        ("key(42)", ["split"]),
        ("split[0]", ["normal"]),
        ("split[1]", ["uniform"]),
        ("split[2]", ["fold_in", "fold_in", "fold_in"]),
        *((f"fold_in {i}", ["permutation"]) for i in range(3)),
    ]
    assert not red_boxes(picture) and "none of them reused" in picture.alt
    assert not any("reused" in text for text, _, _ in texts(picture))


def test_keys_used_twice_are_red_and_say_so():
    picture = viz.key_tree(careless)
    assert picture.facts["reused"] == ["key(0)", "split[1]"]
    assert red_boxes(picture) == 5  # two keys and what was drawn from them
    labels = [text for text, _, _ in texts(picture)]
    assert labels.count("✗ reused: 2 uses") == 2
    assert (
        "2 of them reused: key(0) (normal and split) and split[1] (normal and normal)"
        in picture.alt
    )


def test_the_words_are_those_of_the_keys():
    picture = viz.key_tree(careful)
    labels = {text for text, _, _ in texts(picture)}
    for key in jax.random.split(jax.random.key(42), 3):
        high, low = map(int, jax.random.key_data(key))
        assert f"{high:08x} {low:08x}" in labels


def test_keys_are_seen_inside_of_jit_vmap_grad_and_scan():
    @jax.jit
    def jitted(key):
        a, b = jax.random.split(key)
        return jax.random.normal(a) + jax.random.gamma(b, 2.0)

    facts = viz.key_tree(jitted, jax.random.key(7)).facts
    assert facts["keys"] == [
        ("a key", ["split"]),
        ("split[0]", ["normal"]),
        ("split[1]", ["gamma"]),
    ]

    batched = jax.vmap(lambda k: jax.random.normal(k))
    facts = viz.key_tree(lambda: batched(jax.random.split(jax.random.key(7), 3))).facts
    assert [uses for _, uses in facts["keys"]] == [["split"], ["normal"], ["normal"], ["normal"]]

    noisy = jax.grad(lambda x, key: x * jax.random.normal(key))
    assert viz.key_tree(noisy, 1.0, jax.random.key(7)).facts["keys"] == [("a key", ["normal"])]

    def step(key, _):
        key, sub = jax.random.split(key)
        return key, jax.random.normal(sub)

    facts = viz.key_tree(lambda: lax.scan(step, jax.random.key(0), length=3)).facts
    assert [uses for _, uses in facts["keys"]].count(["normal"]) == 3 and not facts["reused"]


def test_watching_changes_no_numbers():
    watched = []
    viz.key_tree(lambda: watched.append(careless()))
    for a, b in zip(watched[0], careless()):
        assert np.array_equal(a, b)


def test_the_picture_takes_the_place_of_warnings_and_errors():
    with warnings.catch_warnings(), jax.debug_key_reuse(True):
        warnings.simplefilter("error")
        assert len(viz.key_tree(careless).facts["reused"]) == 2
        with pytest.raises(jax.errors.KeyReuseError):
            careless()


def test_a_clone_may_be_used_again():
    def cloned():
        key = jax.random.key(0)
        return jax.random.normal(key) + jax.random.normal(jax.random.clone(key))

    assert viz.key_tree(cloned).facts["reused"] == []


SAMPLERS = {
    "bernoulli": lambda key: jax.random.bernoulli(key, 0.5, (3,)),
    "binomial": lambda key: jax.random.binomial(key, 5, 0.5, (3,)),
    "categorical": lambda key: jax.random.categorical(key, jnp.zeros(4)),
    "choice": lambda key: jax.random.choice(key, 5, (3,), replace=False, p=jnp.ones(5) / 5),
    "dirichlet": lambda key: jax.random.dirichlet(key, jnp.ones(3)),
    "gamma": lambda key: jax.random.gamma(key, 2.0, (3,)),
    "multivariate_normal": lambda key: jax.random.multivariate_normal(
        key, jnp.zeros(2), jnp.eye(2)
    ),
    "orthogonal": lambda key: jax.random.orthogonal(key, 3),
    "permutation": lambda key: jax.random.permutation(key, 5),
    "poisson": lambda key: jax.random.poisson(key, 30.0, (3,)),
    "randint": lambda key: jax.random.randint(key, (3,), 0, 10),
    "t": lambda key: jax.random.t(key, 3.0, (3,)),
    "truncated_normal": lambda key: jax.random.truncated_normal(key, -1.0, 1.0, (3,)),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_what_a_sampler_does_inside_is_its_own(name):
    """It may split the key that it is given as often as it likes: that is one use."""
    for f in (SAMPLERS[name], jax.jit(SAMPLERS[name])):
        facts = viz.key_tree(f, jax.random.key(0)).facts
        assert facts == {"keys": [("a key", [name])], "reused": []}


def test_computing_again_for_a_derivative_is_no_reuse():
    f = jax.checkpoint(lambda x, key: jnp.sin(x * jax.random.normal(key)))
    for g in (jax.grad(f), jax.jit(jax.grad(f))):
        facts = viz.key_tree(g, 1.0, jax.random.key(0)).facts
        assert not facts["reused"] and len(facts["keys"][0][1]) == 1


def test_one_key_in_every_step_of_a_loop_is_reuse():
    def same_noise(key):
        return lax.fori_loop(0, 3, lambda i, x: x + jax.random.normal(key), 0.0)

    def own_noise(key):
        step = lambda i, x: x + jax.random.normal(jax.random.fold_in(key, i))
        return lax.fori_loop(0, 3, step, 0.0)

    assert viz.key_tree(same_noise, jax.random.key(0)).facts["reused"] == ["a key"]
    assert viz.key_tree(own_noise, jax.random.key(0)).facts["reused"] == []


def test_a_block_is_watched():
    with viz.watch_keys() as watched:
        careless()
    jax.random.normal(jax.random.key(9))  # not watched any more
    assert viz.key_tree(watched).facts == viz.key_tree(careless).facts


def test_many_keys_are_summed_up():
    picture = PICTURES["keys, wide"]()
    assert len(picture.facts["keys"]) == 101
    labels = [text for text, _, _ in texts(picture)]
    assert "… 96 more keys" in labels and "96 of them used" in labels


# ---- trees and axes -----------------------------------------------------------------------------


def test_the_tree_has_the_leaves_of_the_pytree():
    facts = viz.tree_diagram(TREE).facts
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(TREE)]
    assert [path for path, _ in facts["leaves"]] == paths
    assert [text for _, text in facts["leaves"]] == ["f32[2]", "3.0", "i32[]", "f32[3,2]"]
    labels = [text for text, _, _ in texts(viz.tree_diagram(TREE))]
    assert "None: no leaf" in labels and "empty tuple" in labels


def test_vmap_shows_what_a_call_sees():
    seen = []

    def f(w, x):
        seen.append((w.shape, x.shape))
        return x[:2, None] * w

    picture = viz.vmap_axes(f, (None, 1), jnp.ones(3), jnp.ones((4, 5)), out_axes=2)
    facts = picture.facts
    assert facts["inputs"] == [("w", (3,), None, (3,)), ("x", (4, 5), 1, (4,))]
    assert seen == [(facts["inputs"][0][3], facts["inputs"][1][3])]
    whole = jax.vmap(f, (None, 1), 2)(jnp.ones(3), jnp.ones((4, 5))).shape
    assert facts["outputs"] == [((2, 3), 2, whole)] and whole == (2, 3, 5)
    assert "x of shape (4, 5) is mapped along axis 1, each call sees shape (4,)" in picture.alt


def test_arrays_stay_in_their_columns():
    from tinyjax.viz.stacks import COLUMN, MARGIN

    picture = viz.vmap_axes(lambda x: x, 2, jnp.ones((30, 40, 50)), out_axes=1)
    cells = [
        p.get_xy() for p in picture.figure.axes[0].patches if len(getattr(p, "_path", ())) == 5
    ]
    for corners in cells:
        left, right = corners[:, 0].min() - MARGIN, corners[:, 0].max() - MARGIN
        assert right <= (left // COLUMN + 1) * COLUMN - 20, "runs into the next column"


# ---- tapes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f, primals",
    [(twisted, (2.0, 5.0)), (diamond, (-1.0,)), (lambda x: jax.nn.relu(x) / x, (2.0,))],
)
def test_the_tapes_end_in_the_derivatives(f, primals):
    rows = viz.vjp_tape(f, *primals).facts["rows"]
    expected = jax.grad(f, tuple(range(len(primals))))(*primals)
    for row, x, ct in zip(rows, primals, expected):
        assert float(row[1][0]) == x
        assert float(row[3][0]) == pytest.approx(float(ct), rel=1e-6)
    tangents = tuple(0.5 + k for k in range(len(primals)))
    rows = viz.jvp_tape(f, primals, tangents).facts["rows"]
    value, tangent = jax.jvp(f, primals, tangents)
    assert float(rows[-1][1][0]) == pytest.approx(float(value), rel=1e-6)
    assert float(rows[-1][3][0]) == pytest.approx(float(tangent), rel=1e-6)


def test_cotangents_of_arrays():
    args = jnp.array([1.0, 2.0]), jnp.arange(6.0).reshape(3, 2), jnp.ones(3)
    rows = viz.vjp_tape(loss, *args).facts["rows"]
    for row, ct in zip(rows, jax.grad(loss, (0, 1, 2))(*args)):
        assert np.asarray(row[3][0]) == pytest.approx(np.asarray(ct), rel=1e-5)
    rows = viz.vjp_tape(jnp.sin, args[0], cotangent=jnp.array([1.0, -2.0])).facts["rows"]
    assert np.asarray(rows[0][3][0]) == pytest.approx(np.cos([1, 2]) * [1, -2], rel=1e-5)


def test_every_cotangent_is_the_derivative_by_that_variable():
    """Of a diamond: v1 = sin x is used twice, so its cotangent has two parts."""
    picture = viz.vjp_tape(diamond, -1.0)
    (x, v1, v2, v3) = [float(row[3][0]) for row in picture.facts["rows"]]
    assert v3 == v2 == 1 and v1 == pytest.approx(2 * np.sin(-1.0), rel=1e-6)
    assert x == pytest.approx(1 + 2 * np.sin(-1.0) * np.cos(-1.0), rel=1e-5)
    assert "cotangent −0.8415 − 0.8415 = −1.683" in picture.alt


def test_a_variable_that_passes_its_tangent_on_has_a_cotangent_of_its_own():
    rows = viz.vjp_tape(lambda x: (x + 1.0) * x, 3.0).facts["rows"]
    assert [float(row[3][0]) for row in rows] == [7, 3, 1]  # x, x + 1, the product
    assert rows[1][2] == ["dv1 = dx"]


def test_integers_have_no_tangents():
    rows = viz.vjp_tape(lambda x, n: x * n, 2.0, 3).facts["rows"]
    assert rows[1][3] == [None] and float(rows[0][3][0]) == 3


# ---- kernels ------------------------------------------------------------------------------------


def check_plan(f, *args):
    """The groups of the picture are those that the driver runs."""
    facts = viz.fusion_diagram(f, *args).facts
    driver = compile_jaxpr(jax.make_jaxpr(f)(*args), f.__name__).plan()
    kernels = [title for title, *_ in facts["groups"] if title != "NumPy"]
    assert kernels == [f"kernel {kernel.name}" for kernel in driver.kernels]
    names = [text.split(" = ")[0] for _, parts, *_ in facts["groups"] for p in parts for text in p]
    assert sorted(names) == sorted(driver.namer(e.outvars[0]) for e in driver.program.eqns)
    source = driver.text()
    for text in facts["registers"]:
        name = text.split(" = ")[0]
        assert f"{name} = new_{name}()" not in source and f"{name}[" not in source, text
    for _, _, reads, writes in facts["groups"]:
        for array in [*reads, *writes]:
            assert re.search(rf"\b{array.split(':')[0]}\b", source), array
    return facts


def test_one_kernel_for_elementwise_operations():
    facts = check_plan(twisted, jnp.ones(1000), jnp.ones(1000))
    ((_, [loop], reads, writes),) = facts["groups"]
    assert len(loop) == 5 and len(facts["registers"]) == 4
    assert reads == ["a:f32[1000]", "b:f32[1000]"] and writes == ["g:f32[1000]"]
    assert facts["bytes"] == (3 * 4000, (2 + 3 + 3 + 2 + 3) * 4000)


def test_without_jit_each_operation_is_alone():
    args = jnp.ones(1000), jnp.ones(1000)
    facts = viz.fusion_diagram(twisted, *args, fused=False).facts
    jaxpr = jax.make_jaxpr(twisted)(*args)
    assert [parts[0][0] for _, parts, *_ in facts["groups"]] == [
        "c = log a",
        "d = mul a b",
        "e = add c d",
        "f = sin b",
        "g = sub e f",
    ]
    assert len(facts["groups"]) == len(jaxpr.eqns) and not facts["registers"]
    assert facts["bytes"] == (52_000, 52_000)
    rows = viz.fusion_diagram(softmax, jnp.ones((100, 50)), fused=False).facts["groups"]
    views = [text for _, ((*before, _),), *_ in rows for text in before]
    assert views == ["c = broadcast_in_dim b", "g = broadcast_in_dim f"]  # NumPy copies nothing


def test_a_softmax_is_one_loop():
    facts = check_plan(softmax, jnp.ones((100, 50)))
    ((_, [loop], reads, writes),) = facts["groups"]
    assert len(loop) == 7 and len(reads) == len(writes) == 1


def test_numpy_has_groups_of_its_own():
    facts = check_plan(sorted_shift, jnp.ones(100))
    assert [title for title, *_ in facts["groups"]] == [
        "kernel sorted_shift_0",
        "NumPy",
        "kernel sorted_shift_1",
    ]
    facts = check_plan(network, *NETWORK_ARGS)
    assert [title for title, *_ in facts["groups"]] == ["NumPy", "kernel network_0", "NumPy"]
    small = check_plan(network, jnp.ones((3, 4)), jnp.ones(4), jnp.ones((4, 2)), jnp.ones((5, 3)))
    assert [title for title, *_ in small["groups"]] == ["kernel network_0"]


# ---- devices ------------------------------------------------------------------------------------


def test_a_timeline_has_the_times_of_the_devices(timeline):
    facts = timeline.facts
    assert facts["exchanges"] == ["psum"] and len(facts["devices"]) == 4
    for pieces in facts["devices"]:
        assert len(pieces) == 3  # computes, exchanges, computes
        flat = [t for piece in pieces for t in piece]
        assert flat == sorted(flat) and flat[0] > 0 and flat[-1] < facts["seconds"]
    # nobody leaves the exchange before everybody has come
    last_to_come = max(pieces[1][0] for pieces in facts["devices"])
    assert min(pieces[1][1] for pieces in facts["devices"]) >= last_to_come
    assert "on 4 devices" in timeline.alt and "1 exchange (psum) takes" in timeline.alt


def test_clocks_do_not_stay_in_the_program(timeline):
    f = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
    viz.device_timeline(f, jnp.ones(2))
    assert "clock" not in str(jax.make_jaxpr(f)(jnp.ones(2)))
    assert np.array_equal(f(jnp.arange(2.0)), [1, 1])


# ---- transformations ----------------------------------------------------------------------------


def test_the_stack_shows_the_types_at_each_level():
    picture = viz.transformation_stack(STACK, *STACK_ARGS)
    assert picture.facts["layers"] == [
        ("jit", "w:f32[3] x:f32[8,5,3] y:f32[8,5]", "f32[8,3]"),
        ("vmap", "w:f32[3] x:f32[8,5,3] y:f32[8,5]", "f32[8,3]"),
        ("grad", "w:f32[3] x:f32[5,3] y:f32[5]", "f32[3]"),
        ("loss", "w:f32[3] x:f32[5,3] y:f32[5]", "f32[]"),
    ]
    assert "jit(vmap(grad(loss), in_axes=(None, 0, 0)))" in picture.alt
    names = [layer[0] for layer in PICTURES["stack without arguments"]().facts["layers"]]
    assert names == ["jit", "grad", "sin"]


# ---- mistakes -----------------------------------------------------------------------------------

XS = np.linspace(0, 1, 5)
MISTAKES = [
    (lambda: viz.jaxpr_graph(3), TypeError, "f_or_jaxpr=3"),
    (lambda: viz.jaxpr_graph(jax.make_jaxpr(wave)(1.0), 1.0), TypeError, "give no args"),
    (lambda: viz.tangent_lines(3, XS), TypeError, "f must be a function, got 3"),
    (lambda: viz.tangent_lines(wave, [1.0]), ValueError, "xs must be an array of at least two"),
    (lambda: viz.tangent_lines(wave, XS, at=range(9)), ValueError, "at most 8 tangents"),
    (lambda: viz.tangent_lines(lambda x: x * XS, XS), ValueError, "f must return one number"),
    (lambda: viz.loss_landscape(3, (0, 1), (0, 1)), TypeError, "loss must be a function, got 3"),
    (lambda: viz.loss_landscape(bowl, (1, 0), (0, 1)), ValueError, r"x_range must be a pair"),
    (lambda: viz.loss_landscape(bowl, (0, 1), 5), ValueError, r"y_range must be a pair"),
    (
        lambda: viz.loss_landscape(bowl, (0, 1), (0, 1), path=[1, 2]),
        ValueError,
        r"path must be pairs \(w, b\), got an array of shape \(2,\)",
    ),
    (lambda: viz.key_tree(3), TypeError, "f_or_watched=3"),
    (lambda: jax.jit(lambda: viz.key_tree(careful))(), TypeError, "outside of jit, grad and vmap"),
    (lambda: viz.vmap_axes(3, 0, 1.0), TypeError, "f must be a function, got 3"),
    (lambda: viz.vmap_axes(wave, 0), ValueError, "needs the arguments"),
    (lambda: viz.jvp_tape(wave, 1.0, (1.0,)), TypeError, "primals must be a tuple"),
    (lambda: viz.jvp_tape(wave, (1.0,), 1.0), TypeError, "tangents must be a tuple"),
    (lambda: viz.jvp_tape(wave, (1.0,), (1.0, 2.0)), TypeError, "the structure of primals"),
    (lambda: viz.jvp_tape(wave, (1.0,), (XS,)), TypeError, r"tangents has shape \(5,\)"),
    (lambda: viz.vjp_tape(3, 1.0), TypeError, "f must be a function, got 3"),
    (lambda: viz.vjp_tape(wave, "x"), TypeError, "primals must be numbers and arrays, got 'x'"),
    (lambda: viz.vjp_tape(wave, 1.0, cotangent=(1, 2)), TypeError, "one leaf for each of 1 result"),
    (lambda: viz.fusion_diagram(3), TypeError, "f=3"),
    (lambda: viz.device_timeline(3), TypeError, "f=3"),
    (lambda: viz.device_timeline(wave, 1.0), TypeError, "must be a pmapped function"),
    (lambda: viz.transformation_stack(3), TypeError, "f=3"),
]


@pytest.mark.parametrize("call, error, said", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_named(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_pictures_can_be_drawn_in_an_ordinary_process(tmp_path):
    """Also without a display, and with the user's own settings of matplotlib."""
    code = (
        "import matplotlib.style\n"
        "matplotlib.rcParams.update({'font.size': 20, 'font.family': 'serif'})\n"
        "matplotlib.style.use('dark_background')\n"
        "from tinyjax import viz\n"
        f"viz.tree_diagram([1.0, 2.0]).savefig({str(tmp_path / 'tree.png')!r})"
    )
    environment = {k: v for k, v in os.environ.items() if k != "DISPLAY"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    image = matplotlib.image.imread(tmp_path / "tree.png")
    assert image[0, 0, 3] == 0
