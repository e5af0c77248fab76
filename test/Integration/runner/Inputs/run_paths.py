# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run_paths.py READELF PATH..: each entry of the run paths of these files, and of those in
# these folders, is absolute or begins with $ORIGIN. Another one, or an empty one, is in the
# folder of whoever runs the program, where anybody may have put a library.
import os
import re
import subprocess
import sys

readelf, *paths = sys.argv[1:]
files = []
for path in paths:
    files += [path] if os.path.isfile(path) else [
        os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
wrong = looked = 0
for path in sorted(files):
    if os.path.islink(path) or open(path, "rb").read(4) != b"\x7fELF":
        continue
    text = subprocess.run([readelf, "-d", path], capture_output=True, text=True).stdout
    for run_path in re.findall(r"\((?:RPATH|RUNPATH)\)\s+Library r(?:un)?path: \[(.*)\]", text):
        looked += 1
        for entry in run_path.split(":"):
            if not re.match(r"/|\$ORIGIN(/|$)", entry):
                wrong += 1
                print(f"{path}: '{entry}' in the run path '{run_path}'")
print(f"{looked} run paths, {wrong} wrong entries")
sys.exit(wrong != 0 or looked == 0)
