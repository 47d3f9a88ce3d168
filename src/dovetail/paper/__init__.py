"""Every table and figure of the paper, next to the published numbers.

    dovetail paper --quick        under a minute
    dovetail paper                at the paper's own sizes
    dovetail paper --only fig8    one item and what it needs

Only the public API is used, as by any other reader of the paper.
"""

from .claims import Claim, Measured
from .reproduction import Reproduction, item_names, reproduce

__all__ = ["Claim", "Measured", "Reproduction", "item_names", "reproduce"]
