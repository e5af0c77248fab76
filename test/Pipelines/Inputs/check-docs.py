# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-docs.py PAGE FILE: whether a page of the documentation shows the file as it is.

import sys

page, text = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
if "```\n" + text + "```\n" not in page:
    sys.exit("%s is stale; it should show:\n%s" % (sys.argv[1], text))
