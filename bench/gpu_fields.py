"""gpu_fields.py - makes the fields for the benches of the CUDA backend on a GPU.

SPDX-License-Identifier: BSD-3-Clause

  python3 gpu_fields.py OUTDIR N

Writes raw f32 files, with their shape in the name, to OUTDIR. The random numbers are fixed. Needs
CuPy (on PyPI cupy-cuda13x).

  turb_NxNxN                turbulence: random phases under a k^(-11/3) spectrum
  lognormal_NxNxN           density: the exponential of such a field, over orders of magnitude
  wave_NxNxN                six pulses that spread from points, smooth and mostly near 0
  particles_M               x of M = N^3 / 2 particles in clusters, in the order of a mesh of cells
  small_180x180x193         a part of turb, 25 MB (less if N is small)
"""
import os
import sys

try:
    import cupy as cp
except ImportError:
    sys.exit("gpu_fields.py: CuPy is missing: pip install cupy-cuda13x (and a CUDA GPU)")
import numpy as np

SMALL = (180, 180, 193)
BOX = 256.0  # side of the particles' periodic box
CELLS = 64  # mesh cells along each side; the mesh orders the particles
PARTICLES_A_HALO = 4096
UNBOUND_SHARE = 0.3  # share of the particles outside clusters


def gaussian_field(random, n, slope, cutoff):
    """A real field of n^3 values, spectrum k^slope damped beyond cutoff, deviation 1."""
    k = cp.fft.fftfreq(n) * n
    kx = cp.fft.rfftfreq(n) * n
    wave = cp.sqrt(k[:, None, None]**2 + k[None, :, None]**2 + kx[None, None, :]**2)
    wave = wave.astype(cp.float32)
    wave[0, 0, 0] = 1
    spectrum = cp.fft.rfftn(random.standard_normal((n, n, n), dtype=cp.float32))
    spectrum *= wave**(slope / 2) * cp.exp(-(wave / cutoff)**1.5)
    spectrum[0, 0, 0] = 0
    field = cp.fft.irfftn(spectrum, s=(n, n, n)).astype(cp.float32)
    return field / field.std()


def pulses(n):
    """Ricker pulses around six points, weaker with distance."""
    axis = cp.linspace(0, 1, n)
    z, y, x = cp.meshgrid(axis, axis, axis, indexing="ij", sparse=True)
    field = cp.zeros((n, n, n), cp.float32)
    for i in range(6):
        cx, cy, cz = np.random.RandomState(i).rand(3)
        distance = cp.sqrt((x - cx)**2 + (y - cy)**2 + (z - cz)**2)
        phase = (distance - 0.15 * (i + 1) / 2) * 40
        pulse = (1 - 2 * phase * phase) * cp.exp(-phase * phase) / (1 + 5 * distance)
        field += pulse.astype(cp.float32)
    return field


def particles(count):
    """x of particles in mesh order; most of them are in clusters, denser at the centre."""
    random = cp.random.RandomState(11)
    halo_count = max(1, count // PARTICLES_A_HALO)
    centres = random.random_sample((halo_count, 3), dtype=cp.float32)
    halo = (halo_count * random.random_sample(count)**3).astype(cp.int32)  # a few get most
    reach = 0.02 * random.random_sample(count, dtype=cp.float32)**2
    offset = random.standard_normal((count, 3), dtype=cp.float32)
    offset *= (reach / cp.sqrt((offset**2).sum(axis=1)))[:, None]
    place = centres[cp.minimum(halo, halo_count - 1)] + offset
    unbound = int(UNBOUND_SHARE * count)
    place[:unbound] = random.random_sample((unbound, 3), dtype=cp.float32)
    place -= cp.floor(place)
    cell = cp.minimum((place * CELLS).astype(cp.int32), CELLS - 1)
    order = cp.argsort((cell[:, 2] * CELLS + cell[:, 1]) * CELLS + cell[:, 0])
    return place[order, 0] * cp.float32(BOX)


def save(folder, name, field):
    field = cp.asnumpy(cp.ascontiguousarray(field.astype(cp.float32)))
    path = os.path.join(folder, f"{name}_{'x'.join(map(str, field.shape))}.f32")
    field.tofile(path)
    print(f"{path}: {field.nbytes} bytes, {field.min():g} to {field.max():g}", flush=True)


def main():
    if len(sys.argv) != 3 or not sys.argv[2].isdigit() or int(sys.argv[2]) < 2:
        sys.exit("usage: gpu_fields.py OUTDIR N, with N at least 2")
    folder, n = sys.argv[1], int(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    random = cp.random.RandomState(7)  # both fields draw from it in turn
    turbulence = gaussian_field(random, n, -11 / 3, n / 6)
    save(folder, "turb", turbulence)
    save(folder, "small", turbulence[tuple(slice(extent) for extent in SMALL)])
    del turbulence
    save(folder, "lognormal", cp.exp(2.0 * gaussian_field(random, n, -2.2, n / 5)))
    save(folder, "wave", pulses(n))
    save(folder, "particles", particles(n**3 // 2))


if __name__ == "__main__":
    main()
