"""The command `privacygauge open`."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated, Any

from privacygauge.cli import options
from privacygauge.kinds.command import Program
from privacygauge.kinds.request import HelpGroup

_PORT = "Port of this machine; 0 for one that is free."
_NO_BROWSER = "Print the link alone, and open no browser."


def open_page(
    port: Annotated[int, options.text_option("--port", "N", _PORT, shown=True)] = 0,
    no_browser: Annotated[bool, options.switch("--no-browser", _NO_BROWSER)] = False,
) -> None:
    """Open a page on this machine to drop files into: it recognises and audits them.

    Nothing leaves the machine: the page is served at 127.0.0.1 to whoever has the link, which works
    once. The copies of the files are removed at the end.

    Example: privacygauge open
    """
    from privacygauge.cli.output import print_line
    from privacygauge.local_page.server import Page
    from privacygauge.runs.folder import scratch

    # Copies are readable by their owner alone, and so is what is kept.
    os.umask(0o077)

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, stop)  # the terminal was closed
    with scratch() as folder:
        page = Page(Path(folder), port)
        try:
            print_line(f"Open this link; it works once: {page.link}")
            print_line("End with Ctrl+C, or on the page: copies of files are removed then.")
            if not no_browser:
                import webbrowser

                webbrowser.open(page.link)
            page.serve_forever()
        finally:
            page.end()


COMMAND = Program("open", HelpGroup.START, open_page)
