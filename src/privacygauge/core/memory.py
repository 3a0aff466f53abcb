"""Free memory, so that work that cannot fit is refused before it starts."""

from __future__ import annotations

from pathlib import Path


def free_memory() -> int:
    """Return the free memory of the machine or its container, whichever is less, in bytes."""
    # Assumed if the system does not tell: little, so that work is rather refused than killed.
    machine = 4 * 2**30
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                machine = int(line.split()[1]) * 1024
                break
    except OSError:
        pass
    # The limit of the container (cgroup v2), if there is one.
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
    except OSError:
        return machine
    return machine if most == "max" else min(machine, max(int(most) - used, 0))


def bytes_text(n_bytes: int) -> str:
    """Return a number of bytes as text, in GiB, MiB or bytes."""
    if n_bytes >= 2**30:
        return f"{n_bytes / 2**30:,.3g} GiB" if n_bytes < 2**50 else "more than a million GiB"
    return f"{n_bytes / 2**20:.3g} MiB" if n_bytes >= 2**20 else f"{n_bytes} bytes"
