#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ctest --show-only=json-v1 of a build folder that suites.test made up."""
import json

labels = {"runtime-unit-tests": ["runtime"], "stray": None, "odd": ["compiler"], "both": ["runtime", "compiler"],
          "fast": ["quick", "runtime"], "hasty": ["quick"]}
print(json.dumps({"tests": [
    {"name": name, "properties": [{"name": "LABELS", "value": its}] if its else []} for name, its in labels.items()]}))
