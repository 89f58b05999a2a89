# Attentions in one method each, without checks and options. x (B, T, D), N heads of size H.
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
        return torch.linear(x, weight, bias).reshape([x.size(0), x.size(1), count, -1]).transpose(1, 2)

    # A decoder's step: the attention of a token to those before it. The last token of keys and values (1, N, n, H) is replaced by that of x (1, 1, D). rows (1, 1, 1, H) rotate it, if any.
    def step(self, x, wq, bq, wk, bk, wv, bv, wo, bo, keys, values, rows):
        count, last = keys.size(1), keys.size(2) - 1
        q, k = self.heads(x, wq, bq, count), self.heads(x, wk, bk, count)
        if rows.numel() != 0:
            q, k = self.rotate(q, rows), self.rotate(k, rows)
        keys[:, :, last:] = k
        values[:, :, last:] = self.heads(x, wv, bv, count)
        weights = (q * float(q.size(3)) ** -0.5).matmul(keys.transpose(2, 3)).softmax(-1)
        return torch.linear(weights.matmul(values).reshape([x.size(0), 1, -1]), wo, bo)

    # From scores by distance, (B, N, T, W), to scores by key, (B, N, T, F).
    def toKeys(self, x, count: int):
        b, n, t, w = x.shape
        return x.as_strided([b, n, t, count], [n * t * w, t * w, w - 1, 1], t - 1)

    # Shaw's encoding: vectors of distances for keys and values, (2k + 1, H).
    def shaw(self, x, wq, bq, wk, bk, wv, bv, wo, bo, keyVectors, valueVectors):
        b, t, d = x.shape
        n, reach = d // keyVectors.size(1), keyVectors.size(0) // 2
        far = min(reach, t - 1)
        rest = t - 1 - far
        vectors = keyVectors[reach - far:reach + far + 1]
        q = self.heads(x, wq, bq, n) * float(d // n) ** -0.5
        k, v = self.heads(x, wk, bk, n), self.heads(x, wv, bv, n)
        near = q.matmul(vectors.transpose(0, 1))
        ends = [b, n, t, rest]
        all = torch.cat([near[..., :1].expand(ends), near, near[..., -1:].expand(ends)], -1)
        weights = (q.matmul(k.transpose(2, 3)) + self.toKeys(all, t)).softmax(-1)
        w, h = 2 * t - 1, (t + 1) * (2 * t - 1)
        all = torch.constant_pad_nd(weights, [t - 1, 0, 0, 1]).as_strided([b, n, t, w], [n * h, h, w + 1, 1], 0)
        sums = [all[..., :rest + 1].sum([3], True), all[..., rest + 1:w - rest - 1], all[..., w - rest - 1:].sum([3], True)]
        y = weights.matmul(v) + torch.cat(sums, -1).matmul(valueVectors[reach - far:reach + far + 1])
        return torch.linear(y.transpose(1, 2).reshape([b, t, d]), wo, bo)

    # W P + b for the distances from the last query to the first, (1, N, H, W).
    def columns(self, vectors, weight, bias, rows, count: int):
        return self.heads(vectors.unsqueeze(0), weight, bias, count)[:, :, rows].transpose(2, 3)

    # DeBERTa's encoding: 2k vectors of distances, of which a key's row is rows[query - key + T - 1], and their projections.
    def deberta(self, x, wq, bq, wk, bk, wv, bv, wo, bo, vectors, keyWeight, keyBias, queryWeight, queryBias, rows, heads):
        b, t, d = x.shape
        n = heads.size(0)
        q = self.heads(x, wq, bq, n) * (3. * float(d // n)) ** -0.5
        k, v = self.heads(x, wk, bk, n), self.heads(x, wv, bv, n)
        scores = q.matmul(k.transpose(2, 3))
        byQuery = q.matmul(self.columns(vectors, keyWeight, keyBias, rows.flip([0]), n))
        columns = self.columns(vectors, queryWeight, queryBias, rows, n) * (3. * float(d // n)) ** -0.5
        scores = scores + self.toKeys(byQuery, t) + self.toKeys(k.matmul(columns), t).transpose(2, 3)
        y = scores.softmax(-1).matmul(v)
        return torch.linear(y.transpose(1, 2).reshape([b, t, d]), wo, bo)
