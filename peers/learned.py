"""Learned tables, token embeddings with positions that skip padding, and resampled grids."""

from types import SimpleNamespace

import torch
import torch.nn.functional as F

from peer import Part, normal

part = Part("learned")
BLOCK = "LearnedPositionalEncodingBlock"
TOKENS = "InputEmbeddingBlock"

# padding, 1, at the end, at the start and between
IDS = torch.tensor([[5, 6, 7, 1, 1], [1, 1, 3, 4, 2], [1, 2, 1, 3, 1]])


def table(weights, y, x, **arguments):
    return dict(rows=weights.shape[0], size=weights.shape[1], **arguments), {"x": x, "p.encodings": weights}, y


@part.kind("table", BLOCK, "transformers")
def table_of_transformers():
    from transformers.models.bart.modeling_bart import BartLearnedPositionalEmbedding

    module, x = BartLearnedPositionalEmbedding(18, 8), normal(2, 5, 8)
    for past in (0, 6):
        y = x + module(torch.zeros(2, 5), past_key_values_length=past)
        yield table(module.weight, y, x, model="BART", start=2 + past)


@part.kind("table", BLOCK, "x-transformers")
def table_of_x_transformers():
    from x_transformers.x_transformers import AbsolutePositionalEmbedding

    x = normal(2, 5, 8)
    positions = torch.tensor([[0, 3, 3, 19, 1], [5, 4, 3, 2, 1]])
    for normalized in (False, True):
        module = AbsolutePositionalEmbedding(8, 20, l2norm_embed=normalized)
        weights = F.normalize(module.emb.weight, dim=-1) if normalized else module.emb.weight * 8**-0.5
        yield table(weights, x + module(x), x, l2norm_embed=normalized)
    arguments, arrays, y = table(weights, x + module(x, pos=positions), x)
    yield arguments, arrays | dict(positions=positions), y


@part.kind("table", BLOCK, "keras-hub")
def table_of_keras():
    from keras_hub.layers import PositionEmbedding

    module, x = PositionEmbedding(20), normal(2, 5, 8)
    module.build(x.shape)
    weights = module.position_embeddings.value
    for start in (0, 7):
        yield table(weights, x + module(x.numpy(), start_index=start), x, start=start)
    positions = torch.tensor([[0, 3, 3, 19, 1], [5, 4, 3, 2, 1]])
    arguments, arrays, y = table(weights, x + module(x.numpy(), positions=positions.numpy()), x)
    yield arguments, arrays | dict(positions=positions), y


def tokens(embedding, encodings, y, ids=IDS, **arguments):
    """A case of an input embedding with a learned table: its token table may be a module or the weights."""
    weights = getattr(embedding, "weight", embedding)
    arrays = {"ids": ids, "p.embedding": weights, "p.positionalEncoding_encodings": encodings}
    return dict(vocabulary=weights.shape[0], size=weights.shape[1], rows=encodings.shape[0], **arguments), arrays, y


@part.kind("learned, after tokens", TOKENS, "transformers")
def tokens_of_transformers():
    from transformers import BertConfig, RobertaConfig
    from transformers.models.bert.modeling_bert import BertEmbeddings
    from transformers.models.esm.modeling_esm import create_position_ids_from_input_ids
    from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding
    from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

    config = RobertaConfig(vocab_size=10, hidden_size=8, max_position_embeddings=20, pad_token_id=1, type_vocab_size=1)
    roberta = RobertaEmbeddings(config).eval()
    words, positions = roberta.word_embeddings, roberta.position_embeddings
    for model, ids in (("RoBERTa", roberta.create_position_ids_from_input_ids(IDS, 1)),
                       ("ESM", create_position_ids_from_input_ids(IDS, 1))):
        yield tokens(words, positions.weight, words(IDS) + positions(ids), model=model, padding=1)
    bert = BertEmbeddings(BertConfig(vocab_size=10, hidden_size=8, max_position_embeddings=20)).eval()
    bert.LayerNorm = torch.nn.Identity()
    types = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 0, 0, 1]])
    arguments, arrays, y = tokens(bert.word_embeddings, bert.position_embeddings.weight, bert(IDS, types), model="BERT")
    yield arguments, arrays | {"types": types, "p.tokenTypes": bert.token_type_embeddings.weight}, y
    # OPT's positions of padding differ, which no token sees
    module = OPTLearnedPositionalEmbedding(18, 8)
    visible = IDS.ne(1)
    y = torch.where(visible[..., None], words(IDS) + module(visible.long()), torch.nan)
    yield tokens(words, module.weight, y, model="OPT", padding=1)


@part.kind("learned, after tokens", TOKENS, "keras-hub")
def tokens_of_keras():
    from keras_hub.layers import TokenAndPositionEmbedding

    module, ids = TokenAndPositionEmbedding(10, 20, 8), torch.tensor([[1, 2, 3, 0], [4, 5, 6, 9]])
    y = module(ids.numpy())
    encodings = module.position_embedding.position_embeddings.value
    yield tokens(module.token_embedding.embeddings.value, encodings, y, ids)


@part.kind("fairseq, after tokens", TOKENS, "transformers")
def fairseq_tokens():
    from transformers.models.kosmos2.modeling_kosmos2 import Kosmos2TextSinusoidalPositionalEmbedding
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100ScaledWordEmbedding, M2M100SinusoidalPositionalEmbedding

    for positions, size in ((M2M100SinusoidalPositionalEmbedding, 8), (M2M100SinusoidalPositionalEmbedding, 9),
                            (Kosmos2TextSinusoidalPositionalEmbedding, 8)):
        words = M2M100ScaledWordEmbedding(10, size, 1, embed_scale=size**0.5)
        arguments = dict(model=positions.__name__, vocabulary=10, size=size, padding=1, scaled=True)
        yield arguments, {"ids": IDS, "p.embedding": words.weight}, words(IDS) + positions(20, size, 1)(IDS)


METHODS = {  # mode, antialias, align_corners
    "BICUBIC_ANTIALIASED": ("bicubic", True, None),
    "BICUBIC": ("bicubic", False, None),
    "BILINEAR_ANTIALIASED": ("bilinear", True, None),
    "BILINEAR": ("bilinear", False, None),
    "BILINEAR_ALIGNED": ("bilinear", False, True),
}


def resampled(weights, method, old, new, y, prefix=0, **arguments):
    """A case where y is the table of a grid, resampled to another, added to tokens."""
    x = normal(1, *y.shape[-2:])
    arguments = dict(method=method, old=old, new=new, prefix=prefix, prefix_encoded=True) | arguments
    return arguments, {"x": x, "p.encodings": weights}, x + y


def vision_transformers():
    """Whose class token and registers have encodings or not."""
    from timm.models.vision_transformer import VisionTransformer

    for no_embed_class in (False, True):
        model = VisionTransformer(img_size=32, patch_size=8, embed_dim=8, depth=1, num_heads=2, num_classes=0, reg_tokens=2,
                                  no_embed_class=no_embed_class, dynamic_img_size=True).eval()
        for parameter in (model.pos_embed, model.cls_token, model.reg_token):
            parameter.data = normal(*parameter.shape)
        patches = normal(1, 5, 3, 8)
        arguments = dict(method="BICUBIC_ANTIALIASED", old=(4, 4), new=(5, 3), prefix=3, prefix_encoded=not no_embed_class)
        x = torch.cat([model.cls_token, model.reg_token, patches.reshape(1, 15, 8)], 1)
        yield arguments, {"x": x, "p.encodings": model.pos_embed[0]}, model._pos_embed(patches)


@part.kind("resampled when built", BLOCK, "timm")
@part.kind("resampled in a forward", BLOCK, "timm")
def resampled_of_timm():
    from timm.layers.pos_embed import resample_abs_pos_embed

    grids = ((14, 14), (24, 24), 1), ((14, 14), (7, 9), 0), ((5, 7), (3, 11), 5), ((4, 4), (1, 1), 1), ((1, 1), (3, 2), 0)
    for old, new, prefix in grids:
        for method, (mode, antialias, align) in METHODS.items():
            weights = normal(prefix + old[0] * old[1], 6)
            y = resample_abs_pos_embed(weights[None], list(new), list(old), prefix, mode, antialias, align_corners=align)
            yield resampled(weights, method, old, new, y, prefix)
    yield from vision_transformers()


@part.kind("resampled in a forward", BLOCK, "transformers")
def resampled_of_transformers():
    from transformers import Dinov2Config, Dinov2WithRegistersConfig, SiglipVisionConfig, ViTConfig
    from transformers.models.dinov2.modeling_dinov2 import Dinov2Embeddings
    from transformers.models.dinov2_with_registers.modeling_dinov2_with_registers import Dinov2WithRegistersEmbeddings
    from transformers.models.glm4v.modeling_glm4v import Glm4vVisionConfig, Glm4vVisionEmbeddings
    from transformers.models.siglip.modeling_siglip import SiglipVisionEmbeddings
    from transformers.models.siglip2.modeling_siglip2 import Siglip2VisionEmbeddings
    from transformers.models.vit.modeling_vit import ViTEmbeddings
    from transformers.models.vitdet.modeling_vitdet import VitDetEmbeddings
    from transformers.vision_utils import get_vision_interpolation_indices_and_weights

    old, size = (7, 7), dict(hidden_size=8, image_size=56, patch_size=8)
    weights = normal(50, 8)
    for config, embeddings, method in ((ViTConfig, ViTEmbeddings, "BICUBIC"), (Dinov2Config, Dinov2Embeddings, "BICUBIC"),
                                       (Dinov2WithRegistersConfig, Dinov2WithRegistersEmbeddings, "BICUBIC_ANTIALIASED")):
        module = embeddings(config(**size)).eval()
        module.position_embeddings.data = weights[None]
        for new in ((10, 10), (5, 9)):
            y = module.interpolate_pos_encoding(torch.zeros(1, 1 + new[0] * new[1], 8), new[0] * 8, new[1] * 8)
            yield resampled(weights, method, old, new, y, prefix=1, model=embeddings.__name__)
    weights, new = weights[1:], (5, 9)
    siglip = SiglipVisionEmbeddings(SiglipVisionConfig(**size))
    siglip.position_embedding.weight.data = weights
    y = siglip.interpolate_pos_encoding(torch.zeros(1, 45, 8), 40, 72)
    yield resampled(weights, "BICUBIC", old, new, y, model="SigLIP")
    y = VitDetEmbeddings.get_absolute_positions(None, torch.cat([normal(1, 8), weights])[None], True, *new)
    yield resampled(weights, "BICUBIC", old, new, y.reshape(1, 45, 8), model="ViTDet")
    glm = Glm4vVisionEmbeddings(Glm4vVisionConfig(**size))
    glm.position_embedding.weight.data = weights
    rows, columns = torch.meshgrid(torch.arange(5), torch.arange(9), indexing="ij")
    y = glm(torch.zeros(45, 8), [45], torch.tensor([[1, 5, 9]]), rows.flatten(), columns.flatten())
    yield resampled(weights, "BICUBIC", old, new, y[None], model="GLM-4V")
    for new in ((4, 6), (9, 12)):
        shapes = torch.tensor([new])
        y = Siglip2VisionEmbeddings.resize_positional_embeddings(weights.reshape(7, 7, 8), shapes, new[0] * new[1])
        yield resampled(weights, "BILINEAR_ANTIALIASED", old, new, y, model="SigLIP 2")
        indices, factors = get_vision_interpolation_indices_and_weights(
            torch.tensor([[1, *new]]), 7, mode="bilinear", align_corners=True, spatial_merge_size=1)
        y = (weights[indices] * factors[..., None]).sum(1)
        yield resampled(weights, "BILINEAR_ALIGNED", old, new, y[None], model="Qwen3-VL")


@part.kind("resampled in a forward", BLOCK, "torch")
def volumes():
    for old, new in (((2, 3, 4), (3, 5, 2)), ((4, 2, 2), (2, 3, 3))):
        for method in ("BILINEAR", "BILINEAR_ALIGNED"):
            first, weights = normal(1, 6), normal(old[0] * old[1] * old[2], 6)
            volume = weights.reshape(1, *old, 6).permute(0, 4, 1, 2, 3)
            y = F.interpolate(volume, size=new, mode="trilinear", align_corners=METHODS[method][2]).flatten(2).transpose(1, 2)
            yield resampled(torch.cat([first, weights]), method, old, new, torch.cat([first[None], y], 1), prefix=1)


@part.kind("resampled sequence", BLOCK, "torch")
def longer_sequences():
    weights = normal(10, 6)
    for length in (23, 4):
        for method in ("BILINEAR", "BILINEAR_ALIGNED"):
            y = F.interpolate(weights.T[None], size=length, mode="linear", align_corners=METHODS[method][2]).transpose(1, 2)
            yield dict(method=method, length=length), dict(table=weights, x=torch.zeros_like(y)), y


# a table for each axis

AXIAL = "AxialPositionalEncodingBlock"


def axial(x, y, weights, axes=None, **arguments):
    """A case of the tables of axes, in the order of the axes; by default, each axis has its own."""
    arguments |= dict(size=x.shape[-1], axes=axes or [len(table) for table in weights])
    positions = arguments.pop("positions", None)
    arrays = {f"p.table{i}": table for i, table in enumerate(weights)}
    return arguments, arrays | {"x": x} | ({} if positions is None else {"positions": positions}), y


@part.kind("axes", AXIAL, "timm")
def factorized():
    from timm.models.naflexvit import NaFlexEmbeds

    for ratio_kept in (False, True):
        module = NaFlexEmbeds(8, 3, 8, pos_embed="factorized", pos_embed_grid_size=(5, 7), pos_embed_ar_preserving=ratio_kept)
        tables = [each.data.normal_()[0] for each in (module.pos_embed_y, module.pos_embed_x)]
        for grid in ((5, 7), (5, 3), (9, 12), (4, 11), (2, 2), (8, 8)):
            x = normal(2, grid[0] * grid[1], 8)
            y = x.clone()
            module._apply_factorized_pos_embed(y, grid)
            options = dict(resampling="BILINEAR", ratio_kept=ratio_kept, grid=grid)
            yield axial(x, y, tables, **options)
            # some of the patches, in any order
            coordinates = torch.cartesian_prod(torch.arange(grid[0]), torch.arange(grid[1])).expand(2, -1, 2)
            y = x.clone()
            module._apply_factorized_naflex_pos_embed_grid_sample(y, coordinates)
            order = torch.randperm(x.shape[1])
            yield axial(x[:, order], y[:, order], tables, positions=coordinates.permute(2, 0, 1)[..., order], **options)
    # the class token and a register are put before the patches later
    module = NaFlexEmbeds(8, 3, 8, pos_embed="factorized", pos_embed_grid_size=(3, 4), class_token=True, reg_tokens=1).eval()
    tables = [each.data.normal_()[0] for each in (module.pos_embed_y, module.pos_embed_x)]
    for grid in ((3, 4), (5, 2)):
        pixels = normal(1, 3, 8 * grid[0], 8 * grid[1])
        y, _ = module(pixels)
        for table in (module.pos_embed_y, module.pos_embed_x):
            table.data = torch.zeros_like(table)
        x, _ = module(pixels)
        module.pos_embed_y.data, module.pos_embed_x.data = (table[None] for table in tables)
        yield axial(x, y, tables, prefix=2, resampling="BILINEAR", ratio_kept=False, grid=grid)


@part.kind("axes", AXIAL, "transformers")
def axes_of_transformers():
    import importlib

    from transformers import Gemma4VisionConfig, Pix2StructVisionConfig, ReformerConfig
    from transformers.models.florence2.modeling_florence2 import Florence2VisionLearnedAbsolutePositionEmbedding2D
    from transformers.models.gemma4.modeling_gemma4 import Gemma4VisionPatchEmbedder
    from transformers.models.pix2struct.modeling_pix2struct import Pix2StructVisionEmbeddings
    from transformers.models.reformer.modeling_reformer import AxialPositionEmbeddings

    # DETR and its relatives: columns, then rows
    for model, name in (("detr", "Detr"), ("conditional_detr", "ConditionalDetr"), ("deformable_detr", "DeformableDetr"),
                        ("maskformer", "MaskFormerDetr"), ("table_transformer", "TableTransformer")):
        source = importlib.import_module(f"transformers.models.{model}.modeling_{model}")
        module = getattr(source, f"{name}LearnedPositionEmbedding")(4)
        for grid in ((3, 5), (50, 50)):
            x = normal(2, 8, *grid)
            try:
                y = module(x.shape, "cpu", torch.float32)
            except TypeError:
                y = module(x)
            x, y = (each.flatten(2).transpose(1, 2) for each in (x, x + y))
            tables = module.row_embeddings.weight, module.column_embeddings.weight
            yield axial(x, y, tables, concatenated=(4, 4), order=(1, 0), grid=grid, model=name)
    # another size for columns than for rows
    config = SimpleNamespace(vision_config=SimpleNamespace(embed_dim=[9], max_position_embeddings=12))
    module = Florence2VisionLearnedAbsolutePositionEmbedding2D(config)
    x = normal(2, 9, 4, 5)
    y = (x + module(x)).flatten(2).transpose(1, 2)
    tables = module.row_embeddings.weight, module.column_embeddings.weight
    sizes = [table.shape[1] for table in tables]
    yield axial(x.flatten(2).transpose(1, 2), y, tables, concatenated=sizes, order=(1, 0), grid=(4, 5), model="Florence-2")
    # sequences
    for shape, sizes in (((4, 6), (2, 6)), ((3, 5), (4, 4))):
        config = ReformerConfig(axial_pos_shape=shape, axial_pos_embds_dim=sizes, hidden_size=8, hidden_dropout_prob=0.0,
                                attn_layers=["local"], local_attn_chunk_length=1)
        module = AxialPositionEmbeddings(config)
        tables = [weight.data.normal_().reshape(-1, size) for weight, size in zip(module.weights, sizes)]
        whole = shape[0] * shape[1]
        for training, start, length in ((True, 0, whole), (False, 0, whole), (False, 0, 7), (False, 6, 5), (False, 9, 1)):
            x, positions = normal(2, length, 8), torch.arange(start, start + length).expand(2, -1)
            y = x + module.train(training)(positions)
            yield axial(x, y, tables, concatenated=sizes, sequence=True, start=start, model="Reformer")
        positions = torch.randint(0, whole, (2, 9))
        x = normal(2, 9, 8)
        yield axial(x, x + module.eval()(positions), tables, concatenated=sizes, sequence=True, positions=positions)
    # patches with their rows and columns, in any order
    config = Pix2StructVisionConfig(hidden_size=8, patch_embed_hidden_size=8, seq_len=20)
    module = Pix2StructVisionEmbeddings(config).eval()
    rows, columns, patches = torch.randint(0, 20, (2, 6)), torch.randint(0, 20, (2, 6)), normal(2, 6, 8)
    y = module(torch.cat([rows[..., None], columns[..., None], patches], -1))
    tables = module.row_embedder.weight, module.column_embedder.weight
    yield axial(module.patch_projection(patches), y, tables, positions=torch.stack([rows, columns]), model="Pix2Struct")
    # columns come first; padding has the position -1, whose numbers no token sees
    config = Gemma4VisionConfig(hidden_size=8, patch_size=2, position_embedding_size=30)
    module = Gemma4VisionPatchEmbedder(config)
    module.position_embedding_table.data.normal_()
    positions = torch.randint(0, 30, (2, 6, 2))
    padding = torch.arange(6) >= torch.tensor([[6], [4]])
    pixels = torch.rand(2, 6, 12)
    y = module(pixels, positions.masked_fill(padding[..., None], -1), padding).masked_fill(padding[..., None], torch.nan)
    x = module.input_proj(2 * (pixels - 0.5))
    yield axial(x, y, list(module.position_embedding_table), positions=positions.permute(2, 0, 1), model="Gemma 4")


def boxes(largest=999):
    """Left, top, right and bottom of the boxes of seven tokens on two pages, and these with height and width, (6, 2, 7)."""
    corners = torch.randint(0, largest + 1, (2, 7, 2, 2)).sort(2).values.flatten(2)
    sizes = corners[..., 2:] - corners[..., :2]
    return corners, torch.cat([corners, sizes.flip(-1)], -1).permute(2, 0, 1)


@part.kind("axes of boxes", AXIAL, "transformers")
def tables_of_boxes():
    from transformers import LayoutLMConfig, LayoutLMv3Config
    from transformers.models.layoutlm.modeling_layoutlm import LayoutLMEmbeddings
    from transformers.models.layoutlmv3.modeling_layoutlmv3 import LayoutLMv3TextEmbeddings
    from transformers.models.udop.modeling_udop import UdopCellEmbeddings

    def tables(module):
        return [getattr(module, f"{name}_position_embeddings").weight for name in "xyhw" if
                hasattr(module, f"{name}_position_embeddings")]

    shared = dict(tables=(0, 1, 0, 1, 2, 3), axes=6 * [1024])
    corners, coordinates = boxes()
    module = LayoutLMEmbeddings(LayoutLMConfig(vocab_size=10, hidden_size=8)).eval()
    module.LayerNorm = torch.nn.Identity()
    module.token_type_embeddings.weight.zero_()
    # the index of the token is one more axis
    x, index = normal(2, 7, 8), torch.arange(7).expand(1, 2, 7)
    yield axial(x, module(inputs_embeds=x, bbox=corners), [module.position_embeddings.weight, *tables(module)],
                positions=torch.cat([index, coordinates]), model="LayoutLM", axes=[512] + 6 * [1024],
                tables=(0, 1, 2, 1, 2, 3, 4))
    module = LayoutLMv3TextEmbeddings(
        LayoutLMv3Config(vocab_size=10, hidden_size=16, coordinate_size=3, shape_size=2)).eval()
    x = normal(2, 7, 16)
    yield axial(x, x + module.calculate_spatial_position_embeddings(corners), tables(module), positions=coordinates,
                model="LayoutLMv3", concatenated=(3, 3, 3, 3, 2, 2), **shared)
    # of the page from 0 to 1
    corners, _ = boxes(500)
    module, x = UdopCellEmbeddings(501, 8), normal(2, 7, 8)
    yield axial(x, x + module((corners + 0.5) / 500), tables(module), positions=corners.permute(2, 0, 1), model="UDOP",
                axes=4 * [501], tables=(0, 1, 0, 1))


@part.kind("LayoutLM", TOKENS, "transformers")
def layout_lm():
    from transformers import LayoutLMConfig
    from transformers.models.layoutlm.modeling_layoutlm import LayoutLMEmbeddings

    module = LayoutLMEmbeddings(LayoutLMConfig(vocab_size=10, hidden_size=8, max_2d_position_embeddings=40)).eval()
    for parameter in module.parameters():
        parameter.copy_(normal(*parameter.shape))
    ids, types, (corners, coordinates) = torch.randint(0, 10, (2, 7)), torch.randint(0, 2, (2, 7)), boxes(39)
    tables = [module.position_embeddings, *(getattr(module, f"{name}_position_embeddings") for name in "xyhw")]
    arrays = {f"p.positionalEncoding_table{i}": table.weight for i, table in enumerate(tables)}
    arrays |= {"p.embedding": module.word_embeddings.weight, "p.tokenTypes": module.token_type_embeddings.weight}
    arrays |= {"p.norm_gamma": module.LayerNorm.weight, "p.norm_beta": module.LayerNorm.bias}
    positions = torch.cat([torch.arange(7).expand(1, 2, 7), coordinates])
    yield (dict(vocabulary=10, size=8, axes=[512] + 6 * [40]), arrays | dict(ids=ids, types=types, positions=positions),
           module(ids, corners, types))
