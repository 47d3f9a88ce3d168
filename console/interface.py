"""Write the forms of the HTTP interface, from which `npm run types` makes the console's types."""

import json
from pathlib import Path

from dovetail.service.app import routes

PLACE = Path(__file__).parent / "openapi.json"


def main() -> None:
    """Write the forms alone: the console names its addresses itself."""
    said = routes().openapi()
    PLACE.write_text(json.dumps(said | {"paths": {}}), encoding="utf-8")


if __name__ == "__main__":
    main()
