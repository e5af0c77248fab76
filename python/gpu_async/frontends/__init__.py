# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of other packages, which are imported when they are asked for."""
