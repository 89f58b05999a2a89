"""Cases of multi-head attentions and of biases, which several parts share; Attentions.java has the library's side."""

import itertools

import torch

from peer import normal

#: The size of the tokens, and the number of heads, unless a case says otherwise.
SIZE, HEADS = 24, 4
#: The lengths of the pieces in which an attention with a cache gets a sequence.
STEPS = (4, 1, 3, 1)


def case(x, y, projections, encoding=None, heads=HEADS, mask=None, own=None, **options):
    """The output y of an attention for x, with a mask if given.

    projections: of queries, keys and values, and the last one: modules, or weight and bias; None is the identity.
    encoding and own: the parameters of the encoding and the attention; see stored.
    """
    query, key, value, result = (weights(each, x.shape[2]) for each in projections)
    parameters = {stored(name, "relativeEncoding_"): parameter for name, parameter in (encoding or {}).items()}
    parameters |= {f"p.{name}": parameter for name, parameter in (own or {}).items()}
    for name, (weight, bias) in dict(query=query, key=key, value=value, result=result).items():
        parameters |= {f"p.{name}Projection_weight": weight, f"p.{name}Projection_bias": bias}
    head_size = len(query[0]) // heads
    key_heads = len(key[0]) // head_size
    sizes = dict(heads=heads, head_size=head_size, key_heads=key_heads, value_head_size=len(value[0]) // key_heads)
    arrays = {"x": x} if mask is None else {"x": x, "mask": mask}
    return sizes | dict(causal=False, sinks=False, cosine=False) | options, arrays | parameters, y


def bias(y, parameters=None, start=None, **arguments):
    """The bias y of queries, (1, N, T, F) or (N, T, F), the first of them at a start, by default that of the last ones."""
    y = y if y.ndim == 4 else y[None]
    queries, keys = y.shape[2:]
    start = keys - queries if start is None else start
    parameters = {stored(name): value for name, value in (parameters or {}).items()}
    return dict(queries=queries, keys=keys, start=start) | arguments, parameters, y


def stored(name, prefix=""):
    """The name of a parameter among the arrays. With "reversed NAME", the library's loader reverses the rows."""
    kind, name = ("reversed", name.split()[1]) if name.startswith("reversed ") else ("p", name)
    return f"{kind}.{prefix}{name}"


def weights(projection, size):
    """Weight and bias of a module, or of such a pair; a bias that is missing is 0."""
    if projection is None:
        projection = (torch.eye(size), None)
    weight, bias = projection if isinstance(projection, tuple) else (projection.weight, projection.bias)
    return weight, torch.zeros(len(weight)) if bias is None else bias


def split(linear, groups=1, parts=3):
    """The projections of queries, keys and values in one module, whose outputs are groups of all three."""
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
    """The outputs for pieces of x of the lengths in steps: forward(piece, the number of tokens so far)."""
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
    assert module.kv_heads in (1, module.heads) or not (encoding or rel_pos), "reorder the heads of the encoding, too"
    projections = x_transformers_projections(module)
    return case(x, y, projections, encoding, module.heads, mask, causal=module.causal, steps=steps, **arguments)


def x_transformers_projections(module):
    # query head n has key head n modulo their number, here n divided by the size of a group
    order = torch.arange(module.heads).view(-1, module.kv_heads).T.flatten()
    query = module.to_q.weight.unflatten(0, (module.heads, -1))[order].flatten(0, 1), None
    result = module.to_out.weight.unflatten(1, (module.heads, -1))[:, order].flatten(1), None
    return query, module.to_k, module.to_v, result


def memory_case(x, memory, y, projections, places, mask=None, **arguments):
    """The output y of a cross-attention of x at some positions to a memory at others, (1 or B, n)."""
    options, arrays, y = case(x, y, projections, mask=mask, **arguments)
    return options, arrays | {"keys": memory, "positions": places[0], "memory_positions": places[1]}, y


def memory_places():
    """Positions of 4 queries and of 9 keys: whole or real numbers, of each sequence or of all."""
    yield torch.randint(0, 30, (2, 4)), torch.randint(0, 30, (2, 9))
    yield torch.tensor([[5, 6, 7, 8]]), torch.randint(0, 30, (2, 9))
    yield normal(2, 4, scale=5), normal(1, 9, scale=5)
    yield torch.randint(0, 9, (1, 4)), torch.rand(2, 9) * 9
