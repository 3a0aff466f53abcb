"""`privacygauge`, or `python -m privacygauge`: the command line from its first moment on."""

import multiprocessing
import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line and exit.

    0 done, 2 bad input, 3 a limit exceeded, 130 interrupted, 143 terminated.
    """
    stopped_by = signal.SIGINT
    here = os.getpid()

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopped_by
        signal.signal(number, signal.SIG_IGN if os.getpid() == here else signal.SIG_DFL)
        if os.getpid() != here:  # a child of ours has inherited this
            os.kill(os.getpid(), number)
            return
        stopped_by = signal.Signals(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    # Joblib's tracker removes the shared memory of workers that were killed, and warns that there
    # was some. It is a process of its own, which takes these options over.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    try:
        # Imported here, so that an interruption while modules load ends quietly too.
        from privacygauge.cli.main import run

        code = run()
    except KeyboardInterrupt:
        what = "interrupted" if stopped_by == signal.SIGINT else "terminated"
        print(f"privacygauge: {what}: every file is whole or was not written", file=sys.stderr)
        sys.stderr.flush()
        # Idle workers of joblib wait for work up to five minutes, and hold shared memory.
        for worker in multiprocessing.active_children():
            worker.kill()
        # At once: threads that still compute would be torn down under their own feet.
        os._exit(128 + stopped_by)
    sys.exit(code)


if __name__ == "__main__":
    main()
