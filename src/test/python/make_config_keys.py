#!/usr/bin/env python3
"""Writes the list of keys by which the configuration classes of transformers describe a rotation or the size of a head.

HuggingFaceConfig rejects such a key where the model type does not read it. A key is a field of a class, a name of its
attribute_map, or what its code takes from other arguments. Excluded are keys of parts that have no rotary encoding here.

Run: python3 src/test/python/make_config_keys.py (transformers 5.23.0)
"""
import ast
import dataclasses
import importlib
import inspect
import json
import os
import re
import textwrap
import warnings
from pathlib import Path

import transformers
from transformers import PreTrainedConfig

OUTPUT = Path(__file__).parents[2] / "main/resources/io/github/djlpositional/huggingface/config-keys.jsonc"
MODELS = Path(transformers.__file__).parent / "models"

ROTATION = re.compile(r"rope|rotary|theta|alibi|position_embeddings?_type")
# what an attribute_map may name otherwise; other lengths than n_positions do not change a rotation
SIZES = {"hidden_size", "num_attention_heads", "head_dim"}
NAMES = re.compile(r"head_dim|head_size|d_head|dim_head|attention_head_(dim|size)|swa_head_dim|global_head_dim|n_heads?|"
                   r"num_heads|attention_heads|num_attention_heads|n_embe?d|d_model|emb_dim|embed_dim|dim|d_kv|kv_channels|"
                   r"n_positions|swa_num_attention_heads|num_attention_heads_per_layer|num_sliding_attention_heads|"
                   r"qk_(rope|nope)_head_dim")
# parts of a model that are not an attention of text, and rope_theta, which files of all types may have
OTHER = re.compile(r"rope_theta|.*(memory|spatial|uid|position_ids|relation|sinusoid).*")
# the fact that a key stands for, where the class that has it says so by code
FACTS = {"rotary_emb_base": "rope_theta", "rotary_embedding_base": "rope_theta", "rotary_pct": "partial_rotary_factor",
         "n_positions": "max_position_embeddings", "n_embed": "hidden_size", "attention_head_size": "head_dim",
         "d_head": "head_dim", "dim_head": "head_dim", "qk_rope_head_dim": "rotary_size"}
# fields of models without a rotation that a key of this name describes, which published configurations of others keep
HARMLESS = {"position_embedding_type": ["absolute", "rope", "rotary"], "position_embeddings_type": ["absolute", "rope", "rotary"],
            "use_rotary_embedding": [True],
            **{key: [{"rope_type": "default"}, {"type": "default"}] for key in ("rope_scaling", "rope_parameters")}}


def classes():
    for folder in sorted(os.listdir(MODELS)):
        for file in sorted((MODELS / folder).glob("configuration_*.py")) if (MODELS / folder).is_dir() else []:
            module = importlib.import_module(f"transformers.models.{folder}.{file.stem}")
            for value in vars(module).values():
                if inspect.isclass(value) and issubclass(value, PreTrainedConfig) and value.__module__ == module.__name__:
                    yield value


def taken(config_class):
    """The strings that the code of a class takes from its arguments."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(config_class)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("pop", "get"):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "kwargs" and node.args:
                yield getattr(node.args[0], "value", None)


def main():
    warnings.filterwarnings("ignore")
    general = {field.name for field in dataclasses.fields(PreTrainedConfig)}
    keys = {"partial_rotary_factor": "partial_rotary_factor"}
    for each in classes():
        names = {field.name for field in dataclasses.fields(each)} if dataclasses.is_dataclass(each) else set()
        names |= {*(each.attribute_map or {}), *taken(each)} - {None}
        for key in names - general:
            if (ROTATION.search(key) or NAMES.fullmatch(key)) and not OTHER.fullmatch(key):
                keys.setdefault(key, HARMLESS.get(key, FACTS.get(key)))
        for one, other in (each.attribute_map or {}).items():
            for key, fact in ((one, other), (other, one)):
                if fact in SIZES and NAMES.fullmatch(key) and key not in SIZES and not key.startswith("qk_"):
                    keys[key] = fact
    for key in ("rope_interleave", "rotary_dim", "num_attention_heads", "head_dim"):
        keys[key] = key
    lines = [f"    {json.dumps(key)}: {json.dumps(keys[key])}" for key in sorted(keys)]
    OUTPUT.write_text(
        f"// Written by make_config_keys.py from the configuration classes of transformers {transformers.__version__}: the keys\n"
        "// that describe a rotation or the size of a head for any model type, and the fact of model-types.jsonc that each stands\n"
        "// for, or the values that change nothing besides null and false.\n"
        '{"keys": {\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
