"""The page for analysts works over a real socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from document_blocks import ROOT, blocks
from service.conftest import House, open_house


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[House, str]]:
    """Serve on a real port, in a thread of this process."""
    house = open_house(tmp_path)
    server = uvicorn.Server(uvicorn.Config(house.app, port=0, log_config=None, ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield house, f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def test_the_page_for_analysts_works(
    served: tuple[House, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    house, address = served
    assert house.ann.key is not None
    monkeypatch.setenv("DOVETAIL_KEY", house.ann.key)
    page = ROOT / "docs" / "how-to" / "ask-a-service.md"
    namespace: dict[str, object] = {}
    for block in blocks(page):
        if block.language == "python":
            text = block.text.replace("https://counts.example.org", address)
            exec(compile("\n" * (block.line - 1) + text, str(page), "exec"), namespace)
    printed = capsys.readouterr().out
    assert "HS-grad" in printed
    assert "Nothing was spent." in printed
    assert house.ann.key not in printed
