#!/usr/bin/python3
"""The other side of python_test.cpp: python3-msgpack, as a user's Python program would use it.

  python_peer.py repr IN OUT    each frame of IN holds one value; OUT gets a line with Python's repr of each
  python_peer.py echo IN OUT    each frame of IN holds one value; OUT gets it again, decoded and encoded by Python
  python_peer.py eval IN OUT    each frame of IN holds a Python expression; OUT gets its value, encoded

A frame is a 32-bit little-endian length and that many bytes.
"""

import struct
import sys

import msgpack


def frames(path):
    with open(path, "rb") as file:
        while head := file.read(4):
            yield file.read(struct.unpack("<I", head)[0])


def unpacked(frame):
    return msgpack.unpackb(frame, raw=False, strict_map_key=False)


def packed(value):
    frame = msgpack.packb(value, use_bin_type=True)
    return struct.pack("<I", len(frame)) + frame


def main():
    mode, source, target = sys.argv[1:]
    with open(target, "wb") as out:
        for frame in frames(source):
            if mode == "repr":
                out.write(repr(unpacked(frame)).encode() + b"\n")
            elif mode == "echo":
                out.write(packed(unpacked(frame)))
            elif mode == "eval":
                out.write(packed(eval(frame.decode(), {"ExtType": msgpack.ExtType})))
            else:
                sys.exit(f"unknown mode {mode}")


main()
