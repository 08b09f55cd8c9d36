"""Makes test/parity/fixtures/gguf: the golden blocks of blocks.json, and container.gguf, a file by the package's own writer.

    python3 -m venv venv && venv/bin/pip install gguf numpy && venv/bin/python test/parity/gguf-blocks.py

For every type that is read: random bytes of several blocks (scales are ordinary float16 numbers, since random ones would be NaN now and then), and
the values gguf.quants.dequantize gives for them, as float32 bit patterns. For Q8_0 also: values, and the bytes gguf.quants.quantize gives.
Everything is base64. The package's version is recorded. container.gguf holds a value of every type and a few tensors at an alignment of 64; what is in it
stands in container.test.ts.
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


def container(path: pathlib.Path, read: dict) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    numbers = {"uint8": 200, "int8": -100, "uint16": 60000, "int16": -30000, "uint32": 4_000_000_000, "int32": -2_000_000_000, "uint64": 2**40, "int64": -(2**40), "float32": 0.1, "float64": 0.1}
    for name, value in numbers.items():
        getattr(writer, f"add_{name}")(f"a.{name}", value)
    writer.add_bool("a.bool", True)
    writer.add_string("a.string", "Gr\u00fc\u00dfe \U0001f44b")
    writer.add_array("a.strings", ["x", "", "y z"])
    writer.add_array("a.numbers", [1, 2, 3])
    writer.add_array("a.flags", [True, False])
    writer.add_array("a.floats", [0.5, -0.25])
    writer.add_tensor("matrix", np.arange(6, dtype=np.float32).reshape(2, 3))
    packed = np.frombuffer(base64.b64decode(read["Q4_K"]["bytes"]), dtype=np.uint8).reshape(3, -1)
    writer.add_tensor("packed", packed, raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    writer.add_tensor("half", np.array([1.5, -2.0], dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


container(out.parent / "container.gguf", content["read"])
