"""Sinusoids of sequences and times."""

import torch

from peer import Part, angles_up_to, normal

part = Part("sinusoids")
BLOCK = "PositionalEncodingBlock"


def added(encodings, **arguments):
    """A case that adds a package's encodings (T, D) to two sequences."""
    x = normal(2, *encodings.shape[-2:])
    return dict(size=encodings.shape[-1], **arguments), dict(x=x), x + encodings


@part.kind("roundedUp", BLOCK, "positional-encodings")
def rounded_up():
    from positional_encodings.torch_encodings import PositionalEncoding1D, Summer

    for size in (8, 5, 6, 1, 3):
        x = normal(2, 7, size)
        yield dict(size=size), dict(x=x), Summer(PositionalEncoding1D(size))(x)


@part.kind("vaswani", BLOCK, "keras-hub")
def vaswani_of_keras():
    from keras_hub.layers import SinePositionEncoding

    for size, base, start in ((8, 10000, 0), (7, 10000, 5), (8, 100, 5), (7, 100, 0), (8, 10000, 4000)):
        x = normal(2, 6, size)
        y = x + SinePositionEncoding(max_wavelength=base)(x.numpy(), start_index=start)
        yield dict(size=size, base=base, start=start, limit=angles_up_to(start + 5)), dict(x=x), y
    positions = torch.tensor([[0, 5, 2], [7, 1, 1]])
    x = normal(2, 3, 8)
    y = x + SinePositionEncoding()(x.numpy(), positions=positions.numpy())
    yield dict(size=8, base=10000), dict(x=x, positions=positions), y


@part.kind("vaswani", BLOCK, "transformers")
def vaswani_of_transformers():
    from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
    from transformers.models.florence2.modeling_florence2 import Florence2VisionPositionalEmbeddingCosine1D
    from transformers.models.speecht5.modeling_speecht5 import SpeechT5ScaledPositionalEncoding
    from transformers.models.videomae.modeling_videomae import get_sinusoid_encoding_table

    for size in (8, 7):
        yield added(create_sinusoidal_embeddings(12, size, torch.zeros(12, size)), model="DistilBERT", base=10000)
    yield added(get_sinusoid_encoding_table(12, 8), model="VideoMAE", base=10000)
    sines, cosines = Florence2VisionPositionalEmbeddingCosine1D.get_sinusoid_embeddings(9, 8)
    yield added(torch.stack([sines, cosines], -1).flatten(1), model="Florence-2", base=10000)
    speech = SpeechT5ScaledPositionalEncoding(0.0, 8, 50).eval()
    speech.alpha.fill_(0.37)
    x = normal(2, 6, 8)
    arrays = {"x": x, "p.scale": speech.alpha.reshape(1)}
    yield dict(model="SpeechT5", size=8, base=10000, scaled=True), arrays, speech(x)


@part.kind("vaswani", BLOCK, "diffusers")
def vaswani_of_diffusers():
    from diffusers.models.embeddings import SinusoidalPositionalEmbedding

    x = normal(2, 9, 8)
    yield dict(size=8, base=10000), dict(x=x), SinusoidalPositionalEmbedding(8, 32)(x)


@part.kind("tensor2tensor", BLOCK, "transformers")
def tensor2tensor():
    from transformers import TimesFmConfig
    from transformers.models.timesfm.modeling_timesfm import TimesFmPositionalEmbedding
    from transformers.models.whisper.modeling_whisper import sinusoids

    for size in (16, 4):
        yield added(sinusoids(40, size), model="Whisper", scales=(1, 10000))
    config = TimesFmConfig(min_timescale=2, max_timescale=5000, hidden_size=8)
    yield added(TimesFmPositionalEmbedding(config)(seq_length=12)[0], model="TimesFM", scales=(2, 5000))


@part.kind("fairseq", BLOCK, "transformers")
def fairseq():
    from transformers.models.fsmt.modeling_fsmt import SinusoidalPositionalEmbedding
    from transformers.models.kosmos2.modeling_kosmos2 import Kosmos2TextSinusoidalPositionalEmbedding
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

    for module in (M2M100SinusoidalPositionalEmbedding, Kosmos2TextSinusoidalPositionalEmbedding, SinusoidalPositionalEmbedding):
        for size in (8, 9):
            yield added(module.get_embedding(12, size, None), model=module.__name__)


@part.kind("xTransformers", BLOCK, "transformers")
def x_transformers_of_transformers():
    from transformers.models.ctrl.modeling_ctrl import positional_encoding

    yield added(positional_encoding(12, 8, torch.float32), model="CTRL")


@part.kind("concatenated", BLOCK, "transformers")
def concatenated_of_transformers():
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
    from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding

    for module, size in ((MarianSinusoidalPositionalEmbedding, 8), (MarianSinusoidalPositionalEmbedding, 7),
                         (RoFormerSinusoidalPositionalEmbedding, 6)):
        yield added(module(12, size).create_weight(), model=module.__name__, base=10000, cosine_first=False)


@part.kind("concatenated", BLOCK, "x-transformers")
def concatenated_of_x_transformers():
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    for size, base, start in ((8, 10000, 0), (8, 500, 11), (6, 500, 0)):
        module, x = ScaledSinusoidalEmbedding(size, theta=base), normal(2, 6, size)
        module.scale.fill_(0.7)
        arrays = {"x": x, "p.scale": module.scale.reshape(1)}
        arguments = dict(size=size, base=base, start=start, scaled=True, cosine_first=False)
        yield arguments, arrays, x + module(x, offset=start)


@part.kind("concatenated times", BLOCK, "diffusers")
def concatenated_of_diffusers():
    from diffusers.models.embeddings import get_1d_sincos_pos_embed_from_grid

    times = torch.tensor([0.0, 1, 2.5, 17, 75])
    for flip in (False, True):
        y = get_1d_sincos_pos_embed_from_grid(8, times, flip_sin_to_cos=flip)
        yield dict(size=8, base=10000, cosine_first=flip), dict(times=times), y


@part.kind("timescales", BLOCK, "transformers")
def timescales():
    from transformers.models.musicgen.modeling_musicgen import MusicgenSinusoidalPositionalEmbedding

    for size in (8, 9):
        yield added(MusicgenSinusoidalPositionalEmbedding(12, size).weights, model="MusicGen")


@part.kind("diffusion", BLOCK, "diffusers")
def diffusion():
    from diffusers.models.embeddings import get_timestep_embedding

    steps = torch.tensor([0.0, 1, 2.5, 37.25, 500, 999])
    for size in (8, 9, 320):
        for shift in (0, 1, 0.5):
            for flip, scale in ((False, 1), (True, 1), (True, 1000)):
                times = steps / scale
                y = get_timestep_embedding(times, size, flip, shift, scale)
                arguments = dict(size=size, shift=shift, scale=scale, cosine_first=flip, limit=angles_up_to(999))
                yield arguments, dict(times=times), y


@part.kind("diffusion", BLOCK, "transformers")
def diffusion_of_transformers():
    from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import SinusPositionEmbedding

    times = torch.tensor([0.0, 0.1, 0.73, 1.0])
    arguments = dict(model="Qwen2.5-Omni", size=16, shift=1, scale=1000, cosine_first=False, limit=angles_up_to(1000))
    yield arguments, dict(times=times), SinusPositionEmbedding(16)(times)


@part.kind("diffusion, max_period", BLOCK, "diffusers")
def max_period():
    from diffusers.models.embeddings import get_timestep_embedding

    times = torch.tensor([0.0, 1, 2.5, 37.25, 500])
    for size in (8, 9):
        y = get_timestep_embedding(times, size, max_period=500)
        yield dict(size=size, base=500, limit=angles_up_to(500)), dict(times=times), y
