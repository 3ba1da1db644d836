"""Bring up the loopback device of a new network name space, where no "ip" is installed."""
import fcntl
import socket
import struct

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as s:
    fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack('16sh14x', b'lo', IFF_UP))
