"""Reads GGUF files that Satchel wrote with the Python package gguf, and compares every tensor with the Hugging Face folder it was written from.

    venv/bin/python test/parity/gguf-reader.py FOLDER FILE.gguf [FOLDER FILE.gguf ...]      (venv: pip install gguf numpy safetensors torch)

Names come from the package's own table, q and k rows are put in ggml's order by the converter's formula, values are de-quantised by the package.
Prints for each file its architecture, tensors, types, and the largest difference of a value.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
from safetensors.torch import load_file


def interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def compare(folder: pathlib.Path, file: pathlib.Path) -> dict:
    config = json.loads((folder / "config.json").read_text())
    reader = gguf.GGUFReader(file)
    architecture = reader.fields["general.architecture"].contents()
    number = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == architecture)
    names = gguf.get_tensor_name_map(number, config["num_hidden_layers"])
    stored = {tensor.name: tensor for tensor in reader.tensors}
    weights = {name: tensor.float().numpy() for path in sorted(folder.glob("model*.safetensors")) for name, tensor in load_file(path).items()}
    largest = 0.0
    for name, expected in weights.items():
        if name == "lm_head.weight" and config["tie_word_embeddings"]:
            continue
        tensor = stored.pop(names.get_name(name, try_suffixes=(".weight", ".bias")))
        if architecture in ("llama", "smollm3") and ("q_proj" in name or "k_proj" in name):
            expected = interleaved(expected, config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"])
        found = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(expected.shape)
        largest = max(largest, float(np.abs(found - expected).max()))
    assert all(name.startswith("rope_factors_") for name in stored), list(stored)
    types = sorted({tensor.tensor_type.name for tensor in reader.tensors})
    return {"file": file.name, "architecture": architecture, "tensors": len(reader.tensors), "types": types, "largest": largest, "tokens": len(reader.fields["tokenizer.ggml.tokens"].data)}


arguments = [pathlib.Path(argument) for argument in sys.argv[1:]]
for folder, file in zip(arguments[::2], arguments[1::2], strict=True):
    print(json.dumps(compare(folder, file)))
