"""Watch, fail or cut short what SQLite does to the disk, with nothing but Python.

A shim is put in front of SQLite's own file layer (its VFS) through ctypes. It records every write, sync,
truncate and delete in order, and can let the n-th of them fail. From the record, `crashed` rebuilds what a
disk may hold when the process is killed, or the power is cut, after any step.
"""

from __future__ import annotations

import ctypes as c
import importlib.util
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

IOERR_WRITE, IOERR_FSYNC, IOERR_TRUNCATE, IOERR_DELETE, FULL = 778, 1034, 1546, 2570, 13
SECTOR = 512

_P, _I, _L = c.c_void_p, c.c_int, c.c_int64
# Paths are passed on as the pointers they are: SQLite keeps them.
_OPEN = c.CFUNCTYPE(_I, _P, _P, _P, _I, _P)
_DELETE = c.CFUNCTYPE(_I, _P, _P, _I)
_WRITE = c.CFUNCTYPE(_I, _P, _P, _I, _L)
_TRUNCATE = c.CFUNCTYPE(_I, _P, _L)
_SYNC = c.CFUNCTYPE(_I, _P, _I)


class _Vfs(c.Structure):
    _fields_ = [
        ("version", _I),
        ("file_size", _I),
        ("longest_path", _I),
        ("next", _P),
        ("name", c.c_char_p),
        ("app_data", _P),
        ("open", _OPEN),
        ("delete", _DELETE),
        ("rest", _P * 14),
    ]


class _Methods(c.Structure):
    _fields_ = [
        ("version", _I),
        ("close", _P),
        ("read", _P),
        ("write", _WRITE),
        ("truncate", _TRUNCATE),
        ("sync", _SYNC),
        ("rest", _P * 13),
    ]


@dataclass(frozen=True)
class Step:
    """One thing done to a file; a promise is a step that only the test makes."""

    kind: str  # open, write, truncate, sync, delete, promise
    name: str
    offset: int = 0
    data: bytes = b""
    durable: bool = False  # of a delete: the folder was synced too


@dataclass
class Disk:
    """What was done so far, and which step is to fail with which code (every later one too, if `stays`)."""

    steps: list[Step] = field(default_factory=list)
    fail_at: int | None = None
    failure: Callable[[str], int] = lambda kind: FULL
    stays: bool = False

    def promise(self, what: str) -> None:
        """Note that the program has now told someone something."""
        self.steps.append(Step("promise", what))

    def fails(self, kind: str) -> int:
        """Return the error code of the step about to be done, or 0."""
        done = sum(step.kind in ("write", "truncate", "sync", "delete") for step in self.steps)
        if self.fail_at is None or not (done == self.fail_at or (self.stays and done > self.fail_at)):
            return 0
        return self.failure(kind)


def _library() -> c.CDLL:
    spec = importlib.util.find_spec("_sqlite3")
    origin = spec.origin if spec is not None and spec.origin not in (None, "built-in") else None
    library = c.CDLL(origin)
    library.sqlite3_vfs_find.restype = _P
    library.sqlite3_vfs_find.argtypes = [c.c_char_p]
    library.sqlite3_vfs_register.argtypes = [_P, _I]
    return library


def available() -> bool:
    """Tell whether this Python lets SQLite's file layer be reached (a static build may not)."""
    try:
        return bool(_library().sqlite3_vfs_find(None))
    except (OSError, AttributeError):
        return False


# SQLite keeps pointers into these for as long as a connection lives.
_kept: list[object] = []


@contextmanager
def watched(disk: Disk) -> Iterator[Disk]:
    """Send every SQLite connection opened in this block through the shim."""
    library = _library()
    real_address = library.sqlite3_vfs_find(None)
    real = _Vfs.from_address(real_address)
    shim = _Vfs.from_buffer_copy(real)
    shim.name = b"watched"
    names: dict[int, str] = {}
    tables: dict[int, _Methods] = {}

    def opened(_vfs: int, path: int | None, file: int, flags: int, out: int) -> int:
        result = real.open(real_address, path, file, flags, out)
        table = c.c_void_p.from_address(file)
        if result == 0 and table.value and path is not None:
            names[file] = _name(path)
            disk.steps.append(Step("open", names[file]))
            if table.value not in tables:
                tables[table.value] = _wrapped(disk, names, _Methods.from_address(table.value))
            table.value = c.addressof(tables[table.value])
        return result

    def deleted(_vfs: int, path: int, sync_folder: int) -> int:
        if code := disk.fails("delete"):
            return code
        result = real.delete(real_address, path, sync_folder)
        if result == 0:
            disk.steps.append(Step("delete", _name(path), durable=bool(sync_folder)))
        return result

    shim.open, shim.delete = _OPEN(opened), _DELETE(deleted)
    _kept.extend([shim, tables, names, shim.open, shim.delete])
    library.sqlite3_vfs_register(c.addressof(shim), 1)
    try:
        yield disk
    finally:
        library.sqlite3_vfs_register(real_address, 1)


def _name(path: int) -> str:
    return Path(c.string_at(path).decode()).name


def _wrapped(disk: Disk, names: dict[int, str], real: _Methods) -> _Methods:
    """Return a copy of a file's methods that records before it passes on."""
    methods = _Methods.from_buffer_copy(real)
    pass_write, pass_truncate, pass_sync = real.write, real.truncate, real.sync

    def write(file: int, data: int, size: int, offset: int) -> int:
        if code := disk.fails("write"):
            return code
        disk.steps.append(Step("write", names[file], offset, c.string_at(data, size)))
        return pass_write(file, data, size, offset)

    def truncate(file: int, size: int) -> int:
        if code := disk.fails("truncate"):
            return code
        disk.steps.append(Step("truncate", names[file], size))
        return pass_truncate(file, size)

    def sync(file: int, flags: int) -> int:
        if code := disk.fails("sync"):
            return code
        disk.steps.append(Step("sync", names[file]))
        return pass_sync(file, flags)

    methods.write, methods.truncate, methods.sync = _WRITE(write), _TRUNCATE(truncate), _SYNC(sync)
    _kept.extend([methods.write, methods.truncate, methods.sync, pass_write, pass_truncate, pass_sync])
    return methods


@dataclass
class _File:
    durable: bytes | None = None  # None: the folder would not know it after a power cut
    pending: list[Step] = field(default_factory=list)
    present: bool = True


def crashed(
    steps: list[Step], start: dict[str, bytes], survives: Callable[[Step], bytes | None]
) -> dict[str, bytes]:
    """Return the files after a power cut at the end of `steps`.

    What was synced is there. Of each later write, `survives` returns what reached the disk, or None.
    A file removed without syncing its folder is back, unless `survives` lets its removal through.
    """
    files = {name: _File(durable=data) for name, data in start.items()}
    for step in steps:
        if step.kind == "promise":
            continue
        file = files.setdefault(step.name, _File())
        if step.kind == "open":
            if not file.present:
                files[step.name] = _File()
        elif step.kind == "sync":
            file.durable, file.pending = _applied(file.durable or b"", file.pending, lambda s: s.data), []
        elif step.kind == "delete":
            gone = step.durable or survives(step) is not None
            file.present = False
            file.pending = []
            if gone:
                file.durable = None
        else:
            file.pending.append(step)
    result = {}
    for name, file in files.items():
        arrived = file.present and any(survives(step) is not None for step in file.pending)
        if file.durable is not None or arrived:
            result[name] = _applied(file.durable or b"", file.pending, survives)
    return result


def _applied(content: bytes, steps: list[Step], survives: Callable[[Step], bytes | None]) -> bytes:
    data = bytearray(content)
    for step in steps:
        kept = survives(step)
        if kept is None:
            continue
        if step.kind == "truncate":
            data[step.offset :] = b"" if len(data) > step.offset else bytes(step.offset - len(data))
            continue
        if len(data) < step.offset:
            data.extend(bytes(step.offset - len(data)))
        data[step.offset : step.offset + len(kept)] = kept
    return bytes(data)


def everything(step: Step) -> bytes:
    """Let all through: the process was killed, the machine went on."""
    return step.data


def nothing(_step: Step) -> None:
    """Lose all that was not synced."""
    return


def some(seed: int) -> Callable[[Step], bytes | None]:
    """Lose a random half, and tear a random quarter of the rest at a sector."""
    dice = random.Random(seed)
    fate: dict[int, bytes | None] = {}

    def survives(step: Step) -> bytes | None:
        if id(step) not in fate:
            roll = dice.random()
            torn = step.data[: SECTOR * dice.randrange(1 + len(step.data) // SECTOR)]
            fate[id(step)] = (
                None if roll < 0.5 else torn if roll < 0.625 and step.kind == "write" else step.data
            )
        return fate[id(step)]

    return survives
