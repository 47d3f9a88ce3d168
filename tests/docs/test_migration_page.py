"""The jobs of other libraries on the page for their users run where these libraries are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from document_blocks import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "migrate.md"
JOBS = {block.text.split()[1]: block for block in blocks(PAGE) if block.language == "py"}


def test_the_page_shows_four_other_libraries() -> None:
    assert set(JOBS) == {"opendp", "diffprivlib", "tmlt.analytics", "snsql"}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("library", JOBS)
def test_the_job_of_another_library_runs(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    rows = [("surgery", "eyes", "heart")[number % 3] + f",{number % 100}" for number in range(3000)]
    (tmp_path / "visits.csv").write_text("ward,age\n" + "\n".join(rows) + "\n")
    exec(compile(JOBS[library].text, library, "exec"), {"__name__": "__main__"})
    assert "eyes" in capsys.readouterr().out
