"""What users of PyTorch, transformers and ONNX Runtime write, measured as the Java benchmarks are.

    peers.py models FOLDER                writes small models, and what transformers computes with them and all-MiniLM-L6-v2
    peers.py measure CLASS FOLDER FILE    measures the peers of a class of benchmarks, and writes a file as JMH does

Each measurement has a process of its own, and begins with a check that its result is that of plain PyTorch.
"""

import argparse
import io
import itertools
import json
import logging
import math
import os
import time
import traceback
import warnings

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import onnxruntime
import torch
import transformers
from torch.nn.functional import embedding, normalize, scaled_dot_product_attention
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

HEADS = 8
POSITIONS = 5000
VOCABULARY = 32000
PACKAGE = "io.github.djlpositional.benchmarks."
# Python needs less time to warm up than a JVM
WARMUPS, ITERATIONS, SECONDS = 2, 3, 0.2

CASES = []
FOLDER = None
THREADS = None


def peer(benchmark, methods, **params):
    """Registers a function as the peer of a class for all combinations of parameters.

    The function gets the parameters and "build", which makes what a method runs from a function or module of PyTorch. It
    returns the call to measure, whose result is an array.
    """

    def add(prepare):
        for method, *values in itertools.product(methods, *params.values()):
            CASES.append((benchmark, method, dict(zip(params, values)), prepare))
        return prepare

    return add


class OnnxRuntime:
    """A module that is exported at its first call."""

    def __init__(self, module):
        self.module, self.session = module.eval(), None

    def __call__(self, *inputs):
        if self.session is None:
            program = torch.onnx.export(self.module, inputs, dynamo=True, verbose=False)
            file = io.BytesIO()
            program.save(file)
            self.session = session(file.getvalue())
            self.names = [each.name for each in self.session.get_inputs()]
        arrays = {name: each.numpy() for name, each in zip(self.names, inputs)}
        return torch.from_numpy(self.session.run(None, arrays)[0])


def session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


BUILDS = {
    "torch": lambda module: module,
    "torchCompile": lambda module: torch.compile(module, dynamic=False),
    "onnxRuntime": OnnxRuntime,
    "transformers": lambda module: module,
    "transformersCompile": lambda module: torch.compile(module, dynamic=False),
}
TORCH = ("torch", "torchCompile")
ALL = ("torch", "torchCompile", "onnxRuntime")


def sizes(shape):
    return [int(size) for size in shape.split("x")]


def ids(shape, bound):
    return (torch.arange(math.prod(shape)) * 7919 % bound).reshape(shape)


def allocator():
    if "hugetlb" in os.environ.get("GLIBC_TUNABLES", ""):
        return "HUGE_PAGES"
    return "TUNED" if "MALLOC_ARENA_MAX" in os.environ else "DEFAULT"


# Encodings that are added


class PositionalEncoding(torch.nn.Module):
    """That of PyTorch's tutorial on transformers, with the sequence as the second axis."""

    def __init__(self, size, length):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, size, 2) * (-math.log(10000.0) / size))
        table = torch.zeros(1, length, size)
        table[0, :, 0::2] = torch.sin(position * rate)
        table[0, :, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[:, : x.size(1)]


@peer("AdditionBenchmark", TORCH, shape=["1x1x512", "32x128x512", "8x2048x1024"], allocator=[allocator()])
def addition(build, shape, allocator):
    b, t, d = sizes(shape)
    encoding, x = build(PositionalEncoding(d, max(POSITIONS, t))), torch.rand(b, t, d)
    return lambda: encoding(x)


@peer("PositionsBenchmark", TORCH, shape=["32x128x512"])
def explicit_positions(build, shape):
    b, t, d = sizes(shape)
    x, table, positions = torch.rand(b, t, d), PositionalEncoding(d, POSITIONS).table[0], ids((b, t), POSITIONS)
    add = build(lambda x, positions: x + embedding(positions, table))
    return lambda: add(x, positions)


@peer("EmbeddingBenchmark", TORCH, shape=["8x2048x1024"], scaled=["false", "true"])
def token_embedding(build, shape, scaled):
    b, t, d = sizes(shape)
    encoding, tokens, factor = PositionalEncoding(d, t), torch.nn.Embedding(VOCABULARY, d), math.sqrt(d)
    embed = (lambda ids: encoding(tokens(ids) * factor)) if scaled == "true" else (lambda ids: encoding(tokens(ids)))
    call, batch = build(embed), ids((b, t), VOCABULARY)
    return lambda: call(batch)


# a compiler computes only the rows that are used
@peer("TableBenchmark", ("torch",), shape=["5000x512", "1000000x64"])
def table(build, shape):
    length, size = sizes(shape)
    x = torch.rand(1, 128, size)
    first = build(lambda x: PositionalEncoding(size, length)(x))
    return lambda: first(x)


# Rotations


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def angles(length, size, base=10000.0):
    return torch.outer(torch.arange(length), base ** (-torch.arange(0, size, 2) / size))


@peer("RotaryBenchmark", TORCH, shape=["8x16x1024x64"], layout=["INTERLEAVED", "CONCATENATED"])
def rotation(build, shape, layout):
    b, n, t, h = sizes(shape)
    queries, keys = torch.rand(b, n, t, h), torch.rand(b, n, t, h)
    turns = torch.polar(torch.ones(t, h // 2), angles(t, h))
    twice = torch.cat((angles(t, h),) * 2, dim=-1)
    cosines, sines = twice.cos(), twice.sin()

    def interleaved(x):  # Meta's code for Llama
        return torch.view_as_real(torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * turns).flatten(-2)

    def halves(x):  # transformers' code for Llama
        return x * cosines + rotate_half(x) * sines

    rotate = interleaved if layout == "INTERLEAVED" else halves
    both = build(lambda queries, keys: (rotate(queries), rotate(keys)))
    return lambda: both(queries, keys)[0]


# Attention


def t5_buckets(distance, buckets=32, furthest=128):
    buckets //= 2
    offset, distance = (distance > 0) * buckets, distance.abs()
    exact = buckets // 2
    far = exact + torch.log(distance / exact + 1e-9) / math.log(furthest / exact) * (buckets - exact)
    return (offset + torch.where(distance < exact, distance, far.clamp(exact, buckets - 1).floor())).long()


class Attention(torch.nn.Module):
    """Multi-head attention for t queries, which are the last of the f keys. A bias is prepared unless it is trained."""

    def __init__(self, size, kind, t, f, trained=False):
        super().__init__()
        self.kind, self.head_size, self.is_causal, self.trained = kind, size // HEADS, kind == "CAUSAL", trained
        self.query, self.key, self.value, self.result = (torch.nn.Linear(size, size) for _ in range(4))
        positions = torch.arange(f, dtype=torch.float32)
        distance = positions.view(1, f) - positions[f - t :].view(t, 1)
        quarter = max(1, f // 4)
        sequences = positions // quarter
        visible = {
            "PADDING": (positions < f - f // 4).view(1, 1, 1, f),
            "PACKED": (sequences.view(1, f) == sequences.view(f, 1)).view(1, 1, f, f) if t == f else None,
            "WINDOW": ((distance <= 0) & (distance > -quarter)).view(1, 1, t, f),
        }
        if kind == "T5":
            self.biases = torch.nn.Embedding(32, HEADS)
            self.register_buffer("buckets", t5_buckets(distance))
        elif kind == "KERPLE":
            self.a, self.b = (torch.nn.Parameter(torch.rand(HEADS, 1, 1)) for _ in range(2))
            self.register_buffer("distance", distance.abs())
        elif kind == "ROTARY":
            twice = torch.cat((angles(f, self.head_size)[f - t :],) * 2, dim=-1)
            self.register_buffer("cosines", twice.cos())
            self.register_buffer("sines", twice.sin())
        elif kind == "SHAW":
            self.register_buffer("relative", distance.clamp(-16, 16).long() + 16)
            self.key_vectors, self.value_vectors = (torch.nn.Embedding(33, self.head_size) for _ in range(2))
        elif kind == "TRANSFORMER_XL":
            steps = torch.arange(float(f), -t, -1)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
            self.register_buffer("sinusoids", torch.cat((steps.sin(), steps.cos()), dim=-1))
            self.position = torch.nn.Linear(size, size, bias=False)
            self.u, self.v = (torch.nn.Parameter(torch.rand(HEADS, 1, self.head_size)) for _ in range(2))
        if kind == "ALIBI":
            slopes = 2.0 ** (-8.0 / HEADS * torch.arange(1, HEADS + 1)).view(HEADS, 1, 1)
            mask = (-distance.abs() * slopes).unsqueeze(0)
        elif trained:
            mask = None
        else:
            mask = visible[kind] if kind in visible else self.bias()
        self.register_buffer("mask", None if mask is None else mask.detach().contiguous())

    def bias(self):
        if self.kind == "T5":
            return self.biases(self.buckets).permute(2, 0, 1).unsqueeze(0)
        if self.kind == "KERPLE":
            return (-self.b * torch.log(1 + self.a * self.distance)).unsqueeze(0)
        return None

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, self.head_size).transpose(1, 2)

    def forward(self, x, keys=None, values=None):
        """With keys and values, a cache with room for those of x."""
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        if self.kind == "ROTARY":
            q, k = (each * self.cosines + rotate_half(each) * self.sines for each in (q, k))
        if keys is not None:
            keys[:, :, -1:], values[:, :, -1:] = k, v
            k, v = keys, values
        if self.kind == "SHAW":
            heads = self.shaw(q, k, v)
        elif self.kind == "TRANSFORMER_XL":
            heads = self.transformer_xl(q, k, v)
        else:
            bias = self.bias() if self.trained else None
            mask = self.mask if bias is None else bias
            heads = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.is_causal)
        return self.result(heads.transpose(1, 2).reshape(x.shape))

    def shaw(self, q, k, v):
        scores = q @ k.transpose(2, 3) + torch.einsum("bnth,tfh->bntf", q, self.key_vectors(self.relative))
        weights = torch.softmax(scores / math.sqrt(self.head_size), dim=-1)
        return weights @ v + torch.einsum("bntf,tfh->bnth", weights, self.value_vectors(self.relative))

    def transformer_xl(self, q, k, v):
        r = self.position(self.sinusoids).view(-1, HEADS, self.head_size).permute(1, 2, 0)
        shifted = (q + self.v) @ r
        b, n, t, w = shifted.shape
        shifted = shifted.reshape(b, n, w, t)[:, :, 1:].reshape(b, n, t, w - 1)[..., : k.shape[2]]
        bias = shifted / math.sqrt(self.head_size)
        return scaled_dot_product_attention(q + self.u, k, v, attn_mask=bias)


KINDS = ["NONE", "ROTARY", "ALIBI", "T5", "KERPLE", "SHAW", "TRANSFORMER_XL"]


# any prepared bias costs what ALiBi's does
@peer("AttentionBenchmark", ALL, positions=["NONE", "ROTARY", "ALIBI"], shape=["1x1024x512"])
@peer("AttentionBenchmark", TORCH, positions=["SHAW", "TRANSFORMER_XL"], shape=["1x1024x512"])
@peer("AttentionBenchmark", ("torch",), positions=["PADDING", "PACKED", "CAUSAL", "WINDOW"], shape=["1x1024x512"])
def attention(build, positions, shape):
    b, t, d = sizes(shape)
    block, x = build(Attention(d, positions, t, t).eval()), torch.rand(b, t, d)
    return lambda: block(x)


def trained(build, module, x):
    """A forward and the backward from the sum of the result, with gradients of the parameters and of x."""
    call = build(module)

    def step():
        module.zero_grad(set_to_none=True)
        x.grad = None
        call(x).sum().backward()
        return x.grad

    return step


@peer("AttentionTrainingBenchmark", TORCH, positions=KINDS, shape=["1x1024x512"])
def attention_training(build, positions, shape):
    b, t, d = sizes(shape)
    return trained(build, Attention(d, positions, t, t, trained=True), torch.rand(b, t, d, requires_grad=True))


class Deberta(torch.nn.Module):
    """The attention of transformers, with an output projection and without its norm."""

    def __init__(self, size):
        super().__init__()
        self.attention = DisentangledSelfAttention(
            transformers.DebertaV2Config(
                hidden_size=size, num_attention_heads=HEADS, relative_attention=True, position_buckets=256,
                max_relative_positions=512, pos_att_type=["p2c", "c2p"], attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0
            )
        )
        self.vectors = torch.nn.Parameter(torch.rand(512, size))
        self.result = torch.nn.Linear(size, size)

    def forward(self, x):
        mask = torch.ones(x.shape[0], 1, x.shape[1], x.shape[1], dtype=torch.bool)
        return self.result(self.attention(x, mask, rel_embeddings=self.vectors)[0])


@peer("AttentionBenchmark", ("transformers",), positions=["DISENTANGLED"], shape=["1x1024x512"])
def deberta(build, positions, shape):
    b, t, d = sizes(shape)
    block, x = build(Deberta(d).eval()), torch.rand(b, t, d)
    return lambda: block(x)


@peer("AttentionTrainingBenchmark", ("transformers",), positions=["DISENTANGLED"], shape=["1x1024x512"])
def deberta_training(build, positions, shape):
    b, t, d = sizes(shape)
    return trained(build, Deberta(d), torch.rand(b, t, d, requires_grad=True))


@peer("StepBenchmark", TORCH, positions=["NONE", "ROTARY", "ALIBI"], shape=["1x4096x512"])
def step(build, positions, shape):
    b, t, d = sizes(shape)
    block = build(Attention(d, positions, 1, t + 1).eval())
    x, keys, values = torch.rand(b, 1, d), *(torch.rand(b, HEADS, t + 1, d // HEADS) for _ in range(2))
    return lambda: block(x, keys, values)


# Layers and models


@peer("LayerBenchmark", TORCH, part=["LAYER"], training=["false", "true"], shape=["8x128x384", "32x128x256"])
def layer(build, part, training, shape):
    b, t, d = sizes(shape)
    module = torch.nn.TransformerEncoderLayer(d, d // 32, 4 * d, dropout=0.0, activation="gelu", batch_first=True)
    if training == "true":
        return trained(build, module, torch.rand(b, t, d, requires_grad=True))
    call, x = build(module.eval()), torch.rand(b, t, d)
    return lambda: call(x)


class Encoder(torch.nn.Module):
    def __init__(self, length, size=64, vocabulary=2500):
        super().__init__()
        self.tokens, self.positions = torch.nn.Embedding(vocabulary, size), PositionalEncoding(size, length)
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(size, size // 16, 4 * size, dropout=0.0, batch_first=True) for _ in range(3)
        )
        self.scores = torch.nn.Linear(size, 2)

    def forward(self, ids):
        x = self.positions(self.tokens(ids))
        for layer in self.layers:
            x = layer(x)
        return self.scores(x.mean(1))


@peer("TrainingBenchmark", TORCH, shape=["128x16"])
def training(build, shape):
    b, t = sizes(shape)
    module = Encoder(t)
    encoder, batch, labels = build(module), ids((b, t), 2500), torch.zeros(b, dtype=torch.long)
    optimizer = torch.optim.Adam(module.parameters())

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(encoder(batch), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def load(model_class, folder):
    return model_class.from_pretrained(os.path.join(FOLDER, folder)).eval()


def generated(step, first, tokens):
    """The best token each time, from a function of the ids of a step, without the checks and options of generate."""
    all = [first]
    for _ in range(tokens):
        all.append(step(all[-1]).logits[:, -1].argmax(-1, keepdim=True))
    return torch.cat(all[1:], 1)


def llama_loop(model, prompts, tokens):
    cache = transformers.DynamicCache(config=model.config)
    return generated(lambda ids: model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1), prompts, tokens)


@peer("LlamaBenchmark", ("transformers", "transformersLoop"), batch=["1", "4"], tokens=["1", "64"])
def llama(build, batch, tokens):
    model = load(transformers.LlamaForCausalLM, "llama")
    prompts, count = ids((int(batch), 512), 8000), int(tokens)
    if build is None:
        return lambda: llama_loop(model, prompts, count)
    mask = torch.ones_like(prompts)
    return lambda: model.generate(prompts, attention_mask=mask, max_new_tokens=count, min_new_tokens=count, do_sample=False)[:, 512:]


def t5_loop(model, source, tokens):
    memory = model.encoder(source)
    cache = transformers.EncoderDecoderCache(*(transformers.DynamicCache(config=model.config) for _ in range(2)))
    start = torch.zeros(source.shape[0], 1, dtype=torch.long)
    return generated(
        lambda ids: model(decoder_input_ids=ids, encoder_outputs=memory, past_key_values=cache, use_cache=True), start, tokens
    )


@peer("T5Benchmark", ("transformers", "transformersLoop"), tokens=["32"])
def t5(build, tokens):
    model = load(transformers.T5ForConditionalGeneration, "t5")
    source, count = ids((1, 128), 8000), int(tokens)
    if build is None:
        return lambda: t5_loop(model, source, count)
    mask = torch.ones_like(source)
    return lambda: model.generate(source, attention_mask=mask, max_new_tokens=count, min_new_tokens=count, do_sample=False)[:, 1:]


@peer("ModernBertBenchmark", ("transformers", "transformersCompile"), shape=["1x512"])
def modern_bert(build, shape):
    model = load(transformers.ModernBertModel, "modernbert")
    encode, batch = build(lambda ids: model(ids).last_hidden_state), ids(sizes(shape), 8000)
    return lambda: encode(batch)


SENTENCES = ["1x16", "1x128", "32x64"]
MIXED = "32x8-128"


def sentence_batch(shape):
    """Token ids and a mask, of texts with as many tokens or, as in 32x8-128, from the most to the fewest; no mask without padding."""
    b, lengths = shape.split("x")
    fewest, most = (int(lengths.split("-")[i]) for i in (0, -1))
    ids = 1000 + torch.arange(int(b) * most).reshape(int(b), most) * 7919 % 20000
    if fewest == most:
        return (ids,)
    count = most - torch.arange(int(b)) * (most - fewest) // (int(b) - 1)
    mask = (torch.arange(most) < count[:, None]).long()
    return ids * mask, mask


class SentenceEncoder(torch.nn.Module):
    """all-MiniLM-L6-v2 with the mean over the tokens and the norm: what sentence-transformers computes."""

    def __init__(self):
        super().__init__()
        self.bert = transformers.BertModel.from_pretrained(os.path.join(FOLDER, "all-MiniLM-L6-v2"), add_pooling_layer=False)

    def forward(self, ids, mask=None):
        x = self.bert(ids, attention_mask=mask).last_hidden_state
        return normalize(x.mean(1) if mask is None else (x * mask[..., None]).sum(1), dim=1)


@peer("SentenceBenchmark", ("transformers", "transformersCompile", "onnxRuntime"), shape=SENTENCES)
@peer("SentenceBenchmark", ("transformers",), shape=[MIXED])
def sentences(build, shape):
    encoder, batch = build(SentenceEncoder().eval()), sentence_batch(shape)
    return lambda: encoder(*batch)


@peer("SentenceBenchmark", ("onnxRuntimePublished",), shape=[*SENTENCES, MIXED])
def published_sentences(build, shape):
    if build is not None:
        return sentences(build, shape)
    model = session(os.path.join(FOLDER, "all-MiniLM-L6-v2", "model.onnx"))
    ids, *masks = (each.numpy() for each in sentence_batch(shape))
    mask = masks[0] if masks else np.ones_like(ids)
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}

    def encode():
        x = model.run(None, inputs)[0]
        mean = (x * mask[..., None]).sum(1) if masks else x.mean(1)
        return torch.from_numpy(mean / np.linalg.norm(mean, axis=1, keepdims=True)).float()

    return encode


def write_json(value, *names):
    with open(os.path.join(FOLDER, *names), "w") as file:
        json.dump(value, file)


def write_model(name, model):
    model.eval().save_pretrained(os.path.join(FOLDER, name))
    return model


def write_models():
    torch.manual_seed(1)
    decoder = write_model("llama", transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=8000, hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=4,
        max_position_embeddings=1024, bos_token_id=None, eos_token_id=None, pad_token_id=0,
        initializer_range=0.1,  # with 0.02 it repeats one token
    )))
    write_json({batch: llama_loop(decoder, ids((batch, 512), 8000), 64).tolist() for batch in (1, 4)}, "llama", "tokens.json")
    config = transformers.BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, model_type="bert"
    )
    config.save_pretrained(os.path.join(FOLDER, "all-MiniLM-L6-v2"))
    encoder = SentenceEncoder().eval()
    write_json({shape: encoder(*sentence_batch(shape)).tolist() for shape in [*SENTENCES, MIXED]}, "vectors.json")
    encoder = write_model("modernbert", transformers.ModernBertModel(transformers.ModernBertConfig(
        vocab_size=8000, hidden_size=384, intermediate_size=576, num_hidden_layers=6, num_attention_heads=6, local_attention=128,
        max_position_embeddings=512, global_attn_every_n_layers=3, bos_token_id=None, eos_token_id=None, cls_token_id=None,
        sep_token_id=None, pad_token_id=7999,  # which is not among the ids
    )))
    write_json(encoder(ids((1, 512), 8000)).last_hidden_state[0, ::64].tolist(), "modernbert", "vectors.json")
    translator = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=8000, d_model=512, d_kv=64, d_ff=1024, num_layers=6, num_heads=8, decoder_start_token_id=0, bos_token_id=None,
        eos_token_id=None, pad_token_id=0, initializer_factor=4.0,
    ))
    translator.shared.weight.mul_(0.05)  # otherwise it repeats one token
    write_model("t5", translator)
    write_json(t5_loop(translator, ids((1, 128), 8000), 32).tolist(), "t5", "tokens.json")


# Measuring


def measure(benchmark, method, params, prepare):
    """The times of a call in microseconds, by iteration, and the peak memory of this process."""
    torch.set_num_threads(THREADS)
    is_training = "Training" in benchmark or params.get("training") == "true"
    with torch.inference_mode(not is_training):
        torch.manual_seed(1)
        call = prepare(BUILDS.get(method), **params)
        first = call()
        if method not in ("torch", "transformers"):
            torch.manual_seed(1)
            torch.testing.assert_close(first, prepare(BUILDS["torch"], **params)(), rtol=1e-3, atol=1e-4)
        times = []
        for _ in range(WARMUPS + ITERATIONS):
            calls, start = 0, time.perf_counter()
            while calls == 0 or time.perf_counter() < start + SECONDS:
                call()
                calls += 1
            times.append((time.perf_counter() - start) / calls * 1e6)
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    return times[WARMUPS:], peak


def in_process(function, *arguments):
    """The result of a function in a process of its own: a copy of this one, which has not computed anything yet."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(write, "w") as out:
                json.dump(function(*arguments), out)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)  # without what the parent does at its end
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    if not text:
        raise SystemExit(f"failed: {arguments[:3]}")
    return json.loads(text)


def main():
    global FOLDER, THREADS, WARMUPS, SECONDS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("models").add_argument("folder")
    commands.add_parser("versions")
    measuring = commands.add_parser("measure")
    measuring.add_argument("benchmark")
    measuring.add_argument("folder", help="that of the models")
    measuring.add_argument("file", help="of results")
    measuring.add_argument("-p", action="append", default=[], metavar="NAME=VALUE,…", help="only these values of a parameter")
    measuring.add_argument("--quick", action="store_true", help="each for a moment only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if arguments.command == "versions":
        packages = (torch, transformers, onnxruntime)
        print(", ".join(f"{package.__name__} {package.__version__}" for package in packages))
        return
    FOLDER = arguments.folder
    if arguments.command == "models":
        with torch.no_grad():
            write_models()
        return
    if arguments.quick:
        WARMUPS, SECONDS = 0, 0.01
    chosen = {name: values.split(",") for name, values in (each.split("=") for each in arguments.p)}
    results = []
    for threads in chosen.pop("threads", [str(os.cpu_count())]):
        THREADS = int(threads)
        for benchmark, method, params, prepare in CASES:
            if benchmark != arguments.benchmark or any(params[name] not in values for name, values in chosen.items()):
                continue
            times, peak = in_process(measure, benchmark, method, params, prepare)
            results.append({
                "benchmark": PACKAGE + benchmark + "." + method,
                "params": {**params, "threads": threads},
                "primaryMetric": {"score": sum(times) / len(times), "scoreUnit": "us/op", "rawData": [times]},
                "secondaryMetrics": {"peakMemory": {"score": peak, "scoreUnit": "MB", "rawData": [[peak]]}},
            })
            print(f"{benchmark}.{method} {params}, {threads} threads: {results[-1]['primaryMetric']['score']:.1f} us", flush=True)
    with open(arguments.file, "w") as file:
        json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
