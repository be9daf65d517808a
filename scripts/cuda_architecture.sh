#!/usr/bin/env bash
# cuda_architecture.sh - prints the GPU architecture to build tests for, such as 90.
# SPDX-License-Identifier: BSD-3-Clause
#
# SZGPU_CUDA_ARCHITECTURES if it is set, else that of this machine's GPU, else 90.
set -euo pipefail

found=${SZGPU_CUDA_ARCHITECTURES:-}
if [ -z "$found" ] && command -v nvidia-smi >/dev/null; then
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true)
  found=${found%%$'\n'*}
  found=${found//./}
fi
[[ $found =~ ^[0-9] ]] || found=90
echo "$found"
