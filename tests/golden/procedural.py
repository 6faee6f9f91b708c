"""The procedural images of the golden vectors: integer formulas, which tests repeat in Rust."""
import numpy as np

FORMULA = """all arithmetic in u32, wrapping; x column, y row, c channel
h = x*0x9E3779B1 + y*0x85EBCA77 + c*0xC2B2AE3D + seed*0x27D4EB2F
h ^= h>>15; h *= 0x2C1B3C6D; h ^= h>>12; h *= 0x297A2D39; h ^= h>>15
p = x*A[c] + y*B[c] + c*1365 + seed*977      A = [53,31,17]  B = [19,47,71]
q = (p>>4) & 511; t = if q < 256 {q} else {511-q}
s = t + (h & 31); value = if s < 16 {0} else {min(s-16, 255)}"""


def procedural(seed, width, height, channels):
    u = lambda v: np.uint32(v & 0xFFFFFFFF)
    x = np.arange(width, dtype=np.uint32)[None, :]
    y = np.arange(height, dtype=np.uint32)[:, None]
    out = np.empty((channels, height, width), np.uint8)
    with np.errstate(over="ignore"):
        for c in range(channels):
            h = x * u(0x9E3779B1) + y * u(0x85EBCA77) + u(c * 0xC2B2AE3D) + u(seed * 0x27D4EB2F)
            h ^= h >> u(15)
            h *= u(0x2C1B3C6D)
            h ^= h >> u(12)
            h *= u(0x297A2D39)
            h ^= h >> u(15)
            p = x * u((53, 31, 17)[c]) + y * u((19, 47, 71)[c]) + u(c * 1365) + u(seed * 977)
            q = (p >> u(4)) & u(511)
            t = np.where(q < 256, q, u(511) - q)
            s = t + (h & u(31))
            out[c] = np.where(s < 16, u(0), np.minimum(s - u(16), u(255))).astype(np.uint8)
    return out
