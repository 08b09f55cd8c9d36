"""Makes the parity fixtures under test/parity/fixtures from the reference implementation.

    python3 -m venv venv && venv/bin/pip install torch transformers peft safetensors tokenizers
    venv/bin/python test/parity/make-fixtures.py

Every model is tiny and random, with the exact class of a real family, so that each branch (grouped heads, biases,
tied head, sharded files, bf16, fp16, explicit head size, both config spellings, layers without rotary, packed projections,
partial rotary, LongRoPE with short and with long factors) appears somewhere. Weights are rounded
to the stored type first and then computed in float32, as Satchel does. A model folder holds, besides the checkpoint:

    expected.json              contextTokens (the longest prompt plus completion of the run that is imitated), sequences (ids), logprobs [null, lp, ...] a sequence, loss = mean cross-entropy over all
                               predicted positions of all sequences, greedy continuations, the adapter's own numbers;
                               alone (phi3): sequences on both sides of the short factors' reach, each a forward of its own
    gradients.safetensors      d loss / d parameter, float32, under the checkpoint's names
    adapter/                   a PEFT adapter with B different from zero
    adapter-gradients.safetensors  d loss / d A and d B under the adapter file's names (base frozen, dropout 0)

    venv/bin/python test/parity/make-fixtures.py NAME ...      makes only these models

Versions of the libraries used are recorded in every expected.json.
"""

import json
import math
import os
import pathlib
import shutil
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import peft
import safetensors
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parent / "fixtures"
VERSIONS = {
    "torch": torch.__version__,
    "transformers": transformers.__version__,
    "peft": peft.__version__,
    "safetensors": safetensors.__version__,
    "tokenizers": tokenizers.__version__,
}
VOCABULARY = 96
LENGTHS = [13, 7, 21]


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def randomize(model, seed):
    """Weights large enough that attention and gates are far from flat; norms near one, biases not zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if name.endswith("norm.weight"):
                parameter.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.3 * noise)
            elif "embed_tokens" in name or "lm_head" in name:
                parameter.copy_(0.35 * noise)
            else:
                parameter.copy_(noise * 1.3 / math.sqrt(parameter.shape[1]))


def make_sequences(seed):
    # Special ids stay out: torch's embedding drops the gradient of the padding row, which is a convention, not mathematics.
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, VOCABULARY, (length,), generator=generator) for length in LENGTHS]


def log_probabilities(model, sequences):
    """Per sequence [null, lp, ...]: the log-probability of each id given the ids before it, temperature 1."""
    rows = []
    for ids in sequences:
        logits = model(ids[None]).logits[0].float()
        chosen = torch.log_softmax(logits[:-1], dim=-1).gather(1, ids[1:, None])[:, 0]
        rows.append(chosen)
    return rows


def loss_of(rows):
    return -torch.cat(rows).mean()


def listed(rows):
    return [[None, *row.tolist()] for row in rows]


def greedy(model, sequences, count):
    """Greedy continuation of each sequence, with the smallest gap between the two best logits on the way."""
    out = []
    for ids in sequences:
        current, gap = ids.clone(), math.inf
        for _ in range(count):
            best = torch.topk(model(current[None]).logits[0, -1].float(), 2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            current = torch.cat([current, best.indices[:1]])
        out.append({"prompt": ids.tolist(), "continuation": current[len(ids):].tolist(), "smallestLogitGap": gap})
    return out


def old_config_spelling(folder):
    """Rewrites config.json the way transformers 4 wrote it: torch_dtype, rope_theta at the top."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["torch_dtype"] = config.pop("dtype")
    rotary = config.pop("rope_parameters")
    config["rope_theta"] = rotary["rope_theta"]
    config["rope_scaling"] = None
    if rotary["rope_type"] == "longrope":
        config["partial_rotary_factor"] = rotary["partial_rotary_factor"]
        config["rope_scaling"] = {"type": "longrope", "short_factor": rotary["short_factor"], "long_factor": rotary["long_factor"]}
    write_json(path, config)


def make_model(name, config, seed, dtype, shard_size=None, old_spelling=False, targets=None, context=64, alone=()):
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    config._attn_implementation = "eager"
    build = {
        "llama": transformers.LlamaForCausalLM,
        "qwen2": transformers.Qwen2ForCausalLM,
        "smollm3": transformers.SmolLM3ForCausalLM,
        "phi3": transformers.Phi3ForCausalLM,
    }[config.model_type]
    model = build(config)
    randomize(model, seed)
    model.to(dtype)
    model.save_pretrained(folder, max_shard_size=shard_size or "1GB")
    # Read back, not cast back: a cast to bf16 also rounds the rotary frequencies, which no loaded checkpoint has rounded.
    model = build.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    if old_spelling:
        old_config_spelling(folder)

    sequences = make_sequences(seed + 1)
    rows = log_probabilities(model, sequences)
    loss = loss_of(rows)
    loss.backward()
    gradients = {key: value.grad.clone() for key, value in model.named_parameters()}
    save_file(gradients, folder / "gradients.safetensors", metadata={"what": "d loss / d parameter"})
    with torch.no_grad():
        continuation = greedy(model, [ids[:5] for ids in sequences], 16)
        generator = torch.Generator().manual_seed(seed + 3)
        single = [torch.randint(3, VOCABULARY, (length,), generator=generator) for length in alone]
        single_rows = log_probabilities(model, single)
    model.zero_grad()

    adapter = make_adapter(model, folder, name, sequences, seed + 2, targets)
    write_json(
        folder / "expected.json",
        {
            "versions": VERSIONS,
            "contextTokens": context,
            "sequences": [ids.tolist() for ids in sequences],
            "logprobs": listed(rows),
            "loss": float(loss.detach()),
            "greedy": continuation,
            "adapter": adapter,
            **({"alone": {"sequences": [ids.tolist() for ids in single], "logprobs": listed(single_rows)}} if alone else {}),
        },
    )


def make_adapter(model, folder, name, sequences, seed, targets):
    config = peft.LoraConfig(r=4, lora_alpha=6, lora_dropout=0.0, target_modules=targets, task_type="CAUSAL_LM", bias="none")
    model.name_or_path = name
    adapted = peft.get_peft_model(model, config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in adapted.named_parameters():
            if "lora_" in key:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * (0.3 if "lora_A" in key else 0.15))
    adapted.save_pretrained(folder / "adapter", save_embedding_layers=False)  # with an adapted head it would store the base head as well
    (folder / "adapter" / "README.md").unlink(missing_ok=True)
    written = json.loads((folder / "adapter" / "adapter_config.json").read_text())
    written["target_modules"].sort()  # a set inside the library, in another order on each run
    write_json(folder / "adapter" / "adapter_config.json", written)
    rows = log_probabilities(adapted, sequences)
    loss = loss_of(rows)
    loss.backward()
    gradients = {
        key.replace(".default.", "."): value.grad.clone() for key, value in adapted.named_parameters() if value.requires_grad
    }
    stored = load_file(folder / "adapter" / "adapter_model.safetensors")
    assert sorted(stored) == sorted(gradients), "gradient names must be the adapter file's names"
    save_file(gradients, folder / "adapter-gradients.safetensors", metadata={"what": "d loss / d A and B"})
    merged = adapted.merge_and_unload()
    sums = {
        key: {"sum": float(value.double().sum()), "squares": float(value.double().square().sum())}
        for key, value in merged.named_parameters()
        if key.split(".")[-2] in targets
    }
    return {"logprobs": listed(rows), "loss": float(loss.detach()), "merged": sums}


def make_models():
    small = dict(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=48, num_hidden_layers=2, max_position_embeddings=128,
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )
    make_model(
        "llama-tied",
        transformers.LlamaConfig(
            **small, num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-5, tie_word_embeddings=True,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        ),
        seed=11, dtype=torch.float32, old_spelling=True,
        targets=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    )
    make_model(
        "llama-biases",
        transformers.LlamaConfig(
            **small, num_attention_heads=4, num_key_value_heads=1, head_dim=32, rms_norm_eps=1e-6, tie_word_embeddings=False,
            attention_bias=True, mlp_bias=True, rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        ),
        seed=22, dtype=torch.float16, targets=["q_proj", "v_proj"],
    )
    make_model(
        "qwen2-tied-sharded",
        transformers.Qwen2Config(
            **small, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6, tie_word_embeddings=True,
            rope_parameters={"rope_type": "default", "rope_theta": 1000000.0},
        ),
        seed=33, dtype=torch.bfloat16, shard_size="40KB", old_spelling=True,
        targets=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    )
    make_model(
        "qwen2-untied",
        transformers.Qwen2Config(
            **small, num_attention_heads=4, num_key_value_heads=4, rms_norm_eps=1e-6, tie_word_embeddings=False,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        ),
        seed=44, dtype=torch.bfloat16, targets=["o_proj", "down_proj", "lm_head"],
    )


def make_smollm3_and_phi3():
    small = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=48, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    make_model(
        "smollm3",
        transformers.SmolLM3Config(
            **small, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128, rms_norm_eps=1e-6,
            no_rope_layers=[1, 0, 1, 1], tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 5000000.0},
        ),
        seed=55, dtype=torch.bfloat16, old_spelling=True,
        targets=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    )
    # 6 rotated pairs: three quarters of a head of 16.
    rotary = {
        "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
        "short_factor": [1.0, 1.05, 1.1, 1.2, 1.35, 1.5], "long_factor": [1.2, 1.9, 3.5, 7.0, 15.0, 31.0],
    }
    packed = dict(**small, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5, tie_word_embeddings=True)
    # The reference chooses the factors at every forward by the sequence at hand, Satchel once for a run: all sequences and
    # continuations lie on one side, except those computed alone.
    make_model(
        "phi3-short",
        transformers.Phi3Config(
            **packed, max_position_embeddings=128, original_max_position_embeddings=32, sliding_window=262144, rope_parameters=dict(rotary),
        ),
        seed=66, dtype=torch.bfloat16, old_spelling=True, context=32, alone=(20, 32, 33, 50),
        targets=["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
    )
    make_model(
        "phi3-long",
        transformers.Phi3Config(
            **packed, max_position_embeddings=128, original_max_position_embeddings=4, sliding_window=None, rope_parameters=dict(rotary),
        ),
        seed=77, dtype=torch.float32, targets=["qkv_proj", "gate_up_proj"],
    )


def record_first_values():
    """What the reference reads from its own files: [file, first three values of the first q_proj]."""
    files = ["llama-tied/model", "llama-biases/model", "qwen2-tied-sharded/model-00001-of-00003", "qwen2-untied/model"]
    name = "model.layers.0.self_attn.q_proj.weight"
    write_json(
        ROOT / "first-values.json",
        [[f"{file}.safetensors", load_file(ROOT / f"{file}.safetensors")[name].float().flatten()[:3].tolist()] for file in files],
    )


if __name__ == "__main__":
    ROOT.mkdir(parents=True, exist_ok=True)
    make_models()
    make_smollm3_and_phi3()
    if len(sys.argv) == 1:
        record_first_values()
