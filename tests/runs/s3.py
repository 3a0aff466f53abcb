"""A server of the S3 API on this machine: moto's, a process for all tests of this one."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from functools import cache
from pathlib import Path

import pytest

BUCKET = "audits"


@cache
def serving() -> dict[str, str]:
    """Return the environment in which ``s3://audits`` is a bucket that all tests share."""
    program = shutil.which("moto_server") or str(Path(sys.base_prefix, "bin", "moto_server"))
    if not Path(program).exists():
        pytest.skip("needs moto_server on the PATH, from an environment of its own")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)],
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(server.wait)
    atexit.register(server.kill)  # the last that is registered runs first
    address = f"http://127.0.0.1:{port}"
    _make_bucket(address)
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _make_bucket(address: str) -> None:
    until = time.monotonic() + 60
    while True:
        asked = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
        try:
            with urllib.request.urlopen(asked, timeout=20):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def objects(environment: dict[str, str], below: str) -> dict[str, bytes]:
    """Return what lies below a place in the bucket, by the rest of the key."""
    from pyarrow.fs import FileSelector, FileType, S3FileSystem

    system = S3FileSystem(
        access_key="test",
        secret_key="test",
        region="us-east-1",
        endpoint_override=environment["AWS_ENDPOINT_URL"],
    )
    root = f"{BUCKET}/{below}"
    found = system.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
    return {
        info.path.removeprefix(f"{root}/"): system.open_input_file(info.path).read()
        for info in found
        if info.type == FileType.File
    }
