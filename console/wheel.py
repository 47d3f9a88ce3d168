"""Check that the newest wheel of a folder carries the console, and how large both are."""

from __future__ import annotations

import gzip
import sys
import zipfile
from pathlib import Path

PLACE = "dovetail/service/console/"
MOST_COMPRESSED = 300_000
MOST_BYTES = 1_500_000


def problems(wheel: Path) -> list[str]:
    """List what is wrong with this wheel; empty where it may be released."""
    with zipfile.ZipFile(wheel) as archive:
        files = {
            name.removeprefix(PLACE): archive.read(name)
            for name in archive.namelist()
            if name.startswith(PLACE)
        }
    found = []
    if "index.html" not in files or not any(name.endswith(".js") for name in files):
        found.append("It holds no console. Run `make console` first.")
    if any(name.endswith(".map") for name in files):
        found.append("It holds source maps.")
    compressed = sum(len(gzip.compress(content, 9)) for content in files.values())
    if compressed > MOST_COMPRESSED:
        found.append(f"The console has {compressed} bytes compressed, more than {MOST_COMPRESSED}.")
    if wheel.stat().st_size > MOST_BYTES:
        found.append(f"It has {wheel.stat().st_size} bytes, more than {MOST_BYTES}.")
    return found


def main(folder: str) -> int:
    """Check the newest wheel; print what is wrong, or its size."""
    wheels = sorted(Path(folder).glob("*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        print(f"There is no wheel in {folder}.")
        return 1
    found = problems(wheels[-1])
    print(f"{wheels[-1].name}: {' '.join(found) or f'{wheels[-1].stat().st_size} bytes, with the console'}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
