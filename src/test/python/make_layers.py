#!/usr/bin/env python3
"""Writes the layers that TransformerLayerBlockTest, ShiftedWindowsTest, WeightLoaderModulesTest and PortingCodeTest compare with,
with torch.

    python3 src/test/python/make_layers.py        (made with torch 1.13 and numpy 1.24, the layers of main's last lines
                                                   with torch 2.13, torchvision 0.28 and numpy 2.4)

Each file has the weights under torch's names, the inputs, and the outputs, all in float64. Of transformers and of
language_model, the weights are in a file of their own, in float32. Masks have torch's sense: true for what is ignored.
It writes the same bytes each time.
"""

import functools
import math
import pathlib

import torch
from language_model import LanguageModel
from make_weights import save_safetensors
from torch import nn
from torch.nn.functional import gelu, silu

FOLDER = pathlib.Path(__file__).parents[1] / "resources" / "layers"

SIZE, HEADS, HIDDEN, LENGTH, MEMORY, BATCH = 8, 2, 16, 5, 4, 2

torch.set_default_dtype(torch.float64)

PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
MEMORY_PADDING = torch.tensor([[False] * 4, [False] * 2 + [True] * 2])
CAUSAL = torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), diagonal=1)


def save(name, arrays):
    save_safetensors(FOLDER / (name + ".safetensors"), arrays)


def shuffled(module):
    """New weights, large enough for attention that is far from uniform, with norms that are not the identity."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(1 if parameter.dim() == 1 else 0, 0.5)
    return module


def gradients(output, tensors):
    """Of the sum of the outputs, each times a weight, by every tensor."""
    weight = torch.randn(output.shape)
    found = torch.autograd.grad((output * weight).sum(), list(tensors.values()))
    return {"gradient_weight": weight, **{"gradient." + key: value for key, value in zip(tensors, found)}}


def encoder_layer(name, **options):
    layer = shuffled(nn.TransformerEncoderLayer(SIZE, HEADS, HIDDEN, dropout=0, batch_first=True, **options))
    x = torch.randn(BATCH, LENGTH, SIZE)
    save(name, {
        **layer.state_dict(),
        "input": x,
        "padding": PADDING,
        "output": layer(x),
        "output_padded": layer(x, src_key_padding_mask=PADDING),
        "output_causal": layer(x, src_mask=CAUSAL),
        "output_causal_padded": layer(x, src_mask=CAUSAL, src_key_padding_mask=PADDING),
    })


def decoder_layer(name, **options):
    layer = shuffled(nn.TransformerDecoderLayer(SIZE, HEADS, HIDDEN, dropout=0, batch_first=True, **options))
    x = torch.randn(BATCH, LENGTH, SIZE, requires_grad=True)
    memory = torch.randn(BATCH, MEMORY, SIZE, requires_grad=True)
    tensors = {"input": x, "memory": memory, **dict(layer.named_parameters())}
    save(name, {
        **layer.state_dict(),
        **gradients(layer(x, memory, tgt_mask=CAUSAL), tensors),
        "input": x,
        "memory": memory,
        "padding": PADDING,
        "memory_padding": MEMORY_PADDING,
        "output": layer(x, memory, tgt_mask=CAUSAL),
        "output_memory_padded": layer(x, memory, tgt_mask=CAUSAL, memory_key_padding_mask=MEMORY_PADDING),
        "output_padded": layer(x, memory, tgt_mask=CAUSAL, tgt_key_padding_mask=PADDING,
                               memory_key_padding_mask=MEMORY_PADDING),
    })


def rms_norm(x, weight, epsilon):
    """Zhang and Sennrich (2019), equation 4, with the epsilon of the Llama models."""
    return x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + epsilon) * weight


def llama_layer(name, activation):
    """A layer of Llama without its rotation: pre-norm, RMSNorm, causal attention, gated, no bias; from the formulas."""
    shapes = {"q": (SIZE, SIZE), "k": (SIZE, SIZE), "v": (SIZE, SIZE), "o": (SIZE, SIZE),
              "gate": (HIDDEN, SIZE), "up": (HIDDEN, SIZE), "down": (SIZE, HIDDEN)}
    w = {key + "_proj.weight": torch.randn(shape) / 2 for key, shape in shapes.items()}
    w.update({key: 1 + torch.randn(SIZE) / 2 for key in ("input_layernorm.weight", "post_attention_layernorm.weight")})
    w["input"] = x = torch.randn(BATCH, LENGTH, SIZE)
    for tensor in w.values():
        tensor.requires_grad_()

    normalized = rms_norm(x, w["input_layernorm.weight"], 1e-5)
    q, k, v = ((normalized @ w[key + "_proj.weight"].T).reshape(BATCH, LENGTH, HEADS, -1).transpose(1, 2)
               for key in "qkv")
    scores = (q @ k.transpose(2, 3) / math.sqrt(SIZE / HEADS)).masked_fill(CAUSAL, -math.inf)
    mixed = (torch.softmax(scores, 3) @ v).transpose(1, 2).reshape(BATCH, LENGTH, SIZE)
    middle = x + mixed @ w["o_proj.weight"].T
    middle_normalized = rms_norm(middle, w["post_attention_layernorm.weight"], 1e-5)
    gate = middle_normalized @ w["gate_proj.weight"].T
    hidden = activation(gate) * (middle_normalized @ w["up_proj.weight"].T)
    output = middle + hidden @ w["down_proj.weight"].T
    save(name, {**w, **gradients(output, w), "output": output, "normalized": normalized})


def weights(name, module):
    """Saves weights that float32 holds exactly."""
    shuffled(module).float()
    save(name, module.state_dict())
    return module.double()


def swin_layer(name, rows, columns, window):
    """Swin's block with and without a shift by half a window, and the gradients with the shift."""
    from torchvision.models.swin_transformer import SwinTransformerBlock

    shift = [size // 2 for size in window]
    layer = shuffled(SwinTransformerBlock(SIZE, HEADS, window, shift, mlp_ratio=HIDDEN / SIZE))
    regular = SwinTransformerBlock(SIZE, HEADS, window, [0, 0], mlp_ratio=HIDDEN / SIZE)
    regular.load_state_dict(layer.state_dict())
    x = torch.randn(BATCH, rows, columns, SIZE, requires_grad=True)
    output = layer(x)
    save(name, {
        **dict(layer.named_parameters()),
        **gradients(output, {"input": x, **dict(layer.named_parameters())}),
        "input": x,
        "output": regular(x),
        "output_shifted": output,
    })


def language_model():
    model = weights("language_model", LanguageModel())
    ids = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 0, 0]])
    save("language_model_output", {"ids": ids, "output": model(ids, CAUSAL, ids == 0)})


def transformer(name, has_norm, **options):
    """An encoder and a decoder of two layers, with and without a normalization behind the last."""
    options = dict(options, dropout=0, batch_first=True)
    norms = [nn.LayerNorm(SIZE) if has_norm else None for _ in range(2)]
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(SIZE, HEADS, HIDDEN, **options), 2, norms[0])
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(SIZE, HEADS, HIDDEN, **options), 2, norms[1])
    model = weights(name, nn.Transformer(custom_encoder=encoder, custom_decoder=decoder, batch_first=True))
    source = torch.randn(BATCH, MEMORY, SIZE)
    target = torch.randn(BATCH, LENGTH, SIZE)
    memory = model.encoder(source, src_key_padding_mask=MEMORY_PADDING)
    save(name + "_output", {
        "source": source,
        "source_padding": MEMORY_PADDING,
        "target": target,
        "target_padding": PADDING,
        "memory": memory,
        "output": model.decoder(target, memory, CAUSAL, tgt_key_padding_mask=PADDING,
                                memory_key_padding_mask=MEMORY_PADDING),
    })


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    torch.manual_seed(15)
    encoder_layer("encoder_post_norm")
    encoder_layer("encoder_pre_norm", activation="gelu", norm_first=True)
    decoder_layer("decoder_post_norm")
    decoder_layer("decoder_pre_norm", activation="gelu", norm_first=True)
    llama_layer("llama", lambda gate: gate * torch.sigmoid(gate))
    language_model()
    gelu_tanh = functools.partial(gelu, approximate="tanh")
    decoder_layer("decoder_gelu_tanh", activation=gelu_tanh)
    decoder_layer("decoder_silu", activation=silu)
    llama_layer("geglu", gelu)
    llama_layer("geglu_tanh", gelu_tanh)
    swin_layer("swin", 6, 8, [3, 4])
    swin_layer("swin_with_one_row_of_windows", 3, 8, [3, 4])
    torch.manual_seed(32)
    transformer("transformer_post_norm", False)
    transformer("transformer_pre_norm", True, activation="gelu", norm_first=True)
