"""Build the documentation site into `site/`, and fail on any warning or anything fetched from outside."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "site"
# What a browser would fetch by itself; links that a reader may follow are fine.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?https?:|<link\b[^>]*\bhref=["']?https?:"""
    r"""|@import\s+["']?https?:|url\(["']?https?:""",
    re.IGNORECASE,
)
_SHIM = "https://unpkg.com/iframe-worker/shim"


def outside_requests(site: Path) -> list[str]:
    """Return the places where a built page would fetch something from another host."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css"):
            for match in _FETCHED.finditer(path.read_text(encoding="utf-8")):
                if 'rel="canonical"' not in match[0]:
                    found.append(f"{path.relative_to(site)}: {match[0][:100]}")
    return found


def search_from_disk(site: Path) -> None:
    """Let pages opened from disk search with our script; the theme would fetch one from outside."""
    for page in site.rglob("*.html"):
        here = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(_SHIM, f"{here}search_from_disk.js"), encoding="utf-8")


def main() -> int:
    """Build, then look for outside requests."""
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--clean", "--strict"]
    built = subprocess.run(command, cwd=ROOT, check=False)
    if built.returncode:
        return built.returncode
    search_from_disk(SITE)
    found = outside_requests(SITE)
    print("\n".join(found) or f"No page fetches anything from outside. Open {SITE / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
