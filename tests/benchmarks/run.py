"""How fast the scheduler is, beside its goals and beside others: `python tests/benchmarks/run.py --help`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from benchmarks.main import main

    sys.exit(main())
