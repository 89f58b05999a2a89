# Functions of PyTorch that DJL lacks, or that are faster than DJL's. TorchFunctions.java calls them as TorchScript.
#
# Shapes: B batch, N heads, K key heads, each of which is shared by N / K heads, T queries, F keys, H head size, V head size of values.
# An array "sizes" has no elements: its sizes are whole numbers, which need not be read from a GPU. An empty array stands
# for None. Data types are PyTorch's numbers: 5 FLOAT16, 6 FLOAT32, 7 FLOAT64, 15 BFLOAT16.
class M(Module):
    __parameters__ = []
    __buffers__ = []
    training : bool

    # x in the data type sizes[0]. Gradients pass, unlike DJL's toType.
    def toType(self, x, sizes):
        return x.to(sizes.size(0))

    # FLOAT16 as FLOAT32, which sums and products are computed in.
    def wide(self, x):
        return x.to(6) if x.dtype == 5 else x

    # The rows of a table (n, D) at indices: (…, D). A row is NaN, without a gradient, where an index is out of range,
    # which would end CUDA for the process. Nothing waits for the device.
    def lookUp(self, table, indices):
        outside = (indices < 0).logical_or(indices >= table.size(0))
        rows = torch.embedding(table, indices.masked_fill(outside, 0))
        return rows.masked_fill(outside.unsqueeze(-1), float("nan"))

    # Like lookUp, for indices of either sign: the row of -i is the row of i times signs (1, D).
    def lookUpSigned(self, table, signs, indices):
        rows = self.lookUp(table, indices.abs())
        return torch.where((indices < 0).unsqueeze(-1), rows * signs, rows)

    # How many of n ascending numbers are below each number of x.
    def countBelow(self, x, ascending):
        return torch.bucketize(x, ascending, out_int32=True)

    # x · sigmoid(x), in one pass.
    def silu(self, x):
        return torch.silu(x)

    # x / 2 · (1 + tanh(√(2 / π) · (x + 0.044715 x³))), in one pass.
    def geluTanh(self, x):
        return torch.gelu(x, approximate="tanh")

    # W₂ · relu(W₁ x + b₁) + b₂, (O, n), of x (I, n), without gradients. Parts of 1 MB of hidden units stay in caches. For one
    # input, the units that are not negative for any x are together one linear function, and those that are not positive for
    # any are 0.
    def perceptron(self, x, weight1, bias1, weight2, bias2):
        b1 = bias1.unsqueeze(1)
        b2 = x.new_zeros([weight2.size(0), 1]) if bias2.numel() == 0 else bias2.unsqueeze(1)
        slope = x.new_zeros([weight2.size(0), x.size(0)])
        if x.size(0) == 1:
            ends = weight1 * torch.stack([x.amin(), x.amax()]) + b1
            isLinear = (ends >= 0).all(1)
            w = weight2.masked_fill(isLinear.logical_not(), 0)
            slope = w.matmul(weight1)
            b2 = b2 + w.matmul(b1)
            # also units with NaN, which no comparison holds for
            others = isLinear.logical_or((ends <= 0).all(1)).logical_not().nonzero().squeeze(1)
            weight1, b1, weight2 = weight1[others], b1[others], weight2[:, others]
        y = x.new_empty([weight2.size(0), x.size(1)])
        step = 262144 // (weight1.size(0) + 1) + 1
        for a in range(0, x.size(1), step):
            part = x[:, a:a + step]
            units = torch.addmm(b1, weight1, part).relu_()
            y[:, a:a + step] = torch.addmm(torch.addmm(b2, slope, part), weight2, units)
        return y

    # W₃ · f(W₂ · f(W₁ x + b₁) + b₂) + b₃ with f(x) = x · sigmoid(x), (O, n), of x (I, n), without gradients, in parts of 0.5 MB
    # of hidden units.
    def siluPerceptron(self, x, weight1, bias1, weight2, bias2, weight3, bias3):
        b1, b2, b3 = bias1.unsqueeze(1), bias2.unsqueeze(1), bias3.unsqueeze(1)
        y = x.new_empty([weight3.size(0), x.size(1)])
        step = 131072 // weight1.size(0) + 1
        for a in range(0, x.size(1), step):
            units = torch.silu_(torch.addmm(b1, weight1, x[:, a:a + step]))
            units = torch.silu_(torch.addmm(b2, weight2, units))
            y[:, a:a + step] = torch.addmm(b3, weight3, units)
        return y

    # The fused attention: softmax(q kᵀ / √H + mask) v, (B, N, T, V), without an array of all scores, after Dao et al.,
    # FlashAttention (2022). q (B, N, T, H), k (B, K, F, H), v (B, K, F, V), mask (1 or B, 1 or N, 1 or T, F). It computes in the
    # data type sizes[0], with sizes[1] more keys, which are hidden; sizes[2] is 1 if query i sees the keys 0 … i only.
    # Heads that share a key head see a view of it, which takes no memory. PyTorch's kernels need V = H: the narrower ones of
    # queries and keys, and of values, get zeros.
    def fused(self, q, k, v, mask: Optional[Tensor], sizes):
        type = sizes.size(0)
        padding = sizes.size(1)
        causal = sizes.size(2) != 0
        size = q.shape
        result = q.dtype
        q, k, v = q.to(type), k.to(type), v.to(type)
        if padding != 0:
            if not causal:
                seen = torch.zeros([1, 1, 1, k.size(2)], dtype=type) if mask is None else mask
                seen = seen.expand([-1, -1, -1, k.size(2)])
                mask = torch.constant_pad_nd(seen, [0, padding], float("-inf"))
            k = torch.constant_pad_nd(k, [0, 0, 0, padding])
            v = torch.constant_pad_nd(v, [0, 0, 0, padding])
        if q.size(1) != k.size(1):
            group = q.size(1) // k.size(1)
            q = q.reshape([-1, group, q.size(2), q.size(3)])
            k = k.reshape([-1, 1, k.size(2), k.size(3)]).expand([-1, group, -1, -1])
            v = v.reshape([-1, 1, v.size(2), v.size(3)]).expand([-1, group, -1, -1])
        wider = v.size(3) - q.size(3)
        if wider == 0:
            y = torch.scaled_dot_product_attention(q, k, v, mask, 0., causal)
            return y.reshape(size).to(result)
        scale = float(q.size(3)) ** -0.5
        width = v.size(3)
        if wider > 0:
            q, k = torch.constant_pad_nd(q, [0, wider]), torch.constant_pad_nd(k, [0, wider])
        else:
            v = torch.constant_pad_nd(v, [0, -wider])
        y = torch.scaled_dot_product_attention(q, k, v, mask, 0., causal, scale=scale)
        return y.narrow(3, 0, width).reshape([size[0], size[1], size[2], width]).to(result)

    # The fused attention without a mask.
    def unmasked(self, q, k, v, sizes):
        return self.fused(q, k, v, None, sizes)

    # A mask in another data type. Finite numbers beyond the range of FLOAT16 become its largest ones: they hide no key.
    def narrow(self, mask, type: int):
        if type == 5:
            mask = torch.where(mask.isinf(), mask, mask.clamp(-65504., 65504.))
        return mask.to(type)

    # The fused attention with a mask. In another data type, the largest number of each row is subtracted, which changes
    # no weight: a key whose number is smaller by 65504 has weight 0 before and after. The kernel needs a contiguous last axis.
    def masked(self, q, k, v, mask, sizes):
        if mask.dtype != sizes.size(0):
            top = mask.amax([-1], True)
            mask = self.narrow(mask - top.masked_fill(top.isinf(), 0), sizes.size(0))
        if q.size(1) != k.size(1) and mask.size(0) != 1:
            mask = mask.repeat_interleave(k.size(1), 0)
        return self.fused(q, k, v, mask.contiguous(), sizes)

    # Like masked, with a mask that may hide all keys of a query. The result of such a query is 0, and so are its gradients,
    # which would be NaN.
    def hidden(self, q, k, v, mask, sizes):
        withoutKey = mask.amax([-1], True) <= -3.4028234663852886e+38
        if q.requires_grad or k.requires_grad or v.requires_grad or mask.requires_grad:
            mask = mask.masked_fill(withoutKey, 0)
        return self.masked(q, k, v, mask, sizes).masked_fill(withoutKey, 0)

    # The fused attention with numbers by distance, lines (1 or N, T + F - 1). Its mask is a view in which row i begins
    # at column i of a line, for the queries in reverse order: it takes no memory for each query and key.
    def distances(self, q, k, v, lines, sizes):
        lines = self.narrow(lines, sizes.size(0)).contiguous()
        mask = lines.as_strided([1, lines.size(0), q.size(2), k.size(2)], [0, lines.size(1), 1, 1])
        return self.fused(q.flip([2]), k, v, mask, sizes).flip([2])

    # Lines of a self-attention with a lower limit for each head, which changes no result. Without it, many weights of a
    # long sequence with ALiBi are denormal in the backward pass, with which an Intel processor takes 20 to 120 times as
    # long. A score is at most |q| |k| / √H. With it for the longest k, the score s of a query's own key, and the biases b
    # of that key and c of another, the other's weight is at most exp(|q| |k| / √H - s + c - b): exp(-40) at the limit.
    def limited(self, q, k, lines):
        q, k = q.detach(), k.detach()
        longest = (k * k).sum([3]).amax([2], True)
        excess = ((q * q).sum([3]) * longest).sqrt() - (q * k).sum([3])
        zero = q.size(2) - 1
        lowest = lines[:, zero:zero + 1] - (excess * float(q.size(3)) ** -0.5).amax([0, 2]).unsqueeze(1)
        return lines.maximum(lowest - 40)

    # The relative shift: x (B, N, T, W) by relative position to (B, N, T, sizes[0]) by key, a view in which row i begins
    # i columns further left. Its gradient is written once; the gradient of each slice would fill a whole array.
    def toKeys(self, x, sizes):
        x = x.contiguous()
        b, n, t, w = x.shape
        return x.as_strided([b, n, t, sizes.size(0)], [n * t * w, t * w, w - 1, 1], x.storage_offset() + t - 1)

    # toKeys of the products of queries (B, N, T, H) and columns (1, N, H, W). On a CPU for some queries at a time, which need few
    # columns more than keys; all queries together would need twice as many, in fresh memory. In a causal call, where most
    # keys after a query have no column, those after all queries of a part are 0.
    def productsByKey(self, queries, columns, sizes):
        t, f = queries.size(2), sizes.size(0)
        block = t if queries.is_cuda else 128
        parts: List[Tensor] = []
        for first in range(0, t, block):
            count = min(block, t - first)
            start = t - first - count
            w = min(columns.size(3) - start, f + count - 1)
            keys = min(w, f)
            x = queries.narrow(2, first, count) @ columns.narrow(3, start, w)
            b, n = x.size(0), x.size(1)
            byKey = x.as_strided([b, n, count, keys], [n * count * w, count * w, w - 1, 1], count - 1)
            parts.append(byKey if keys == f else torch.constant_pad_nd(byKey, [0, f - keys]))
        return parts[0] if len(parts) == 1 else torch.cat(parts, 2)

    # The reverse: (B, N, T, F) by key to (B, N, T, F + T - 1) by relative position, 0 where there is no key.
    def toPositions(self, x):
        b, n, t, f = x.shape
        w = f + t - 1
        h = (t + 1) * w
        padded = torch.constant_pad_nd(x, [t - 1, 0, 0, 1])
        return padded.as_strided([b, n, t, w], [n * h, h, w + 1, 1], 0)

    # Pairs of neighbors as complex numbers, which are at even addresses: others are copied.
    def complex(self, x):
        pairs = x.unflatten(-1, [-1, 2])
        odd = pairs.storage_offset() % 2
        for axis in range(pairs.dim() - 1):
            odd += pairs.stride(axis) % 2
        isView = odd == 0 and pairs.stride(-1) == 1
        return torch.view_as_complex(pairs if isView else pairs.clone(memory_format=0))

    # The dimensions of x that are not rotated, after those that are.
    def withRest(self, rotated, x):
        r = rotated.size(-1)
        return rotated if r == x.size(-1) else torch.cat([rotated, x[..., r:]], -1)

    # x (…, H) with its first r numbers rotated in pairs of neighbors; rows (…, r) are a cosine and a sine for each pair.
    # Complex numbers of FLOAT16 are experimental in PyTorch: they are FLOAT32, and rounded once.
    def rotateNeighbors(self, x, rows):
        product = self.complex(self.wide(x[..., :rows.size(-1)])) * self.complex(self.wide(rows))
        return self.withRest(torch.view_as_real(product).flatten(-2).to(x.dtype), x)

    # Like rotateNeighbors, in pairs (i, i + r / 2); rows (…, r) are the cosines, then the sines. Operations in place are not fused by
    # PyTorch's compiler: fused ones would round differently from the first calls.
    def rotateHalves(self, x, rows):
        cos, sin = rows.chunk(2, -1)
        part = x[..., :rows.size(-1)]
        first, second = part.chunk(2, -1)
        across = torch.cat([second * sin.neg(), first * sin], -1)
        return self.withRest(across.addcmul_(part, torch.cat([cos, cos], -1)), x)

    # Like rotateHalves, for a large array without gradients, whose halves are written where they belong.
    def rotateManyHalves(self, x, rows):
        if x.requires_grad or rows.requires_grad:
            return self.rotateHalves(x, rows)
        cos, sin = rows.chunk(2, -1)
        part = x[..., :rows.size(-1)]
        first, second = part.chunk(2, -1)
        across = torch.empty_like(part)
        ofSecond, ofFirst = across.chunk(2, -1)
        torch.mul(second, sin.neg(), out=ofSecond)
        torch.mul(first, sin, out=ofFirst)
        return self.withRest(across.addcmul_(part, torch.cat([cos, cos], -1)), x)

    # Like rotateHalves, for pairs (i, i + r / 4) in each half of x; so are the rows.
    def rotateHalvesOfHalves(self, x, rows):
        return self.withRest(self.rotateHalves(self.inHalves(x[..., :rows.size(-1)]), self.inHalves(rows)).flatten(-2), x)

    def rotateManyHalvesOfHalves(self, x, rows):
        return self.withRest(self.rotateManyHalves(self.inHalves(x[..., :rows.size(-1)]), self.inHalves(rows)).flatten(-2), x)

    # x (…, H) with its first r numbers times rows (…, 2r), the cosines and then the sines of each number, where the sines are
    # multiplied by the other number of a pair. The numbers of a pair are sizes[0] apart.
    def rotateByDimension(self, x, rows, sizes):
        cos, sin = rows.chunk(2, -1)
        part = x[..., :cos.size(-1)]
        first, second = part.unflatten(-1, [-1, 2, sizes.size(0)]).unbind(-2)
        across = torch.stack([second.neg(), first], -2).flatten(-3)
        return self.withRest(torch.addcmul(part * cos, across, sin), x)

    # (…, r) as (…, 2, r / 2).
    def inHalves(self, x):
        return x.unflatten(-1, [2, -1])

    # W x + b, with the bits of DJL's Linear, which a model has before it is loaded: the product is rounded, then the sum. In
    # FLOAT16, only the sum is rounded.
    def linear(self, x, weight, bias):
        if bias.numel() == 0:
            return torch.linear(x, weight)
        return torch.linear(x, weight, bias) if x.dtype == 5 else torch.linear(x, weight).add_(bias)

    # x (…, D) divided by the root of its mean square, times a factor (D); x without a factor. epsilon has the data type of
    # wide(x): with another one, or with a number of Python, each operation takes three times as long, and so does a mean.
    def rmsNorm(self, x, factor, epsilon):
        if factor.numel() == 0:
            return x
        wide = self.wide(x)
        inverse = torch.add(epsilon, (wide * wide).sum([-1], True), alpha=1. / x.size(-1)).rsqrt_()
        return (wide * inverse).to(x.dtype).mul_(factor)

    # A layer normalization of x (…, D), or a root mean square normalization if there is nothing to add.
    def norm(self, x, factor, offset, epsilon):
        if offset.numel() == 0:
            return self.rmsNorm(x, factor, epsilon)
        return torch.layer_norm(x, [x.size(-1)], factor, offset, float(epsilon))

    # The feed-forward part of a layer without gradients: x + W₂ f(W₁ n(x) + b₁) + b₂, or n(x + W₂ f(W₁ x + b₁) + b₂) if
    # sizes[1] is 0. n is a normalization with the numbers of the last three arrays. f is a function by its number, sizes[0],
    # which Nonlinearity.java explains. With a gate G, W₁ x is multiplied by f(G x).
    def feedForward(self, x, w1, b1, wg, bg, w2, b2, factor, offset, epsilon, sizes):
        function, first = sizes.size(0), sizes.size(1) != 0
        y = self.norm(x, factor, offset, epsilon) if first else x
        hidden = self.linear(y, w1, b1)
        a = hidden if wg.numel() == 0 else self.linear(y, wg, bg)
        if function == 0:
            a = a.relu()
        elif function == 1:
            a = torch.gelu(a, approximate="none")
        elif function == 2:
            a = torch.gelu(a, approximate="tanh")
        elif function == 3:
            a = a * a.sigmoid()
        elif function == 4:
            a = a.relu().square()
        else:
            if function == 6:
                a, hidden = a.clamp(max=7.), hidden.clamp(-7., 7.) + 1
            a = a * (a * 1.702).sigmoid()
        y = x + self.linear(a if wg.numel() == 0 else a * hidden, w2, b2)
        return y if first else self.norm(y, factor, offset, epsilon)

    # One query of a self-attention with a cache, without gradients: q (B, N, 1, H) to (B, N, 1, V). The key (B, K, 1, H) and the
    # value (B, K, 1, V) are written to the cached ones, keys (B, K, n, H) and values (B, K, n, V), at the index 64 · blocks[0] + sizes[0]; the
    # first key that the query sees is 64 · blocks[1] + sizes[1]. mask (B, n or fewer) is 0 for visible keys; bias (1 or N, n or
    # more) is added to the scores; the token is the last of both. Queries are multiplied by scale, 1 / √H if None. The queries
    # that share a key head stand in place of the queries of a sequence.
    def step(self, q, key, value, keys, values, mask, bias, scale, sizes, blocks):
        b, n, k, h = q.size(0), q.size(1), key.size(1), q.size(3)
        group = n // k
        at = 64 * blocks.size(0) + sizes.size(0)
        first = 64 * blocks.size(1) + sizes.size(1)
        count = at + 1 - first
        keys.narrow(2, at, 1).copy_(key)
        values.narrow(2, at, 1).copy_(value)
        queries = self.wide(q).reshape([b, k, group, h])
        factor: Optional[float] = None
        if scale.numel() != 0:
            factor = float(scale)
        added: Optional[Tensor] = None
        if bias.numel() != 0:
            ofKeys = bias.narrow(1, bias.size(1) - count, count)
            # a copy, since the fused kernels need aligned and contiguous rows
            added = ofKeys.reshape([1, -1, group if bias.size(0) == n else 1, count]).clone(memory_format=0)
        seenKeys = self.wide(keys.narrow(2, first, count))
        seenValues = self.wide(values.narrow(2, first, count))
        if mask.numel() == 0:
            y = torch.scaled_dot_product_attention(queries, seenKeys, seenValues, added, scale=factor)
            return y.to(q.dtype).reshape([b, n, 1, -1])
        hidden = (mask.narrow(1, mask.size(1) - count, count) != 0).reshape([-1, 1, 1, count])
        shown = torch.zeros([1, 1, 1, 1], dtype=queries.dtype, device=q.device) if added is None else added
        shown = shown.expand([hidden.size(0), -1, -1, count]).masked_fill(hidden, float("-inf"))
        y = torch.scaled_dot_product_attention(queries, seenKeys, seenValues, shown.expand([b, k, group, count]), scale=factor)
        return y.masked_fill(hidden.all(-1, True), 0).to(q.dtype).reshape([b, n, 1, -1])

    # A self-attention for one token with a cache, without gradients: x (B, 1, D) to (B, 1, D). Weights and biases of queries,
    # keys, values and results; factors, offset and epsilon of the norms of queries and of keys; rows of angles, those of the keys
    # empty if they have the same. sizes[2] is N, and sizes[3] is 0 without a rotation, 1 for halves and 2 for neighbors. The others
    # are those of step.
    def attentionStep(self, x, wq, bq, wk, bk, wv, bv, wo, bo, fq, oq, eq, fk, ok, ek, rows, keyRows, keys, values, mask, bias, scale,
                      sizes, blocks):
        b, n, k, h = x.size(0), sizes.size(2), keys.size(1), keys.size(3)
        q = self.linear(x, wq, bq).reshape([b, n, 1, h])
        key = self.linear(x, wk, bk).reshape([b, k, 1, h])
        value = self.linear(x, wv, bv).reshape([b, k, 1, -1])
        if fq.numel() != 0:
            q = self.norm(q, fq, oq, eq)
        if fk.numel() != 0:
            key = self.norm(key, fk, ok, ek)
        if sizes.size(3) != 0:
            angles = rows.unsqueeze(1)
            if keyRows.numel() == 0:
                both = torch.cat([q, key], 1)
                both = self.rotateHalves(both, angles) if sizes.size(3) == 1 else self.rotateNeighbors(both, angles)
                q, key = both.narrow(1, 0, n), both.narrow(1, n, k)
            elif sizes.size(3) == 1:
                q, key = self.rotateHalves(q, angles), self.rotateHalves(key, keyRows.unsqueeze(1))
            else:
                q, key = self.rotateNeighbors(q, angles), self.rotateNeighbors(key, keyRows.unsqueeze(1))
        y = self.step(q, key, value, keys, values, mask, bias, scale, sizes, blocks)
        return self.linear(y.reshape([b, 1, -1]), wo, bo)
