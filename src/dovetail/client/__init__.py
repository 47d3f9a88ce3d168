"""Ask a service over HTTP with the methods and the answers of a session; no row ever comes here."""

from .remote_session import RemoteSession, connect

__all__ = ["RemoteSession", "connect"]
