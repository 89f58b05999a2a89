"""What the attention layers of transformers do to queries and keys.

A model is built from its configuration in its true sizes, but its linear layers return fixed random numbers, and what is not attention
returns zeros. The batch has two equal sequences. The function that rotates rotates the first only, so that the attention receives each
query and key rotated and as it was.
"""

import contextlib
import copy
import functools
import importlib
import inspect
import random
import re
import zlib
from unittest import mock

import peer
import torch
from torch import nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_MAPPING


@functools.lru_cache(1000)
def noise(name, *shape):
    """Random numbers from -1 to 1, the same in all layers."""
    generator = torch.Generator().manual_seed(zlib.crc32(re.sub(r"\d+", "", name).encode()) + peer.SEED)
    return torch.rand(shape, generator=generator) * 2 - 1


class Noise(nn.Module):
    """Stands for a linear layer or an embedding: returns numbers that depend on its name, and not on the input."""

    bias = None

    def __init__(self, *arguments, **keywords):
        super().__init__()
        sizes = ("in_features", "out_features", "num_embeddings", "embedding_dim")
        self.inputs, self.outputs = (*arguments, *(keywords[name] for name in sizes if name in keywords))[:2]

    @property
    def weight(self):
        return torch.zeros(1).expand(self.outputs, self.inputs)

    def forward(self, x, *arguments, **keywords):
        lead = x.shape if isinstance(self, NoisyEmbedding) else x.shape[:-1]
        return noise(self.name, lead[-1], self.outputs).expand(*lead, self.outputs).clone()


class NoisyEmbedding(Noise):
    embed_scale = 1.0


class Zeros(nn.Module):
    """Stands for a mixer without attention, and for a feed-forward layer."""

    def __init__(self, *arguments, layer_idx=None, **keywords):
        super().__init__()

    def forward(self, *arguments, **keywords):
        x = next(each for each in (*arguments, *keywords.values()) if torch.is_tensor(each))
        return torch.zeros_like(x)


class ZerosOfTwo(Zeros):
    def forward(self, *arguments, **keywords):
        return super().forward(*arguments, **keywords), None


NOT_ATTENTION = re.compile(r"(Mamba\w*|ShortConv|GatedDeltaNet|LightningAttention|Mixer|Mo[eE]|MoeBlock|MLP|Mlp|MoEV1Moe)$")
RETURN_TWO = ("MiniMaxLightningAttention", "Llama4TextMoe", "GptOssMLP")
CALLS = []


def attention(module, query, key, value, attention_mask=None, scaling=None, **keywords):
    """Stands for the product of queries and keys, and records what it is given."""
    CALLS.append((getattr(module, "layer_idx", None), query, key, scaling))
    return torch.zeros(query.shape[0], query.shape[2], query.shape[1], value.shape[-1]), None


ALL_ATTENTION_FUNCTIONS.register("eager", attention)


class Products(torch.overrides.TorchFunctionMode):
    """Records queries and keys where a model multiplies them itself."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        if function.__name__ in ("matmul", "__matmul__") and arguments[1].ndim == 4:
            query, key = arguments[0], arguments[1].transpose(-1, -2)
            if query.shape[-2] == key.shape[-2]:
                CALLS.append((None, query.clone(), key.clone(), None))
        return function(*arguments, **(keywords or {}))


OWN_PRODUCTS = ("codegen", "falcon", "gptj", "roformer")


def of_first(rotate):
    """A function that rotates, for the first sequence only."""
    signature = inspect.signature(inspect.unwrap(rotate))

    def wrapper(*arguments, **keywords):
        result = rotate(*arguments, **keywords)
        given = signature.bind(*arguments, **keywords).arguments.items()
        given = [v for name, v in given if torch.is_tensor(v) and not re.match("cos|sin|freqs|position", name)]
        for x, y in zip(given, result if isinstance(result, tuple) else (result,)):
            if "interleave" in rotate.__name__:  # the result has another order, which shows at the first position, 0
                order = torch.empty_like(x[0, 0, 0], dtype=torch.long)
                order[x[0, 0, 0].argsort()] = y[0, 0, 0].argsort()
                y.copy_(y[..., order])
            y[1:] = x[1:]
        return result

    return wrapper


def replaced(module):
    """What stands for functions and classes of a modeling module."""
    for name, value in vars(module).items():
        if inspect.isfunction(value) and re.match("_?apply_rotary|apply_multidimensional_rope", name):
            yield name, of_first(value)
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            if NOT_ATTENTION.search(name):
                yield name, ZerosOfTwo if name in RETURN_TWO else Zeros
            elif issubclass(value, nn.Linear):
                yield name, Noise
            elif issubclass(value, nn.Embedding) and not hasattr(value, "create_weight"):
                yield name, NoisyEmbedding


def model_class(config):
    """The model of a configuration, which for a part of another model has no entry of its own."""
    if type(config) in MODEL_MAPPING:
        return MODEL_MAPPING[type(config)]
    module = importlib.import_module(type(config).__module__.replace(".configuration_", ".modeling_"))
    own = (v for v in vars(module).values() if inspect.isclass(v) and issubclass(v, PreTrainedModel) and v.__module__ == module.__name__)
    own = [v for v in own if v.config_class is type(config) or v.__annotations__.get("config") is type(config)]
    return next(v for v in own if not re.search("PreTrained|ForC|ForS|ForT", v.__name__))


def build(config):
    model = model_class(config)(config)
    for name, module in model.named_modules():
        module.name = name
        if hasattr(module, "create_weight"):  # the table of sines of RoFormer
            module.weight.copy_(module.create_weight())
        for norm in ("query_layernorm", "key_layernorm"):  # HunYuan's hide the attention factor
            if hasattr(module, norm):
                setattr(module, norm, nn.Identity())
    return model.eval()


def positions(config, model, last):
    """10 positions from 0; for models with axes a row for each, of which the first tokens are text."""
    draw = random.Random(f"{peer.SEED} {config.model_type}")
    places = torch.tensor([0, 1, 2, *sorted(draw.sample(range(3, last), 6)), last])
    if config.model_type == "neomme":
        return torch.stack([places, places.flip(0)])
    sections = [module.mrope_section for module in model.children() if hasattr(module, "mrope_section")]
    if not sections:
        return places
    axes = len(sections[0]) if isinstance(sections[0], list) else 3
    others = ([draw.randrange(60) for _ in range(6)] for _ in range(axes - 1))
    return torch.stack([places, *(torch.cat([places[:4], torch.tensor(axis)]) for axis in others)])


def filled(*size, empty=torch.empty, **keywords):
    """Stands for uninitialized numbers, but for large arrays, the weights of experts, which take memory once they are written."""
    array = empty(*size, **keywords)
    return array.fill_(0.01) if array.numel() < 1 << 20 else array


# models that scale queries and keys before their product
SCALED_BEFORE = ("muse_glimmer_text", "muse_spark_text", "openai_privacy_filter")
# the types of layers without those that see all tokens, and their names in sections
KINDS = {
    "sliding_attention": "sliding_attention",
    "chunked_attention": "chunked_attention",
    "hybrid_sliding": "sliding_attention",
    "reference_sliding_attention": "sliding_attention",
}
SECTIONS = {"compressed_sparse_attention": "compress", "heavily_compressed_attention": "compress"}


def groups(config, last):
    """The layers with the same type and rotation together: what they are given, and what they make of it."""
    module = importlib.import_module(model_class(config).__module__)
    stubs = list(replaced(module))
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context
        patch(mock.patch.multiple(nn, Linear=Noise, Embedding=NoisyEmbedding))
        patch(mock.patch.object(PreTrainedModel, "init_weights", lambda self: None))
        patch(mock.patch.object(torch, "empty", filled))
        for name, stub in stubs:
            patch(mock.patch.object(module, name, stub))
        if hasattr(module, "RoFormerSelfAttention"):
            rotate = module.RoFormerSelfAttention.apply_rotary_position_embeddings
            patch(mock.patch.object(module.RoFormerSelfAttention, rotate.__name__, staticmethod(of_first(rotate))))
        config._attn_implementation = "eager"
        model = build(config)
        places = positions(config, model, last)
        inputs = {"input_ids": torch.zeros(2, places.shape[-1], dtype=torch.long)}
        parameters = inspect.signature(model.forward).parameters
        if "position_ids" in parameters:
            inputs["position_ids"] = places.unsqueeze(-2).expand(*places.shape[:-1], 2, -1)
        else:
            places = torch.arange(places.shape[-1])
        if "use_cache" in parameters:
            inputs["use_cache"] = False
        CALLS.clear()
        patch(Products() if config.model_type in OWN_PRODUCTS else contextlib.nullcontext())
        model(**inputs)
    if not CALLS:
        raise ValueError("no layer has an attention")
    found = {}
    layer_types = getattr(config, "layer_types", None)
    for index, (layer, query, key, scale) in enumerate(CALLS):
        layer = index if layer is None else layer
        y, x = torch.stack([query[:, 0], key[:, 0, : query.shape[2]]], 1)  # DeepSeek V4 has more keys
        if not (x.isfinite().all() and y.isfinite().all()):
            raise ValueError(f"the queries or keys of layer {layer} are not finite")
        layer_type = layer_types[layer] if isinstance(layer_types, list) else None
        group = dict(
            layers=[],
            layer_type=KINDS.get(layer_type, "full_attention"),
            typed=layer_type is not None,
            rotated=not torch.allclose(x, y, atol=1e-6),
            scale=None if config.model_type in SCALED_BEFORE else scale,
            key_multiplier=getattr(config, "key_multiplier", 1.0),
            **frequencies(model, layer_type),
        )
        arrays = {"x": x[:, None], "y": y[:, None], "positions": places}
        found.setdefault((str(group), y.numpy().tobytes()), (group, arrays))[0]["layers"].append(layer)
    return list(found.values())


def frequencies(model, layer_type):
    """The frequencies and the attention factor of layers, None if the model computes them in another way."""
    for module in () if hasattr(model, "rotary_embs") else model.children():
        for prefix in (f"{layer_type}_", f"{SECTIONS.get(layer_type, 'main')}_", ""):
            if hasattr(module, f"{prefix}inv_freq"):
                factor = float(getattr(module, f"{prefix}attention_scaling", 1.0))
                if "short_mscale" in sections(vars(model.config))[0]:  # of Phi-3.5 MoE: replaces the factor
                    factor = None
                found = getattr(module, f"{prefix}inv_freq")
                if not (found.diff() <= 0).all():  # ERNIE 4.5 VL has them in the order of the axes
                    return {"frequencies": None, "attention_factor": factor}
                found = -found if model.config.model_type == "nanochat" else found  # which rotates backwards
                return {"frequencies": found.tolist(), "attention_factor": factor}
    return {"frequencies": None, "attention_factor": None}


def of_text(config_class, doc):
    """The groups of the model that a file describes."""
    config = config_class.from_dict(config_class._decode_special_floats(copy.deepcopy(doc))).get_text_config()
    found = []
    for length in lengths(config):
        found += groups(config, length - 1)
    return found


def sections(doc):
    """The rope sections: one, or one for each type of layers."""
    rope = doc.get("rope_parameters") or {}
    return [v for v in rope.values() if isinstance(v, dict)] or [rope]


def lengths(config):
    """How long the sequences are: two lengths if the frequencies depend on it."""
    length = getattr(config, "max_position_embeddings", 2048)
    parts = {part.get("rope_type"): part for part in sections(vars(config))}
    if "dynamic" in parts and not parts["dynamic"].get("alpha"):
        return length, 2 * length
    return (parts["longrope"]["original_max_position_embeddings"], length) if "longrope" in parts else (min(length, 4096),)


def of_vision(config_class, doc):
    """As of_text(), of a vision tower: its class of rotary encodings and its function that rotates are called."""
    config = config_class.from_dict(copy.deepcopy(doc)).vision_config
    module = importlib.import_module(type(config).__module__.replace(".configuration_", ".modeling_"))
    rotary = next(v for name, v in vars(module).items() if re.search("VisionRotary|ViTRotary", name) and inspect.isclass(v))(config)
    heads = getattr(config, "num_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or (getattr(config, "embed_dim", None) or config.hidden_size) // heads
    draw, count = random.Random(f"{peer.SEED} {config.model_type}"), 12
    time, row, column = (torch.tensor([0, 1, *(draw.randrange(limit) for _ in range(count - 2))]) for limit in (4, 60, 60))
    x = noise("vision", 2, count, 1, size)
    query, key = x
    places = torch.stack([row, column])
    if hasattr(module, "apply_multidimensional_rope"):  # Gemma 4 has columns first
        places = torch.stack([column, row])
        cos, sin = rotary(query, places.T[None])
        y = [module.apply_multidimensional_rope(each[None], cos, sin, places.T[None])[0] for each in (query, key)]
        places = torch.stack([row, column])
    elif hasattr(module, "apply_rotary_pos_emb_2d"):
        cos, sin = rotary(query, places.T)
        swapped = (each.transpose(0, 1)[None] for each in (query, key))
        y = [each[0].transpose(0, 1) for each in module.apply_rotary_pos_emb_2d(*swapped, cos, sin)]
    else:
        if rotary.__class__.__name__.startswith("MiniMaxM3VL"):
            places = torch.stack([time, row, column])
        cos, sin = rotary(query, places.T)
        rotate = getattr(module, "apply_rotary_pos_emb_vision", None) or functools.partial(module.apply_rotary_pos_emb, unsqueeze_dim=1)
        y = rotate(query, key, cos, sin)
    group = dict(layers=[], layer_type="full_attention", typed=False, rotated=True, scale=None, key_multiplier=1.0)
    arrays = {"x": x.transpose(1, 2), "y": torch.stack(list(y)).transpose(1, 2), "positions": places}
    return [({**group, "frequencies": None, "attention_factor": None}, arrays)]
