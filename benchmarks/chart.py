"""The bar chart: how long a call takes, as a share of what jax takes."""

from benchmarks.text import geometric_mean, share

FASTER, SLOWER = "#3a7fd5", "#e07b00"  # told apart by people who see no red or green, too


def draw(workloads, path, ink="black"):
    """Write a PNG or SVG with a bar for each workload, on a logarithmic axis that is split at 1.

    workloads: as in the JSON file. ink: the color of words and lines; an SVG has no background.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "tinyjax",
    }  # the same figures, the same file
    settings |= dict.fromkeys(("text.color", "axes.edgecolor", "xtick.color", "ytick.color"), ink)
    done = [w for w in workloads if "error" not in w]
    with matplotlib.rc_context(settings):
        figure, axes = plt.subplots(figsize=(8, 1.2 + 0.24 * len(done)), layout="constrained")
        bars(axes, [w["name"] for w in done], [w["ratio"]["run"] for w in done], ink)
        svg = path.suffix == ".svg"
        metadata = {"Date": None} if svg else None
        figure.savefig(path, dpi=150, transparent=svg, metadata=metadata)
        plt.close(figure)


def bars(axes, names, ratios, ink):
    """Bars that begin at 1: to the left tinyjax is faster."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    colors = [FASTER if ratio <= 1 else SLOWER for ratio in ratios]
    axes.barh(names, [ratio - 1 for ratio in ratios], left=1, color=colors)
    for place, ratio in enumerate(ratios):
        side = "right" if ratio <= 1 else "left"
        axes.annotate(f" {share(ratio)} ", (ratio, place), ha=side, va="center", fontsize="small")
    axes.set_xscale("log")
    axes.set_xlim(min(0.3, *ratios) / 3, max(1.5, *ratios) * 2)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if min(ratios) < 0.02 else (1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}x"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axvline(1, color=ink, linewidth=1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(f"Time of a call, tinyjax by jax (geometric mean {geometric_mean(ratios):.2f}x)")


def in_words(workloads):
    """What the chart shows, for those who do not see it."""
    done = sorted((w["ratio"]["run"], w["name"]) for w in workloads if "error" not in w)
    ratios = [ratio for ratio, _ in done]
    (least, first), (most, last) = done[0], done[-1]
    faster = sum(ratio < 1 for ratio in ratios)
    return (
        f"Bar chart of the time of a call, tinyjax by JAX, for {len(done)} workloads: from "
        f"{share(least)} ({first}) to {share(most)} ({last}), geometric mean "
        f"{share(geometric_mean(ratios))}; {faster} of them take less time on tinyjax."
    )
