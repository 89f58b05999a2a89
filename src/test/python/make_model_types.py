#!/usr/bin/env python3
"""Writes src/test/resources/configurations/model_types.txt: what transformers' classes compute for configurations.

A small model of each type is built by transformers, with weights and inputs from a formula. Its configuration is a base
with one change: a missing key, a null, another value. The file has the result of each layer's attention: two sums over
its outputs, and how far a late token sees. Where HuggingFaceConfig reads only the rotary encoding, the sums are over the
rotated queries, and the scale of the scores follows. Changes with the same result are on one line.

Run: python3 src/test/python/make_model_types.py [type…] (torch 2, transformers 5.18.0)
"""
import copy
import importlib
import json
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import AutoModel, CONFIG_MAPPING, masking_utils

OUTPUT = Path(__file__).parents[1] / "resources" / "configurations" / "model_types.txt"
TOKENS = 12
FAR = 1_000_000
MISSING = "missing"
MANY_HEADS = "no num_key_value_heads"

# of all models: sizes of what is not attention
SMALL = {"vocab_size": 16, "vocab_size_per_layer_input": 16, "intermediate_size": 8, "moe_intermediate_size": 8,
         "num_experts": 2, "num_local_experts": 2, "n_routed_experts": 2, "moe_num_experts": 2, "num_experts_per_tok": 1,
         "moe_topk": 1, "moe_k": 1, "top_k_experts": 1, "shared_expert_intermediate_size": 8, "n_group": 1,
         "topk_group": 1, "n_shared_experts": 1, "pad_token_id": 0, "attention_dropout": 0.0,
         "hidden_size_per_layer_input": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 2,
         "linear_key_head_dim": 8, "linear_value_head_dim": 8, "mamba_d_ssm": 16, "mamba_n_heads": 16,
         "mamba_d_head": 8, "mamba_d_state": 8, "kv_lora_rank": 8, "q_lora_rank": 8, "ffn_hidden_size": 8,
         "n_inner": 8, "num_nextn_predict_layers": 0}
BASE = {"hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4,
        "max_position_embeddings": 64, "rms_norm_eps": 1e-5}
FULL, SLIDING, CHUNKED, LINEAR = "full_attention", "sliding_attention", "chunked_attention", "linear_attention"
LIST = [1.0, 1.5, 2.0, 4.0]
# Tencent's own section
ALPHA = {"rope_scaling": {"alpha": 1000.0, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1,
                          "type": "dynamic"}}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}


def section(**values):
    return {"rope_scaling": values}


def yarn(**values):
    return section(**YARN, **values)


CHANGES = {
    "base": {},
    # missing keys, and null
    **{"no " + key: {key: MISSING} for key in ("head_dim", "rms_norm_eps", "sliding_window", "rope_theta")},
    **{"null " + key: {key: None} for key in (
        "num_key_value_heads", "head_dim", "rms_norm_eps", "rope_theta", "partial_rotary_factor", "rope_scaling",
        "rope_parameters", "sliding_window", "use_sliding_window", "max_window_layers", "sliding_window_pattern",
        "layer_types", "attention_bias", "query_pre_attn_scalar", "attn_logit_softcapping", "attention_chunk_size",
        "no_rope_layers", "no_rope_layer_interval", "rope_local_base_freq", "use_qk_norm")},
    # the rotary encoding
    "theta": {"rope_theta": 100.0},
    "half": {"partial_rotary_factor": 0.5},
    "new section": {"rope_theta": MISSING, "rope_parameters": {"rope_type": "default", "rope_theta": 100.0}},
    "new half": {"rope_theta": MISSING, "rope_parameters": {
        "rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}},
    "theta and section": {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}},
    "empty section": section(),
    "default": section(rope_type="default"),
    "linear": section(type="linear", factor=4.0),
    "linear half": {"partial_rotary_factor": 0.5, **section(type="linear", factor=4.0)},
    "dynamic": {"max_position_embeddings": 8, **section(type="dynamic", factor=4.0)},
    "yarn": yarn(),
    "yarn attn_factor": yarn(attn_factor=0.5),
    "yarn attention_factor": yarn(attention_factor=0.5),
    "yarn mscales": yarn(mscale=2.0, mscale_all_dim=0.5),
    "yarn equal mscales": yarn(mscale=1.0, mscale_all_dim=1.0),
    "yarn mscale": yarn(mscale=2.0),
    "yarn mscale_all_dim": yarn(mscale_all_dim=0.5),
    "yarn betas": yarn(beta_fast=2.0, beta_slow=0.5),
    "yarn equal betas": yarn(beta_fast=1.0, beta_slow=1.0),
    "yarn equal betas exactly": yarn(beta_fast=1.0, beta_slow=1.0, truncate=False),
    "yarn exactly": yarn(truncate=False),
    "yarn nulls": yarn(beta_fast=None, beta_slow=None, attention_factor=None, mscale=None),
    "yarn without length": section(type="yarn", factor=4.0),
    "yarn without factor": section(type="yarn", original_max_position_embeddings=16),
    "yarn null factor": section(type="yarn", factor=None, original_max_position_embeddings=16),
    "yarn length outside": {"original_max_position_embeddings": 8, **section(type="yarn", factor=4.0)},
    "llama3": section(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                      original_max_position_embeddings=64),
    "longrope": section(rope_type="longrope", short_factor=LIST, long_factor=LIST[::-1],
                        original_max_position_embeddings=8),
    "longrope factor": section(type="longrope", factor=2.0, short_factor=LIST, long_factor=LIST[::-1],
                               original_max_position_embeddings=8),
    "longrope outside": {"original_max_position_embeddings": 16, **section(
        type="longrope", short_factor=LIST, long_factor=LIST[::-1])},
    "su": {"original_max_position_embeddings": 16, **section(type="su", short_factor=LIST, long_factor=LIST[::-1])},
    "proportional": section(rope_type="proportional", partial_rotary_factor=0.5),
    "parts": {"rope_theta": MISSING, "rope_parameters": {
        FULL: {"rope_type": "linear", "factor": 4.0, "rope_theta": 100.0}, SLIDING: {"rope_theta": 50.0}}},
    "parts half": {"rope_theta": MISSING, "rope_parameters": {
        FULL: {"partial_rotary_factor": 0.5, "rope_theta": 100.0}, SLIDING: {"rope_theta": 50.0}}},
    "local base": {"rope_local_base_freq": 50.0},
    "interleave": {"rope_interleave": False},
    "rotary_dim": {"rotary_dim": 4},
    "rotary_pct": {"rotary_pct": 0.5, "rotary_emb_base": 100.0},
    "no rotary_pct": {"rotary_pct": MISSING},
    "beta": {"rope_parameters": {**YARN, "rope_theta": 100.0, "llama_4_scaling_beta": 0.5,
                                 "original_max_position_embeddings": 4}},
    # the attention
    **{f"{key} {str(value).lower()}": {key: value} for value in (True, False) for key in (
        "attention_bias", "qkv_bias", "use_qkv_bias", "use_bias", "bias", "use_qk_norm", "qk_layernorm",
        "use_bidirectional_attention", "attn_temperature_tuning", "is_decoder", "multi_query",
        "new_decoder_architecture", "alibi", "no_bias", "attention_out_bias", "use_sliding_window")},
    "head_dim": {"head_dim": 16},
    "window": {"sliding_window": 4},
    "window in use": {"sliding_window": 4, "use_sliding_window": True},
    "window in late layers": {"sliding_window": 4, "use_sliding_window": True, "max_window_layers": 2},
    "local_attention": {"local_attention": 4},
    "pattern": {"sliding_window": 4, "sliding_window_pattern": 3},
    "every n-th": {"local_attention": 4, "global_attn_every_n_layers": 2},
    "types": {"sliding_window": 4, "layer_types": [SLIDING, FULL, FULL, SLIDING, FULL, FULL]},
    "types in use": {"sliding_window": 4, "use_sliding_window": True,
                     "layer_types": [SLIDING, FULL, FULL, SLIDING, FULL, FULL]},
    "chunked types": {"attention_chunk_size": 4, "layer_types": [CHUNKED, FULL, FULL, CHUNKED, FULL, FULL]},
    "linear types": {"layer_types": [LINEAR, FULL, FULL, LINEAR, FULL, FULL]},
    "interval": {"full_attention_interval": 2},
    "indices": {"full_attn_idxs": [0, 2], "attn_layer_indices": [0, 2]},
    "rotated layers": {"no_rope_layers": [1, 0, 1, 1, 0, 1]},
    "all layers rotated": {"no_rope_layers": []},
    "rotated interval": {"no_rope_layer_interval": 2},
    "chunks": {"attention_chunk_size": 4},
    "temperature": {"floor_scale": 4.0, "attn_scale": 0.5},
    "scalar": {"query_pre_attn_scalar": 16},
    "cap": {"attn_logit_softcapping": 2.0},
    "multiplier": {"attention_multiplier": 0.25},
    "key multiplier": {"key_multiplier": 0.25},
    "clip": {"clip_qkv": 0.1},
    "eps": {"rms_norm_eps": 0.1},
    "global head": {"global_head_dim": 32},
    "no position type": {"position_embedding_type": MISSING},
    "nope": {"position_embedding_type": "nope"},
    "old type names": {"layer_types": ["attention", "mamba"] * 3},
}

# the base of a type where it has other keys, and what it cannot do without
OF_TYPE = {
    "helium": {"head_dim": 8},
    "ministral": {"head_dim": 8},
    "hunyuan_v1_dense": {"head_dim": 8},
    "hunyuan_v1_moe": {"head_dim": 8},
    "falcon_h1": {"mamba_d_ssm": 128},
    "gpt_neox": {"rotary_pct": 1.0},
    "falcon": {"num_key_value_heads": MISSING, "num_kv_heads": 4},
    "gptj": {"n_embd": 64, "n_layer": 6, "n_head": 8, "n_positions": 64, "rotary_dim": 4},
    "codegen": {"n_embd": 64, "n_layer": 6, "n_head": 8, "n_positions": 64, "n_ctx": 64, "rotary_dim": 4},
    "gemma3n_text": {"num_kv_shared_layers": 0, "laurel_rank": 8, "altup_num_inputs": 2},
    "gemma4_text": {"global_head_dim": 16},
    "olmo3": {"rope_theta": 500000.0},
    "granitemoehybrid": {"layer_types": [FULL] * 6, "position_embedding_type": "rope"},
    "lfm2_moe": {"layer_types": [FULL] * 6},
    "bamba": {"attn_layer_indices": [1, 3]},
}
for mla in ("deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa", "mistral4", "minicpm3",
            "longcat_flash", "kimi_k2"):
    OF_TYPE[mla] = {"num_key_value_heads": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}
# the parts of the pairs by axes have the published sizes if a configuration has none
for vl, head in {"qwen2_vl_text": 128, "qwen2_5_vl_text": 128, "qwen3_vl_text": 128, "qwen3_vl_moe_text": 128,
                 "qwen3_5_text": 256, "qwen3_5_moe_text": 256, "glm4v_text": 64, "glm4v_moe_text": 128}.items():
    OF_TYPE[vl] = {"hidden_size": 2 * head, "num_attention_heads": 2, "num_key_value_heads": 1}
    if "qwen3" in vl:
        OF_TYPE[vl]["head_dim"] = head

CLASSES = {"kimi_k2": "deepseek_v3"}
ATTENTIONS = ("llama mistral mixtral ministral ministral3 qwen2 qwen2_moe qwen2_vl_text qwen2_5_vl_text qwen3 qwen3_moe"
              " qwen3_vl_text qwen3_vl_moe_text gemma gemma2 gemma3_text vaultgemma phi phi3 phimoe"
              " stablelm gpt_neox gptj codegen falcon falcon_h1 roformer cohere cohere2 glm glm4 glm4_moe"
              " glm4v_text glm4v_moe_text gpt_oss olmo smollm3 modernbert nomic_bert eurobert"
              " jina_embeddings_v3 gte llama4_text granite granitemoe granitemoeshared granitemoehybrid exaone4"
              " exaone_moe ernie4_5 ernie4_5_moe hy_v3 minimax nemotron starcoder2 arcee apertus seed_oss dots1 helium lfm2"
              " lfm2_moe bamba").split()
ROTARIES = ("gemma3n_text gemma4_text olmo2 olmo3 olmoe flex_olmo minimax_m2 hunyuan_v1_dense hunyuan_v1_moe qwen3_next"
            " qwen3_5_text qwen3_5_moe_text deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 glm4_moe_lite glm_moe_dsa"
            " mistral4 minicpm3 bitnet").split()


def numbers(seed, *shape):
    """Numbers from -0.5 to 0.5, the same in the test."""
    word = np.uint64(0xFFFFFFFF)
    h = (np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(seed * 1_000_003)) * np.uint64(2_654_435_769) & word
    h ^= h >> np.uint64(15)
    h = h * np.uint64(2_246_822_519) & word
    h ^= h >> np.uint64(13)
    return torch.from_numpy((h.astype(np.float64) / 2.0**32 - 0.5).reshape(shape))


def fill(module, config, head_size):
    """Sets the weights of an attention; those of queries and keys are small where a norm follows, so that it shows."""
    parameters = dict(module.named_parameters())
    has_norm = any("norm" in name for name in parameters)
    unit_offset = config.model_type.startswith(("gemma", "vaultgemma"))
    scale = {"q": 0.01 if has_norm else 1.5, "k": 0.01 if has_norm else 1.5, "v": 1.0, "o": 1.0}
    seeds = {"q": 2, "k": 3, "v": 4, "o": 5}

    def projection(name, shape):
        if len(shape) == 2:
            return scale[name] * numbers(seeds[name], *shape)
        return scale[name] * numbers(seeds[name] + 10, *shape)

    names = {"q_proj": "q", "query": "q", "k_proj": "k", "key": "k", "v_proj": "v", "value": "v", "o_proj": "o",
             "dense": "o", "out_proj": "o", "Wo": "o"}
    with torch.no_grad():
        for name, parameter in parameters.items():
            stem = name.rsplit(".", 1)[0]
            shape = parameter.shape
            if stem in names:
                value = projection(names[stem], shape)
            elif stem in ("qkv_proj", "query_key_value", "Wqkv"):
                value = fused(config, head_size, projection, shape)
            elif "norm" in stem:
                value = 1 + numbers(6 if stem.startswith("q") else 7, *shape) - (1 if unit_offset else 0)
            elif name == "sinks":
                value = 4 * numbers(8, *shape)
            else:
                raise ValueError("weight " + name)
            parameter.copy_(value)


def fused(config, head_size, projection, shape):
    """Queries, keys and values in one matrix or bias, in the order of the type."""
    out = shape[0] // head_size
    columns = shape[1:]
    heads = config.num_attention_heads
    key_heads = (out - heads) // 2
    q = projection("q", (heads * head_size, *columns)).reshape(heads, head_size, *columns)
    k = projection("k", (key_heads * head_size, *columns)).reshape(key_heads, head_size, *columns)
    v = projection("v", (key_heads * head_size, *columns)).reshape(key_heads, head_size, *columns)
    if config.model_type == "codegen":
        each = heads // 4
        parts = [part[i * each:(i + 1) * each] for i in range(4) for part in (q, v, k)]
    elif config.model_type in ("gpt_neox", "persimmon") or config.model_type == "falcon":
        group = heads // key_heads
        parts = [part for i in range(key_heads) for part in (q[i * group:(i + 1) * group], k[i:i + 1], v[i:i + 1])]
    else:
        parts = [q, k, v]
    return torch.cat(parts).reshape(shape)


def reach(mask_function):
    """How many tokens before itself a late token sees; all of them is -1."""
    def sees(key):
        index = torch.tensor
        return bool(mask_function(index(0), index(0), index(FAR), index(key)))
    if sees(0):
        return -1
    low, high = 0, FAR
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return FAR - high


class Recorder:
    """Runs a model with numbers as inputs of its attentions or of its rotations, and records the results of each layer."""

    def __init__(self, config, only_rotary):
        masking_utils.ALL_MASK_ATTENTION_FUNCTIONS.register("eager", self.mask)
        model = AutoModel.from_config(config, attn_implementation="eager", experts_implementation="eager")
        self.model = model.double().eval()
        self.results = {}
        self.reach = {}
        self.scale = {}
        self.layer = None
        self.originals = []
        for name, module in self.model.named_modules():
            kind = type(module).__name__
            if kind.endswith(("Attention", "MLA")) and not any(each in kind for each in NO_ATTENTION) and any(
                    hasattr(module, each) for each in QUERIES):
                layer = next(int(part) for part in name.split(".") if part.isdigit())
                module.register_forward_pre_hook(self.before(layer, config.hidden_size), with_kwargs=True)
                if only_rotary:
                    self.watch_rotations(sys.modules[type(module).__module__])
                else:
                    fill(module, config, head_size_of(module))
                    module.register_forward_hook(self.after(layer))

    def mask(self, *args, mask_function=masking_utils.causal_mask_function, **kwargs):
        kwargs["allow_is_bidirectional_skip"] = False
        mask = masking_utils.eager_mask(*args, mask_function=mask_function, **kwargs)
        if mask is not None:
            mask.reach = reach(mask_function)
        return mask

    def before(self, layer, size):
        def hook(module, args, kwargs):
            self.layer = layer
            self.reach[layer] = getattr(kwargs.get("attention_mask"), "reach", -1)
            self.scale[layer] = getattr(module, "scaling", None) or head_size_of(module) ** -0.5
            inputs = 2 * numbers(1, 1, TOKENS, size)
            if "hidden_states" in kwargs:
                return args, {**kwargs, "hidden_states": inputs}
            return (inputs, *args[1:]), kwargs
        return hook

    def after(self, layer):
        def hook(module, args, output):
            output = output[0] if isinstance(output, tuple) else output
            self.results[layer] = sums(output) + f" {self.reach[layer]}"
        return hook

    def watch_rotations(self, code):
        """Replaces the functions that rotate queries."""
        for name, original in list(vars(code).items()):
            if name.startswith("apply_rotary") and not isinstance(original, types.MethodType):
                self.originals.append((code, name, original))
                setattr(code, name, types.MethodType(self.rotation(original), self))

    def rotation(self, original):
        def rotate(self, q, *args, **kwargs):
            size = q.shape[-1]
            rotated = original(numbers(1, size).expand(q.shape).clone(), *args, **kwargs)
            rotated = (rotated[0] if isinstance(rotated, tuple) else rotated)[0]
            if original.__name__.endswith("interleave"):  # which also moves the pairs together
                rotated = rotated.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
            rotated = rotated[:, 0] if rotated.shape[0] == TOKENS else rotated[0]
            self.results.setdefault(self.layer, f"{sums(rotated)} {size} {self.scale[self.layer]:.7g}")
            return original(q, *args, **kwargs)
        return rotate

    def run(self):
        try:
            with torch.no_grad():
                self.model(input_ids=torch.arange(TOKENS)[None])
        finally:
            for code, name, original in self.originals:
                setattr(code, name, original)
        layers = {}
        for layer, result in sorted(self.results.items()):
            layers.setdefault(result, []).append(str(layer))
        return "; ".join(f"{' '.join(numbers)}: {result}" for result, numbers in layers.items())


NO_ATTENTION = ("Lightning", "Delta", "Audio", "Vision")
QUERIES = ("q_proj", "query", "qkv_proj", "query_key_value", "Wqkv", "q_b_proj")


def sums(output):
    output = output.reshape(-1).double()
    return " ".join(f"{float((output * numbers(seed, output.numel())).sum()):.7g}" for seed in (8, 9))


def head_size_of(module):
    for name in ("head_dim", "head_size", "attention_head_size"):
        if hasattr(module, name):
            return getattr(module, name)
    return module.config.hidden_size // module.config.num_attention_heads


def config_of(model_type, values):
    return CONFIG_MAPPING[CLASSES.get(model_type, model_type)](**copy.deepcopy(values))


def changed(values, change):
    return {key: value for key, value in {**values, **change}.items() if value != MISSING}


def sizes(config):
    """Embedding size, layers, heads, key heads, head size, positions: what a configuration without keys means."""
    heads = config.num_attention_heads
    head = vars(config).get("head_dim") or config.hidden_size // heads
    if hasattr(config, "qk_rope_head_dim"):
        head = config.qk_nope_head_dim + config.qk_rope_head_dim
    key_heads = getattr(config, "num_key_value_heads", None) or heads
    return [config.hidden_size, config.num_hidden_layers, heads, key_heads, head, config.max_position_embeddings]


def section_of(model_type):
    """The lines of a model type."""
    is_rotary = model_type in ROTARIES
    base = changed(BASE, {"rope_theta": 1000.0, **OF_TYPE.get(model_type, {})})
    lines = [f"type {model_type} {'rotary' if is_rotary else 'attention'} {json.dumps(base)}"]
    default = sizes(config_of(model_type, {}))
    lines.append("sizes " + " ".join(map(str, default)))
    heads = default[3] if default[3] > 4 else 8
    changes = {**CHANGES, MANY_HEADS: {
        "num_key_value_heads": MISSING, "num_kv_heads": MISSING, "num_attention_heads": heads, "n_head": heads,
        "hidden_size": 8 * heads, "n_embd": 8 * heads}}
    if "mrope" in str(CONFIG_MAPPING[CLASSES.get(model_type, model_type)].ignore_keys_at_rope_validation):
        changes[MANY_HEADS] = {"num_key_value_heads": MISSING, "num_attention_heads": default[3],
                               "hidden_size": default[3] * base["hidden_size"] // 2, "num_hidden_layers": 1}
    lines.append(f"change {MANY_HEADS} {json.dumps(changes[MANY_HEADS])}")
    if model_type.startswith("hunyuan"):
        changes["alpha"] = ALPHA
        lines.append(f"change alpha {json.dumps(ALPHA)}")
    groups = {}
    for name, change in changes.items():
        try:
            config = config_of(model_type, changed({**SMALL, **base}, change))
            result = Recorder(config, is_rotary).run()
        except Exception as e:
            if name == "base":
                raise
            result = "error"
            print(f"{model_type}, {name}: {e!r}"[:300], file=sys.stderr)
        groups.setdefault(result, []).append(name)
    # changes that have no line have the result of the base
    next(iter(groups.values()))[1:] = []
    return lines + [f"{result} | {', '.join(names)}" for result, names in groups.items()]


def main():
    """Writes the sections of the types of the command line, or of all; other sections of the file stay."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    sections = {}
    if OUTPUT.exists():
        for line in OUTPUT.read_text().splitlines():
            if line.startswith("type "):
                section = sections[line.split()[1]] = []
            if sections:
                section.append(line)
    for model_type in sys.argv[1:] or ATTENTIONS + ROTARIES:
        print(model_type, file=sys.stderr)
        sections[model_type] = section_of(model_type)
        lines = ["transformers " + transformers.__version__]
        lines += [f"change {name} {json.dumps(change)}" for name, change in CHANGES.items()]
        for each in ATTENTIONS + ROTARIES:
            lines += sections.get(each, [])
        OUTPUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
