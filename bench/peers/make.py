"""Make the environments of the libraries that PrivacyGauge is compared with, one each.

    python bench/peers/make.py            all of them, below .peers/
    python bench/peers/make.py art        one of them

PRIVACYGAUGE_PEERS names another folder. Each NAME.txt holds every version, so nothing is resolved
anew: what an environment has is what the table was measured with. One that cannot be installed is
reported in a line, and the others go on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.txt")))


def made(name: str, folder: Path) -> str:
    """Return what came of an environment: it is there, or why it is not."""
    home, wanted = folder / name, (HERE / f"{name}.txt")
    stamp = home / "installed.txt"
    if stamp.exists() and stamp.read_text() == wanted.read_text():
        return "is there"
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", "--no-deps"]
    for command in ([sys.executable, "-m", "venv", str(home)], [*pip, "-r", str(wanted)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return "fails: " + (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
    stamp.write_text(wanted.read_text())
    return "made"


def main() -> None:
    """Make them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    default = os.environ.get("PRIVACYGAUGE_PEERS", HERE.parent.parent / ".peers")
    parser.add_argument("--folder", type=Path, default=Path(default))
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"NAME must be one of {', '.join(NAMES)}, got {unknown[0]}")
    for name in options.names or NAMES:
        print(f"{name}: {made(name, options.folder)}", flush=True)


if __name__ == "__main__":
    main()
