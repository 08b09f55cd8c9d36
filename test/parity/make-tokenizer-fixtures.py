"""Makes small tokenizers of every kind Satchel reads, and what the reference libraries do with them.

    venv/bin/python test/parity/make-tokenizer-fixtures.py      (set up as in make-fixtures.py; NAME ... makes only these)

A folder test/parity/fixtures/tokenizers/NAME holds tokenizer.json, tokenizer_config.json (chat template included) and expected.json:

    plain      [text, ids]  control tokens in the text are split as plain text (the library's encode_special_tokens), none are added
    specials   [text, ids]  control tokens in the text are matched, none are added
    prompt     [text, ids]  as a plain prompt, with what the post-processor adds
    decoded    [ids, text]  random ids, control tokens skipped
    chats      {messages, options, text, ids}  through transformers' apply_chat_template
"""

import json
import pathlib
import random
import re
import shutil
import sys

import tokenizers
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

ROOT = pathlib.Path(__file__).resolve().parent / "fixtures" / "tokenizers"
VERSIONS = {"tokenizers": tokenizers.__version__, "transformers": transformers.__version__}

CORPUS = [
    "import { useState } from 'react';\n\nexport default function App() {\n  const [count, setCount] = useState(0);\n",
    "  return (\n    <main>\n      <h1>Apples</h1>\n      <button onClick={() => setCount(count + 1)}>Add</button>\n    </main>\n  );\n}\n",
    "Make a counter titled \"Apples\" with a button named \"Add\". The counter starts at 0, doesn't it? It's 12345 or 1,000.",
    "Grüße aus Köln. Ça va très bien. Привет, мир! 你好，世界。 こんにちは 👩‍👩‍👧‍👦 🇩🇪 ✅",
    "<|im_start|>user\nWhat is this?<|im_end|>\n<|im_start|>assistant\nIt is a test.</s> [INST] hello [/INST]",
]

TEXTS = [
    "",
    "Hello world",
    " Hello  world ",
    "  leading and trailing   ",
    "It's we'll they'RE I'M you'Ve don't",
    "const x = 12345678 + 3.14e-10; // 1,000,000",
    "a\n\n\nb\r\n\tc \n d",
    "\t\t\tif (x) {\n\t\t\t\treturn;\n\t\t\t}",
    "Grüße Ça Привет 你好，世界。 日本語テキスト العربية עברית",
    "e\u0301 vs \u00e9, A\u030a vs \u00c5, \ufb01",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 \U0001d54f",
    "nbsp\u00a0nel\u0085ls\u2028ps\u2029bom\ufeffzwj\u200d\u200b\u3000end",
    "private \ue000\ue001\uf8ff use",
    "control \u0000\u0001\u001f\u007f characters",
    "²³¼ ⅷ ٣٤ x²",
    "snake_case camelCase PascalCase kebab-case SCREAMING",
    "<main><h1>Apples</h1><input /></main>",
    "<|im_start|>system\nYou obey.<|im_end|>\n",
    "text<|endoftext|>text <|im_end|> <|eot_id|> <s>x</s> <unk> [INST]a[/INST]",
    "<|im_start <|im_end|<|im_end|> |im_end|> <<|im_end|>>",
    "<think>plain</think> <tool_call>{}</tool_call>",
    "<0x41> \u2581 \u2581\u2581x",
    "Ġ Ċ ĉ Ã",
    "1 22 333 4444 55555 666666 7777777",
    "!!! ??? ... ,,, ;;; --- === >>> ((())) [[]] {{}}",
    "a" * 300,
    "the the the " * 20,
]

QWEN_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

# The pattern of o200k, which Phi-4-mini shares: words split before capitals, contractions stay with their word.
WORD = r"[^\r\n\p{L}\p{N}]?"
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K_PATTERN = "|".join([
    f"{WORD}{UPPER}*{LOWER}+{CONTRACTION}", f"{WORD}{UPPER}+{LOWER}*{CONTRACTION}", r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])

CHATML = """{%- if messages[0]['role'] != 'system' -%}
    {{- '<|im_start|>system\\nYou are a careful helper.<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\\n' -}}
{%- endif -%}"""

HEADERS = """{{- bos_token }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}"""

INSTRUCTIONS = """{% if messages[0].role == 'system' %}{% set system = messages[0].content %}{% set rest = messages[1:] %}{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}
{%- for message in rest %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate user, assistant, ...') }}{% endif %}
{%- if message.role == 'user' %}{{ bos_token + '[INST] ' + (('<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n') if loop.first and system else '') + message.content.strip() + ' [/INST]' }}
{%- else %}{{ ' ' + message.content.strip() + ' ' + eos_token }}{% endif %}
{%- endfor %}"""

THINKING = """{%- set ns = namespace(think=enable_thinking if enable_thinking is defined else true, system='') -%}
{%- for message in messages -%}
    {%- if message.role == 'system' -%}{%- set ns.system = message.content | trim -%}{%- if '/no_think' in ns.system -%}{%- set ns.think = false -%}{%- set ns.system = ns.system.replace('/no_think', '') | trim -%}{%- endif -%}{%- endif -%}
{%- endfor -%}
<|im_start|>system
Today: {{ strftime_now('%d %B %Y') }}
{% if ns.system %}{{ ns.system }}
{% endif %}<|im_end|>
{% for message in messages if message.role != 'system' -%}
{%- if message.role == 'assistant' and '</think>' in message.content -%}
<|im_start|>assistant
{{ message.content.split('</think>')[-1].lstrip('\\n') }}<|im_end|>
{% else -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% if not ns.think -%}
<think>

</think>
{% endif -%}
{%- endif -%}"""


# Shaped like SmolLM3's: a metadata header with date and mode, /think and /no_think in the system text, the assistant's turns marked
# for training, and an empty think block where thinking is off.
REASONING = """{# mode #}
{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}
{%- set mode = "/think" if enable_thinking else "/no_think" -%}
{{- "<|im_start|>system\\n" -}}
{%- if messages[0].role == "system" -%}
  {%- set given = messages[0].content -%}
  {%- if "/no_think" in given -%}
    {%- set mode = "/no_think" -%}
  {%- elif "/think" in given -%}
    {%- set mode = "/think" -%}
  {%- endif -%}
  {%- set instructions = given.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- endif -%}
{%- if "/system_override" in given -%}
  {{- instructions.replace("/system_override", "").rstrip() -}}
  {{- "<|im_end|>\\n" -}}
{%- else -%}
  {{- "## Facts\\n\\n" -}}
  {%- set today = strftime_now("%d %B %Y") -%}
  {{- "Today: " ~ today ~ "\\n" -}}
  {{- "Mode: " + mode + "\\n\\n" -}}
  {%- if instructions -%}
    {{- instructions + "\\n\\n" -}}
  {%- elif mode == "/think" -%}
    {{- "Think first, inside <think> and </think>.\\n\\n" -}}
  {%- else -%}
    {{- "Answer.\\n\\n" -}}
  {%- endif -%}
  {{- "<|im_end|>\\n" -}}
{%- endif -%}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else "" -%}
    {%- if message.role == "user" -%}
        {{ "<|im_start|>" + message.role + "\\n" + content + "<|im_end|>\\n" }}
    {%- elif message.role == "assistant" -%}
        {% generation %}
        {%- if mode == "/think" -%}
            {{ "<|im_start|>assistant\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- else -%}
            {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- endif -%}
        {% endgeneration %}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {%- if mode == "/think" -%}
        {{ "<|im_start|>assistant\\n" }}
    {%- else -%}
        {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n" }}
    {%- endif -%}
{%- endif -%}
"""

# Shaped like Phi-4-mini-reasoning's: one fixed system line, to which given system texts are added; always thinking.
FIXED_SYSTEM = """{{ '<|system|>You are a careful mathematician.' }}{% for message in messages %}{% if message['role'] == 'system' %} {{ message['content'] }}{% if 'tools' in message and message['tools'] is not none %}{{ '<|tool|>' + message['tools'] + '<|/tool|>' }}{% endif %}{% endif %}{% endfor %}{{ '<|end|>' }}{% for message in messages %}{% if message['role'] != 'system' %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"""


def special(*contents):
    return [AddedToken(content, special=True, normalized=False) for content in contents]


def train(tokenizer, size, specials, alphabet):
    tokenizer.train_from_iterator(CORPUS * 3, trainers.BpeTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=alphabet, show_progress=False))
    return tokenizer


def byte_level(pre_tokenizer, specials, extra=(), normalizer=None, specials_last=False, **model):
    """A GPT-2 style tokenizer; Qwen and Llama 3 put their control tokens behind the vocabulary, SmolLM before it."""
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    train(tokenizer, 420, [] if specials_last else specials, sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_special_tokens(specials)
    tokenizer.add_tokens(list(extra))
    return tokenizer


def make_qwen2():
    split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN_PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    extra = [AddedToken(text, special=False, normalized=False) for text in ["<tool_call>", "</tool_call>", "<think>", "</think>"]]
    tokenizer = byte_level(split, special("<|endoftext|>", "<|im_start|>", "<|im_end|>"), extra, normalizers.NFC(), specials_last=True)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": CHATML}


def make_llama3():
    split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3_PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    tokenizer = byte_level(split, special(*names), specials_last=True, ignore_merges=True)
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|> $B", special_tokens=[("<|begin_of_text|>", begin)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer, {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>", "chat_template": HEADERS}


def make_smollm():
    digits = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    extra = [AddedToken("<think>", special=False, normalized=False), AddedToken("</think>", special=False, normalized=False), AddedToken("<word>", special=False, normalized=False, single_word=True), AddedToken("<strip>", special=False, normalized=False, lstrip=True, rstrip=True)]
    tokenizer = byte_level(digits, special("<|endoftext|>", "<|im_start|>", "<|im_end|>"), extra)
    return tokenizer, {"bos_token": "<|im_start|>", "eos_token": {"content": "<|im_end|>", "__type": "AddedToken", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}, "chat_template": THINKING}


def make_smollm3():
    split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3_PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    thinking = [AddedToken(text, special=False, normalized=False) for text in ["<think>", "</think>"]]
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = byte_level(split, special(*names), thinking, specials_last=True, ignore_merges=True)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, {"eos_token": "<|im_end|>", "pad_token": "<|im_end|>", "chat_template": REASONING}


def make_phi4():
    split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(O200K_PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    # Phi's control tokens swallow the white space after them.
    greedy = [AddedToken(text, special=True, normalized=False, rstrip=True) for text in ["<|assistant|>", "<|end|>", "<|user|>", "<|system|>", "<|tool|>", "<|/tool|>"]]
    tokenizer = byte_level(split, [*special("<|endoftext|>"), *greedy], specials_last=True)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "chat_template": FIXED_SYSTEM}


def make_sentencepiece(normalized, metaspace):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="first", split=False)
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    names = ["<unk>", "<s>", "</s>"]
    train(tokenizer, 420, names + [f"<0x{byte:02X}>" for byte in range(256)], [])
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = [
        {"id": index, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized, "special": True} for index, name in enumerate(names)
    ]
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return tokenizer, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "chat_template": INSTRUCTIONS}


CHATS = [
    ([{"role": "user", "content": "Make a counter titled \"Apples\"."}], {}),
    ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "  spaced \n"}], {}),
    ([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}], {"add_generation_prompt": False}),
    ([{"role": "user", "content": "Grüße 👩‍👩‍👧‍👦\n\nend"}, {"role": "assistant", "content": "<b>fine</b>"}, {"role": "user", "content": "a < b > c"}], {}),
    ([{"role": "system", "content": "Short. /no_think"}, {"role": "user", "content": "hi"}], {}),
    ([{"role": "user", "content": "hi"}], {"enable_thinking": False}),
    ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nbecause"}, {"role": "user", "content": "more"}], {"enable_thinking": True}),
]

# What only some templates look at.
MORE_CHATS = [
    ([{"role": "system", "content": "Count. /think"}, {"role": "user", "content": "hi"}], {"enable_thinking": False}),
    ([{"role": "system", "content": "Plain words. /system_override"}, {"role": "user", "content": " hi"}], {}),
    ([{"role": "system", "content": "Short. /no_think"}, {"role": "user", "content": "q"}, {"role": "assistant", "content": "\n\na "}, {"role": "user", "content": "\n more\n"}], {}),
    ([{"role": "user", "content": "q"}, {"role": "assistant", "content": "<think>\nwhy\n</think>\nso"}], {"enable_thinking": False, "add_generation_prompt": False}),
]


def chats_of(wrapped, chats):
    out = []
    for messages, options in chats:
        arguments = {"add_generation_prompt": True, **options}
        text = wrapped.apply_chat_template(messages, tokenize=False, **arguments)
        ids = wrapped.apply_chat_template(messages, tokenize=True, return_dict=False, **arguments)
        out.append({"messages": messages, "options": options, "text": text, "ids": ids})
    return out


def save(name, make, chats=CHATS):
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    tokenizer, config = make()
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=False) + "\n", encoding="utf-8", newline="\n")
    (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")

    # The pinned day of Satchel's templates, instead of the day this script runs on.
    pinned = {**config, "chat_template": re.sub(r"strftime_now\(['\"]%d %B %Y['\"]\)", '"01 January 2025"', config["chat_template"])}
    named = {key: value["content"] if isinstance(value, dict) else value for key, value in pinned.items()}
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)
    tokenizer.encode_special_tokens = True
    plain = [[text, tokenizer.encode(text, add_special_tokens=False).ids] for text in TEXTS]
    tokenizer.encode_special_tokens = False
    generator = random.Random(7)
    sequences = [[generator.randrange(tokenizer.get_vocab_size()) for _ in range(generator.randrange(1, 24))] for _ in range(40)]
    expected = {
        "versions": VERSIONS,
        "size": max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1,
        "plain": plain,
        "specials": [[text, tokenizer.encode(text, add_special_tokens=False).ids] for text in TEXTS],
        "prompt": [[text, tokenizer.encode(text, add_special_tokens=True).ids] for text in TEXTS[:4]],
        "decoded": [[ids, tokenizer.decode(ids, skip_special_tokens=True)] for ids in sequences],
        "chats": chats_of(wrapped, chats),
    }
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=True) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    save("qwen2", make_qwen2)
    save("llama3", make_llama3)
    save("smollm", make_smollm)
    save("smollm3", make_smollm3, CHATS + MORE_CHATS)
    save("phi4", make_phi4, CHATS + MORE_CHATS)
    save("llama2", lambda: make_sentencepiece(normalized=False, metaspace=False))
    save("llama2-normalized", lambda: make_sentencepiece(normalized=True, metaspace=False))
    save("mistral", lambda: make_sentencepiece(normalized=False, metaspace=True))
