"""Small random models of transformers and timm, saved as these packages save models, with inputs and outputs.

FOLDER/models/FAMILY-LENGTH has config.json, model.safetensors and expected.safetensors, whose arrays the functions
below name. B is the number of sequences, T the length, V the size of the vocabulary. y is the output: logits, or the
last hidden states of a model without a head. hidden.I is the input of layer I; after the last layer, it is the output,
which language models normalize first. Numbers of padding are NaN.

The default is the families that the Java test compares; --kind names others, and "." all.
"""

import copy
import dataclasses
import inspect
import json
import math
import traceback
import zlib
from functools import partial

import peer
import torch
from peer import normal
from safetensors.numpy import save_file

LENGTHS = (24, 300)
VOCABULARY, SIZE, HEADS, KEY_HEADS, LAYERS, HIDDEN, POSITIONS, NEW = 100, 64, 4, 2, 3, 96, 600, 12


def randomize(model, table, gain):
    """Sets every parameter to random numbers that matter: norms are not 1, biases not 0, and no layer is negligible."""
    seen = set()
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if parameter in seen:
                continue
            seen.add(parameter)
            noise = normal(*parameter.shape)
            if parameter.numel() == max(parameter.shape) or parameter.min() == parameter.max():
                parameter += 0.3 * noise  # norms, biases, and factors
            elif isinstance(module, torch.nn.Embedding):
                parameter.copy_(noise * (table if module is model.get_input_embeddings() else 0.7))
            elif parameter.shape[0] == 1:
                parameter.copy_(0.7 * noise)  # positions of pictures
            else:
                parameter.copy_(gain * noise / math.sqrt(parameter[0].numel()))


def tokens(*shape):
    return torch.randint(3, VOCABULARY, shape)


def padded(model, length, side):
    """Three sequences of different lengths with padding on one side, and their mask."""
    lengths = torch.tensor([length, length * 17 // 24, length * 9 // 24])[:, None]
    place = torch.arange(length)
    mask = (place >= length - lengths if side == "left" else place < lengths).long()
    padding = model.config.get_text_config().pad_token_id or 0
    return torch.where(mask == 1, tokens(3, length), padding), mask


def visible(values, mask=None):
    """The finite numbers (B, T, …) of a package, with NaN for padding."""
    if mask is not None:
        mask = mask.reshape(*mask.shape, *[1] * (values.ndim - mask.ndim)) == 1
        values = torch.where(mask, values, 0)
    if not values.isfinite().all():
        raise ValueError("an output is not finite")
    return values if mask is None else torch.where(mask, values, math.nan)


def output(result, mask=None):
    return visible(result["logits"] if "logits" in result else result["last_hidden_state"], mask)


def states(prefix, values, mask=None):
    return {f"{prefix}.{i}": visible(each, mask) for i, each in enumerate(values)}


def forward(model, length):
    """ids (2, T), hidden.I, y"""
    ids = tokens(2, length)
    result = model(input_ids=ids, output_hidden_states=True)
    return {"ids": ids, "y": output(result)} | states("hidden", result.hidden_states)


def encoder(model, length, types=0):
    """As forward; right.ids (3, T), right.mask, right.y; with token types, types (2, T) and types.y"""
    out = forward(model, length)
    ids, mask = padded(model, length, "right")
    out |= {"right.ids": ids, "right.mask": mask, "right.y": output(model(input_ids=ids, attention_mask=mask), mask)}
    if types:
        out["types"] = torch.randint(types, (2, length))
        out["types.y"] = output(model(input_ids=out["ids"], token_type_ids=out["types"]))
    return out


def decoder(model, length):
    """As encoder; left.ids (3, T), left.mask, left.positions, left.y; with generation, greedy: 1 sequence, batch: 3"""
    out = encoder(model, length)
    ids, mask = padded(model, length, "left")
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    takes_positions = "position_ids" in inspect.signature(model.forward).parameters
    result = model(input_ids=ids, attention_mask=mask, **({"position_ids": positions} if takes_positions else {}))
    out |= {"left.ids": ids, "left.mask": mask, "left.positions": positions, "left.y": output(result, mask)}
    out |= generated(model, "greedy", lambda: (ids := tokens(1, 10), torch.ones_like(ids)))
    return out | generated(model, "batch", lambda: padded(model, length, "left"))


def fine_tuned(outputs, model, length):
    """As another function of outputs; train.ids and train.labels (4, T), train.losses (6): before each of 5 steps, and after"""
    out = outputs(model, length)
    ids = tokens(4, length + 1)
    causal = "CausalLM" in type(model).__name__
    out |= {"train.ids": ids[:, :-1], "train.labels": ids[:, 1:] if causal else tokens(4, length)}
    trained, losses = copy.deepcopy(model).train(), []
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.01)  # Adam enlarges the rounding of small gradients
    with torch.enable_grad():
        for _ in range(6):
            optimizer.zero_grad()
            scores = trained(input_ids=out["train.ids"]).logits
            loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), out["train.labels"].flatten())
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
    return out | {"train.losses": torch.tensor(losses)}


def generated(model, prefix, prompt):
    """PREFIX.ids (B, P), PREFIX.mask, PREFIX.tokens (B, 12), PREFIX.scores (12, B, V)"""
    for _ in range(20):
        ids, mask = prompt()
        result = model.generate(
            ids,
            attention_mask=mask,
            do_sample=False,
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            eos_token_id=None,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_logits=True,
        )
        scores = torch.stack(result.logits)
        best = scores.topk(2).values
        # rounding must not choose the token
        if (best[..., 0] - best[..., 1]).min() > 1e-3:
            found = {"ids": ids, "mask": mask, "tokens": result.sequences[:, -NEW:], "scores": visible(scores)}
            return {f"{prefix}.{name}": value for name, value in found.items()}
    raise ValueError(f"{prefix}: the best two tokens have the same score in 20 random prompts")


def sequence_to_sequence(model, length):
    """source.ids (3, T), source.mask, target (3, T), encoder.I, decoder.I, y; with generation, greedy"""
    ids, mask = padded(model, length, "right")
    target = torch.cat([torch.zeros(3, 1, dtype=torch.long), tokens(3, length - 1)], 1)
    result = model(input_ids=ids, attention_mask=mask, decoder_input_ids=target, output_hidden_states=True)
    out = {"source.ids": ids, "source.mask": mask, "target": target, "y": output(result)}
    out |= states("encoder", result.encoder_hidden_states, mask) | states("decoder", result.decoder_hidden_states)
    return out | generated(model, "greedy", lambda: padded(model, length, "right"))


def vision(model, length):
    """pixels (2, 3, R, C) of T patches, hidden.I, y"""
    rows = max(rows for rows in range(1, math.isqrt(length) + 1) if length % rows == 0)
    patch = model.config.patch_size
    pixels = normal(2, 3, rows * patch, length // rows * patch)
    result = model(pixel_values=pixels, output_hidden_states=True)
    return {"pixels": pixels, "y": output(result)} | states("hidden", result.hidden_states)


def large(model, length):
    """Pictures of twice the size that the model is configured for."""
    return vision(model, 4 * length)


def vision_of_timm(model, length):
    pixels, hidden = normal(2, 3, 16, 16), []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda module, arguments: hidden.append(arguments[0].clone()))
    return {"pixels": pixels, "y": visible(model.forward_features(pixels))} | states("hidden", hidden)


def axes(model, length):
    """As decoder; axes (3, 2, T), the positions of a picture of 3 x 4 patches among text, and of text, and axes.y"""
    out = decoder(model, length)
    text, picture = torch.arange(length), torch.arange(12)
    places = 0 * picture, picture // 4, picture % 4
    first = torch.stack([torch.cat([text[:4], 4 + place, text[8 : length - 8]]) for place in places])
    out["axes"] = torch.stack([first, text.expand(3, length)], 1)
    out["axes.y"] = output(model(input_ids=out["ids"], position_ids=out["axes"]))
    return out


def attentions(model, length):
    """x.I and y.I (B, T, D), input and output of the attention of layer I; left.* of padding on the left"""

    def run(prefix, mask=None, **inputs):
        def hook(index, module, arguments, keywords, result):
            out[f"{prefix}x.{index}"] = visible(keywords["hidden_states"], mask)
            out[f"{prefix}y.{index}"] = visible(result[0], mask)

        hooks = [
            layer.self_attn.register_forward_hook(partial(hook, index), with_kwargs=True)
            for index, layer in enumerate(model.model.layers)
        ]
        model(use_cache=False, attention_mask=mask, **inputs)
        for each in hooks:
            each.remove()

    out = {"ids": tokens(2, length)}
    run("", input_ids=out["ids"])
    ids, mask = padded(model, length, "left")
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    run("left.", mask, input_ids=ids, position_ids=positions)
    return out | {"left.mask": mask, "left.positions": positions}


@dataclasses.dataclass
class Family:
    """Models of a class of transformers, or of timm."""

    name: str
    model: str
    outputs: callable
    arguments: dict
    compared: bool  # the Java test builds it
    table: float  # the size of the numbers of the tokens' table
    gain: float  # by how much a projection enlarges numbers
    lengths: tuple
    bfloat16: bool
    save: dict

    def create(self):
        if self.model.startswith("timm/"):
            import timm

            return timm.create_model(self.model[5:], **self.arguments)
        import transformers

        model_class = getattr(transformers, self.model)
        return model_class(model_class.config_class(**{"attn_implementation": "eager"} | self.arguments))

    def dump(self, folder, length):
        torch.manual_seed(peer.SEED + zlib.crc32(f"{self.name}-{length}".encode()))
        model = self.create().eval()
        randomize(model, self.table, self.gain)
        if self.bfloat16:
            for parameter in model.parameters():
                parameter.copy_(parameter.bfloat16())
        expected = {name: peer.array(value) for name, value in self.outputs(model, length).items()}
        folder.mkdir(parents=True, exist_ok=True)
        save_file(expected, folder / "expected.safetensors")
        if self.model.startswith("timm/"):
            state = {name: peer.array(value) for name, value in model.state_dict().items()}
            save_file(state, folder / "model.safetensors")
            (folder / "config.json").write_text(json.dumps({"architecture": self.model[5:]} | self.arguments))
        else:
            model.to(torch.bfloat16 if self.bfloat16 else torch.float32).save_pretrained(folder, **self.save)


def family(name, model, outputs, base, compared=False, table=1, gain=1.2, lengths=LENGTHS, bfloat16=False, save=None,
           **more):
    FAMILIES.append(Family(name, model, outputs, base | more, compared, table, gain, lengths, bfloat16, save or {}))


FAMILIES = []
LLAMA3 = dict(rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
YARN = dict(rope_type="yarn", rope_theta=1e4, factor=4.0, original_max_position_embeddings=16)
LONG_ROPE = dict(rope_type="longrope", rope_theta=1e4, partial_rotary_factor=0.75, original_max_position_embeddings=64,
                 short_factor=[1.0, 1.1, 1.3, 1.6, 2.0, 2.5], long_factor=[1.5, 2.0, 3.0, 4.0, 5.0, 6.0])
ROPE = dict(rope_type="default", rope_theta=1e4)
IDS = dict(vocab_size=VOCABULARY, pad_token_id=0, bos_token_id=1, eos_token_id=2)

# decoders with names of Llama
SHAPE = dict(hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS)
COMMON = IDS | SHAPE | dict(intermediate_size=HIDDEN, max_position_embeddings=POSITIONS)
GROUPED = COMMON | dict(num_key_value_heads=KEY_HEADS)
UNTIED = GROUPED | dict(tie_word_embeddings=False)
WINDOWS = GROUPED | dict(num_hidden_layers=4, sliding_window=8)
ALTERNATING = WINDOWS | dict(layer_types=["sliding_attention", "full_attention"] * 2)
family("llama", "LlamaForCausalLM", partial(fine_tuned, decoder), UNTIED, rms_norm_eps=1e-5, rope_parameters=LLAMA3, compared=True)
family("llama_bf16", "LlamaForCausalLM", decoder, UNTIED, bfloat16=True, compared=True)
family("llama_sharded", "LlamaForCausalLM", decoder, UNTIED, save=dict(max_shard_size="100KB"), compared=True)
family("mistral", "MistralForCausalLM", decoder, UNTIED, sliding_window=8, compared=True)
family("qwen2", "Qwen2ForCausalLM", decoder, GROUPED, tie_word_embeddings=True, table=0.25, compared=True)
family("qwen2_layers", "Qwen2ForCausalLM", decoder, UNTIED, use_sliding_window=True, sliding_window=8,
       max_window_layers=1, rope_parameters=YARN, compared=True)
family("qwen3", "Qwen3ForCausalLM", decoder, UNTIED, head_dim=24, compared=True)
family("qwen3_5", "Qwen3_5ForCausalLM", decoder, UNTIED, head_dim=32, layer_types=["full_attention"] * LAYERS,
       rope_parameters=ROPE | dict(partial_rotary_factor=0.25, mrope_section=[2, 1, 1], mrope_interleaved=True), compared=True)
family("gemma", "GemmaForCausalLM", decoder, GROUPED, head_dim=24, table=0.03, compared=True)
family("gemma2", "Gemma2ForCausalLM", decoder, WINDOWS, head_dim=24, query_pre_attn_scalar=20, table=0.03,
       attn_logit_softcapping=5.0, final_logit_softcapping=4.0, compared=True)
family("gemma3", "Gemma3ForCausalLM", decoder, ALTERNATING, head_dim=24, query_pre_attn_scalar=20, table=0.03,
       rope_parameters=dict(full_attention=ROPE | dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                            sliding_attention=ROPE), compared=True)
family("phi", "PhiForCausalLM", decoder, COMMON, compared=True)
family("phi3", "Phi3ForCausalLM", decoder, UNTIED, sliding_window=8, compared=True)
family("phi3_longrope", "Phi3ForCausalLM", forward, UNTIED, partial_rotary_factor=0.75,
       original_max_position_embeddings=64, rope_parameters=LONG_ROPE)
family("olmo", "OlmoForCausalLM", decoder, GROUPED, compared=True)
family("olmo_clip", "OlmoForCausalLM", decoder, GROUPED, clip_qkv=0.8, compared=True)
family("olmo2", "Olmo2ForCausalLM", decoder, UNTIED, compared=True)
family("olmo3", "Olmo3ForCausalLM", decoder, ALTERNATING,
       rope_parameters=dict(full_attention=YARN | dict(attention_factor=1.1), sliding_attention=ROPE), compared=True)
family("cohere", "CohereForCausalLM", decoder, GROUPED, logit_scale=0.25, table=0.25, compared=True)
family("cohere_norm", "CohereForCausalLM", decoder, GROUPED, logit_scale=0.25, use_qk_norm=True, table=0.25)
family("cohere2", "Cohere2ForCausalLM", decoder, ALTERNATING, logit_scale=0.25, head_dim=16, table=0.3, compared=True)
family("smollm3", "SmolLM3ForCausalLM", decoder, GROUPED, num_hidden_layers=4, no_rope_layer_interval=2, table=0.25,
       compared=True)
family("granite", "GraniteForCausalLM", decoder, GROUPED, tie_word_embeddings=True, embedding_multiplier=3.0,
       logits_scaling=2.0, residual_multiplier=0.4, attention_multiplier=0.1, table=0.08, compared=True)
family("stablelm", "StableLmForCausalLM", decoder, GROUPED, use_qkv_bias=True, compared=True)
family("glm4", "Glm4ForCausalLM", decoder, GROUPED, head_dim=16, compared=True)
family("starcoder2", "Starcoder2ForCausalLM", decoder, GROUPED, sliding_window=8, table=0.25, compared=True)
family("nemotron", "NemotronForCausalLM", decoder, GROUPED, compared=True)
family("qwen2_vl", "Qwen2VLForConditionalGeneration", axes, {}, compared=True,
       text_config=GROUPED | dict(rope_parameters=ROPE | dict(mrope_section=[2, 3, 3])),
       vision_config=dict(depth=1, embed_dim=32, hidden_size=SIZE, num_heads=2, mlp_ratio=2, patch_size=4),
       image_token_id=100, video_token_id=101, vision_start_token_id=102, vision_end_token_id=103)

# their attentions only
TWO = GROUPED | dict(num_hidden_layers=2, head_dim=16)
FULL = TWO | dict(layer_types=["full_attention"] * 2)
family("gpt_oss", "GptOssForCausalLM", attentions, TWO, sliding_window=8, num_local_experts=2, num_experts_per_tok=1,
       rope_parameters=YARN | dict(factor=8.0, beta_fast=32.0, beta_slow=1.0, truncate=False))
family("llama4", "Llama4ForCausalLM", attentions, TWO, intermediate_size_mlp=HIDDEN, moe_layers=[], num_local_experts=2,
       attention_chunk_size=8, no_rope_layers=[1, 0], floor_scale=8, attn_scale=0.5)
family("qwen3_next", "Qwen3NextForCausalLM", attentions, FULL, mlp_only_layers=[0, 1], num_experts=0)

# other decoders
GPT2 = IDS | dict(n_embd=SIZE, n_layer=LAYERS, n_head=HEADS, n_inner=HIDDEN, n_positions=POSITIONS)
BLOOM = IDS | dict(n_layer=LAYERS, hidden_dropout=0.0, attention_dropout=0.0)
MPT = IDS | dict(n_layers=LAYERS, max_seq_len=POSITIONS)
FALCON = IDS | SHAPE | dict(ffn_hidden_size=HIDDEN, max_position_embeddings=POSITIONS)
family("opt", "OPTForCausalLM", decoder, IDS | SHAPE | dict(pad_token_id=1, bos_token_id=2), ffn_dim=HIDDEN,
       word_embed_proj_dim=SIZE, max_position_embeddings=POSITIONS, dropout=0.0, table=0.25, compared=True)
family("gpt2", "GPT2LMHeadModel", decoder, GPT2, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, table=0.1,
       compared=True)
family("gptj", "GPTJForCausalLM", decoder, GPT2, rotary_dim=8, compared=True)
family("gpt_neox", "GPTNeoXForCausalLM", decoder, COMMON, rope_parameters=ROPE | dict(partial_rotary_factor=0.25),
       compared=True)
family("bloom", "BloomForCausalLM", decoder, BLOOM, hidden_size=SIZE, n_head=HEADS, table=0.25, gain=2, compared=True)
family("bloom_6", "BloomForCausalLM", decoder, BLOOM, hidden_size=96, n_head=6, table=0.25, gain=2, compared=True)
family("mpt", "MptForCausalLM", decoder, MPT, d_model=SIZE, n_heads=HEADS, table=0.25, compared=True)
family("mpt_6", "MptForCausalLM", decoder, MPT, d_model=96, n_heads=6, table=0.25,
       attn_config=dict(alibi=True, alibi_bias_max=8, softmax_scale=0.2), compared=True)
family("falcon", "FalconForCausalLM", decoder, FALCON, table=0.1, compared=True)
family("falcon_new", "FalconForCausalLM", decoder, FALCON, new_decoder_architecture=True, num_kv_heads=2, table=0.1,
       compared=True)
family("falcon_rw", "FalconForCausalLM", decoder, FALCON, alibi=True, multi_query=False, parallel_attn=False, bias=True,
       table=0.1, attn_implementation="sdpa", compared=True)  # eager adds the biases twice

# encoders
UNDROPPED = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
ENCODER = COMMON | UNDROPPED
ROBERTA = ENCODER | dict(pad_token_id=1, bos_token_id=0, max_position_embeddings=POSITIONS + 2)
family("bert", "BertForMaskedLM", partial(fine_tuned, partial(encoder, types=2)), ENCODER, compared=True)
family("roberta", "RobertaForMaskedLM", encoder, ROBERTA, type_vocab_size=1, compared=True)
family("xlm_roberta", "XLMRobertaForMaskedLM", encoder, ROBERTA, type_vocab_size=1, compared=True)
family("mpnet", "MPNetForMaskedLM", encoder, ROBERTA, compared=True)
family("distilbert", "DistilBertForMaskedLM", encoder, IDS, dim=SIZE, n_layers=LAYERS, n_heads=HEADS, hidden_dim=HIDDEN,
       max_position_embeddings=POSITIONS, dropout=0.0, attention_dropout=0.0, compared=True)
family("modernbert", "ModernBertForMaskedLM", encoder, COMMON | dict(num_hidden_layers=4), local_attention=8,
       cls_token_id=1, sep_token_id=2, compared=True)
family("nomic_bert", "NomicBertForMaskedLM", partial(encoder, types=2), ENCODER, compared=True)
family("deberta_v2", "DebertaV2ForMaskedLM", encoder, ENCODER, compared=True, relative_attention=True, pos_att_type=["p2c", "c2p"],
       position_buckets=8, max_relative_positions=-1, share_att_key=True, norm_rel_ebd="layer_norm",
       position_biased_input=False, type_vocab_size=0)
family("deberta_biased", "DebertaV2ForMaskedLM", partial(encoder, types=2), ENCODER, compared=True, relative_attention=True,
       pos_att_type=["p2c", "c2p"],
       position_buckets=-1, max_relative_positions=32, share_att_key=False, norm_rel_ebd="none",
       position_biased_input=True, type_vocab_size=2)
family("deberta_one_term", "DebertaV2ForMaskedLM", encoder, ENCODER, compared=True, relative_attention=True, pos_att_type=["c2p"],
       position_buckets=8, max_relative_positions=-1, share_att_key=False, norm_rel_ebd="none",
       position_biased_input=False, type_vocab_size=0)
NARROW = ENCODER | dict(embedding_size=32)
ONE_GROUP = NARROW | dict(num_hidden_groups=1, inner_group_num=1)
family("albert", "AlbertModel", partial(encoder, types=2), ONE_GROUP, compared=True)
family("albert_masked", "AlbertForMaskedLM", partial(encoder, types=2), ONE_GROUP, compared=True)
family("electra", "ElectraModel", partial(encoder, types=2), NARROW, compared=True)
family("electra_masked", "ElectraForMaskedLM", partial(encoder, types=2), NARROW, compared=True)

# encoders with a decoder
T5 = dict(vocab_size=VOCABULARY, d_model=SIZE, d_kv=20, d_ff=HIDDEN, num_layers=LAYERS, num_decoder_layers=2,
          num_heads=HEADS, relative_attention_num_buckets=16, relative_attention_max_distance=20, dropout_rate=0.0,
          decoder_start_token_id=0)
for name, kind in ("t5", "relu"), ("t5_gated", "gated-gelu"):
    family(name, "T5ForConditionalGeneration", sequence_to_sequence, T5, feed_forward_proj=kind,
           tie_word_embeddings=kind == "relu", table=0.25, gain=0.8, compared=True)

# pictures
VISION = SHAPE | dict(image_size=16, patch_size=4)
SWIN = dict(image_size=32, patch_size=2, embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=4, mlp_ratio=2.0,
            drop_path_rate=0.0)
TIMM = dict(img_size=16, patch_size=4, embed_dim=SIZE, depth=LAYERS, num_heads=HEADS, num_classes=0)
CLASSES = dict(num_labels=5)
for length, sides in (24, [16, 24]), (300, [60, 80]):  # the table of positions has a row for each patch
    sized = VISION | UNDROPPED | dict(intermediate_size=HIDDEN, image_size=sides)
    family("vit", "ViTModel", vision, sized, lengths=(length,), compared=True)
    family("vit_classifier", "ViTForImageClassification", vision, sized | CLASSES, lengths=(length,), compared=True)
DINO3 = VISION | dict(intermediate_size=HIDDEN, num_register_tokens=2)
family("dinov2", "Dinov2Model", vision, VISION, mlp_ratio=2, compared=True)
family("dinov2_registers", "Dinov2WithRegistersModel", vision, VISION, mlp_ratio=2, num_register_tokens=3, compared=True)
family("dinov3", "DINOv3ViTModel", vision, DINO3, use_gated_mlp=True, hidden_act="silu", compared=True)
family("dinov3_ungated", "DINOv3ViTModel", vision, DINO3, compared=True)
family("beit", "BeitModel", vision, VISION | UNDROPPED, intermediate_size=HIDDEN, use_relative_position_bias=True,
       use_absolute_position_embeddings=False, drop_path_rate=0.0, lengths=(16,), compared=True)
family("swinv2", "Swinv2Model", vision, SWIN, lengths=(256,), compared=True)
family("swinv2_trained", "Swinv2Model", vision, SWIN, pretrained_window_sizes=[3, 2], lengths=(256,), compared=True)
family("swinv2_large", "Swinv2Model", large, SWIN | dict(window_size=8), lengths=(256,), compared=True)
family("swinv2_classifier", "Swinv2ForImageClassification", vision, SWIN | CLASSES | dict(window_size=8), lengths=(256,),
       compared=True)  # one window in the second stage
family("timm_eva02", "timm/eva02_tiny_patch14_224", vision_of_timm, TIMM, ref_feat_shape=(4, 4), mlp_ratio=1.5,
       lengths=(16,))
family("timm_rope_mixed", "timm/vit_small_patch16_rope_mixed_224", vision_of_timm, TIMM, lengths=(16,))


class Models:
    """The part of dump.py: the families that the Java test compares, or others that --kind names."""

    def dump(self, folder, pattern):
        import transformers

        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        families = [each for each in FAMILIES if (pattern.search(each.name) if pattern.pattern else each.compared)]
        failed, count = [], 0
        for family in families:
            for length in family.lengths:
                name = f"{family.name}-{length}"
                try:
                    family.dump(folder / "models" / name, length)
                    count += 1
                except Exception:  # the others are compared all the same, and the run fails
                    print(f"models: {name}, {family.model}:\n{traceback.format_exc(limit=-3)}", flush=True)
                    failed.append(name)
        print(f"models: {count} models, {len(failed)} failed", flush=True)
        return failed


part = Models()
