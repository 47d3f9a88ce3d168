"""In a notebook an error is short: the line that was typed, and what to do."""

import traceback

import dovetail as dv
from dovetail.errors import DovetailError


def test_a_notebook_shows_no_frame_of_the_package() -> None:
    try:
        dv.Schema([]).table().field("age")
    except DovetailError as error:
        shown = error._render_traceback_()
        whole = "".join(traceback.format_exception(error))
    assert "schema.py" in whole
    assert "schema.py" not in "".join(shown)
    assert "test_notebooks.py" in shown[0]
    assert len("".join(shown).splitlines()) <= 5
    assert shown[-1].startswith("InvalidQuery: ")
