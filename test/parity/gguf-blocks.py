"""Makes the golden blocks of test/parity/fixtures/gguf/blocks.json.

    python3 -m venv venv && venv/bin/pip install gguf numpy && venv/bin/python test/parity/gguf-blocks.py

For every type that is read: random bytes of several blocks (scales are ordinary float16 numbers, since random ones would be NaN now and then), and
the values gguf.quants.dequantize gives for them, as float32 bit patterns. For Q8_0 also: values, and the bytes gguf.quants.quantize gives.
Everything is base64. The package's version is recorded.
"""

import base64
import importlib.metadata
import json
import pathlib

import gguf
import numpy as np

# Bytes of a block, and where its float16 numbers are.
LAYOUTS = {
    "Q4_0": (18, [0]), "Q4_1": (20, [0, 2]), "Q5_0": (22, [0]), "Q5_1": (24, [0, 2]), "Q8_0": (34, [0]),
    "Q4_K": (144, [0, 2]), "Q5_K": (176, [0, 2]), "Q6_K": (210, [208]), "F16": (2, [0]), "BF16": (2, []),
}
random = np.random.default_rng(20260101)


def text(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode()


def blocks(name: str) -> dict:
    size, scales = LAYOUTS[name]
    count = 64 if size == 2 else 3
    data = random.integers(0, 256, size=(count, size), dtype=np.uint8)
    for place in scales:
        data[:, place : place + 2] = random.normal(0, 0.3, size=(count, 1)).astype(np.float16).view(np.uint8)
    if name == "BF16":
        data = (random.normal(0, 2, size=count).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    values = gguf.quants.dequantize(data.reshape(-1), gguf.GGMLQuantizationType[name]).astype(np.float32)
    return {"bytes": text(data), "values": text(values)}


def packed() -> dict:
    # Magnitudes over many scales, a block of zeros, ties, and a single outlier.
    values = np.concatenate([
        random.normal(0, 1, 256), random.normal(0, 1e-4, 64), np.zeros(32), np.arange(-16, 16) + 0.5, [127.0] + [0.5] * 31, [-1e4] + [1.0] * 31,
    ]).astype(np.float32)
    return {"values": text(values), "bytes": text(gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0))}


out = pathlib.Path(__file__).resolve().parent / "fixtures" / "gguf" / "blocks.json"
out.parent.mkdir(parents=True, exist_ok=True)
content = {"versions": {"gguf": importlib.metadata.version("gguf"), "numpy": np.__version__}, "read": {name: blocks(name) for name in LAYOUTS}, "written": {"Q8_0": packed()}}
out.write_text(json.dumps(content, indent=1) + "\n")
