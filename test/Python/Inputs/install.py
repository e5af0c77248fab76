# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unpacks the only wheel of a folder, as pip does: with the list of its files.

usage: install.py <folder of the wheel> <folder to unpack to>
"""
import base64
import csv
import hashlib
import pathlib
import sys
import zipfile

wheel, = pathlib.Path(sys.argv[1]).glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    names = set(archive.namelist())
    record, = [name for name in names if name.endswith(".dist-info/RECORD")]
    wrong = []
    for name, digest, size in csv.reader(archive.read(record).decode().splitlines()):
        data = archive.read(name)
        names.discard(name)
        if name != record and (len(data) != int(size) or digest != "sha256=" + base64.urlsafe_b64encode(
                hashlib.sha256(data).digest()).decode().rstrip("=")):
            wrong.append(name)
    print("%d files, %d wrong" % (len(archive.namelist()), len(wrong) + len(names)))
    archive.extractall(sys.argv[2])
    for entry in archive.infolist():
        if entry.external_attr >> 16 & 0o111:
            (pathlib.Path(sys.argv[2]) / entry.filename).chmod(0o755)
