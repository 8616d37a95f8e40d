"""python -m micrograd: the same as the command `micrograd`."""

import sys

from micrograd.cli import main

if __name__ == "__main__":
    sys.exit(main())
