"""The shapes that n linear pieces tend to when queries are many, at unit variance.

In that limit what counts is Fisher information times variance: 1 for the Gaussian, the best possible, and 2
for one piece. Each shape is the least for its number of pieces; a test finds them again.
"""

from __future__ import annotations

# Pieces: (rates, breaks).
SHAPES: dict[int, tuple[tuple[float, ...], tuple[float, ...]]] = {
    1: ((1.4142,), ()),
    2: ((0.5552, 1.918), (1.1034,)),
    3: ((0.3573, 1.1352, 2.2183), (0.7101, 1.5857)),
    4: ((0.2655, 0.8222, 1.476, 2.4301), (0.5289, 1.1157, 1.8864)),
    5: ((0.2119, 0.6487, 1.1301, 1.7162, 2.5929), (0.4226, 0.873, 1.3949, 2.1024)),
    6: ((0.1766, 0.5371, 0.9223, 1.3585, 1.9007, 2.7245), (0.3524, 0.7204, 1.1252, 1.6058, 2.2699)),
    7: (
        (0.1514, 0.459, 0.7816, 1.1336, 1.539, 2.05, 2.8347),
        (0.3024, 0.6145, 0.9484, 1.3227, 1.7741, 2.4061),
    ),
    8: (
        (0.1326, 0.4011, 0.6794, 0.9763, 1.3048, 1.6876, 2.175, 2.9292),
        (0.265, 0.5363, 0.8218, 1.1319, 1.484, 1.9135, 2.5206),
    ),
}
