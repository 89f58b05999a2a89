# A decoder's step in one method: the attention of a token to those before it, without checks and options.
class M(Module):
    __parameters__ = []
    __buffers__ = []
    training : bool

    # Pairs of halves; rows are the cosines, then the sines.
    def rotate(self, x, rows):
        a, b = x.chunk(2, -1)
        cos, sin = rows.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def heads(self, x, weight, bias, count: int):
        return torch.linear(x, weight, bias).reshape([x.size(0), count, 1, -1])

    # The last token of keys and values (1, N, n, H) is replaced by that of x (1, 1, D). rows (1, 1, 1, H) rotate it, if any.
    def forward(self, x, wq, bq, wk, bk, wv, bv, wo, bo, keys, values, rows):
        count, last = keys.size(1), keys.size(2) - 1
        q, k = self.heads(x, wq, bq, count), self.heads(x, wk, bk, count)
        if rows.numel() != 0:
            q, k = self.rotate(q, rows), self.rotate(k, rows)
        keys[:, :, last:] = k
        values[:, :, last:] = self.heads(x, wv, bv, count)
        weights = (q * float(q.size(3)) ** -0.5).matmul(keys.transpose(2, 3)).softmax(-1)
        return torch.linear(weights.matmul(values).reshape([x.size(0), 1, -1]), wo, bo)
