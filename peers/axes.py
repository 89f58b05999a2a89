"""Rotary encodings on several axes: images, videos, and multimodal texts."""

import importlib
import math
from types import SimpleNamespace

import numpy as np
import torch

from peer import Part, angles_up_to, normal

part = Part("axes")
BLOCK = "RotaryEmbeddingBlock"
LEARNED = "LearnedRotaryEmbeddingBlock"
GRID = (3, 5)


def cells(*sizes):
    """The indices of the cells of a grid, (axes, T)."""
    return torch.stack(torch.meshgrid(*map(torch.arange, sizes), indexing="ij")).flatten(1)


def heads(size=64, tokens=15):
    """Queries or keys (B, N, T, H)."""
    return normal(2, 2, tokens, size)


def config(rope_type, base, head=64, **more):
    """What the classes of transformers read."""
    rope = dict(rope_type=rope_type, rope_theta=base)
    return SimpleNamespace(hidden_size=2 * head, embed_dim=2 * head, num_attention_heads=2, num_heads=2, head_dim=head,
                           max_position_embeddings=128, rope_parameters=rope | more)


def model(name):
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


# texts with images


@part.kind("qwen2Vl", BLOCK, "transformers")
def qwen2_vl():
    yield from multimodal("qwen2_vl", "Qwen2VLRotaryEmbedding", 1000000, (16, 24, 24))


@part.kind("qwen3Vl", BLOCK, "transformers")
def qwen3_vl():
    yield from multimodal("qwen3_vl", "Qwen3VLTextRotaryEmbedding", 5000000, (24, 20, 20))


@part.kind("ernie45Vl", BLOCK, "transformers")
def ernie45_vl():
    yield from multimodal("ernie4_5_vl_moe", "Ernie4_5_VLMoeTextRotaryEmbedding", 500000, (22, 22, 20))


def multimodal(name, rotary, base, sections):
    x = heads(128, 9)
    module = getattr(model(name), rotary)(config("default", base, 128, mrope_section=list(sections)))
    for places in (torch.randint(0, 40, (3, 2, 9)), torch.rand(3, 2, 9) * 40):
        y = model(name).apply_rotary_pos_emb(x, x, *module(x, places))[0]
        yield dict(base=base, sections=sections), dict(x=x, positions=places), y


@part.kind("qwen3Vl", BLOCK, "timm")
def qwen3_vl_of_timm():
    from timm.layers.pos_embed_sincos import RotaryEmbeddingMRope

    x = heads(72)
    y = timm(RotaryEmbeddingMRope(72, (12, 12, 12)), x, half=True)
    yield dict(base=10000, sections=(12, 12, 12)), dict(x=x, positions=cells(1, *GRID)[:, None]), y


@part.kind("genLip", BLOCK, "timm")
def gen_lip():
    from timm.layers.pos_embed_sincos import RotaryEmbeddingMRope

    # 12 pairs of each axis, and sections that do not fill the head
    for size, sections in ((72, (8, 12, 12)), (64, (8, 12, 12)), (64, (20, 7, 5)), (48, (2, 9, 3))):
        x = heads(size)
        y = timm(RotaryEmbeddingMRope(size, sections), x, half=True)
        yield dict(sections=sections), dict(x=x, positions=cells(1, *GRID)[:, None]), y


IMAGE, VIDEO = 5, 6


def without_layers(name, family, **vision):
    """A model whose methods for positions can be called."""
    config = getattr(importlib.import_module(f"transformers.models.{name}"), f"{family}Config")(vision_config=vision)
    peer = object.__new__(getattr(model(name), f"{family}Model"))
    torch.nn.Module.__init__(peer)
    peer.config = config
    return peer


def prompt(merge, split):
    """The ids of a sequence, its images and its videos: grids of random sizes among texts."""
    ids, grids = [], {IMAGE: [], VIDEO: []}

    def text():
        ids.extend(torch.randint(10, 99, (int(torch.randint(1, 5, ())),)).tolist())

    if torch.rand(()) < 0.8:
        text()
    for _ in range(int(torch.randint(0, 5, ()))):
        token = IMAGE if torch.rand(()) < 0.5 else VIDEO
        frames = 1 if token == IMAGE else int(torch.randint(1, 7, ()))
        rows, columns = torch.randint(1, 5, (2,)).tolist()
        grids[token].append([frames, merge * rows, merge * columns])
        # Qwen3-VL has a time stamp before each frame
        for tokens in [rows * columns] * frames if split else [frames * rows * columns]:
            ids.extend([token] * tokens)
            text()
    text()
    return ids, grids[IMAGE], grids[VIDEO]


@part.kind("positions of texts with images", "MropePositions", "transformers")
def mrope_positions():
    for name, family, speeds in (("qwen2_vl", "Qwen2VL", [None]), ("qwen2_5_vl", "Qwen2_5_VL", [2, 4, 25]),
                                 ("qwen3_vl", "Qwen3VL", [None]), ("ernie4_5_vl_moe", "Ernie4_5_VLMoe", [None])):
        for index in range(12):
            speed, padding = speeds[index // 3 % len(speeds)], ("left", "right", None)[index % 3]
            yield mrope_case(name, family, 2 + index % 2, speed, padding)


def mrope_case(name, family, merge, speed, padding):
    """y is (3, B, T + 2 + 1): the positions of the prompts, of two tokens after them, and the offset of each sequence."""
    split = name == "qwen3_vl"
    rows = [prompt(merge, split) for _ in range(3 if padding else 1)]
    batch, length = len(rows), max(len(ids) for ids, _, _ in rows)
    ids, mask = torch.zeros(2, batch, length, dtype=torch.long)
    for row, (tokens, _, _) in enumerate(rows):
        at = slice(length - len(tokens), None) if padding == "left" else slice(len(tokens))
        ids[row, at], mask[row, at] = torch.tensor(tokens), 1
    images, videos = (torch.tensor(sum((row[kind] for row in rows), []), dtype=torch.long).reshape(-1, 3) for kind in (1, 2))
    seconds = torch.rand(len(videos)) * 3 + 0.05
    peer = without_layers(name, family, spatial_merge_size=merge, **({} if speed is None else dict(tokens_per_second=speed)))
    # ERNIE merges two frames of a video
    unmerged = videos * torch.tensor([getattr(peer.config.vision_config, "temporal_merge_size", 1), 1, 1])
    positions, peer.rope_deltas = peer.get_rope_index(
        ids, mm_token_type_ids=(ids == IMAGE) + 2 * (ids == VIDEO), image_grid_thw=images, video_grid_thw=unmerged,
        second_per_grid_ts=seconds, attention_mask=mask if padding else None)
    after = peer.compute_3d_position_ids(
        None, inputs_embeds=torch.zeros(batch, 2, 1), image_grid_thw=None, video_grid_thw=None,
        attention_mask=torch.cat([mask, torch.ones(batch, 2, dtype=torch.long)], 1),
        past_key_values=SimpleNamespace(get_seq_length=lambda: length))[:, :, length:]
    arguments = dict(model=name, merge=merge, tokens_per_second=speed, split=split, images=images.flatten().tolist(),
                     videos=videos.flatten().tolist(), seconds=seconds.tolist(), padded=padding is not None, limit=0)
    y = torch.cat([positions, after, peer.rope_deltas.expand(3, batch, 1)], 2)
    return arguments, dict(ids=ids, mask=mask), y


# vision towers of transformers


def tower(x, y, **arguments):
    return dict(grid=GRID, **arguments), dict(x=x), y


@part.kind("qwenVision", BLOCK, "transformers")
def qwen_vision():
    for name, rotary in (("qwen2_vl", "Qwen2VLVisionRotaryEmbedding"), ("qwen2_5_vl", "Qwen2_5_VLVisionRotaryEmbedding")):
        x = heads()
        rows = getattr(model(name), rotary)(config("axial", 10000.0))(x, cells(*GRID).T)
        yield tower(x, tokens_first(model(name).apply_rotary_pos_emb_vision, x, rows), model=name)


def tokens_first(apply, x, rows):
    """Of a function for (T, N, H)."""
    return torch.stack([apply(each.transpose(0, 1), each.transpose(0, 1), *rows)[0].transpose(0, 1) for each in x])


@part.kind("axial", BLOCK, "transformers")
def axial():
    for name, rotary, size, grid in (("qwen3_vl", "Qwen3VLVisionRotaryEmbedding", 64, GRID),
                                     ("glm4v", "Glm4vVisionRotaryEmbedding", 64, GRID),
                                     ("paddleocr_vl", "PaddleOCRVisionRotaryEmbedding", 72, GRID),
                                     ("minimax_m3_vl", "MiniMaxM3VLVisionRotaryEmbedding", 80, (2, *GRID))):
        x = heads(size, math.prod(grid))
        rows = getattr(model(name), rotary)(config("axial", 10000.0, size))(x, cells(*grid).T)
        y = tokens_first(model(name).apply_rotary_pos_emb_vision, x, rows)
        yield dict(grid=grid, base=10000, model=name), dict(x=x), y


@part.kind("pixtral", BLOCK, "transformers")
def pixtral():
    x = heads()
    cosines, sines = model("pixtral").PixtralVisionRotaryEmbedding(config("axial", 10000.0))(x, cells(*GRID).T)
    yield tower(x, model("pixtral").apply_rotary_pos_emb(x, x, cosines[None], sines[None])[0])


@part.kind("llama4Vision", BLOCK, "transformers")
def llama4_vision():
    x = heads(tokens=17).transpose(1, 2)
    options = config("default", 10000.0)
    options.image_size, options.patch_size = 32, 8
    y = model("llama4").vision_apply_rotary_emb(x, x, model("llama4").Llama4VisionRotaryEmbedding(options)(x))[0]
    yield dict(grid=(4, 4)), dict(x=x.transpose(1, 2)), y.transpose(1, 2)


@part.kind("gemma4Vision", BLOCK, "transformers")
def gemma4_vision():
    for size in (64, 72):
        x = heads(size).transpose(1, 2)
        columns_and_rows = cells(*GRID).flip(0).T[None].expand(2, -1, -1)
        rows = model("gemma4").Gemma4VisionRotaryEmbedding(config("axial", 100.0, size))(x, columns_and_rows)
        y = model("gemma4").apply_multidimensional_rope(x, *rows, columns_and_rows)
        yield tower(x.transpose(1, 2), y.transpose(1, 2), base=100)


@part.kind("dinov3", BLOCK, "transformers")
def dinov3():
    options = SimpleNamespace(rope_theta=100.0, hidden_size=128, num_attention_heads=2, image_size=32, patch_size=8,
                              pos_embed_shift=None, pos_embed_jitter=None, pos_embed_rescale=None)
    module = model("dinov3_vit").DINOv3ViTRopePositionEmbedding(options).eval()
    x = heads(tokens=20)
    y = model("dinov3_vit").apply_rotary_pos_emb(x, x, *(rows[None] for rows in module(torch.zeros(1, 3, 24, 40))))[0]
    yield tower(x, y, prefix=5, halves=True)


AUGMENTATIONS = (0.25, 1.5, 2.0), (0.5, None, None), (None, 3.0, None), (None, None, 2.0), (0.1, None, 1.25)


def augmented(rotate, prefix, options, seed, **arguments):
    """A case of coordinates that were changed in training: rotate(x) draws the numbers, which are drawn here again."""
    x = heads(16) if prefix == 0 else heads(tokens=15 + prefix)
    torch.manual_seed(seed)
    y = rotate(x)
    torch.manual_seed(seed)
    shift, jitter, rescale = options
    largest = shift, jitter and math.log(jitter), rescale and math.log(rescale)
    random = [torch.empty(count).uniform_(-limit, limit) / limit if limit else torch.zeros(count)
              for limit, count in zip(largest, (2, 2, 1))]
    arguments |= dict(shift=shift or 0, jitter=jitter or 1, rescale=rescale or 1, prefix=prefix)
    return dict(grid=GRID, **arguments), dict(x=x, random=torch.cat(random)), y


@part.kind("dinov3 in training", BLOCK, "transformers")
def dinov3_in_training():
    for seed, (shift, jitter, rescale) in enumerate(AUGMENTATIONS):
        options = SimpleNamespace(rope_theta=100.0, hidden_size=128, num_attention_heads=2, image_size=32, patch_size=8,
                                  pos_embed_shift=shift, pos_embed_jitter=jitter, pos_embed_rescale=rescale)
        module = model("dinov3_vit").DINOv3ViTRopePositionEmbedding(options).train()

        def rotate(x):
            rows = module(torch.zeros(1, 3, 24, 40))
            return model("dinov3_vit").apply_rotary_pos_emb(x, x, *(row[None] for row in rows))[0]

        yield augmented(rotate, 5, (shift, jitter, rescale), seed, halves=True)


@part.kind("dinov3 in training", BLOCK, "timm")
def dinov3_of_timm_in_training():
    from timm.layers.pos_embed_sincos import RotaryEmbeddingDinoV3

    for seed, (shift, jitter, rescale) in enumerate(AUGMENTATIONS):
        for half in (True, False):
            module = RotaryEmbeddingDinoV3(16, rotate_half=half, shift_coords=shift, jitter_coords=jitter,
                                           rescale_coords=rescale).train()
            yield augmented(lambda x: timm(module, x, half=half), 0, (shift, jitter, rescale), seed, halves=half)


@part.kind("eva", BLOCK, "transformers")
def eva():
    for name, rotary in (("sam2_video", "Sam2VideoVisionRotaryEmbedding"), ("sam3", "Sam3ViTRotaryEmbedding")):
        options = config("axial", 10000.0)
        options.memory_attention_hidden_size, options.memory_attention_num_attention_heads = 64, 1
        options.memory_attention_downsample_rate = 1
        x = heads()
        rows = getattr(model(name), rotary)(options)(x, cells(*GRID).T)
        yield tower(x, model(name).apply_rotary_pos_emb_2d(x, x, *rows)[0], model=name)


# timm


def timm(module, x, half=False):
    from timm.layers.pos_embed_sincos import apply_rot_embed_cat

    return apply_rot_embed_cat(x, module.get_embed(list(GRID)), half=half)


@part.kind("eva, trained on 16 x 16 patches", BLOCK, "timm")
def eva_of_timm():
    from timm.layers.pos_embed_sincos import RotaryEmbeddingCat

    for half in (False, True):
        x = heads(16)
        module = RotaryEmbeddingCat(16, rotate_half=half, in_pixels=False, ref_feat_shape=[16, 16])
        yield tower(x, timm(module, x, half=half), halves=half)


@part.kind("dinov3", BLOCK, "timm")
def dinov3_of_timm():
    from timm.layers.pos_embed_sincos import RotaryEmbeddingDinoV3

    for half in (True, False):
        x = heads(16)
        yield tower(x, timm(RotaryEmbeddingDinoV3(16, rotate_half=half), x, half=half), prefix=0, halves=half)


@part.kind("frequencies by axis", BLOCK, "timm")
def frequencies_of_timm():
    from timm.layers.pos_embed_sincos import (RotaryEmbeddingCat, RotaryEmbeddingDinoV3, _build_grid, freq_bands,
                                              pixel_freq_bands)

    def options(bands, x, half, **arguments):
        positions = _build_grid(list(GRID), **arguments).flatten(0, 1).T[:, None]
        bands = bands.double().repeat(2)
        return dict(axes=[0] * 4 + [1] * 4, halves=half), dict(x=x, positions=positions, frequencies=bands)

    for half in (False, True):
        for grid, module, bands in (
            (dict(grid_type="index"), dict(in_pixels=False), freq_bands(4, 10000.0, 1)),
            (dict(grid_type="index", grid_offset=1.0), dict(in_pixels=False, grid_offset=1.0, temperature=100.0),
             freq_bands(4, 100.0, 1)),
            (dict(grid_type="index", grid_indexing="xy"), dict(in_pixels=False, grid_indexing="xy"), freq_bands(4, 10000.0, 1)),
            (dict(grid_type="pixel"), dict(max_res=32), pixel_freq_bands(4, 32.0, False)),
            (dict(grid_type="pixel"), dict(max_res=32, linear_bands=True), pixel_freq_bands(4, 32.0, True)),
        ):
            x = heads(16)
            y = timm(RotaryEmbeddingCat(16, rotate_half=half, **module), x, half=half)
            yield *options(bands, x, half, **grid), y
    for normalize in ("min", "max"):
        x = heads(16)
        module = RotaryEmbeddingDinoV3(16, normalize_coords=normalize)
        bands = 2 * math.pi / module.periods
        yield *options(bands, x, True, grid_type="centered", normalize_coords=normalize), timm(module, x, half=True)
    x, module = heads(16), RotaryEmbeddingDinoV3(16, temperature=None, min_period=0.1, max_period=4.0)
    yield *options(2 * math.pi / module.periods, x, True, grid_type="centered"), timm(module, x, half=True)


@part.kind("learned", LEARNED, "timm")
def mixed():
    from timm.layers.pos_embed_sincos import RotaryEmbeddingMixed, apply_rot_embed_cat

    for indexing in ("xy", "ij"):
        module, x = RotaryEmbeddingMixed(2 * 16, depth=2, num_heads=2, grid_indexing=indexing), heads(16)
        module.freqs.data = normal(2, 2, 2, 8)
        positions = (cells(*GRID).flip(0) if indexing == "xy" else cells(*GRID))[:, None]
        for layer in (0, 1):
            arrays = {"x": x, "positions": positions, "p.frequencies": module.freqs[:, layer]}
            largest = positions.sum(0).max() * module.freqs.abs().max()
            y = apply_rot_embed_cat(x, module.get_embed(list(GRID))[layer])
            yield dict(indexing=indexing, limit=angles_up_to(largest)), arrays, y


@part.kind("learned of videos", LEARNED, "diffusers")
def mochi():
    from diffusers.models.transformers.transformer_mochi import MochiRoPE

    for grid in ((2, 3, 4), (3, 2, 2)):
        module, tokens = MochiRoPE(12, 12), math.prod(grid)
        frequencies, x = normal(3, 2, 8), heads(16, tokens)
        positions = module._get_positions(*grid, dtype=torch.float32)
        cos, sin = module(frequencies, *grid, dtype=torch.float32)  # (T, N, H / 2)
        even, odd = x[..., ::2], x[..., 1::2]
        cos, sin = cos.transpose(0, 1), sin.transpose(0, 1)
        y = torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)
        largest = positions.abs().sum(1).max() * frequencies.abs().max()
        yield dict(limit=angles_up_to(largest)), {"x": x, "positions": positions.T[:, None], "p.frequencies": frequencies}, y


@part.kind("learned of videos, frequencies of all heads", LEARNED, "diffusers")
def ltx_video():
    from diffusers.models.transformers.transformer_ltx import LTXVideoRotaryPosEmbed, apply_rotary_emb

    for head, theta in ((16, 10000.0), (12, 100.0)):
        size, grid = 2 * head, (2, 3, 4)
        module, x = LTXVideoRotaryPosEmbed(size, theta=theta), normal(2, math.prod(grid), size)
        coordinates = torch.rand(2, 3, math.prod(grid)) * torch.tensor([20, 2048, 2048])[:, None]
        y = apply_rotary_emb(x, module(x, video_coords=coordinates))
        positions = 2 * coordinates / torch.tensor([20, 2048, 2048])[:, None] - 1
        # each frequency for frames, rows and columns, after pairs that are not turned
        bands = theta ** torch.linspace(0, 1, size // 6) * math.pi / 2
        of_axes = [torch.zeros(size // 2) for _ in range(3)]
        for axis, frequencies in enumerate(of_axes):
            frequencies[size % 6 // 2 + axis :: 3] = bands
        in_heads = lambda array: array.unflatten(-1, (2, head)).transpose(1, 2)
        arrays = {"x": in_heads(x), "positions": positions.transpose(0, 1)}
        arrays["p.frequencies"] = torch.stack(of_axes).view(3, 2, head // 2)
        yield dict(limit=angles_up_to(theta * math.pi / 2)), arrays, in_heads(y)


# other frequencies


@part.kind("learned", LEARNED, "transformers")
def light_glue():
    module = model("lightglue").LightGluePositionalEncoder(SimpleNamespace(descriptor_dim=128, num_attention_heads=2))
    x, points = heads()[:1], torch.rand(1, 15, 2) * 2 - 1
    ((cosines, sines),) = module(points)
    y = x * cosines[:, None] + model("lightglue").rotate_half(x) * sines[:, None]
    frequencies = module.projector.weight.T[:, None].repeat(1, 2, 1)
    yield dict(model="LightGlue"), {"x": x, "positions": points.permute(2, 0, 1), "p.frequencies": frequencies}, y


@part.kind("frequencies by axis", BLOCK, "transformers")
def kimi_k25():
    kimi = model("kimi_k25")
    x = heads()
    rows = kimi.Kimi_K25VisionRotaryEmbedding(config("axial", 10000.0))(x, cells(*GRID).T)
    y = tokens_first(kimi.apply_rotary_pos_emb_vision, x, rows)
    frequencies = np.repeat(10000 ** (-np.arange(16) / 16), 2)
    arrays = dict(x=x, positions=cells(*GRID)[:, None], frequencies=frequencies)
    yield dict(model="Kimi K2.5", axes=[1, 0] * 16, halves=True), arrays, y


@part.kind("frequencies by axis", BLOCK, "rotary-embedding-torch")
def pixels():
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    x = heads(8)
    y = apply_rotary_emb(RotaryEmbedding(4, freqs_for="pixel", max_freq=20).get_axial_freqs(*GRID).reshape(15, 8), x)
    positions = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 3), torch.linspace(-1, 1, 5), indexing="ij")).flatten(1)
    arrays = dict(x=x, positions=positions[:, None], frequencies=np.tile([math.pi, 10 * math.pi], 2))
    yield dict(axes=[0, 0, 1, 1], halves=False), arrays, y


@part.kind("side by side", BLOCK, "rotary-embedding-torch")
def side_by_side_of_rotary_embedding_torch():
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    for grid, offsets in ((GRID, (2, 7)), ((2, 3, 4), (0, 1, 2))):
        tokens = math.prod(grid)
        x = heads(4 * len(grid), tokens)
        y = apply_rotary_emb(RotaryEmbedding(4).get_axial_freqs(*grid, offsets=offsets).reshape(tokens, -1), x)
        positions = (cells(*grid) + torch.tensor(offsets)[:, None])[:, None]
        yield beside("axial", x, positions[:, 0], y, [4] * len(grid))


# diffusion models


def diffusers(name):
    return importlib.import_module(f"diffusers.models.transformers.transformer_{name}")


def rotated(x, rows, **options):
    from diffusers.models.embeddings import apply_rotary_emb

    if isinstance(rows, tuple):
        return apply_rotary_emb(x, rows, **options)
    return apply_rotary_emb(x.transpose(1, 2), rows, use_real=False).transpose(1, 2)


def latents(*grid):
    """Latents of which 2 x 2 are a token, of images or videos."""
    return torch.zeros(1, 4, *grid[:-2], 2 * grid[-2], 2 * grid[-1])


def beside(model, x, places, y, sizes, base=10000, halves=False):
    base = base if isinstance(base, list) else [base] * len(sizes)
    return dict(model=model, sizes=sizes, bases=base, halves=halves), dict(x=x, positions=places[:, None]), y


@part.kind("side by side", BLOCK, "diffusers")
def side_by_side_of_diffusers():
    yield from of_texts_and_images()
    yield from of_grids()
    yield of_negative_positions()


def of_texts_and_images():
    for model, name, base, sizes in (("LongCatImagePosEmbed", "longcat_image", 10000, (16, 56, 56)),
                                     ("OvisImagePosEmbed", "ovis_image", 10000, (16, 56, 56)),
                                     ("BriaPosEmbed", "bria", 10000, (16, 56, 56)),
                                     ("Krea2RotaryPosEmbed", "krea2", 1000, (32, 48, 48)),
                                     ("Flux3PosEmbed", "flux3", 10000, (32, 32, 32, 32))):
        x, places = heads(sum(sizes)), torch.randint(0, 60, (15, len(sizes)))
        yield beside(model, x, places.T, rotated(x, getattr(diffusers(name), model)(base, list(sizes))(places)), sizes, base)
    x, places = heads(128), torch.randint(0, 60, (15, 3))
    for name in ("z_image", "bria_fibo2"):
        rows = diffusers(name).RopeEmbedder(256.0, [32, 48, 48], [64, 64, 64])(places)
        yield beside(name, x, places.T, rotated(x, rows[None]), (32, 48, 48), 256)
    x = heads(96)
    rows = diffusers("lumina2").Lumina2RotaryPosEmbed(10000, [32, 32, 32], [64, 64, 64])._get_freqs_cis(places[None])
    yield beside("Lumina 2", x, places.T, rotated(x, rows), (32, 32, 32))
    x = heads(128)
    hidream = diffusers("hidream_image")
    rows = hidream.HiDreamImageEmbedND(10000, [64, 32, 32])(places[None])
    y = hidream.apply_rope(x.transpose(1, 2), x.transpose(1, 2), rows)[0].transpose(1, 2)
    yield beside("HiDream", x, places.T, y, (64, 32, 32))
    x = heads(64)
    prx = diffusers("prx")
    yield beside("PRX", x, places.T[1:], prx.apply_rope(x, prx.PRXEmbedND(64, 10000, [32, 32])(places[None, :, 1:])), (32, 32))


def of_grids():
    grid = (2, *GRID)
    for model, name in (("HunyuanVideoRotaryPosEmbed", "hunyuan_video"), ("HunyuanVideo15RotaryPosEmbed", "hunyuan_video15"),
                        ("MotifVideoRotaryPosEmbed", "motif_video")):
        x = heads(128, 30)
        y = rotated(x, getattr(diffusers(name), model)(2, 1, [16, 56, 56], 256.0)(latents(*grid)))
        yield beside(model, x, cells(*grid), y, (16, 56, 56), 256)
    x = heads(128)
    rows = diffusers("hunyuanimage").HunyuanImageRotaryPosEmbed((2, 2), (64, 64), 256.0)(latents(*GRID))
    yield beside("HunyuanImage", x, cells(*GRID), rotated(x, rows), (64, 64), 256)
    for model, name, sizes in (("Kandinsky5RoPE3D", "kandinsky", (16, 24, 24)), ("Kandinsky6RoPE3D", "kandinsky6", (32, 48, 48))):
        x, places = heads(sum(sizes), 30), [torch.arange(size) for size in grid]
        module = getattr(diffusers(name), model)(sizes)
        rows = module((1, *grid), places)[0] if name == "kandinsky" else module(places)
        y = diffusers("kandinsky6").apply_rotary(x.transpose(1, 2), rows.flatten(0, 2)).transpose(1, 2)
        yield beside(model, x, cells(*grid), y, sizes)
    for scales in ((2.0, 1.0, 1.0), (1.0, 3.0, 2.0)):
        x = heads(128, 30)
        rows = diffusers("cosmos").CosmosRotaryPosEmbed(128, rope_scale=scales)(latents(*grid))
        sizes = (44, 42, 42)
        bases = [10000 * scale ** (size / (size - 2)) for scale, size in zip(scales, sizes)]
        yield beside("Cosmos", x, cells(*grid), rotated(x, rows, use_real_unbind_dim=-2), sizes, bases, halves=True)
    x = heads(64)
    rows = diffusers("glm_image").GlmImageRotaryPosEmbed(64, 2)(latents(*GRID))
    yield beside("GLM-Image", x, cells(*GRID), rotated(x, rows, use_real_unbind_dim=-2), (32, 32), halves=True)
    rows = diffusers("cogview4").CogView4RotaryPosEmbed(64, 2, (16, 25))(latents(*GRID))
    places = cells(*GRID) * torch.tensor([[16], [25]]) // torch.tensor(GRID)[:, None]
    yield beside("CogView4", x, places, rotated(x, rows, use_real_unbind_dim=-2), (32, 32), halves=True)


def of_negative_positions():
    # the tables of Qwen-Image have 4096 positions of either sign
    arrays, y = qwen_rotated(3, [(2, 4, 5)])
    frames, rows, columns = cells(2, 4, 5)
    places = torch.cat([torch.arange(2, 5).expand(3, 3), torch.stack([frames, rows - 2, columns - 3])], 1)
    return beside("Qwen-Image", arrays["x"], places, y, (16, 56, 56))


@part.kind("wan", BLOCK, "diffusers")
def wan():
    for model, name in (("WanRotaryPosEmbed", "wan"), ("SkyReelsV2RotaryPosEmbed", "skyreels_v2"),
                        ("ChronoEditRotaryPosEmbed", "chronoedit"), ("WanRotaryPosEmbed", "wan_animate")):
        for size in (128, 64) if name == "wan" else (128,):
            # ChronoEdit has other positions for two frames
            grid = (3, *GRID)
            x = heads(size, 45)
            options = dict(temporal_skip_len=8) if name == "chronoedit" else {}
            rows = getattr(diffusers(name), model)(size, (1, 2, 2), 32, **options)(latents(*grid))
            y = rotated(x, tuple(each[0, :, 0] for each in rows))
            yield dict(model=name, grid=grid), dict(x=x), y


@part.kind("flux2", BLOCK, "diffusers")
def flux2():
    from diffusers.pipelines.flux2.pipeline_flux2 import Flux2Pipeline

    for text, images in ((4, [GRID]), (0, [(2, 3)]), (3, [(2, 4), GRID, (1, 6)])):
        empty = [torch.zeros(1, 1, *image) for image in images]
        places = [Flux2Pipeline._prepare_text_ids(torch.zeros(1, text, 1)), Flux2Pipeline._prepare_latent_ids(empty[0])]
        if len(images) > 1:
            places.append(Flux2Pipeline._prepare_image_ids(empty[1:]))
        places = torch.cat(places, 1)[0]
        x = heads(128, len(places))
        y = rotated(x, diffusers("flux2").Flux2PosEmbed(2000, [32, 32, 32, 32])(places))
        yield dict(text=text, images=[size for image in images for size in (1, *image)]), dict(x=x), y


@part.kind("qwenImage", BLOCK, "diffusers")
def qwen_image():
    for text, images in ((4, [(1, *GRID)]), (1, [(1, 6, 4)]), (5, [(1, 4, 5), (1, 7, 2), (1, 1, 1)]), (2, [(3, 2, 5)])):
        yield dict(text=text, images=[size for image in images for size in image]), *qwen_rotated(text, images)


def qwen_rotated(text, images):
    module = diffusers("qwenimage").QwenEmbedRope(10000, [16, 56, 56], scale_rope=True)
    image_rows, text_rows = module([images], max_txt_seq_len=text)
    x = heads(128, text + len(image_rows))
    rows = torch.cat([text_rows, image_rows])
    y = diffusers("qwenimage").apply_rotary_emb_qwen(x.transpose(1, 2), rows, use_real=False).transpose(1, 2)
    return dict(x=x), y


# angles by dimension


@part.kind("vjepa2", BLOCK, "transformers")
def v_jepa2():
    for size, frames in ((64, 2), (88, 3), (26, 1)):
        options = model("vjepa2").VJEPA2Config(hidden_size=2 * size, num_attention_heads=2, patch_size=8, crop_size=32)
        module = model("vjepa2").VJEPA2RopeAttention(options, 2 * size, 2)
        x = heads(size, 16 * frames)
        y = module.apply_rotary_embeddings(x, module.get_position_ids(x.transpose(1, 2)))
        yield dict(grid=(frames, 4, 4)), dict(x=x), y


@part.kind("hunyuanVl", BLOCK, "transformers")
def hunyuan_vl():
    hunyuan = model("hunyuan_vl")
    for sections, alpha in (((16, 16, 16, 16), None), ((16, 16, 16, 16), 1000.0), ((8, 20, 24, 12), None), ((32, 16, 16), 4.0)):
        options = config("dynamic" if alpha else "default", 10000.0, 128, mrope_section=list(sections), alpha=alpha)
        x = heads(128, 9)
        places = torch.randint(0, 60, (len(sections), 2, 9))
        for each in (places, places[:1].expand(len(sections), -1, -1), torch.rand(len(sections), 2, 9) * 40):
            y = hunyuan.apply_rotary_pos_emb(x, x, *hunyuan.HunYuanVLRotaryEmbedding(options)(x, each))[0]
            yield dict(base=10000, sections=sections, alpha=alpha), dict(x=x, positions=each), y


@part.kind("frequencies by axis", BLOCK, "diffusers")
def ernie_image():
    ernie, sizes = diffusers("ernie_image"), (32, 48, 48)
    rows = ernie.ErnieImageEmbedND3(128, 256, sizes)(cells(2, *GRID).T[None].float())
    x, found = heads(128, 30), []
    # the function that rotates is within the processor
    whole, ernie.dispatch_attention_fn = ernie.dispatch_attention_fn, lambda query, *_, **__: found.append(query) or query
    same = torch.nn.Identity()
    attention = SimpleNamespace(to_q=same, to_k=same, to_v=same, heads=2, norm_q=None, norm_k=None, to_out=[same])
    ernie.ErnieImageSingleStreamAttnProcessor()(attention, x.transpose(1, 2).flatten(2), freqs_cis=rows)
    ernie.dispatch_attention_fn = whole
    frequencies = np.concatenate([np.repeat(256.0 ** (-np.arange(0, size, 2) / size), 2) for size in sizes])
    arrays = dict(x=x, positions=cells(2, *GRID)[:, None], frequencies=frequencies)
    yield dict(model="ERNIE-Image", axes=np.repeat([0, 1, 2], sizes).tolist(), halves=True), arrays, found[0].transpose(1, 2)


@part.kind("flux", BLOCK, "diffusers")
def flux():
    from diffusers.models.embeddings import apply_rotary_emb
    from diffusers.models.transformers.transformer_flux import FluxPosEmbed

    x = heads(128, 4 + 15)
    places = torch.cat([torch.zeros(3, 4), cells(1, *GRID)], 1)
    y = apply_rotary_emb(x, FluxPosEmbed(10000, [16, 56, 56])(places.T))
    yield {}, dict(x=x, positions=places[:, None]), y


@part.kind("cogVideoX", BLOCK, "diffusers")
def cog_video_x():
    from diffusers.models.embeddings import apply_rotary_emb, get_3d_rotary_pos_embed

    for size in (64, 48):
        x = heads(size, 30)
        y = apply_rotary_emb(x, get_3d_rotary_pos_embed(size, ((0, 0), GRID), GRID, 2))
        yield dict(grid=(2, *GRID)), dict(x=x), y
