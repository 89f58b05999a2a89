"""Options of an attention without an encoding."""

import importlib
import inspect
import json

import torch

from multi_head import (
    HEADS, SIZE, STEPS, additive, case, eager, in_steps, masks, randomize, seeing, visible, ways, x_transformers,
    memory_case, memory_places, x_transformers_case, x_transformers_projections,
)
from peer import Part, normal

part = Part("attention")


@part.kind("heads of keys", "MultiHeadAttentionBlock", "x-transformers")
def key_heads():
    for options in (dict(kv_heads=4), dict(kv_heads=2), dict(one_kv_head=True), dict(kv_heads=2, head_size=5)):
        for causal in (False, True):
            yield x_transformers_case(x_transformers(causal=causal, **options))
    for mask, steps in ways():
        yield x_transformers_case(x_transformers(one_kv_head=True, causal=True), mask=mask, steps=steps)


@part.kind("values of another size", "MultiHeadAttentionBlock", "x-transformers")
def value_sizes():
    for size in (3, 8):
        for causal in (False, True):
            yield x_transformers_case(x_transformers(causal=causal, value_dim_head=size))
        for mask, steps in ways():
            yield x_transformers_case(x_transformers(kv_heads=2, causal=True, value_dim_head=size), mask=mask, steps=steps)


@part.kind("output gate", "MultiHeadAttentionBlock", "x-transformers")
def output_gate():
    # of each number of the results, without a bias, and of each head
    for options in (dict(gate_values=True, value_dim_head=5), dict(gate_values=True, gate_values_headwise=True), dict(gate_value_heads=True)):
        module = x_transformers(causal=True, **options)
        gate = module.to_v_gate or module.to_v_head_gate
        bias = gate(torch.zeros(SIZE))
        own = {"gateProjection_weight": (gate(torch.eye(SIZE)) - bias).T, "gateProjection_bias": bias}
        for mask, steps in ways():
            yield x_transformers_case(module, own=own, mask=mask, steps=steps, gate="SIGMOID", gate_by_head=len(bias) == HEADS)


@part.kind("cap", "MultiHeadAttentionBlock", "x-transformers")
def cap():
    for limit in (0.5, 3.0):
        module = x_transformers(causal=True, softclamp_logits=True, logit_softclamp_value=limit)
        for mask, steps in ways():
            yield x_transformers_case(module, mask=mask, steps=steps, cap=limit)


@part.kind("sinks", "MultiHeadAttentionBlock", "x-transformers")
def sinks():
    for causal in (False, True):
        module = x_transformers(causal=causal, head_learned_sink=True)
        yield x_transformers_case(module, own={"sinks": module.attend.head_attn_sink}, sinks=True)


@part.kind("cosine", "MultiHeadAttentionBlock", "x-transformers")
def cosine():
    for scale in (1.0, 10.0):
        module = x_transformers(causal=True, qk_norm=True, qk_norm_scale=scale)
        for mask, steps in ways():
            own = {"temperature": torch.full((HEADS,), scale).log()}
            yield x_transformers_case(module, own=own, mask=mask, steps=steps, cosine=True)


@part.kind("window", "MultiHeadAttentionBlock", "x-transformers")
def window():
    for past in (1, 3, 20):
        module = x_transformers(causal=True, max_attend_past=past)
        for steps in (None, STEPS):
            yield x_transformers_case(module, steps=steps, window=past + 1)


def torch_attention(heads=HEADS):
    """An attention of torch, and its projections."""
    module = randomize(torch.nn.MultiheadAttention(SIZE, heads, batch_first=True))
    return module, [*zip(module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3)), module.out_proj]


@part.kind("MultiheadAttention", "MultiHeadAttentionBlock", "torch")
def self_attention():
    for heads in (1, 3, 8):
        module, projections = torch_attention(heads)
        for mask in masks():
            for causal in (False, True):
                x = normal(2, 9, SIZE)
                hidden = None if mask is None else mask == 0
                order = ~visible(9, causal=True)[0, 0] if causal else None
                y = module(x, x, x, key_padding_mask=hidden, attn_mask=order, need_weights=False)[0]
                y = seeing(y, mask if causal else None)
                yield case(x, y, projections, heads=heads, mask=mask, causal=causal)


@part.kind("MultiheadAttention with a mask of pairs", "MultiHeadAttentionBlock", "torch")
def pairs():
    module, projections = torch_attention()
    # of each query, of each head too, or numbers that are added to the scores
    for shape in ((2, 1), (2, HEADS), (1, HEADS)):
        for mask in ((torch.rand(*shape, 9, 9) < 0.7) | torch.eye(9).bool(), normal(*shape, 9, 9)):
            x = normal(2, 9, SIZE)
            hidden = mask.expand(2, HEADS, 9, 9).flatten(0, 1)
            y = module(x, x, x, attn_mask=~hidden if mask.dtype == torch.bool else hidden, need_weights=False)[0]
            yield case(x, y, projections, mask=mask)


@part.kind("MultiheadAttention of other keys", "MultiHeadAttentionBlock", "torch")
def cross_attention():
    module, projections = torch_attention()
    for mask in masks():
        queries, keys, values = normal(2, 4, SIZE), normal(2, 9, SIZE), normal(2, 9, SIZE)
        y = module(queries, keys, values, key_padding_mask=None if mask is None else mask == 0)[0]
        options, arrays, y = case(queries, y, projections, mask=mask)
        yield options, arrays | {"keys": keys, "values": values}, y


@part.kind("rotary positions of other keys", "MultiHeadAttentionBlock", "x-transformers")
def rotary_memory():
    from x_transformers.x_transformers import RotaryEmbedding

    rotary = RotaryEmbedding(6)
    for places in memory_places():
        for mask, kv_heads, steps in zip((*masks(), None), (4, 2, 4, 2), (None, None, None, (2, 1, 1))):
            module = x_transformers(kv_heads=kv_heads)
            x, memory = normal(2, 4, SIZE), normal(2, 9, SIZE)
            y = module(x, memory, context_mask=None if mask is None else mask.bool(), rotary_pos_emb=rotary(places[0]),
                       context_rotary_pos_emb=rotary(places[1]))
            yield memory_case(x, memory, y, x_transformers_projections(module), places, mask, steps=steps)


@part.kind("ALiBi's positions of other keys", "MultiHeadAttentionBlock", "x-transformers")
def alibi_memory():
    from x_transformers.x_transformers import AlibiPositionalBias

    for places in memory_places():
        for mask, steps in zip((*masks(), None), (None, None, None, (2, 1, 1))):
            module = x_transformers()
            x, memory = normal(2, 4, SIZE), normal(2, 9, SIZE)
            y = module(x, memory, context_mask=None if mask is None else mask.bool(),
                       attn_bias=AlibiPositionalBias(HEADS).forward_custom_pos(*(each.expand(2, -1) for each in places)))
            yield memory_case(x, memory, y, x_transformers_projections(module), places, mask, steps=steps)


@part.kind("T5's positions of other keys", "MultiHeadAttentionBlock", "transformers")
def t5_memory():
    from transformers.models.t5.modeling_t5 import T5Attention

    module, table = x_transformers(), normal(32, HEADS)
    for places in memory_places():
        if not any(each.is_floating_point() for each in places):
            x, memory = normal(2, 4, SIZE), normal(2, 9, SIZE)
            distances = places[1][:, None] - places[0][..., None]
            bias = table[T5Attention._relative_position_bucket(distances)].permute(0, 3, 1, 2)
            y = module(x, memory, attn_bias=bias)
            yield memory_case(x, memory, y, x_transformers_projections(module), places, encoding={"biases": table})


@part.kind("LTX-2", "MultiHeadAttentionBlock", "diffusers")
def ltx2():
    from diffusers.models.transformers.transformer_ltx2 import LTX2Attention, LTX2AudioVideoRotaryPosEmbed

    for rope_type in ("interleaved", "split"):
        module = randomize(LTX2Attention(SIZE, heads=HEADS, kv_heads=HEADS, dim_head=6, rope_type=rope_type))
        sides = dict(dim=SIZE, rope_type=rope_type, num_attention_heads=HEADS)
        video = LTX2AudioVideoRotaryPosEmbed(modality="video", **sides)
        audio = LTX2AudioVideoRotaryPosEmbed(modality="audio", scale_factors=(4,), **sides)
        # times as in double precision; those of rows and columns are left out
        of_video = video.prepare_video_coords(2, 4, 2, 2, "cpu", fps=24.0)[:, :1].double()
        of_audio = audio.prepare_audio_coords(2, 13, "cpu").double()
        frequencies = (10000.0 ** torch.linspace(0, 1, SIZE // 2, dtype=torch.float64) * torch.pi / 2).float()
        for queries, keys in ((video, audio), (audio, video)):
            coordinates = [of_video if each is video else of_audio for each in (queries, keys)]
            places = [2 * each.mean(3)[:, 0] / 20 - 1 for each in coordinates]
            for mask in masks(places[1].shape[1]):
                x, memory = (normal(2, each.shape[1], SIZE) for each in places)
                hidden = None if mask is None else additive(mask[:, None].bool())
                y = module(x, memory, hidden, queries(coordinates[0]), keys(coordinates[1]))
                yield memory_case(
                    x, memory, y, (module.to_q, module.to_k, module.to_v, module.to_out[0]), places, mask,
                    encoding={"frequencies": frequencies.view(1, HEADS, -1)}, epsilon=1e-6, split=rope_type == "split",
                    own={"queryNorm_gamma": module.norm_q.weight, "keyNorm_gamma": module.norm_k.weight})


@part.kind("probabilities", "MultiHeadAttentionBlock", "torch")
def probabilities():
    module, projections = torch_attention()
    for mask in masks():
        x = normal(2, 9, SIZE)
        y = module(x, x, x, key_padding_mask=None if mask is None else mask == 0, average_attn_weights=False)[1]
        yield case(x, y, projections, mask=mask)


def transformers_cases(module, rule=None, ways=ways(), own=None, **options):
    """Cases of a causal attention of transformers, whose rotation turns by 0; the rule is one of its masks."""
    from transformers import DynamicCache
    from transformers.masking_utils import causal_mask_function

    def seen(queries, keys, mask):
        positions = torch.arange(keys)
        rows = rule or causal_mask_function
        allowed = rows(torch.arange(2)[:, None, None, None], 0, positions[-queries:, None], positions)
        allowed = allowed.expand(2, 1, queries, keys)
        return allowed if mask is None else allowed & mask[:, None, None, :keys].bool()

    for mask, steps in ways:
        x = normal(2, 9, SIZE)
        cache = DynamicCache() if steps else None

        def forward(piece, end):
            length = piece.shape[1]
            rotation = torch.ones(1, length, 1), torch.zeros(1, length, 1)
            hidden = additive(seen(length, end, mask))
            return module(piece, position_embeddings=rotation, attention_mask=hidden, past_key_values=cache)[0]

        # packages differ in the outputs of queries that see no key
        y = in_steps(x, steps, forward).masked_fill(~seen(9, 9, mask).any(3)[:, 0, :, None], torch.nan)
        projections = module.q_proj, module.k_proj, module.v_proj, module.o_proj
        yield case(x, y, projections, own=own, mask=mask, causal=True, steps=steps, **options)


SMALL = dict(hidden_size=SIZE, num_attention_heads=HEADS, num_key_value_heads=2, num_hidden_layers=2, head_dim=6)


@part.kind("Gemma 2", "MultiHeadAttentionBlock", "transformers")
def gemma2():
    from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention, Gemma2Config

    config = eager(Gemma2Config(**SMALL, query_pre_attn_scalar=9, attn_logit_softcapping=2.0, attention_bias=True))
    yield from transformers_cases(randomize(Gemma2Attention(config, 0)), scale=1 / 3, cap=2)


@part.kind("GPT-OSS", "MultiHeadAttentionBlock", "transformers")
def gpt_oss():
    from transformers.masking_utils import sliding_window_causal_mask_function
    from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention, GptOssConfig

    module = randomize(GptOssAttention(eager(GptOssConfig(**SMALL, attention_bias=True)), 0))
    own, rule = {"sinks": module.sinks}, sliding_window_causal_mask_function(4)
    yield from transformers_cases(module, rule, own=own, window=4, sinks=True)


@part.kind("Llama 4", "MultiHeadAttentionBlock", "transformers")
def llama4():
    module = llama4_attention(attn_temperature_tuning=True, floor_scale=3, attn_scale=0.5)
    yield from transformers_cases(module, coefficient=0.5, length=3)


@part.kind("Llama 4 with chunks", "MultiHeadAttentionBlock", "transformers")
def llama4_chunks():
    from transformers.masking_utils import chunked_causal_mask_function

    module = llama4_attention(attn_temperature_tuning=False)
    for mask, steps in ways():
        # chunks begin with the first token
        padding = torch.zeros(2).long() if mask is None else (mask.cumsum(1) == 0).sum(1)
        positions = {"positions": torch.arange(9) - padding[:, None]}
        rule = chunked_causal_mask_function(4, padding)
        for options, arrays, y in transformers_cases(module, rule, [(mask, steps)], chunk=4):
            yield options, arrays | positions, y


def llama4_attention(**options):
    from transformers.models.llama4.modeling_llama4 import Llama4TextAttention, Llama4TextConfig

    config = Llama4TextConfig(**SMALL, no_rope_layers=[0, 0], use_qk_norm=False, attention_bias=True, **options)
    return randomize(Llama4TextAttention(eager(config), 0))


@part.kind("Qwen 3", "MultiHeadAttentionBlock", "transformers")
def qwen3():
    from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention, Qwen3Config

    module = randomize(Qwen3Attention(eager(Qwen3Config(**SMALL)), 0))
    yield from transformers_cases(module, own=norms(module), epsilon=1e-6, all_heads=False)


@part.kind("OLMo 2", "MultiHeadAttentionBlock", "transformers")
def olmo2():
    from transformers.models.olmo2.modeling_olmo2 import Olmo2Attention, Olmo2Config

    module = randomize(Olmo2Attention(eager(Olmo2Config(**SMALL, rms_norm_eps=1e-6)), 0))
    yield from transformers_cases(module, own=norms(module), epsilon=1e-6, all_heads=True)


def norms(module):
    return {"queryNorm_gamma": module.q_norm.weight, "keyNorm_gamma": module.k_norm.weight}


#: The lengths of the documents in each row.
PACKED = ((4, 1, 4), (2, 7)), ((3, 3, 3), (3, 3, 3)), ((9,), (1, 2, 3, 3))


def packed_positions(rows):
    return torch.stack([torch.cat([torch.arange(length) for length in row]) for row in rows])


@part.kind("packed documents", "MultiHeadAttentionBlock", "transformers")
def packed():
    from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask
    from transformers.models.mistral.modeling_mistral import MistralAttention, MistralConfig, MistralRotaryEmbedding

    config = eager(MistralConfig(**SMALL, sliding_window=3))
    module, rotary = randomize(MistralAttention(config, 0)), MistralRotaryEmbedding(config)
    projections = module.q_proj, module.k_proj, module.v_proj, module.o_proj
    for rows in PACKED:
        for create, options in ((create_causal_mask, {}), (create_sliding_window_causal_mask, dict(window=3))):
            x, places = normal(2, 9, SIZE), packed_positions(rows)
            # the mask of what transformers takes for packed documents
            y = module(x, rotary(x, places), create(config, x, None, None, position_ids=places))[0]
            options, arrays, y = case(x, y, projections, causal=True, **options)
            yield options, arrays | {"packed": places}, y


@part.kind("packed documents with pictures", "MultiHeadAttentionBlock", "transformers")
def packed_pictures():
    from transformers.masking_utils import create_causal_mask
    from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen

    sizes = {name: size for name, size in SMALL.items() if name != "head_dim"}
    rope = dict(rope_type="default", rope_theta=10000.0, mrope_section=[1, 1, 1])
    config = eager(qwen.Qwen2VLTextConfig(**sizes, rope_parameters=rope))
    module, rotary = randomize(qwen.Qwen2VLAttention(config, 0)), qwen.Qwen2VLRotaryEmbedding(config)
    projections = module.q_proj, module.k_proj, module.v_proj, module.o_proj
    for rows in PACKED:
        for places in (torch.randint(0, 40, (3, 2, 9)), packed_positions(rows).expand(3, -1, -1)):
            x, packed = normal(2, 9, SIZE), packed_positions(rows)
            hidden = create_causal_mask(config, x, None, None, position_ids=packed)
            y = module(x, hidden, position_embeddings=rotary(x, places))[0]
            options, arrays, y = case(x, y, projections, causal=True, sections=(1, 1, 1))
            yield options, arrays | {"packed": packed, "positions": places}, y


def configured_cases(name, attention, rotary, layers=(0, 1), gate=None, **options):
    """Cases of the attentions of a configuration, as its model calls them. The gate gets the module."""
    from transformers import DynamicCache

    module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    config_class = getattr(module, attention.replace("Attention", "TextConfig"), None) or getattr(module, attention.replace("Attention", "Config"))
    config = eager(config_class(**{**SMALL, "layer_types": ["full_attention", "sliding_attention"], "sliding_window": 4, **options}))
    rotation = getattr(module, rotary)(config)
    for layer in layers:
        heads = getattr(config, "num_attention_heads_per_layer", None)
        attend = randomize(getattr(module, attention)(config, layer, *([heads[layer]] if heads else [])))
        kind = config.layer_types[layer]
        window = config.sliding_window if kind == "sliding_attention" else None
        for mask, steps in ways():
            x, cache = normal(2, 9, SIZE), DynamicCache() if steps else None

            def forward(piece, end):
                length = piece.shape[1]
                places = torch.arange(end - length, end)[None].expand(2, -1)
                by_kind = "layer_type" in inspect.signature(rotation.forward).parameters
                turned = rotation(piece, places, kind) if by_kind else rotation(piece, places)
                hidden = additive(visible(end, length, True, mask, window).expand(2, 1, length, end))
                return attend(piece, position_embeddings=turned, attention_mask=hidden, past_key_values=cache)[0]

            # packages differ in the outputs of queries that see no key
            y = seeing(in_steps(x, steps, forward), mask)
            arrays = {"x": x} | ({} if mask is None else {"mask": mask})
            arrays |= {f"p.{key}": value for key, value in configured_parameters(attend, gate).items()}
            yield dict(file=config.to_json_string(use_diff=False), layer=layer, steps=steps), arrays, y


def configured_parameters(attend, gate):
    """The parameters of an attention with the names that the library has."""
    names = {"q_proj": "queryProjection", "k_proj": "keyProjection", "v_proj": "valueProjection", "o_proj": "resultProjection",
             "gate_proj": "gateProjection", "g_proj": "gateProjection"}
    norms = {"q_norm": "queryNorm_gamma", "k_norm": "keyNorm_gamma"}
    parameters = {}
    for key, value in attend.named_parameters():
        child, _, kind = key.partition(".")
        if child in norms:
            parameters[norms[child]] = value + 1 if gate == "interleaved" else value
        elif child == "q_proj" and gate == "interleaved":
            query, gates = value.unflatten(0, (-1, 2, attend.head_dim)).unbind(1)
            parameters |= {f"queryProjection_{kind}": query.flatten(0, 1), f"gateProjection_{kind}": gates.flatten(0, 1)}
        else:
            parameters[f"{names[child]}_{kind}" if kind else key] = value
    return parameters


@part.kind("Qwen3-Next", "MultiHeadAttentionBlock", "transformers")
def qwen3_next():
    for bias in (False, True):
        rope = {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5}
        yield from configured_cases("qwen3_next", "Qwen3NextAttention", "Qwen3NextRotaryEmbedding", (0,), "interleaved", head_dim=8,
                                    attention_bias=bias, layer_types=["full_attention", "linear_attention"], rope_parameters=rope)


@part.kind("Qwen 3.5", "MultiHeadAttentionBlock", "transformers")
def qwen3_5():
    rope = {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1], "mrope_interleaved": True}
    for name, prefix in (("qwen3_5", "Qwen3_5"), ("qwen3_5_moe", "Qwen3_5Moe")):
        yield from configured_cases(name, f"{prefix}Attention", f"{prefix}TextRotaryEmbedding", (1,), "interleaved", head_dim=16,
                                    layer_types=["linear_attention", "full_attention"], rope_parameters=rope)


@part.kind("Trinity", "MultiHeadAttentionBlock", "transformers")
def afmoe():
    for bias in (False, True):
        yield from configured_cases("afmoe", "AfmoeAttention", "AfmoeRotaryEmbedding", attention_bias=bias)


@part.kind("Laguna", "MultiHeadAttentionBlock", "transformers")
def laguna():
    for gating in (True, "per-head", "per-element"):
        yield from configured_cases("laguna", "LagunaAttention", "LagunaRotaryEmbedding", head_dim=8, gating=gating,
                                    num_attention_heads_per_layer=[4, 6])


@part.kind("MiMo-V2-Flash", "MultiHeadAttentionBlock", "transformers")
def mimo_v2_flash():
    for options in (dict(v_head_dim=8), dict(v_head_dim=32, attention_value_scale=None, attention_bias=True),
                    dict(v_head_dim=24, attention_value_scale=1.5, sliding_window_size=2)):
        yield from configured_cases("mimo_v2_flash", "MiMoV2FlashAttention", "MiMoV2FlashRotaryEmbedding", head_dim=24,
                                    num_key_value_heads=2, **options)
