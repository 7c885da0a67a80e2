#!/usr/bin/env python3
"""make_archives.py: writes archives of images of one pixel, sound and hostile, to the current directory."""
import gzip
import io
import lzma
import struct
import tarfile
import zipfile


def pgm(value, n=1):
    return b"P5\n%d 1\n255\n" % n + bytes([value]) * n


def tar(members, form=tarfile.PAX_FORMAT):
    """The bytes of a tar file. A member is (name, content) or (name, type)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, encoding="utf-8", errors="surrogateescape") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type = content.encode()
                member.linkname = "a.pgm"
                content = b""
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


class Pipe(io.RawIOBase):
    """A file that cannot seek: zipfile then stores sizes after the members."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


def zipped(members, method=zipfile.ZIP_DEFLATED, is_pipe=False):
    out = io.BytesIO()
    with zipfile.ZipFile(Pipe(out) if is_pipe else out, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


three = [("d/c.pgm", pgm(1)), ("b.pgm", pgm(2, 3000)), ("d/a.pgm", pgm(3))]
plain = tar(three)
write("three.tar", plain)
write("joined.tar", plain + tar([("e.pgm", pgm(4))]) + tar([("f.pgm", pgm(5))], tarfile.GNU_FORMAT))
write("gnu.tar", tar(three, tarfile.GNU_FORMAT))
write("three.tar.gz", gzip.compress(plain))
write("three.tar.xz", lzma.compress(plain))
write("three.zip", zipped(three))
write("stored.zip", zipped(three, zipfile.ZIP_STORED))
write("stream.zip", zipped(three, is_pipe=True))
write("stored_stream.zip", zipped(three, zipfile.ZIP_STORED, is_pipe=True))

write("others.tar", tar([
    ("a.pgm", pgm(1)), ("text.txt", b"text"), ("empty.bin", b""), ("directory", "5"), ("link", "2"),
    ("hard", "1"), ("device", "3"), ("block", "4"), ("fifo", "6"), (".hidden.pgm", pgm(2)),
    ("__MACOSX/._a.pgm", pgm(3)), (".cache/b.pgm", pgm(4)), ("inner.tar", plain), ("inner.tgz", gzip.compress(plain)),
    ("inner.zip", zipped(three)), ("z.pgm", pgm(5))]))
write("promises.tar", tar([("link.pgm", "2"), ("hard.pgm", "1"), ("empty.jpg", b""), ("text.png", b"text"), ("a.pgm", pgm(1))]))
write("names.tar", tar([
    ("./a.pgm", pgm(1)), ("../b.pgm", pgm(2)), ("d/../../c.pgm", pgm(3)), ("/etc/d.pgm", pgm(4)),
    ("e/./f.pgm", pgm(5)), ("\u00e9.pgm", pgm(6)), ("e\u0301.pgm", pgm(7)), ("x" * 300 + ".pgm", pgm(8)),
    ("new\nline.pgm", pgm(9)), ("..g.pgm", pgm(10)), ("last.pgm", pgm(11))]))
names = [("\u00e9.pgm", pgm(1)), ("e\u0301.pgm", pgm(2)), ("\u65e5\u672c.pgm", pgm(3)), ("\U0001f600.pgm", pgm(4))]
write("utf8.zip", zipped(names))
write("utf8.tar", tar(names))
write("latin.tar", tar([("\udce9.pgm", pgm(1))], tarfile.USTAR_FORMAT))
write("long.tar", tar([("n" * 20000 + ".pgm", pgm(1)), ("a.pgm", pgm(2))]))

# The members' headers are at 0, 1024 and 4608, and the end at 5632.
write("cut.tar", plain[:5632 + 5])
write("cut_data.tar", plain[:2000])
write("cut.tar.gz", gzip.compress(plain)[:-9])
many = [("%02d.pgm" % i, bytes(pgm(i)) + bytes((i * k * k) % 251 for k in range(3000))) for i in range(60)]
write("cut_late.tar.gz", gzip.compress(tar(many))[:-2000])
write("cut.zip", zipped(three)[:-230])
broken = bytearray(plain)
broken[1024 + 20] ^= 1  # in the name: the checksum is wrong
write("header.tar", bytes(broken))
crc = bytearray(zipped(three, zipfile.ZIP_STORED))
crc[crc.index(pgm(2, 3000)) + 100] ^= 1
write("crc.zip", bytes(crc))
write("text.gz", gzip.compress(b"text, not an archive\n" * 50))
write("twice.tar.gz", gzip.compress(gzip.compress(plain)))

encrypted = bytearray(zipped(three, zipfile.ZIP_STORED))
at = encrypted.index(b"PK\3\4", 4)  # the second member
encrypted[at + 6] |= 1
write("encrypted.zip", bytes(encrypted))

# Bombs. Parts of a gzip file may follow each other, so these files are made in no time.
header = tarfile.TarInfo("zeros.pgm")
header.size = 8 << 30
part = gzip.compress(bytes(64 << 20))
write("bomb.tar.gz", gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + pgm(0).ljust(512, b"\0")) + part * 40)
member = tarfile.TarInfo("empty.txt").tobuf(tarfile.USTAR_FORMAT)
write("many.tar.gz", gzip.compress(member * 20000))

# A sparse member of 3 GB, as GNU tar stores it: one piece of data, then a hole.
sparse = bytearray(tarfile.TarInfo("sparse.pgm").tobuf(tarfile.GNU_FORMAT))
size = 3 << 30
data = pgm(1).ljust(512, b"\0")
sparse[124:136] = b"%011o\0" % len(data)
sparse[156:157] = b"S"
sparse[386:410] = b"%011o\0%011o\0" % (0, len(data))
sparse[410:434] = b"%011o\0%011o\0" % (size, 0)
sparse[483:495] = b"%011o\0" % size
sparse[148:156] = b" " * 8
sparse[148:156] = b"%06o\0 " % sum(sparse)
write("sparse.tar", bytes(sparse) + data + tar([("a.pgm", pgm(2))]))

# A member of the size that its header claims, and one that is shorter.
write("large.tar", tar([("large.pgm", pgm(1, 3000000)), ("a.pgm", pgm(2))]))
write("large.zip", zipped([("large.pgm", pgm(1, 3000000)), ("a.pgm", pgm(2))], is_pipe=True))
