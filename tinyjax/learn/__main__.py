"""`python -m tinyjax.learn` is the command `tinyjax`."""

import sys

from tinyjax.learn.cli import main

if __name__ == "__main__":
    sys.exit(main())
