"""Rotary encodings of config.json.

For each model type that the library knows, files are written: as transformers 5 and 4 write them, with few keys, and with each rope
type and key; and what the model of a file does to queries and keys. For types that the library does not know, only their name is written.
"""

import copy
import functools
import importlib
import inspect
import json
import pathlib
import random
import re

import peer
import rotations
import torch
import transformers
from rotations import sections
from transformers import PreTrainedConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

part = peer.Part("configurations")
transformers.logging.set_verbosity_error()
TYPES = pathlib.Path(__file__).parents[1] / "src/main/resources/io/github/djlpositional/huggingface/model-types.jsonc"
LIBRARY = json.loads(re.sub("(?m)^ *//.*", "", TYPES.read_text()))
# types of the library that have no class in transformers: their code is published with the models
NOT_IN_TRANSFORMERS = {"kimi_k2", "mimo_v2", "phi3_v", "qwen", "step3p7_text"}
# the rope types of transformers besides default and axial, each of which scalings() has
COMPUTED_TYPES = {"linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}

COMPASS = {
    "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
    "num_hidden_layers": 4,
    "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 50000.0}, "full_attention": None},
}
# arguments without which the default configuration of a class has no attention, or does not run
NEEDED = {
    "chameleon": {"vq_config": {}, "vocabulary_map": {"<image>": 1}},
    "aria": {"text_config": {"num_hidden_layers": 2}},
    "cohere_compass": {"text_config": COMPASS},
    "deepseek_ocr2": {"text_config": {"mlp_layer_types": ["dense"] * 40}},
    "diffusion_gemma": {"text_config": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 8}},
    "glm_image": {"text_config": {"partial_rotary_factor": 0.5}},
    "glmga": {"text_config": {"partial_rotary_factor": 0.5}},
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * 2},
    "diffusion_gemma_text": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 8},
    "t5gemma2_text": {"dropout_rate": 0.0},
    "cohere_compass_text": COMPASS,
    "bamba": {"attn_layer_indices": [1, 3], "num_hidden_layers": 8},
    "gemma3n_text": {"num_kv_shared_layers": 0},
    "glm4_moe": {"head_dim": 128},
    "glm4v": {"text_config": {"partial_rotary_factor": 0.5}},
    "glm46v": {"text_config": {"partial_rotary_factor": 0.5}},
    "glm4v_moe": {"text_config": {"head_dim": 128}},
    "glm4v_text": {"partial_rotary_factor": 0.5},
    "glm4v_moe_text": {"head_dim": 128},
    "glm_image_text": {"partial_rotary_factor": 0.5},
    "granitemoehybrid": {"layer_types": ["attention"] * 8, "num_hidden_layers": 8, "position_embedding_type": "rope"},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "hunyuan_vl_text": {"head_dim": 128, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 1000.0,
        "factor": 1.0, "mrope_section": [16, 16, 16, 16]}},
    "lfm2_moe": {"layer_types": ["full_attention", "conv"] * 4},
    "minimax": {"head_dim": 128},
    "ministral": {"head_dim": 128},
    "qwen3_omni_moe_text": {"head_dim": 128},
    "mixtral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "qwen4_exp_text": {"indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 256, "indexer_budget": 64, "indexer_compress_ratio": 4,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25}},
    "qwen3_omni_moe_thinker": {"text_config": {"head_dim": 128}},
    "step3p5": {
        "layer_types": ["full_attention", "sliding_attention"] * 4,
        "sliding_window": 512,
        "rope_theta": [5000000.0, 10000.0] * 4,
        "partial_rotary_factors": [0.5, 1.0] * 4,
    },
}
NEEDED |= {name: {"text_config": NEEDED[f"{name}_text"]} for name in ("hunyuan_vl", "qwen4_exp")} | {
    "step3p7": {"text_config": {**NEEDED["step3p5"], "num_hidden_layers": 8}}}
# changes of single types; None removes a key
CHANGES = {
    "codegen": [{"rotary_dim": 32}],
    "deepseek_v2": [{"qk_nope_head_dim": 64, "qk_rope_head_dim": 32}],
    "deepseek_v3": [{"rope_interleave": False}, {"qk_nope_head_dim": 64, "qk_rope_head_dim": 32}],
    "deepseek_v32": [{"rope_interleave": False}],
    "falcon": [{"alibi": True}, {"new_decoder_architecture": True, "num_kv_heads": 8, "hidden_size": 4096, "num_attention_heads": 64}],
    "falcon_h1": [{"key_multiplier": 0.25}],
    "gemma2": [{"query_pre_attn_scalar": 144}],
    "gemma3_text": [{"query_pre_attn_scalar": 168}],
    "gemma4_text": [{"global_head_dim": 256, "per_layer_config": None}],
    "glm4_moe_lite": [{"rope_interleave": False}],
    "glm_moe_dsa": [{"rope_interleave": False}],
    "gpt_neox": [{"rotary_pct": 0.5, "rope_parameters": None}],
    "gptj": [{"rotary_dim": 32}],
    "granite": [{"attention_multiplier": 0.015625}],
    "granitemoehybrid": [{"position_embedding_type": None}],
    "hunyuan_vl_text": [{"rope_parameters": None, "rope_scaling": {"type": "xdrope", "alpha": 1000.0, "factor": 1.0,
        "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0, "xdrope_section": [16, 32, 16]}}],
    "deepseek_v4": [{"rope_parameters": None, "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536,
        "beta_fast": 32, "beta_slow": 1}}, {"rope_parameters": None, "partial_rotary_factor": None, "qk_rope_head_dim": 64}],
    "laguna": [{"layer_types": ["full_attention", "sliding_attention"] * 4, "rope_parameters": {
        "full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 32, "original_max_position_embeddings": 8192,
            "beta_slow": 1.0, "beta_fast": 32.0, "attention_factor": 1.4852030263919618, "partial_rotary_factor": 0.5},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0},
        "original_max_position_embeddings": 8192}}],
    "granite_swa": [{"layer_rope_theta": [500000.0, 10000.0, 10000.0, 0.0] * 2}, {"layer_rope_theta": [500000.0, 0, 20000.0, 0] * 2,
        "layer_types": ["full_attention", "sliding_attention"] * 4}],
    "muse_glimmer_text": [{"layer_rope_theta": [10000.0, 0] * 4}, {"layer_rope_theta": [20000.0, 0] * 4}],
    "mimo_v2_flash": [{"layer_types": None, "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0, 1, 1]},
        {"rope_parameters": None, "rope_theta": 5000000, "swa_rope_theta": 10000, "partial_rotary_factor": 0.334}],
    "step3p5": [{"rope_parameters": None, "rope_theta": [5000000.0, 10000.0] * 4, "partial_rotary_factors": [0.5, 1.0] * 4,
        "yarn_only_types": ["full_attention"], "rope_scaling": {"rope_type": "llama3", "factor": 2.0,
            "original_max_position_embeddings": 131072, "low_freq_factor": 1.0, "high_freq_factor": 32.0}},
        {"rope_parameters": None, "rope_theta": [5000000.0, 10000.0, 40000.0, 10000.0] * 2}],
    "molmo2_text": [{"rope_scaling_layers": [0]}, {"rope_scaling_layers": [0], "rope_parameters": {"rope_type": "linear",
        "rope_theta": 10000.0, "factor": 2.0}}],
    "llama4_text": [{"no_rope_layers": [1] * 8}, {"no_rope_layers": [1, 0] * 4}],
    "minimax_m2": [{"rotary_dim": 32}],
    "mistral4": [{"rope_interleave": False}],
    "modernbert": [{"layer_types": None, "global_attn_every_n_layers": 2}],
    "phi3": [{"original_max_position_embeddings": 2048}],
    "qwen2": [{"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 2, "layer_types": None}],
    "roformer": [{"rotary_value": True}],
    "smollm3": [{"no_rope_layers": [1] * 8}, {"no_rope_layers": [0] * 8}, {"no_rope_layers": [1, 0] * 4}],
}
# the keys of the base in files of transformers 4: of layers that see all tokens, and of layers with a window
THETA = {
    "gemma3_text": ("rope_theta", "rope_local_base_freq"),
    "gemma3n_text": ("rope_theta", "rope_local_base_freq"),
    "modernbert": ("global_rope_theta", "local_rope_theta"),
    "gpt_neox": ("rotary_emb_base", None),
}


def written(config, diff=False):
    return json.loads(config.to_json_string(use_diff=diff))


def with_keys(doc, **keys):
    """The file with other keys; None removes one."""
    return {k: v for k, v in {**copy.deepcopy(doc), **keys}.items() if k not in keys or v is not None}


def with_section(doc, **values):
    """The file with other values in its rope sections. A rope type replaces what is not of the model."""
    doc = copy.deepcopy(doc)
    doc["rope_parameters"] = doc.get("rope_parameters") or {}
    for section in sections(doc):
        if "rope_type" in values:
            kept = ("rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved", "llama_4_scaling_beta")
            for key in set(section) - set(kept):
                del section[key]
        section.update(values)
    return doc


def as_version_4(doc, **scaling):
    """The file as transformers 4 wrote it: rope_theta and rope_scaling outside a section."""
    doc = copy.deepcopy(doc)
    rope = doc.pop("rope_parameters", None) or {}
    full, local = rope.get("full_attention") or rope, rope.get("sliding_attention")
    theta, local_theta = THETA.get(doc["model_type"], ("rope_theta", None))
    if "rope_theta" in full:
        doc[theta] = full["rope_theta"]
    if local and local_theta:
        doc[local_theta] = local["rope_theta"]
    if "partial_rotary_factor" in full and not local:
        doc["partial_rotary_factor"] = full["partial_rotary_factor"]
    own = {k: v for k, v in full.items() if k not in ("rope_theta", "type", "partial_rotary_factor")}
    doc["rope_scaling"] = scaling or (own if full.get("rope_type", "default") != "default" else None)
    return doc


def scalings(length, pairs):
    """Rope types, each with its keys: those of RopeParameters, and those that it is read with elsewhere."""
    draw = random.Random(f"{peer.SEED} {length} {pairs}")

    def factor():
        return draw.randint(9, 31) / 4

    short, long = ([1 + step * draw.random() * i for i in range(pairs)] for step in (0.02, 0.5))
    original = {"original_max_position_embeddings": length // draw.randint(3, 8)}
    yarn, longrope = {"factor": factor(), **original}, {"short_factor": short, "long_factor": long, **original}
    yield "linear", {"factor": factor()}
    yield "dynamic", {"factor": factor()}
    yield "dynamic", {"factor": factor(), "original_max_position_embeddings": length // 2}
    yield "yarn", yarn
    yield "yarn", {"factor": factor()}
    yield "yarn", {**yarn, "factor": None}
    yield "yarn", {**yarn, "beta_fast": draw.uniform(10, 60), "beta_slow": draw.uniform(0.5, 4)}
    yield "yarn", {**yarn, "truncate": False}
    yield "yarn", {**yarn, "attention_factor": draw.uniform(0.5, 1.5)}
    yield "yarn", {**yarn, "mscale": 1.0, "mscale_all_dim": draw.uniform(0.2, 0.8)}
    yield "yarn", {**yarn, "mscale": 0.707, "mscale_all_dim": 0.707}
    yield "yarn", {**yarn, "mscale": draw.uniform(0.2, 0.8)}
    yield "yarn", {**yarn, "mscale_all_dim": draw.uniform(0.2, 0.8)}
    yield "yarn", {**yarn, "attn_factor": draw.uniform(0.2, 0.8)}
    yield "longrope", longrope
    yield "longrope", {**longrope, "factor": factor()}
    yield "longrope", {**longrope, "attention_factor": draw.uniform(0.5, 1.5)}
    yield "longrope", {**longrope, "short_mscale": 1.1, "long_mscale": 1.3}
    yield "llama3", {"factor": factor(), **original, "low_freq_factor": draw.uniform(0.5, 1.5), "high_freq_factor": draw.uniform(2, 6)}
    yield "proportional", {"partial_rotary_factor": draw.choice([0.25, 0.5, 0.75])}
    yield "proportional", {"partial_rotary_factor": 0.5, "factor": factor()}


def files(config, probed):
    """(kind of scaling, what is changed, file) of a known type. probed: computes the groups of a file, of which one has the pairs."""
    full, name = written(config), config.model_type
    yield "of the class", "all keys", full
    yield "of the class", "keys that differ", written(config, diff=True)
    yield "of the class", "few keys", {"model_type": name, **NEEDED.get(name, {})}
    yield "of the class", "version 4", as_version_4(full)
    for change in CHANGES.get(name, []):
        yield "of the class", " ".join(change), with_keys(full, **change)
    for key in ("head_dim", "num_key_value_heads", "hidden_size", "max_position_embeddings", "layer_types", "sliding_window"):
        if full.get(key):
            yield "of the class", f"no {key}", with_keys(full, **{key: None})
    if full.get("head_dim"):
        yield "of the class", "head_dim", with_keys(full, head_dim=2 * full["head_dim"])
    yield "of the class", "null sliding_window", {**full, "sliding_window": None}
    for rope in ({}, None):
        yield "of the class", f"section {rope}", {**full, "rope_parameters": rope}
    if not hasattr(config, "rope_parameters"):
        return
    base, share = 1000 * random.Random(f"{peer.SEED} {name}").randint(2, 900), 0.75
    yield "default", "rope_theta", with_section(full, rope_theta=base)
    yield "default", "rope_theta outside and inside", {**full, "rope_theta": base}
    yield "default", "version 4 rope_theta", {**as_version_4(full), THETA.get(name, ("rope_theta",))[0]: base}
    yield "default", "version 4 empty", {**as_version_4(full), "rope_scaling": {}}
    yield "default", "partial_rotary_factor", with_section(full, partial_rotary_factor=share)
    yield "default", "version 4 partial_rotary_factor", {**as_version_4(full), "partial_rotary_factor": share}
    yield "default", "type", with_section(full, rope_type="default")
    pairs = next((len(group["frequencies"]) for group in probed(full) if group["frequencies"] is not None), 32)
    length = full.get("max_position_embeddings") or 2048
    old = {}
    for scaling, keys in scalings(length, pairs):
        shown = (f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in keys.items())
        yield scaling, ", ".join(each for each in shown if "[" not in each), with_section(full, rope_type=scaling, **keys)
        old.setdefault(scaling, keys)
    for scaling, keys in old.items():
        yield scaling, "version 4", as_version_4(full, type=scaling, **keys)
    yarn = {"rope_type": "yarn", **old["yarn"]}
    yield "yarn", "rope_scaling and rope_parameters", {**full, "rope_scaling": yarn}
    yield "yarn", "original outside", {**with_section(full, **yarn), "original_max_position_embeddings": length // 2}
    for kind in sorted({"full_attention", "sliding_attention"}.intersection(full.get("layer_types") or ())):
        yield "by layer type", f"all {kind}", {**full, "layer_types": [kind] * len(full["layer_types"])}
    parts = full.get("rope_parameters") or {}
    if not isinstance(parts.get("full_attention"), dict):
        return
    plain = {"rope_type": "default", "rope_theta": float(base)}
    for kind in sorted(parts):
        yield "by layer type", f"plain {kind}", {**full, "rope_parameters": {**parts, kind: plain}}
        yield "by layer type", f"yarn {kind}", {**full, "rope_parameters": {**parts, kind: {**plain, **yarn}}}
        yield "by layer type", f"no {kind}", {**full, "rope_parameters": {k: v for k, v in parts.items() if k != kind}}
    yield "by layer type", "keys beside sections", {**full, "rope_parameters": {**parts, "rope_theta": base}}


def wrapper_files(config):
    """Files of a model of more than text, whose text_config is compared."""
    full, name = written(config), config.model_type
    yield "of the class", "all keys", full
    text = full["text_config"]
    yield "of the class", "few keys", {"model_type": name, "text_config": {}, **NEEDED.get(name, {})}
    yield "of the class", "no type of the text", {"model_type": name, "text_config": with_keys(text, model_type=None)}
    yield "default", "rope_theta", {**full, "text_config": with_section(text, rope_theta=12345.0)}
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
    yield "yarn", "section", {**full, "text_config": with_section(text, **yarn)}


def vision_files(config):
    full, name = written(config), config.model_type
    tower = full["vision_config"]
    yield "all keys", full
    yield "few keys", {"model_type": name, "vision_config": {}}
    yield "rope_theta", {**full, "vision_config": with_section(tower, rope_theta=500.0)}
    yield "rope_theta outside", {**full, "vision_config": with_keys(tower, rope_theta=500.0, rope_parameters=None)}
    yield "default", {**full, "vision_config": with_section(tower, rope_type="default")}
    yield "no section", {**full, "vision_config": with_keys(tower, rope_parameters=None)}
    heads = next(key for key in ("num_heads", "num_attention_heads") if key in tower)
    yield "heads", {**full, "vision_config": {**tower, heads: tower[heads] // 2}}


def cases(files, compute):
    """A case for each group of layers of each file, or one that says why transformers computes nothing."""
    written_before = set()
    for scaling, changed, doc in files:
        if json.dumps(doc, sort_keys=True) in written_before:
            continue
        written_before.add(json.dumps(doc, sort_keys=True))
        about = dict(scaling=scaling, changed=changed, file=json.dumps(doc))
        try:
            found = compute(doc)
        except Exception as error:  # counted, but for the file of the class itself
            if changed == "all keys":
                raise
            yield {**about, "error": f"{type(error).__name__}: {error}"[:300]}, {}, torch.zeros(1)
            continue
        for group, arrays in found:
            yield {**about, "error": None, **group}, {k: v for k, v in arrays.items() if k != "y"}, arrays["y"]


def of_text(config_class):
    name = config_class.model_type
    needed = NEEDED.get(name, {})
    compute = functools.partial(rotations.of_text, config_class)
    if name in LIBRARY["text_config"]:
        config = config_class(**copy.deepcopy(needed))
        yield from cases(wrapper_files(config), compute)
    else:
        layers = 8 if "layer_types" in config_class.__dataclass_fields__ else 2
        config = config_class(**{"num_hidden_layers": layers, **copy.deepcopy(needed)})
        yield from cases(files(config, lambda doc: [group for group, _ in compute(doc)]), compute)


def of_vision(config_class):
    files = (("axial", *file) for file in vision_files(config_class(vision_config={})))
    yield from cases(files, functools.partial(rotations.of_vision, config_class))


def of_unknown(name):
    yield dict(scaling="unknown", changed="few keys", file=json.dumps({"model_type": name}), error=None), {}, torch.zeros(1)


def config_classes():
    """Each configuration class of transformers that has rope parameters."""
    for path in sorted(pathlib.Path(transformers.__file__).parent.glob("models/*/configuration_*.py")):
        module = importlib.import_module(f"transformers.models.{path.parent.name}.{path.stem}")
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, PreTrainedConfig) and value.__module__ == module.__name__:
                if "rope_parameters" in value.__dataclass_fields__:
                    yield value


def is_rotated(name):
    """Whether models of a type may have a rotary encoding; others are compared as whole models only."""
    line = LIBRARY["types"].get(name, {})
    fixed = line.get("fixed", {})
    if "position_embedding_type" in fixed:
        return fixed["position_embedding_type"] == "rope"
    return "like" not in line or is_rotated(line["like"])


CLASSES = {**{each.model_type: each for each in config_classes()}, **CONFIG_MAPPING}


def register():
    known = {name for name in {*LIBRARY["types"], *LIBRARY["text_config"]} if is_rotated(name)}
    towers = {name for name in known if re.search("_vision(_encoder)?$", name) and name not in LIBRARY["text_config"]}
    missing = {name for name in known - towers if name not in CLASSES}
    if missing != NOT_IN_TRANSFORMERS:
        raise ValueError(f"of the library's types, transformers has no {missing}: expected {NOT_IN_TRANSFORMERS}")
    if set(ROPE_INIT_FUNCTIONS) != COMPUTED_TYPES:
        raise ValueError(f"transformers has the rope types {set(ROPE_INIT_FUNCTIONS)}: add files for those not in {COMPUTED_TYPES}")
    for name in sorted(known - towers - missing):
        part.kind(name, "HuggingFaceConfig", "transformers")(functools.partial(of_text, CLASSES[name]))
    for name in LIBRARY["vision_config"]:
        part.kind(f"vision of {name}", "HuggingFaceConfig", "transformers")(functools.partial(of_vision, CONFIG_MAPPING[name]))
    for name in sorted({config_class.model_type for config_class in config_classes()} - known):
        part.kind(f"unknown {name}", "HuggingFaceConfig", "transformers")(functools.partial(of_unknown, name))


register()
