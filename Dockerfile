# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# All that building and testing needs, and no source:
#   docker build -t gpu-async-dev . && docker run --rm -it -v "$PWD:/src" gpu-async-dev ./dev run
FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY dev /setup/dev
RUN /setup/dev setup && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory '*'
WORKDIR /src
