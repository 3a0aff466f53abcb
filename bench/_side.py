"""One side of a comparison, in a process of its own, which works once for each line it reads.

    python _side.py SCRIPT MAKE '{"argument": value}'

calls the function MAKE of the file SCRIPT with the arguments; what it returns is the work. It
answers in JSON, a line each: that it is ready, then seconds, memory and numbers of each run. It
needs the standard library only, so that it runs in the environments of other libraries.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

STATUS = Path("/proc/self/status")
SHORTEST = 0.2
"""Seconds of a turn, at least: shorter ones are mostly the noise of the machine."""


def loaded(script: Path) -> ModuleType:
    """Return a script as a module; its folder comes last, so that no library is hidden by it."""
    here = str(Path(__file__).parent)
    sys.path[:] = [folder for folder in sys.path if folder != here] + [here]
    spec = importlib.util.spec_from_file_location(f"side_{script.stem}", script)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def cpu() -> float:
    """Return the seconds of processors that this process and its finished children took."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def memory(field: str) -> float:
    """Return a line of the process's memory in MiB, NaN where there is none: Linux only."""
    found = re.search(rf"{field}:\s+(\d+)", STATUS.read_text()) if STATUS.exists() else None
    return int(found[1]) / 1024 if found else float("nan")


def forget_peak() -> None:
    """Let the peak of memory begin anew, where the system lets it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def run(work: Callable[[], Any], held: float, shortest: float) -> dict[str, Any]:
    """Return what one run takes and finds: the mean of as many as take so many seconds."""
    forget_peak()
    began, used, n = time.perf_counter(), cpu(), 0
    while not n or time.perf_counter() - began < shortest:
        value, n = work(), n + 1
    seconds, used = (time.perf_counter() - began) / n, (cpu() - used) / n
    peak = memory("VmHWM")
    return {
        "seconds": seconds,
        "cpu": used,
        "since_start": cpu(),
        "peak": peak,
        "rise": peak - held,
        "value": value,
    }


def main() -> None:
    """Answer until there are no more lines."""
    script, make, arguments = sys.argv[1:]
    answers = sys.stdout
    # What a library prints is no answer.
    with contextlib.redirect_stdout(sys.stderr):
        work = getattr(loaded(Path(script)), make)(**json.loads(arguments))
        held = memory("VmRSS")  # a first run may keep what it took
        print(json.dumps({"ready": True}), file=answers, flush=True)
        for line in sys.stdin:
            shortest = 0.0 if line.strip() == "once" else SHORTEST
            print(json.dumps(run(work, held, shortest)), file=answers, flush=True)


if __name__ == "__main__":
    main()
