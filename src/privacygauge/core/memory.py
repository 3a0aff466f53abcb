"""How much memory there is, so that what cannot fit is refused before it is tried."""

from __future__ import annotations

from pathlib import Path


def free_memory() -> int:
    """Return the bytes of memory that are free, as far as they can be found out."""
    return min(_free_of_machine(), _free_of_container())


def bytes_text(n_bytes: int) -> str:
    """Return a number of bytes for a message."""
    if n_bytes >= 2**30:
        return f"{n_bytes / 2**30:,.3g} GiB" if n_bytes < 2**50 else "more than a million GiB"
    return f"{n_bytes / 2**20:.3g} MiB" if n_bytes >= 2**20 else f"{n_bytes} bytes"


def _free_of_machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # Elsewhere only small amounts are safe to assume.
    return 4 * 2**30


def _free_of_container() -> int:
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
    except OSError:
        return 2**62
    return 2**62 if most == "max" else max(int(most) - used, 0)
