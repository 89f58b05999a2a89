"""Attentions: their options, and what the parts of their encodings share."""

import itertools

import torch
import torch.nn.functional as F

from peer import Part, normal

part = Part("attention")

#: The size of the tokens, and the number of heads, unless a case says otherwise.
SIZE, HEADS = 24, 4
#: The lengths of the pieces in which an attention with a cache gets a sequence.
STEPS = (4, 1, 3, 1)


def case(x, y, projections, encoding=None, heads=HEADS, mask=None, own=None, **arguments):
    """An attention's output y for x, in steps and with a mask of keys if given.

    projections: of queries, keys and values, and the last one: modules, or weight and bias; None is the identity.
    encoding and own: the parameters of the encoding and the attention. Other arguments are options.
    """
    projections = [weights(each, x.shape[2]) for each in projections]
    names = ("query", "key", "value", "result")
    head_size = len(projections[0][0]) // heads
    parameters = {f"p.relativeEncoding_{name}": value for name, value in (encoding or {}).items()}
    parameters |= {f"p.{name}": value for name, value in (own or {}).items()}
    for name, (weight, bias) in zip(names, projections):
        parameters |= {f"p.{name}Projection_weight": weight, f"p.{name}Projection_bias": bias}
    options = dict(heads=heads, head_size=head_size, key_heads=len(projections[1][0]) // head_size, causal=False)
    options |= dict(steps=None, scale=None, window=None, cap=None, sinks=False, cosine=False) | arguments
    return options | dict(mask=mask is not None), {"x": x, **({} if mask is None else {"mask": mask})} | parameters, y


def weights(projection, size):
    """Weight and bias of a module, or of such a pair; a bias that is missing is 0."""
    if projection is None:
        projection = (torch.eye(size), None)
    weight, bias = projection if isinstance(projection, tuple) else (projection.weight, projection.bias)
    return weight, torch.zeros(len(weight)) if bias is None else bias


def split(linear, groups=1, parts=3):
    """The projections of queries, keys and values in one module, whose outputs are divided into groups of all three."""
    bias = None if linear.bias is None else linear.bias.view(groups, parts, -1)
    weight = linear.weight.view(groups, parts, -1, linear.weight.shape[1])
    return [(weight[:, i].flatten(0, 1), None if bias is None else bias[:, i].flatten()) for i in range(parts)]


def randomize(module, scale=0.3):
    """Gives a module random parameters; many are 0 at first."""
    for parameter in module.parameters():
        parameter.copy_(normal(*parameter.shape, scale=scale))
    module.eval()
    return module


def randomize_keras(layer, scale=0.3):
    """The same for a layer of Keras that is built."""
    for weight in layer.weights:
        weight.assign(normal(*weight.shape, scale=scale))
    return layer


def eager(config):
    config._attn_implementation = "eager"
    return config


def visible(keys, queries=None, causal=False, mask=None, window=None):
    """What the last queries see of the keys, (1 or B, 1, queries, keys)."""
    distances = torch.arange(keys)[-(queries or keys):, None] - torch.arange(keys)
    seen = (distances >= 0) | (not causal)
    if window:
        seen &= distances < window
    return seen[None, None] if mask is None else seen & mask[:, None, None, :keys].bool()


def additive(seen):
    """0, and the smallest number for hidden keys."""
    return torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)


def seeing(y, mask):
    """The outputs of causal queries that see a token; packages differ in those of the others."""
    return y if mask is None else y.masked_fill(mask.cumsum(1)[..., None] == 0, torch.nan)


def masks(length=9):
    """No mask, and masks with padding at the end and at the start."""
    end = (torch.arange(length) < torch.tensor([[length], [length - 3]])).long()
    return None, end, end.flip(1)


def in_steps(x, steps, forward):
    """The outputs for consecutive pieces of x, of the lengths in steps: forward(piece, the number of tokens so far)."""
    lengths = steps or [x.shape[1]]
    ends = itertools.accumulate(lengths)
    return torch.cat([forward(x[:, end - length : end], end) for length, end in zip(lengths, ends)], 1)


def ways(length=9):
    """Masks and steps: each mask without steps, and steps without a mask and with padding at the start."""
    none, end, start = masks(length)
    return (none, None), (end, None), (start, None), (none, STEPS), (start, STEPS)


def x_transformers(heads=HEADS, head_size=6, **options):
    """An attention of x-transformers; its output is a projection without bias."""
    from x_transformers.x_transformers import Attention

    return randomize(Attention(SIZE, dim_head=head_size, heads=heads, **options))


def x_transformers_case(module, encoding=None, rel_pos=None, mask=None, steps=None, **arguments):
    """The case of an attention of x-transformers."""
    x = normal(2, 9, SIZE)
    cache = None

    def forward(piece, end):
        nonlocal cache
        keys = None if mask is None else mask[:, :end].bool()
        # x-transformers hides later keys only if it has several queries
        y, cache = module(piece, mask=keys, rel_pos=rel_pos, cache=cache, return_intermediates=True)
        return y

    y = in_steps(x, steps, forward)
    # those of padding are 0
    y = y if mask is None else y.masked_fill(mask[..., None] == 0, torch.nan)
    # query head n has key head n modulo their number, here n divided by the size of a group
    assert module.kv_heads in (1, module.heads) or not (encoding or rel_pos), "reorder the heads of the encoding, too"
    order = torch.arange(module.heads).view(-1, module.kv_heads).T.flatten()
    query = module.to_q.weight.unflatten(0, (module.heads, -1))[order].flatten(0, 1), None
    result = module.to_out.weight.unflatten(1, (module.heads, -1))[:, order].flatten(1), None
    projections = query, module.to_k, module.to_v, result
    return case(x, y, projections, encoding, module.heads, mask, causal=module.causal, steps=steps, **arguments)


@part.kind("x-transformers heads of keys", "MultiHeadAttentionBlock", "x-transformers")
def key_heads():
    for options in (dict(kv_heads=4), dict(kv_heads=2), dict(one_kv_head=True), dict(kv_heads=2, head_size=5)):
        for causal in (False, True):
            yield x_transformers_case(x_transformers(causal=causal, **options))
    for mask, steps in ways():
        yield x_transformers_case(x_transformers(one_kv_head=True, causal=True), mask=mask, steps=steps)


@part.kind("x-transformers cap", "MultiHeadAttentionBlock", "x-transformers")
def cap():
    for limit in (0.5, 3.0):
        module = x_transformers(causal=True, softclamp_logits=True, logit_softclamp_value=limit)
        for mask, steps in ways():
            yield x_transformers_case(module, mask=mask, steps=steps, cap=limit)


@part.kind("x-transformers sinks", "MultiHeadAttentionBlock", "x-transformers")
def sinks():
    for causal in (False, True):
        module = x_transformers(causal=causal, head_learned_sink=True)
        yield x_transformers_case(module, own={"sinks": module.attend.head_attn_sink}, sinks=True)


@part.kind("x-transformers cosine", "MultiHeadAttentionBlock", "x-transformers")
def cosine():
    for scale in (1.0, 10.0):
        module = x_transformers(causal=True, qk_norm=True, qk_norm_scale=scale)
        for mask, steps in ways():
            own = {"temperature": torch.full((HEADS,), scale).log()}
            yield x_transformers_case(module, own=own, mask=mask, steps=steps, cosine=True)


@part.kind("x-transformers window", "MultiHeadAttentionBlock", "x-transformers")
def window():
    for past in (1, 3, 20):
        module = x_transformers(causal=True, max_attend_past=past)
        for steps in (None, STEPS):
            yield x_transformers_case(module, steps=steps, window=past + 1)


@part.kind("torch", "MultiHeadAttentionBlock", "torch")
def torch_attention():
    for heads in (1, 3, 8):
        module = randomize(torch.nn.MultiheadAttention(SIZE, heads, batch_first=True))
        x = normal(2, 9, SIZE)
        for mask in masks():
            for causal in (False, True):
                hidden = None if mask is None else mask == 0
                order = ~visible(9, causal=True)[0, 0] if causal else None
                y = module(x, x, x, key_padding_mask=hidden, attn_mask=order, need_weights=False)[0]
                projections = *fused(module), module.out_proj
                yield case(x, seeing(y, mask if causal else None), projections, heads=heads, mask=mask, causal=causal)


def fused(module):
    return list(zip(module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3)))


def transformers_cases(module, own=None, window=None, **arguments):
    """Cases of a causal attention of transformers, whose rotation turns by 0; the masks are its own."""
    from transformers import DynamicCache

    for mask, steps in ways():
        x = normal(2, 9, SIZE)
        cache = DynamicCache() if steps else None

        def forward(piece, end):
            rotation = torch.ones(1, piece.shape[1], 1), torch.zeros(1, piece.shape[1], 1)
            hidden = additive(visible(end, piece.shape[1], True, mask, window))
            return module(piece, position_embeddings=rotation, attention_mask=hidden, past_key_values=cache)[0]

        y = seeing(in_steps(x, steps, forward), mask)
        projections = module.q_proj, module.k_proj, module.v_proj, module.o_proj
        yield case(x, y, projections, own=own, mask=mask, causal=True, steps=steps, window=window, **arguments)


SMALL = dict(hidden_size=SIZE, num_attention_heads=HEADS, num_key_value_heads=2, num_hidden_layers=2, head_dim=6)


@part.kind("Gemma 2", "MultiHeadAttentionBlock", "transformers")
def gemma2():
    from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention, Gemma2Config

    config = eager(Gemma2Config(**SMALL, query_pre_attn_scalar=9, attn_logit_softcapping=2.0, attention_bias=True))
    yield from transformers_cases(randomize(Gemma2Attention(config, 0)), scale=1 / 3, cap=2)


@part.kind("GPT-OSS", "MultiHeadAttentionBlock", "transformers")
def gpt_oss():
    from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention, GptOssConfig

    module = randomize(GptOssAttention(eager(GptOssConfig(**SMALL, attention_bias=True)), 0))
    module.sinks.copy_(normal(HEADS))
    yield from transformers_cases(module, own={"sinks": module.sinks}, window=4, sinks=True)


@part.kind("Llama 4", "MultiHeadAttentionBlock", "transformers")
def llama4():
    from transformers.models.llama4.modeling_llama4 import Llama4TextAttention, Llama4TextConfig

    options = dict(no_rope_layers=[0, 0], floor_scale=3, attn_scale=0.5, use_qk_norm=False, attention_bias=True)
    module = randomize(Llama4TextAttention(eager(Llama4TextConfig(**SMALL, **options)), 0))
    yield from transformers_cases(module, coefficient=0.5, length=3)
