"""A small audit and the fast core tests, on the newest Python and on the lowest versions promised.

``make test-versions`` runs it; CI does not. Two environments are made in ``.versions``: the
newest Python that pyproject.toml names with the newest dependencies, and the lowest Python with the
lowest version of each direct dependency. uv finds or fetches the interpreters.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".versions"
TESTS = ("tests/core", "tests/evaluate", "tests/laws")
TOOLS = ("pytest", "hypothesis")


def pythons() -> list[str]:
    """Return the versions of Python that pyproject.toml names, lowest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    return sorted(named, key=lambda version: int(version.split(".")[1]))


def steps(name: str, python: str, resolution: str) -> list[list[str]]:
    """Return the commands that make an environment and try it."""
    uv = str(HOME / "uv" / "bin" / "uv")
    home = HOME / name
    inside = str(home / "bin" / "python")
    install = [uv, "pip", "install", "--quiet", "--python", inside]
    return [
        [uv, "venv", "--quiet", "--clear", "--python", python, str(home)],
        [*install, "--resolution", resolution, "--reinstall-package", "privacygauge", str(ROOT)],
        [*install, *TOOLS],
        [str(home / "bin" / "privacygauge"), "demo", "--quiet", "--out", str(home / "demo")],
        [inside, "-m", "pytest", "-q", "-m", "not slow", *TESTS],
    ]


def main() -> int:
    """Return 0 where both environments pass, else 1; print a line for each."""
    subprocess.run([sys.executable, "-m", "venv", str(HOME / "uv")], check=True)
    subprocess.run([str(HOME / "uv" / "bin" / "pip"), "install", "-qq", "uv"], check=True)
    lowest, *_, newest = pythons()
    failed = []
    for name, python, resolution in (
        ("newest", newest, "highest"),
        ("lowest", lowest, "lowest-direct"),
    ):
        environment = {**os.environ, "PYTHONPATH": ""}
        for command in steps(name, python, resolution):
            if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
                failed.append(f"{name} (Python {python}): {' '.join(command)}")
                break
        else:
            print(f"{name} (Python {python}): passed")
    print("\n".join(f"FAILED {line}" for line in failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
