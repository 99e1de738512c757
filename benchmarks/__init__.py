"""tinyjax beside jax: the same programs, timed in turn. `python -m benchmarks --help`"""
