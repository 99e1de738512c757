"""The bar chart: how long a call takes, as a share of what jax takes."""

from benchmarks.text import geometric_mean


def draw(outcomes, path):
    """Write a PNG with a bar for each workload, on a logarithmic axis that is split at 1."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    done = [o for o in outcomes if not o.error]
    names = [o.workload.name for o in done]
    ratios = [o.ratio("run") for o in done]
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.28 * len(done)), layout="constrained")
    colors = ["tab:green" if ratio <= 1 else "tab:red" for ratio in ratios]
    # Bars begin at 1: to the left tinyjax is faster.
    axes.barh(names, [ratio - 1 for ratio in ratios], left=1, color=colors)
    for place, ratio in enumerate(ratios):
        side = "right" if ratio <= 1 else "left"
        axes.annotate(f" {ratio:.2f} ", (ratio, place), ha=side, va="center", fontsize="small")
    axes.set_xscale("log")
    axes.set_xlim(min(0.3, *ratios) / 2, max(1.5, *ratios) * 2)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}x"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axvline(1, color="black", linewidth=1)
    axes.invert_yaxis()
    axes.set_title(f"Time of a call, tinyjax by jax (geometric mean {geometric_mean(ratios):.2f}x)")
    figure.savefig(path, dpi=150)
    plt.close(figure)
