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


# gzip: a wrong checksum, a wrong length, a wrong checksum of the first of two parts, and what may follow.
sound = gzip.compress(plain, mtime=0)
for name, at in (("sum", -8), ("length", -4)):
    wrong = bytearray(sound)
    wrong[at] ^= 1
    write("gzip_%s.tar.gz" % name, bytes(wrong))
parts = [gzip.compress(plain[:4608], mtime=0), gzip.compress(plain[4608:], mtime=0)]
write("gzip_parts.tar.gz", parts[0] + parts[1] + bytes(600))
write("gzip_part.tar.gz", parts[0][:-8] + bytes([parts[0][-8] ^ 1]) + parts[0][-7:] + parts[1])
write("gzip_header.tar.gz", b"\x1f\x8b\x08\x02" + sound[4:10] + b"\0\0" + sound[10:])
write("gzip_more.tar.gz", sound + b"more")
write("gzip_cut.tar.gz", sound[:-3])
noise = [("%03d.pgm" % i, pgm(i, 10000)) for i in range(200)]
late = bytearray(gzip.compress(tar(noise)))
late[-8] ^= 1
write("gzip_late.tar.gz", bytes(late))


def zip_in_two_lists(change=lambda directory: directory, members=three, before=b"", stated=None):
    """A zip file whose directory is that of other members, or changed."""
    data, other = zipped(three, zipfile.ZIP_STORED), zipped(members, zipfile.ZIP_STORED)
    directory = bytearray(other[other.index(b"PK\1\2"):other.index(b"PK\5\6")])
    change(directory)
    body = before + data[:data.index(b"PK\1\2")]
    n = len(members) if stated is None else stated
    return body + directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, len(directory), len(body), 0)


def set_at(at, value):
    def change(directory):
        directory[at] = value
    return change


write("zip_lacks.zip", zip_in_two_lists(members=three[:2]))
write("zip_extra.zip", zip_in_two_lists(members=three + [("e.pgm", pgm(9))]))
write("zip_name.zip", zip_in_two_lists(set_at(46, ord("x"))))
write("zip_crc.zip", zip_in_two_lists(set_at(16, 77)))
write("zip_size.zip", zip_in_two_lists(set_at(24, 77)))
write("zip_place.zip", zip_in_two_lists(set_at(46 + 7 + 42, 77)))
write("zip_number.zip", zip_in_two_lists(stated=7))
write("zip_twice.zip", zipped(three) + zipped([("e.pgm", pgm(9))]))
write("zip_directory.zip", zipped(three)[:-30])
write("zip_prefix.zip", b"#!/bin/sh\nexit 0\n" + zipped(three))
with zipfile.ZipFile("zip_order.zip", "w") as archive:
    for name, content in three:
        archive.writestr(name, content)
    archive.filelist.reverse() # the order of the directory
with open("zip_sizes.zip", "wb") as file: # sizes of 64 bits before the members only
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in three:
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(content)
write("zip.xz", lzma.compress(zipped(three)))

# Old tar programs: a checksum of signed bytes, rubbish after the name, a size in base 256.
odd = bytearray(tarfile.TarInfo("caf\u00e9.pgm").tobuf(tarfile.USTAR_FORMAT, "latin-1"))
odd[124:136] = b"\x80" + len(pgm(1)).to_bytes(11, "big")
odd[50:57] = b"rubbish"
odd[148:156] = b" " * 8
odd[148:156] = b"%06o\0 " % sum(b - 256 if b > 127 else b for b in odd)
write("old.tar", bytes(odd) + pgm(1).ljust(512, b"\0") + bytes(1024))
write("empty.tar", bytes(10240))
write("empty.tar.gz", gzip.compress(bytes(10240)))

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
