"""The programs of tests/stage are staged here, too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "stage"))
