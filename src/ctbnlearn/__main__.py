"""`python -m ctbnlearn`."""

import sys

from ctbnlearn.cli import main

if __name__ == "__main__":
    sys.exit(main())
