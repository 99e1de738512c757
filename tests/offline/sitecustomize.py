"""On the path of a kernel, this keeps it and its workers from other machines."""

import socket

_NEAR = {"127.0.0.1", "::1", "localhost", "", None}


def _guarded(method):
    """A method of a socket, for addresses on this machine only."""

    def guarded(self, address):
        if isinstance(address, tuple) and address[0] not in _NEAR:
            raise PermissionError(f"a chapter reached out to {address[0]}")
        return method(self, address)

    return guarded


def _guarded_lookup(lookup):
    """A look-up of names, for this machine only."""

    def guarded(host, *args, **kwargs):
        if host not in _NEAR:
            raise PermissionError(f"a chapter looked up {host}")
        return lookup(host, *args, **kwargs)

    return guarded


socket.socket.connect = _guarded(socket.socket.connect)
socket.socket.connect_ex = _guarded(socket.socket.connect_ex)
socket.getaddrinfo = _guarded_lookup(socket.getaddrinfo)
socket.gethostbyname = _guarded_lookup(socket.gethostbyname)
