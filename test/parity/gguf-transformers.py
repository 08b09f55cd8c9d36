"""Compares what Satchel reads from a GGUF file with what transformers reads from it.

    node out/main/cli.js logprobs MODEL.gguf --tokens TOKENS.json --json > OURS.json     TOKENS.json: {"sequences": [[id, ...], ...]}
    venv/bin/python test/parity/gguf-transformers.py MODEL.gguf TOKENS.json OURS.json    (venv: pip install torch transformers gguf)

Prints the largest and mean difference of log-probabilities in nats (float32 on both sides) and the versions.
"""

import importlib.metadata
import json
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM

path, tokens, ours = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
differences = []
for sequence, found in zip(json.loads(tokens.read_text())["sequences"], json.loads(ours.read_text())["logprobs"], strict=True):
    with torch.no_grad():
        logprobs = model(torch.tensor([sequence])).logits[0].log_softmax(-1)
    expected = logprobs[:-1].gather(1, torch.tensor(sequence[1:])[:, None])[:, 0]
    differences.append((expected - torch.tensor(found[1:])).abs())
every = torch.cat(differences)
versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "gguf")}
print(json.dumps({"file": path.name, "tokens": len(every), "largest": float(every.max()), "mean": float(every.mean()), "versions": versions}))
