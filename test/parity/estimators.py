"""Asks TRL and verl for advantages, losses and gradients on the same numbers that Satchel's estimators are tested with.

    python3 -m venv venv && venv/bin/pip install torch transformers trl==1.16.0 verl==0.9.1
    venv/bin/python test/parity/estimators.py

Writes test/parity/fixtures/estimators.json: the versions, the inputs, and what each library's own code said. TRL's numbers come out of its
trainers: advantages from a generation with a tiny random model and a reward function that gives the rewards below, losses from
`_compute_loss` with the log-probabilities below in place of the model's. verl's come from `core_algos`. Everything is computed in double
precision where the library lets it. `test/engine/policy/parity.test.ts` compares.

A batch is two prompts with four rollouts each. Token arrays are flat lists, rollouts one after another; `lengths` cuts them.
"""

import importlib.metadata
import json
import os
import pathlib
import tempfile
from types import SimpleNamespace

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer
from verl.trainer.ppo import core_algos
from verl.workers.config import ActorConfig

HERE = pathlib.Path(__file__).parent
GROUPS, K, LONGEST = 2, 4, 9
ROLLOUTS = GROUPS * K
CONSTANT_LENGTH = 16


def inputs():
    """Log-probabilities that leave the clip range on both sides, on a grid of 1/1024 so that every precision holds them exactly."""
    rng = np.random.default_rng(7)
    grid = lambda x: np.round(x * 1024) / 1024
    lengths = [9, 3, 6, 1, 5, 9, 2, 7]
    shape = (ROLLOUTS, LONGEST)
    old = grid(rng.uniform(-3, -0.1, shape))
    return dict(
        lengths=lengths,
        scores=[1.0, 0.0, 0.0, 0.5, -0.75, 0.25, 1.5, 0.25],
        old=old,
        present=grid(old + rng.normal(0, 0.3, shape)),
        reference=grid(old + rng.normal(0, 0.2, shape)),
        tokenAdvantages=grid(rng.normal(0, 1, shape)),
        tokenRewards=grid(rng.normal(0, 1, shape)),
        correction=grid(rng.uniform(0.2, 2, shape)),
    )


DATA = inputs()
MASK = torch.tensor([[float(t < length) for t in range(LONGEST)] for length in DATA["lengths"]], dtype=torch.float64)
INDEX = np.repeat(np.arange(GROUPS), K)
tensor = lambda name: torch.tensor(DATA[name], dtype=torch.float64)
flat = lambda matrix: [float(matrix[k][t]) for k, length in enumerate(DATA["lengths"]) for t in range(length)]


def tiny(folder):
    """A Qwen2 of random weights and a tokenizer of words, enough for a trainer to be built and to generate."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<pad>", "<eos>"] + [f"w{i}" for i in range(30)]
    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="w0"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>", unk_token="w0", padding_side="left")
    torch.manual_seed(0)
    config = Qwen2Config(vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64, bos_token_id=None, eos_token_id=1, pad_token_id=0)
    return Qwen2ForCausalLM(config), tokenizer


def scores_in_order(prompts, completions, **kwargs):
    """The rewards of the batch: prompt 'w1' has the first group, 'w2' the second."""
    seen = {}
    rewards = []
    for prompt in prompts:
        k = seen.get(prompt, 0)
        seen[prompt] = k + 1
        rewards.append(DATA["scores"][(0 if prompt == "w1" else K) + k])
    return rewards


def trainer(kind, config_kind, folder, **settings):
    model, tokenizer = tiny(folder)
    arguments = config_kind(output_dir=folder, per_device_train_batch_size=ROLLOUTS, num_generations=K, max_completion_length=4, use_cpu=True, report_to=[], bf16=False, **settings)

    class Probe(kind):
        given = None

        def _get_per_token_logps_and_entropies(self, *args, **kwargs):
            if self.given is None:
                return super()._get_per_token_logps_and_entropies(*args, **kwargs)
            return self.given, torch.zeros_like(self.given), None

    return Probe(model=model, reward_funcs=scores_in_order, args=arguments, train_dataset=Dataset.from_dict({"prompt": ["w1", "w2"]}), processing_class=tokenizer)


def trl_advantages(kind, config_kind, folder, **settings):
    probe = trainer(kind, config_kind, folder, **settings)
    batch = probe._generate_and_score_completions([{"prompt": "w1"}] * K + [{"prompt": "w2"}] * K)
    return [float(x) for x in batch["advantages"]]


def trl_loss(probe, advantages, present, extra):
    """TRL's own loss on our numbers; the gradient by each present log-probability."""
    probe.given = present
    probe.model.eval()  # 'train' would only divide by the gradient accumulation
    ids = torch.ones(ROLLOUTS, LONGEST, dtype=torch.long)
    batch = dict(prompt_ids=ids[:, :1], prompt_mask=ids[:, :1], completion_ids=ids, completion_mask=MASK, advantages=advantages, num_items_in_batch=MASK.sum(), **extra)
    return probe._compute_loss(probe.model, batch)


def gradient_of(loss, present):
    (gradient,) = torch.autograd.grad(loss, present)
    return flat(gradient)


SCORE_ADVANTAGES = torch.tensor([1.25, -0.5, -0.75, 0.25, -1.5, 0.5, 1.0, -0.25], dtype=torch.float64)


def trl_losses(folder):
    probe = trainer(GRPOTrainer, GRPOConfig, folder)
    probe.max_completion_length = CONSTANT_LENGTH
    token, score = tensor("tokenAdvantages"), SCORE_ADVANTAGES
    cases = [
        # name, advantages, attributes of the trainer, of its arguments, Satchel's loss configuration
        ("grpo", score, dict(loss_type="grpo"), {}, {}),
        ("grpo, token advantages", token, dict(loss_type="grpo"), {}, {}),
        ("grpo with KL", score, dict(loss_type="grpo", beta=0.04), {}, dict(klCoefficient=0.04, klEstimator="k3")),
        ("grpo with KL, unbiased", score, dict(loss_type="grpo", beta=0.04), dict(use_bias_correction_kl=True), dict(klCoefficient=0.04, klEstimator="k3", klUnbiased=True)),
        ("grpo, two-sided clip", token, dict(loss_type="grpo"), dict(delta=1.5), dict(dualClip=1.5)),
        ("bnpo", token, dict(loss_type="bnpo"), {}, dict(aggregation="all-tokens")),
        ("dr_grpo", token, dict(loss_type="dr_grpo"), {}, dict(aggregation="constant-length", constantLength=CONSTANT_LENGTH)),
        ("dapo", score, dict(loss_type="dapo", epsilon_high=0.28), {}, dict(clipHigh=0.28, aggregation="all-tokens")),
        ("cispo", token, dict(loss_type="cispo", epsilon_high=1.2), {}, dict(surrogate="cispo", cispoCap=1.2, aggregation="all-tokens")),
        ("sapo", token, dict(loss_type="sapo"), dict(sapo_temperature_pos=1.0, sapo_temperature_neg=1.05), dict(surrogate="sapo")),
        ("gspo", score, dict(loss_type="grpo", importance_sampling_level="sequence", epsilon_low=0.1, epsilon_high=0.12), {}, dict(surrogate="sequence", clipLow=0.1, clipHigh=0.12)),
        ("corrected, with KL", token, dict(loss_type="grpo", beta=0.04, use_vllm=True, vllm_importance_sampling_correction=True), {}, dict(klCoefficient=0.04)),
    ]
    results = []
    for name, advantages, attributes, arguments, satchel in cases:
        usual = dict(beta=0.0, epsilon_low=0.2, epsilon_high=0.2, importance_sampling_level="token", use_vllm=False, vllm_importance_sampling_correction=False)
        for field, value in {**usual, **attributes}.items():
            setattr(probe, field, value)
        for field, value in {"delta": None, "use_bias_correction_kl": False, **arguments}.items():
            setattr(probe.args, field, value)
        present = tensor("present").requires_grad_(True)
        corrected = "corrected" in name
        extra = dict(old_per_token_logps=tensor("old"), ref_per_token_logps=tensor("reference"), importance_sampling_ratio=tensor("correction"))
        loss = trl_loss(probe, advantages, present, extra)
        results.append(dict(library="trl", name=name, loss=satchel, advantages="score" if advantages is score else "token", corrected=corrected, value=float(loss.detach()), gradient=gradient_of(loss, present)))

    probe = trainer(RLOOTrainer, RLOOConfig, folder, beta=0.0)
    probe.epsilon_low = probe.epsilon_high = 0.2
    present = tensor("present").requires_grad_(True)
    loss = trl_loss(probe, score, present, dict(old_logps=(tensor("old") * MASK).sum(1)))
    results.append(dict(library="trl", name="rloo", loss=dict(surrogate="sequence-sum"), advantages="score", corrected=False, value=float(loss.detach()), gradient=gradient_of(loss, present)))
    return results


def actor(**settings):
    return ActorConfig(strategy="fsdp", rollout_n=K, ppo_mini_batch_size=ROLLOUTS, ppo_micro_batch_size_per_gpu=ROLLOUTS, **settings)


def verl_losses():
    token = tensor("tokenAdvantages")
    score = (SCORE_ADVANTAGES.unsqueeze(1) * MASK)
    none = 1e9  # verl always has a dual clip
    norm = dict(loss_scale_factor=CONSTANT_LENGTH)
    cases = [
        ("ppo, token mean", "vanilla", token, "token-mean", dict(clip_ratio_c=none), {}, dict(aggregation="all-tokens")),
        ("ppo, rollout mean", "vanilla", token, "seq-mean-token-mean", dict(clip_ratio_c=none), {}, {}),
        ("ppo, constant length", "vanilla", token, "seq-mean-token-sum-norm", dict(clip_ratio_c=none), norm, dict(aggregation="constant-length", constantLength=CONSTANT_LENGTH)),
        ("dual clip", "vanilla", token, "seq-mean-token-mean", dict(clip_ratio_c=1.5), {}, dict(dualClip=1.5)),
        ("clip-higher", "vanilla", token, "token-mean", dict(clip_ratio_low=0.2, clip_ratio_high=0.28, clip_ratio_c=none), {}, dict(clipHigh=0.28, aggregation="all-tokens")),
        ("corrected", "vanilla", token, "seq-mean-token-mean", dict(clip_ratio_c=none), {}, {}),
        ("gspo", "gspo", score, "seq-mean-token-mean", dict(clip_ratio_low=0.1, clip_ratio_high=0.12), {}, dict(surrogate="sequence", clipLow=0.1, clipHigh=0.12)),
        ("gspo, token advantages", "gspo", token, "seq-mean-token-mean", dict(clip_ratio_low=0.1, clip_ratio_high=0.12), {}, dict(surrogate="sequence-token", clipLow=0.1, clipHigh=0.12)),
        # verl bounds the weight from below as well; a lower clip of 1 takes that bound away.
        ("cispo", "cispo", token, "token-mean", dict(clip_ratio_low=1.0, clip_ratio_high=0.2), {}, dict(surrogate="cispo", cispoCap=1.2, aggregation="all-tokens")),
        ("sapo", "sapo", token, "seq-mean-token-mean", dict(tau_pos=1.0, tau_neg=1.05), {}, dict(surrogate="sapo")),
    ]
    results = []
    for name, policy_loss, advantages, aggregation, settings, batch_info, satchel in cases:
        config = actor(**settings)
        config.global_batch_info.clear()
        config.global_batch_info.update(batch_info)
        present = tensor("present").requires_grad_(True)
        weights = tensor("correction") if name == "corrected" else None
        loss, _ = core_algos.get_policy_loss_fn(policy_loss)(tensor("old"), present, advantages, MASK, aggregation, config, weights)
        results.append(dict(library="verl", name=name, loss=satchel, advantages="score" if advantages is score else "token", corrected=weights is not None, value=float(loss.detach()), gradient=gradient_of(loss, present)))
    return results


def verl_divergences():
    results = []
    for kind in ["k1", "k2", "k3"]:
        present = tensor("present").requires_grad_(True)
        estimate = core_algos.kl_penalty(present, tensor("reference"), kind)
        (gradient,) = torch.autograd.grad((estimate * MASK).sum(), present)
        results.append(dict(estimator=kind, values=flat(estimate.detach()), gradient=flat(gradient)))
    return results


def verl_advantages():
    last = torch.zeros(ROLLOUTS, LONGEST, dtype=torch.float64)
    for k, length in enumerate(DATA["lengths"]):
        last[k, length - 1] = DATA["scores"][k]
    shaped = tensor("tokenRewards") * MASK
    results = []

    def add(name, estimator, rewards, function, **settings):
        advantages, _ = function(rewards, MASK, **settings)
        results.append(dict(library="verl", name=name, estimator=estimator, rewards="score" if rewards is last else "token", advantages=flat(advantages)))

    add("grpo", dict(name="grpo", deviation="sample", epsilon=1e-6), last, core_algos.compute_grpo_outcome_advantage, index=INDEX)
    add("dr. grpo", dict(name="dr-grpo"), last, core_algos.compute_grpo_outcome_advantage, index=INDEX, norm_adv_by_std_in_grpo=False)
    add("rloo", dict(name="rloo"), last, core_algos.compute_rloo_outcome_advantage, index=INDEX)
    for gamma in (1.0, 0.9):
        add(f"reinforce++, discount {gamma}", {"name": "reinforce++", "discount": gamma}, shaped, core_algos.compute_reinforce_plus_plus_outcome_advantage, config=SimpleNamespace(gamma=gamma))
    return results


def trl_all_advantages(folder):
    spread = lambda advantages: [a for a, length in zip(advantages, DATA["lengths"]) for _ in range(length)]
    made = [
        ("grpo", dict(name="grpo", deviation="sample", epsilon=1e-4), trl_advantages(GRPOTrainer, GRPOConfig, folder)),
        ("dr_grpo", dict(name="dr-grpo"), trl_advantages(GRPOTrainer, GRPOConfig, folder, scale_rewards="none")),
        ("rloo", dict(name="rloo"), trl_advantages(RLOOTrainer, RLOOConfig, folder, beta=0.0)),
    ]
    return [dict(library="trl", name=name, estimator=estimator, rewards="score", advantages=spread(advantages)) for name, estimator, advantages in made]


def main():
    with tempfile.TemporaryDirectory() as folder:
        fixture = dict(
            versions={name: importlib.metadata.version(name) for name in ["torch", "transformers", "trl", "verl"]},
            groupSizes=[K] * GROUPS,
            lengths=DATA["lengths"],
            scores=DATA["scores"],
            scoreAdvantages=[float(x) for x in SCORE_ADVANTAGES],
            **{name: flat(DATA[name]) for name in ["old", "present", "reference", "tokenAdvantages", "tokenRewards", "correction"]},
            advantages=trl_all_advantages(folder) + verl_advantages(),
            losses=trl_losses(folder) + verl_losses(),
            divergences=verl_divergences(),
        )
    (HERE / "fixtures" / "estimators.json").write_text(json.dumps(fixture, indent=1) + "\n")
    print(f"{len(fixture['advantages'])} advantages, {len(fixture['losses'])} losses, {len(fixture['divergences'])} divergences; {fixture['versions']}")


main()
