#!/usr/bin/env python3
"""Writes src/test/resources/configurations/rotations.txt: what transformers' classes rotate for configurations that are
easily read in another way.

Each line is a configuration and, as in model_types.txt, the layers with a rotary encoding: two sums over the rotated
queries, the number of dimensions that the class rotates at the end of a head, and the scale of the scores.

Run: python3 src/test/python/make_rotations.py (torch 2, transformers 5.23.0)
"""
import json
import warnings
from pathlib import Path

import transformers

from make_model_types import ALPHA, BASE, FULL, LIST, MISSING, OF_TYPE, SLIDING, SMALL, YARN, Recorder, changed, config_of

OUTPUT = Path(__file__).parents[1] / "resources" / "configurations" / "rotations.txt"
PROPORTIONAL = {"rope_type": "proportional", "rope_theta": 100.0, "partial_rotary_factor": 0.5}
SECTIONS = {FULL: {"rope_type": "linear", "factor": 4.0, "rope_theta": 100.0}, SLIDING: {"rope_type": "default", "rope_theta": 50.0}}
LONG = {"rope_type": "longrope", "short_factor": LIST, "long_factor": LIST[::-1], "original_max_position_embeddings": 16}
HYBRID = {"layer_types": ["attention", "mamba"] * 3}

CASES = {
    # a head has an unrotated and a rotated part
    "deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa minicpm3": [
        {"rope_parameters": PROPORTIONAL}, {"rope_parameters": {**PROPORTIONAL, "factor": 4.0}}],
    # a section for each type of layers, of which one is missing
    "gemma3_text gemma3n_text": [
        {"rope_parameters": {FULL: SECTIONS[FULL]}}, {"rope_parameters": {SLIDING: SECTIONS[SLIDING]}},
        {"rope_parameters": {FULL: SECTIONS[FULL], SLIDING: None}}, {"rope_parameters": {FULL: None, SLIDING: SECTIONS[SLIDING]}},
        {"rope_theta": 1000.0, "rope_local_base_freq": 20.0, "rope_parameters": {FULL: {"rope_type": "linear", "factor": 4.0}}}],
    "modernbert": [
        {"rope_parameters": {FULL: SECTIONS[FULL]}}, {"rope_parameters": {SLIDING: SECTIONS[SLIDING]}},
        {"local_rope_theta": 20.0, "rope_parameters": {FULL: SECTIONS[FULL]}}],
    # the share of a head is in the section only
    "bamba": [
        {}, {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.25}},
        {"rope_parameters": {**YARN, "rope_theta": 100.0}},
        {"rope_parameters": {**YARN, "rope_theta": 100.0, "partial_rotary_factor": 1.0}}, {"attn_layer_indices": [0, 5]}],
    # LongRoPE with its own magnitudes, for short sequences
    "phimoe": [{"rope_parameters": {**LONG, "rope_theta": 100.0, "short_mscale": 1.25, "long_mscale": 1.5}}],
    # the scale of the scores, without the factor of the keys
    "falcon_h1": [{"rope_theta": 100.0, "key_multiplier": 0.25}],
    # which layers rotate
    "smollm3": [
        {}, {"no_rope_layers": [1] * 6}, {"no_rope_layers": [0] * 6}, {"no_rope_layers": [1, 0, 1, 1, 0, 1]},
        {"no_rope_layer_interval": 2}],
    "llama4_text": [
        {}, {"no_rope_layers": [1] * 6}, {"no_rope_layers": [1, 0, 1, 1, 0, 1]}, {"no_rope_layer_interval": 2},
        {"layer_types": [FULL] * 6}],
    "granitemoehybrid": [
        {**HYBRID, "position_embedding_type": value} for value in ("rope", "nope", None, MISSING)],
    "cohere2 exaone4": [{}, {"layer_types": [FULL] * 6}, {"layer_types": [SLIDING] * 6}, {"sliding_window_pattern": 3}],
    "qwen3_next": [{"linear_num_value_heads": 2}, {"full_attention_interval": 2}],
    "lfm2": [{"full_attn_idxs": [0, 2]}],
    "minimax": [{}],
    # harmless sizes of a saved configuration
    "mistral4": [{"rope_parameters": {**YARN, "rope_theta": 100.0, "partial_rotary_factor": 0.5, "llama_4_scaling_beta": 0.1}}],
    "hunyuan_v1_dense": [ALPHA],
}


def main():
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    lines = ["transformers " + transformers.__version__]
    for model_types, cases in CASES.items():
        for model_type in model_types.split():
            for change in cases:
                values = changed({**BASE, **OF_TYPE.get(model_type, {})}, change)
                result = Recorder(config_of(model_type, {**SMALL, **values}), True).run()
                lines.append(f"{json.dumps({'model_type': model_type, **values})} | {result}")
    OUTPUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
