"""How is an integer distribution drawn, exactly and fast?"""

from .law import Law, Run

__all__ = ["Law", "Run"]
