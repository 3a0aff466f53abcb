"""`privacygauge`, or `python -m privacygauge`: the command line from its first moment on."""

import os
import sys


def main() -> None:
    """Run the command line and exit: 0 done, 2 bad input, 3 a limit exceeded, 130 interrupted."""
    try:
        # Imported here, so that an interruption while modules load ends quietly too.
        from privacygauge.cli.main import run

        code = run()
    except KeyboardInterrupt:
        print("privacygauge: interrupted: every file is whole or was not written", file=sys.stderr)
        sys.stderr.flush()
        # At once: threads that still compute would be torn down under their own feet.
        os._exit(130)
    sys.exit(code)


if __name__ == "__main__":
    main()
