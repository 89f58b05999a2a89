"""Encodings of the attention: biases of distances and terms of scores."""

from peer import Part, normal

part = Part("relative")


@part.kind("x-transformers ALiBi", "AlibiBiasBlock", "x-transformers")
def alibi():
    from x_transformers.x_transformers import AlibiPositionalBias

    for heads in (1, 2, 3, 6, 8, 12, 71):
        yield dict(heads=heads, queries=9, keys=9), {}, AlibiPositionalBias(heads)(9, 9)[None]
    yield dict(heads=4, queries=3, keys=9), {}, AlibiPositionalBias(4)(3, 9)[None]
