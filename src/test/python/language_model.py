"""The model of PyTorch's tutorial on language modeling, for batches (B, T): saves its weights and prints its scores."""

import math

import torch
from safetensors.torch import save_file
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):  # (B, T, D)
        return x + self.pe[:, :x.size(1)]


class LanguageModel(nn.Module):
    def __init__(self, ntoken=11, d_model=8, nhead=2, d_hid=16, nlayers=2):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(ntoken, d_model)
        self.pos_encoder = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, d_hid, dropout=0, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, nlayers)
        self.linear = nn.Linear(d_model, ntoken)

    def forward(self, src, src_mask, padding):
        src = self.pos_encoder(self.embedding(src) * math.sqrt(self.d_model))
        return self.linear(self.transformer_encoder(src, src_mask, padding))


if __name__ == "__main__":
    model = LanguageModel().eval()  # train it before, or load its weights
    save_file(model.state_dict(), "model.safetensors")
    ids = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 0, 0]])
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)  # true hides a key
    with torch.no_grad():
        print(model(ids, causal, ids == 0))  # (2, 5, 11)
