"""Terms of the scores that depend on queries and keys: Shaw, Transformer-XL, DeBERTa."""

import torch
import torch.nn.functional as F

from multi_head import (
    HEADS, SIZE, additive, case, eager, in_steps, masks, randomize, randomize_keras, seeing, split, visible, ways, weights,
)
from peer import Part, normal

part = Part("terms")

SMALL = dict(hidden_size=SIZE, num_attention_heads=HEADS)


def encoder_cases(attend, projections, encoding, lengths=(9, 20), **arguments):
    """Cases of an attention in both directions, the first length with masks: attend(x, what it sees)."""
    for length, mask in [(lengths[0], mask) for mask in masks(lengths[0])] + [(lengths[1], None)]:
        x = normal(2, length, SIZE)
        seen = visible(length, mask=mask).expand(2, 1, length, length)
        yield case(x, attend(x, seen), projections, encoding, mask=mask, **arguments)


def linear(module):
    """The projections of ESPnet's Conformers."""
    return module.linear_q, module.linear_k, module.linear_v, module.linear_out


@part.kind("Wav2Vec2-BERT", "ShawRelativePositionBlock", "transformers")
def wav2vec2_bert():
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import (
        Wav2Vec2BertConfig, Wav2Vec2BertSelfAttention,
    )

    for left, right in ((3, 3), (5, 2)):
        sides = dict(left_max_position_embeddings=left, right_max_position_embeddings=right)
        config = Wav2Vec2BertConfig(**SMALL, position_embeddings_type="relative_key", **sides)
        yield from one_sided(randomize(Wav2Vec2BertSelfAttention(eager(config))), left, right)


@part.kind("SeamlessM4T v2", "ShawRelativePositionBlock", "transformers")
def seamless_v2():
    from transformers.models.seamless_m4t_v2.modeling_seamless_m4t_v2 import (
        SeamlessM4Tv2Config, SeamlessM4Tv2ConformerSelfAttention,
    )

    sides = dict(left_max_position_embeddings=6, right_max_position_embeddings=1)
    config = SeamlessM4Tv2Config(hidden_size=SIZE, speech_encoder_attention_heads=HEADS, **sides)
    yield from one_sided(randomize(SeamlessM4Tv2ConformerSelfAttention(eager(config))), 6, 1)


def one_sided(module, left, right):
    """Another number of distances before the query than after it."""
    encoding = {"keys": module.distance_embedding.weight}
    attend = lambda x, seen: module(x, additive(seen))[0]
    yield from encoder_cases(attend, linear(module), encoding, distance=left, after=right, values=False)


@part.kind("VITS", "ShawRelativePositionBlock", "transformers")
def vits():
    from transformers.models.vits.modeling_vits import VitsAttention, VitsConfig

    for window in (3, 10):
        module = randomize(VitsAttention(VitsConfig(**SMALL, window_size=window)))
        encoding = {"keys": module.emb_rel_k[0], "values": module.emb_rel_v[0]}
        projections = module.q_proj, module.k_proj, module.v_proj, module.out_proj
        attend = lambda x, seen: module(x, attention_mask=additive(seen))[0]
        yield from encoder_cases(attend, projections, encoding, distance=window, values=True, clipped=False)


@part.kind("SpeechT5", "ShawRelativePositionBlock", "transformers")
def speecht5():
    from transformers.models.speecht5.modeling_speecht5 import SpeechT5Attention, SpeechT5RelativePositionalEncoding

    for distance in (4, 30):
        module = randomize(SpeechT5Attention(SIZE, HEADS))
        positions = randomize(SpeechT5RelativePositionalEncoding(SIZE // HEADS, distance))
        # query minus key, of -distance to distance - 1
        encoding = {"reversed keys": positions.pe_k.weight}
        projections = module.q_proj, module.k_proj, module.v_proj, module.out_proj
        attend = lambda x, seen: module(x, attention_mask=additive(seen), position_bias=positions(x))[0]
        sides = dict(distance=distance - 1, after=distance)
        yield from encoder_cases(attend, projections, encoding, values=False, **sides)


def transformer_xl(content, position, projection):
    return {"contentBias": content, "positionBias": position, "projection": projection}


def conformer(module, attend, **arguments):
    """Cases of a Conformer with the parameters of ESPnet."""
    encoding = transformer_xl(module.pos_bias_u, module.pos_bias_v, module.linear_pos.weight)
    return encoder_cases(attend, linear(module), encoding, **arguments)


@part.kind("Wav2Vec2-Conformer", "TransformerXlPositionBlock", "transformers")
def wav2vec2_conformer():
    from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import (
        Wav2Vec2ConformerConfig, Wav2Vec2ConformerRelPositionalEmbedding, Wav2Vec2ConformerSelfAttention,
    )

    config = eager(Wav2Vec2ConformerConfig(**SMALL, position_embeddings_type="relative", max_source_positions=50))
    module = randomize(Wav2Vec2ConformerSelfAttention(config))
    positions = Wav2Vec2ConformerRelPositionalEmbedding(config)
    yield from conformer(module, lambda x, seen: module(x, additive(seen), positions(x))[0])


@part.kind("SeamlessM4T", "TransformerXlPositionBlock", "transformers")
def seamless():
    from transformers.models.seamless_m4t.modeling_seamless_m4t import (
        SeamlessM4TConfig, SeamlessM4TConformerRelPositionalEmbedding, SeamlessM4TConformerSelfAttention,
    )

    options = dict(position_embeddings_type="relative", max_source_positions=50)
    config = eager(SeamlessM4TConfig(hidden_size=SIZE, speech_encoder_attention_heads=HEADS, **options))
    module = randomize(SeamlessM4TConformerSelfAttention(config))
    positions = SeamlessM4TConformerRelPositionalEmbedding(config)
    yield from conformer(module, lambda x, seen: module(x, additive(seen), positions(x))[0])


@part.kind("FastSpeech2-Conformer", "TransformerXlPositionBlock", "transformers")
def fastspeech2_conformer():
    from transformers.models.fastspeech2_conformer.modeling_fastspeech2_conformer import (
        FastSpeech2ConformerAttention, FastSpeech2ConformerConfig, FastSpeech2ConformerRelPositionalEncoding,
    )

    config = FastSpeech2ConformerConfig(hidden_size=SIZE)
    options = dict(num_attention_heads=HEADS, attention_dropout_rate=0.0, positional_dropout_rate=0.0)
    module = randomize(FastSpeech2ConformerAttention(config, options))
    positions = FastSpeech2ConformerRelPositionalEncoding(config, options).eval()
    # its mask is of keys
    yield from conformer(module, lambda x, seen: module(x, seen[:, 0, :1], positions(x)[1])[0])


def fast_conformer(module):
    projections = module.q_proj, module.k_proj, module.v_proj, module.o_proj
    return projections, transformer_xl(module.bias_u, module.bias_v, module.relative_k_proj.weight)


@part.kind("Parakeet", "TransformerXlPositionBlock", "transformers")
def parakeet():
    from transformers.models.parakeet.modeling_parakeet import (
        ParakeetEncoderAttention, ParakeetEncoderConfig, ParakeetEncoderRelPositionalEncoding,
    )

    for bias in (False, True):
        config = eager(ParakeetEncoderConfig(**SMALL, attention_bias=bias))
        module = randomize(ParakeetEncoderAttention(config, 0))
        positions = ParakeetEncoderRelPositionalEncoding(config)
        attend = lambda x, seen: module(x, positions(x), seen)[0]
        yield from encoder_cases(attend, *fast_conformer(module))


@part.kind("Nemotron ASR", "TransformerXlPositionBlock", "transformers")
def nemotron_asr():
    from transformers import DynamicCache
    from transformers.models.nemotron_asr_streaming.modeling_nemotron_asr_streaming import (
        NemotronAsrStreamingEncoderAttention, NemotronAsrStreamingEncoderConfig,
        NemotronAsrStreamingEncoderRelPositionalEncoding,
    )

    config = eager(NemotronAsrStreamingEncoderConfig(**SMALL))
    module = randomize(NemotronAsrStreamingEncoderAttention(config, 0))
    positions = NemotronAsrStreamingEncoderRelPositionalEncoding(config)
    projections, encoding = fast_conformer(module)
    for mask, steps in ways():
        x = normal(2, 9, SIZE)
        cache = DynamicCache() if steps else None

        def forward(piece, end):
            length = piece.shape[1]
            return module(piece, positions(piece, end - length), visible(end, length, True, mask), cache)[0]

        y = seeing(in_steps(x, steps, forward), mask)
        options = dict(mask=mask, steps=steps, causal=True)
        yield case(x, y, projections, encoding, **options)


@part.kind("Wav2Vec2-Conformer with rotation", "RotaryEmbeddingBlock", "transformers")
def rotated_input():
    from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import (
        Wav2Vec2ConformerConfig, Wav2Vec2ConformerRotaryPositionalEmbedding, Wav2Vec2ConformerSelfAttention,
    )

    config = eager(Wav2Vec2ConformerConfig(**SMALL, position_embeddings_type="rotary"))
    module = randomize(Wav2Vec2ConformerSelfAttention(config))
    positions = Wav2Vec2ConformerRotaryPositionalEmbedding(config)
    for length in (9, 20):
        x = normal(2, length, SIZE)
        yield case(x, module(x, relative_position_embeddings=positions(x))[0], linear(module))


@part.kind("XLNet", "TransformerXlPositionBlock", "transformers")
def xlnet():
    from transformers.models.xlnet.modeling_xlnet import XLNetConfig, XLNetModel

    model = randomize(XLNetModel(XLNetConfig(d_model=SIZE, n_head=HEADS, n_layer=1, vocab_size=11, d_inner=16)))
    module = model.layer[0].rel_attn
    post_attention = module.post_attention
    module.post_attention, module.layer_norm = lambda h, y: post_attention(h, y, False), torch.nn.Identity()
    rows = lambda weight: weight.flatten(1).T
    projections = [(rows(each), None) for each in (module.q, module.k, module.v)] + [(module.o.flatten(1), None)]
    encoding = transformer_xl(module.r_w_bias, module.r_r_bias, rows(module.r))
    for causal, steps in ((False, None), (True, None), (True, (4, 5)), (True, (2, 3, 3, 1))):
        for mask in masks():
            x = normal(2, 9, SIZE)

            def forward(piece, end):
                length = piece.shape[1]
                hidden = ~visible(end, length, causal, mask).expand(2, 1, length, end)
                hidden = hidden.float().permute(2, 3, 0, 1)
                memory = x[:, : end - length].transpose(0, 1)
                relative = model.relative_positional_encoding(length, end, bsz=2)
                # the memory of the first layer is its input
                y = module(piece.transpose(0, 1), None, hidden, None, relative, None, memory)[0]
                return y.transpose(0, 1)

            y = in_steps(x, steps, forward)
            y = seeing(y, mask) if causal else y
            options = dict(mask=mask, causal=causal, steps=steps)
            yield case(x, y, projections, encoding, **options)


@part.kind("XLNet", "TransformerXlPositionBlock", "keras-hub")
def keras_xlnet():
    from keras_hub.src.models.xlnet.relative_attention import TwoStreamRelativeAttention
    from keras_hub.src.models.xlnet.xlnet_content_and_query_embedding import ContentAndQueryEmbedding

    module = TwoStreamRelativeAttention(num_heads=HEADS, key_dim=SIZE // HEADS)
    embedding = ContentAndQueryEmbedding(vocabulary_size=11, hidden_dim=SIZE, dropout=0)
    x = normal(2, 9, SIZE)
    module.build(x.shape)
    randomize_keras(module)
    content, position = normal(HEADS, SIZE // HEADS), normal(HEADS, SIZE // HEADS)
    relative = embedding.relative_positional_encoding(9, 9, bsz=2, clamp_len=-1).transpose(0, 1)
    y = module(x, content, position, relative)[0]
    dense = module._query_dense, module._key_dense, module._value_dense
    projections = [(each.kernel.value.flatten(1).T, None) for each in dense]
    projections.append((module._output_dense.kernel.value.flatten(1), None))
    encoding = transformer_xl(content, position, module._encoding_dense.kernel.value.flatten(1).T)
    yield case(x, y, projections, encoding)


def disentangled(vectors, key, query):
    """Parameters of DeBERTa's encoding: a projection is a module, or weight and bias, or None without its term."""
    parameters = dict(vectors=vectors)
    for name, projection in dict(key=key, query=query).items():
        if projection is not None:
            weight, bias = weights(projection, SIZE)
            parameters |= {f"{name}Weight": weight, f"{name}Bias": bias}
    return parameters


def terms(types):
    return dict(c2p="c2p" in types, p2c="p2c" in types)


BOTH = ["c2p", "p2c"]


def deberta_v2_module(buckets, maximum, **options):
    from transformers.models.deberta_v2.modeling_deberta_v2 import DebertaV2Config, DisentangledSelfAttention

    options = dict(pos_att_type=BOTH) | options
    sizes = dict(position_buckets=buckets, max_position_embeddings=maximum)
    return randomize(DisentangledSelfAttention(DebertaV2Config(**SMALL, relative_attention=True, **sizes, **options)))


def deberta_v2_cases(module, buckets, maximum, types=BOTH, logarithmic=True):
    vectors = normal(2 * buckets, SIZE)
    shared = module.share_att_key
    key = (module.key_proj if shared else module.pos_key_proj) if "c2p" in types else None
    query = (module.query_proj if shared else module.pos_query_proj) if "p2c" in types else None
    projections = module.query_proj, module.key_proj, module.value_proj, None
    attend = lambda x, seen: module(x, seen, rel_embeddings=vectors)[0]
    encoding = disentangled(vectors, key, query)
    options = dict(buckets=buckets, maximum=maximum, logarithmic=logarithmic) | terms(types)
    yield from encoder_cases(attend, projections, encoding, (9, 70), **options)


@part.kind("DeBERTa V2", "DisentangledPositionBlock", "transformers")
def deberta_v2():
    for shared in (False, True):
        for sizes in ((4, 12), (8, 16), (16, 512), (256, 512)):
            yield from deberta_v2_cases(deberta_v2_module(*sizes, share_att_key=shared), *sizes)


@part.kind("DeBERTa V2 without buckets", "DisentangledPositionBlock", "transformers")
def deberta_v2_linear():
    for shared in (False, True):
        for longest in (4, 16, 100):
            module = deberta_v2_module(-1, 512, max_relative_positions=longest, share_att_key=shared)
            yield from deberta_v2_cases(module, longest, 512, logarithmic=False)
    # the maximum is max_position_embeddings unless max_relative_positions is positive
    yield from deberta_v2_cases(deberta_v2_module(-1, 12), 12, 12, logarithmic=False)


@part.kind("DeBERTa V2 with one term", "DisentangledPositionBlock", "transformers")
def deberta_v2_one_term():
    for types in (["c2p"], ["p2c"]):
        for shared in (False, True):
            yield from deberta_v2_cases(deberta_v2_module(8, 16, pos_att_type=types, share_att_key=shared), 8, 16, types)
        module = deberta_v2_module(-1, 512, pos_att_type=types, max_relative_positions=6)
        yield from deberta_v2_cases(module, 6, 512, types, logarithmic=False)


@part.kind("DeBERTa V2's buckets", "DisentangledPositionBlock", "transformers")
def deberta_v2_buckets():
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

    keys = 2048
    distances = torch.arange(keys) - keys // 2
    for buckets, maximum in ((256, 512), (32, 512), (64, 1024), (4, 12), (8, 16), (128, 512)):
        rows = make_log_bucket_position(-distances, buckets, maximum).long() + buckets
        # the term of a query of one 1 in the middle of the keys is the row's number, that of the keys is 0
        one, zero = torch.ones(1, 1), torch.zeros(1)
        vectors = torch.arange(2 * buckets)[:, None].float()
        arrays = {"q": torch.ones(1, 1, 1, 1), "k": torch.ones(1, 1, keys, 1)}
        arrays |= {f"p.{n}": v for n, v in disentangled(vectors, (one, zero), (0 * one, zero)).items()}
        options = dict(buckets=buckets, maximum=maximum, logarithmic=True, start=keys // 2) | terms(BOTH)
        yield options, arrays, rows.clamp(0, 2 * buckets - 1).float().view(1, 1, 1, keys)


@part.kind("DeBERTa", "DisentangledPositionBlock", "transformers")
def deberta():
    from transformers.models.deberta.modeling_deberta import (
        DebertaConfig, DisentangledSelfAttention, build_relative_position,
    )

    for longest in (4, 8, 100):
        for types in (BOTH, ["c2p"], ["p2c"]):
            options = dict(relative_attention=True, max_relative_positions=longest, pos_att_type=types)
            module = randomize(DisentangledSelfAttention(DebertaConfig(**SMALL, **options)))
            query, key, value = (weight for weight, _ in split(module.in_proj, HEADS))
            projections = [(query, module.q_bias), (key, None), (value, module.v_bias), None]
            vectors = normal(2 * longest, SIZE)
            encoding = disentangled(vectors, getattr(module, "pos_proj", None), getattr(module, "pos_q_proj", None))

            def attend(x, seen):
                relative = build_relative_position(x, x)
                return module(x, seen, relative_pos=relative, rel_embeddings=vectors)[0]

            sizes = dict(buckets=longest, maximum=512, logarithmic=False) | terms(types)
            yield from encoder_cases(attend, projections, encoding, **sizes)


@part.kind("DeBERTa V2", "DisentangledPositionBlock", "keras-hub")
def keras_deberta():
    from keras_hub.src.models.deberta_v3.disentangled_self_attention import DisentangledSelfAttention

    for buckets, maximum in ((8, 16), (16, 512)):
        module = DisentangledSelfAttention(HEADS, SIZE, maximum, buckets, 0)
        module.build((2, 9, SIZE))
        randomize_keras(module)
        vectors = normal(2 * buckets, SIZE)
        dense = module._query_dense, module._key_dense, module._value_dense
        projections = [(each.kernel.value.flatten(1).T, each.bias.value.flatten()) for each in dense]
        encoding = disentangled(vectors, projections[1], projections[0])
        projections.append((module._output_dense.kernel.value.T, module._output_dense.bias.value))
        attend = lambda x, seen: module(x, vectors.expand(2, -1, -1), attention_mask=seen[:, 0])
        options = dict(buckets=buckets, maximum=maximum, logarithmic=True) | terms(BOTH)
        yield from encoder_cases(attend, projections, encoding, (9, 70), **options)
