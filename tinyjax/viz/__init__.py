"""Pictures of programs, keys, pytrees and kernels, drawn from what really happens. (matplotlib)

Each function returns a `Picture`, which notebooks show and whose `.alt` says in words what is to be
seen. `.savefig(file)` writes it: the background is transparent, and the colours read on light and
dark pages.
"""

from tinyjax.lazy import lazy_imports as _lazy_imports

with _lazy_imports(globals()):
    from tinyjax.viz.canvas import Picture
    from tinyjax.viz.graph import jaxpr_graph
    from tinyjax.viz.kernels import fusion_diagram
    from tinyjax.viz.key_watch import watch_keys
    from tinyjax.viz.keys import key_tree
    from tinyjax.viz.plots import loss_landscape, tangent_lines
    from tinyjax.viz.stacks import vmap_axes
    from tinyjax.viz.tapes import jvp_tape, vjp_tape
    from tinyjax.viz.timeline import device_timeline
    from tinyjax.viz.transformations import transformation_stack
    from tinyjax.viz.trees import tree_diagram
