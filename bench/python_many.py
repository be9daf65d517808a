"""python_many.py - many small tensors on a GPU: compress_many beside a loop of compress, and back.

SPDX-License-Identifier: BSD-3-Clause

  python3 python_many.py [COUNT]

COUNT tensors of 1 MiB of bf16 (else 200), normally distributed weights, without loss. Milliseconds
of whole calls by the clock, the GPU's work included; the median of 7 after one that warms up.
Archives and tensors are compared. Needs PyTorch, a GPU, and szgpu with its CUDA backend.
"""
import statistics
import sys
import time

import szgpu
import torch

RUNS = 7


def milliseconds(call):
    """(the median, what the call gave)"""
    seconds = []
    for _ in range(RUNS + 1):
        begin = time.perf_counter()
        result = call()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(seconds[1:]), result


def bits(tensors):
    return [tensor.view(torch.uint8).flatten() for tensor in tensors]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    tensors = [(torch.randn(512, 1024, device="cuda") * 0.02).to(torch.bfloat16)
               for _ in range(count)]
    many_ms, archives = milliseconds(lambda: szgpu.compress_many(tensors, lossless=True))
    each_ms, others = milliseconds(lambda: [szgpu.compress(x, lossless=True) for x in tensors])
    many_back_ms, restored = milliseconds(lambda: szgpu.decompress_many(archives))
    each_back_ms, _ = milliseconds(lambda: [szgpu.decompress(a) for a in archives])
    if not all(map(torch.equal, archives, others)):
        sys.exit("python_many.py: archives differ")
    if not all(map(torch.equal, bits(tensors), bits(restored))):
        sys.exit("python_many.py: tensors did not come back")
    print(f"{count} tensors on {torch.cuda.get_device_name()}, ms: "
          f"compress_many {many_ms:.1f}, one by one {each_ms:.1f}; "
          f"decompress_many {many_back_ms:.1f}, one by one {each_back_ms:.1f}")


if __name__ == "__main__":
    main()
