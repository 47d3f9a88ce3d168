"""See that there is a Chromium for the tests in a browser; install Debian's where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Give the path of a Chromium, None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Install Chromium with apt where it is missing."""
    if chromium():
        return 0
    apt = shutil.which("apt-get")
    if apt is None:
        print("The tests in a browser need Chromium. Install it, so that `chromium` is on the PATH.")
        return 1
    rights = [] if os.geteuid() == 0 else ["sudo", "-n"]
    subprocess.run([*rights, apt, "update", "-q"], check=False)
    return subprocess.run(
        [*rights, apt, "install", "-y", "-q", "--no-install-recommends", "chromium"], check=False
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
