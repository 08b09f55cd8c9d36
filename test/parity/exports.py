"""Loads Satchel's exports in transformers, peft and onnxruntime-genai and compares them with the policy they came from.

    node test/support/run-typescript.mjs test/parity/write-exports.ts FOLDER
    venv/bin/pip install torch transformers peft safetensors onnxruntime-genai
    venv/bin/python test/parity/exports.py FOLDER

Records versions and results in exports-results.json beside this file (its keys "transformers", "peft", "onnxruntime-genai").
Greedy tokens must be equal, and log-probabilities within the limits below, or the script ends with an error.
"""

import json
import pathlib
import sys

import numpy
import onnxruntime_genai
import peft
import torch
import transformers

RESULTS = pathlib.Path(__file__).resolve().parent / "exports-results.json"
# Mean difference of log-probabilities in nats; the files' own rounding is in it.
LIMITS = {"float32": 1e-4, "float16": 5e-3, "bfloat16": 4e-2, "int8": 4e-2}


def answers_of(model, texts):
    """Log-probabilities of the sequences and greedy continuations of the prompts, without any program's own search."""
    logprobs, continuations = [], []
    with torch.no_grad():
        for ids in texts["sequences"]:
            row = torch.tensor([ids])
            logits = model(row).logits[0].float()
            chosen = torch.log_softmax(logits[:-1], dim=-1).gather(1, row[0, 1:, None])[:, 0]
            logprobs.append([None, *chosen.tolist()])
        for ids in texts["prompts"]:
            row = torch.tensor([ids])
            # Every end is switched off: the policy was continued by a fixed number of tokens.
            out = model.generate(row, attention_mask=torch.ones_like(row), max_new_tokens=texts["newTokens"], min_new_tokens=texts["newTokens"], do_sample=False, eos_token_id=None, pad_token_id=0)
            continuations.append(out[0, len(ids):].tolist())
    return logprobs, continuations


def genai_continuations(folder, texts):
    model = onnxruntime_genai.Model(str(folder))
    continuations = []
    for ids in texts["prompts"]:
        parameters = onnxruntime_genai.GeneratorParams(model)
        parameters.set_search_options(max_length=len(ids) + texts["newTokens"], do_sample=False)
        generator = onnxruntime_genai.Generator(model, parameters)
        generator.append_tokens(numpy.array([ids], dtype=numpy.int32))
        while not generator.is_done():
            generator.generate_next_token()
        continuations.append([int(value) for value in generator.get_sequence(0)][len(ids):])
    return continuations


def same(own, other, ends):
    """How many continuations are equal. One that its program ended before a stop id is equal up to there."""
    return sum(a == b or (a[: len(b)] == b and a[len(b)] in ends) for a, b in zip(own, other))


def difference(own, other):
    values = [abs(a - b) for mine, theirs in zip(own, other) for a, b in zip(mine, theirs) if a is not None]
    return {"mean": float(f"{sum(values) / len(values):.2e}"), "largest": float(f"{max(values):.2e}")}


def tokenizer_agreement(encode, strings):
    return f"{sum(encode(item['text']) == item['ids'] for item in strings)}/{len(strings)}"


def genai_tokenizer(folder, strings):
    """Its tokenizer knows the patterns of published models only; what it refuses is recorded in its own words."""
    try:
        tokenizer = onnxruntime_genai.Tokenizer(onnxruntime_genai.Model(str(folder)))
    except RuntimeError as error:
        return f"refused: {str(error).splitlines()[-1]}"
    return tokenizer_agreement(lambda text: [int(value) for value in tokenizer.encode(text)], strings)


def load(folder, **options):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", **options).eval()


def check(case, expected, failures):
    ends = json.loads((case / "merged" / "generation_config.json").read_text()).get("eos_token_id")
    ends = ends if isinstance(ends, list) else [ends]
    rows = {}

    def judge(program, export, greedy, differences=None):
        stored = json.loads((case / export / "export.json").read_text())["storedType"]
        row = {"export": export, "storedType": stored, "greedyEqual": f"{greedy}/{len(expected['texts']['prompts'])}"}
        if differences is not None:
            row["logprobs"] = differences
        rows.setdefault(program, []).append(row)
        # Rounding may turn a near tie; the policy itself, in float32, may not.
        if stored == "float32" and greedy < len(expected["texts"]["prompts"]):
            failures.append(f"{case.name}/{export} in {program}: {greedy} continuations are equal")
        if differences is not None and differences["mean"] > LIMITS[stored]:
            failures.append(f"{case.name}/{export} in {program}: log-probabilities differ by {differences['mean']}")

    def ask(program, export, model):
        logprobs, continuations = answers_of(model, expected["texts"])
        judge(program, export, same(expected["continuations"], continuations, ends), difference(expected["logprobs"], logprobs))

    ask("transformers", "merged", load(case / "merged"))
    ask("peft", "adapter", peft.PeftModel.from_pretrained(load(expected["base"]), case / "adapter").eval())
    for export in sorted(path.name for path in case.glob("onnx-*")):
        judge("onnxruntime-genai", export, same(expected["continuations"], genai_continuations(case / export, expected["texts"]), ends))
    if "strings" in expected:
        # AutoTokenizer puts the family's own way of cutting texts in place of the one that tokenizer.json says.
        for kind in (transformers.PreTrainedTokenizerFast, transformers.AutoTokenizer):
            merged = kind.from_pretrained(case / "merged")
            rows["transformers"][0][kind.__name__] = tokenizer_agreement(lambda text: merged.encode(text, add_special_tokens=False), expected["strings"])
        rows["onnxruntime-genai"][0]["tokenizer"] = genai_tokenizer(case / "onnx-float32", expected["strings"])
    return rows


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    versions = {"transformers": transformers.__version__, "peft": peft.__version__, "onnxruntime-genai": onnxruntime_genai.__version__}
    results = {program: {"version": version, "torch": torch.__version__, "cases": {}} for program, version in versions.items()}
    failures = []
    for case in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        rows = check(case, json.loads((case / "expected.json").read_text()), failures)
        for program, found in rows.items():
            results[program]["cases"][case.name] = found
            for row in found:
                print(case.name, program, row)
    del results["onnxruntime-genai"]["torch"]
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, **results}, indent=1) + "\n", encoding="utf-8", newline="\n")
    if failures:
        sys.exit("\n".join(failures))


main()
