package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.math.PairLayout;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.slf4j.LoggerFactory;

/**
 * Functions of PyTorch that DJL has no call for. DJL runs TorchScript: an archive with the few lines of {@link #CODE},
 * which holds no tensor and is loaded once for each engine.
 *
 * <p>Any number of threads may use them at once. They record gradients where their inputs ask for them.
 */
public final class TorchFunctions {

    /** The first version that gives zeros for a query whose keys all have a mask of -infinity. */
    private static final double LEAST_VERSION = 2.05;

    /**
     * The fused attention is after Dao et al., <em>FlashAttention</em> (2022): softmax(q kᵀ / √H + mask) v without an
     * array of all scores. Query heads that share a key head are a group: a view that repeats the key head for them
     * takes no memory. A mask whose last axis is not contiguous would leave the fast kernel. The mask of
     * {@code distances} is a view in which row i begins at column i of a line of numbers by distance, for the queries
     * in reverse order: it takes no memory for each query and key. {@code toKeys} and {@code toPositions} are views of
     * that kind too; their gradients are written once, where the gradient of each slice would fill a whole array.
     *
     * <p>The kernel computes in a type of its own. In FLOAT16, numbers beyond its range become the greatest ones. A
     * mask of another type is therefore less its greatest number in each row, which changes no weight: a key whose
     * number is less by 65504 has weight 0 before and after. The result of {@code hidden} is 0 for a query whose keys
     * are all hidden, with gradients of 0, which are NaN for a mask of -infinity.
     *
     * <p>{@code grouped} adds keys that no query sees, as many as {@link #hiddenKeys} says.
     *
     * <p>The types of {@code toHalf}, {@code toFloat} and {@code toDouble} are PyTorch's numbers of them.
     * {@code lookUp} compares and replaces on the device, where nothing waits.
     *
     * <p>Neighbors are rotated as complex numbers, which need pairs at even addresses: others are copied. PyTorch's
     * complex numbers of FLOAT16 are experimental, so they are rotated in FLOAT32 and rounded once. Halves are rotated
     * in place where no gradient is recorded, on a CPU in parts of 2 MB that stay in its caches. Operations in place
     * are not fused: fused ones would round otherwise than in the first calls.
     */
    private static final String CODE = """
            class M(Module):
              __parameters__ = []
              __buffers__ = []
              training : bool
              def unmasked(self: __torch__.M, q: Tensor, k: Tensor, v: Tensor, type: Tensor) -> Tensor:
                return (self).grouped(q, k, v, None, type, False)
              def step(self: __torch__.M, q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, bias: Tensor, factor: Tensor, range: Tensor) -> Tensor:
                first = torch.size(range, 0)
                at = torch.size(range, 1)
                _0 = torch.copy_(torch.slice(keys, 2, at, at + 1), k)
                _1 = torch.copy_(torch.slice(values, 2, at, at + 1), v)
                seen = torch.transpose(torch.slice(keys, 2, first, at + 1), 2, 3)
                ofSeen = torch.slice(values, 2, first, at + 1)
                wide = q
                if ops.prim.dtype(q) == 5:
                  wide = torch.to(q, 6)
                  seen = torch.to(seen, 6)
                scaled = wide * float(torch.size(q, 3)) ** -0.5
                if torch.numel(factor) != 0:
                  scaled = wide * factor
                if torch.size(q, 1) != torch.size(k, 1):
                  scaled = torch.reshape(scaled, [torch.size(q, 0), torch.size(k, 1), -1, torch.size(q, 3)])
                scores = torch.matmul(scaled, seen)
                if torch.numel(bias) != 0:
                  biases = torch.unsqueeze(torch.slice(bias, 1, torch.size(bias, 1) - torch.size(seen, 3)), 1)
                  byHead = torch.reshape(scores, [torch.size(q, 0), torch.size(q, 1), 1, -1]) + biases
                  scores = torch.reshape(byHead, torch.size(scores))
                weights = torch.softmax(scores, -1)
                if ops.prim.dtype(q) == 5:
                  weights = torch.to(weights, 5)
                return torch.matmul(weights, ofSeen)
              def project(self: __torch__.M, x: Tensor, weight: Tensor, bias: Tensor, count: int) -> Tensor:
                if torch.numel(bias) == 0:
                  y = torch.linear(x, weight)
                else:
                  y = torch.linear(x, weight, bias)
                if torch.size(x, 1) == 1:
                  return torch.reshape(y, [torch.size(x, 0), count, 1, -1])
                else:
                  return torch.transpose(torch.reshape(y, [torch.size(x, 0), torch.size(x, 1), count, -1]), 1, 2)
              def heads(self: __torch__.M, x: Tensor, wq: Tensor, bq: Tensor, wk: Tensor, bk: Tensor, wv: Tensor, bv: Tensor, counts: Tensor) -> List[Tensor]:
                q = self.project(x, wq, bq, torch.size(counts, 0))
                k = self.project(x, wk, bk, torch.size(counts, 1))
                v = self.project(x, wv, bv, torch.size(counts, 1))
                return [q, k, v]
              def causal(self: __torch__.M, q: Tensor, k: Tensor, v: Tensor, type: Tensor) -> Tensor:
                return (self).grouped(q, k, v, None, type, True)
              def narrow(self: __torch__.M, mask: Tensor, type: int) -> Tensor:
                if torch.eq(type, 5):
                  return torch.to(torch.where(torch.isinf(mask), mask, torch.clamp(mask, -65504., 65504.)), 5)
                else:
                  return torch.to(mask, type)
              def masked(self: __torch__.M, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, type: Tensor) -> Tensor:
                mask0 = mask
                if torch.ne(ops.prim.dtype(mask), torch.size(type, 0)):
                  top = torch.amax(mask, [-1], True)
                  shift = torch.where(torch.isinf(top), torch.zeros_like(top), top)
                  mask0 = (self).narrow(mask - shift, torch.size(type, 0))
                mask0 = torch.contiguous(mask0)
                if torch.ne(torch.size(q, 1), torch.size(k, 1)):
                  if torch.ne(torch.size(mask, 0), 1):
                    mask0 = torch.repeat_interleave(mask0, torch.size(k, 1), 0)
                return (self).grouped(q, k, v, mask0, type, False)
              def hidden(self: __torch__.M, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, type: Tensor) -> Tensor:
                withoutKey = torch.le(torch.amax(mask, [-1], True), -3.4028234663852886e+38)
                mask0 = mask
                recorded = ops.prim.requires_grad(q) or ops.prim.requires_grad(k) or ops.prim.requires_grad(v)
                if recorded or ops.prim.requires_grad(mask):
                  mask0 = torch.masked_fill(mask, withoutKey, 0)
                return torch.masked_fill(self.masked(q, k, v, mask0, type), withoutKey, 0)
              def grouped(self: __torch__.M, given: Tensor, keys: Tensor, values: Tensor, mask: Optional[Tensor], kernel: Tensor, causal: bool) -> Tensor:
                type = torch.size(kernel, 0)
                hidden = torch.size(kernel, 1)
                q = torch.to(given, type)
                k = torch.to(keys, type)
                v = torch.to(values, type)
                if torch.ne(hidden, 0):
                  k = torch.constant_pad_nd(k, [0, 0, 0, hidden])
                  v = torch.constant_pad_nd(v, [0, 0, 0, hidden])
                  if not causal:
                    if torch.__is__(mask, None):
                      visible = torch.zeros([1, 1, 1, torch.size(keys, 2)], dtype=type)
                    else:
                      visible = torch.expand(unchecked_cast(Tensor, mask), [-1, -1, -1, torch.size(keys, 2)])
                    mask = torch.constant_pad_nd(visible, [0, hidden], float("-inf"))
                if torch.eq(torch.size(q, 1), torch.size(k, 1)):
                  y = torch.scaled_dot_product_attention(q, k, v, mask, 0., causal)
                else:
                  n = torch.floordiv(torch.size(q, 1), torch.size(k, 1))
                  size = [torch.size(k, 0) * torch.size(k, 1), 1, torch.size(k, 2), torch.size(k, 3)]
                  q0 = torch.reshape(q, [size[0], n, torch.size(q, 2), torch.size(q, 3)])
                  k0 = torch.expand(torch.reshape(k, size), [-1, n, -1, -1])
                  v0 = torch.expand(torch.reshape(v, size), [-1, n, -1, -1])
                  y = torch.reshape(torch.scaled_dot_product_attention(q0, k0, v0, mask, 0., causal), torch.size(q))
                return torch.to(y, ops.prim.dtype(given))
              def distances(self: __torch__.M, q: Tensor, k: Tensor, v: Tensor, lines: Tensor, type: Tensor) -> Tensor:
                narrow = (self).narrow(lines, torch.size(type, 0))
                size = [1, torch.size(lines, 0), torch.size(q, 2), torch.size(k, 2)]
                mask = torch.as_strided(torch.contiguous(narrow), size, [0, torch.size(lines, 1), 1, 1])
                return torch.flip((self).grouped(torch.flip(q, [2]), k, v, mask, type, False), [2])
              def limited(self: __torch__.M, q: Tensor, k: Tensor, v: Tensor, lines: Tensor) -> Tensor:
                q0 = torch.detach(q)
                k0 = torch.detach(k)
                _0, logs = torch._scaled_dot_product_flash_attention_for_cpu(q0, k0, torch.detach(v), 0., False)
                own = torch.sum(q0 * k0, [3]) / float(torch.size(q, 3)) ** 0.5
                zero = torch.size(q, 2) - 1
                least = torch.slice(lines, 1, zero, zero + 1) - torch.unsqueeze(torch.amax(logs - own, [0, 2]), 1)
                return torch.maximum(lines, least - 40)
              def toKeys(self: __torch__.M, x: Tensor, keys: Tensor) -> Tensor:
                n = torch.size(x, 1)
                t = torch.size(x, 2)
                w = torch.size(x, 3)
                size = [torch.size(x, 0), n, t, torch.size(keys, 0)]
                return torch.as_strided(torch.contiguous(x), size, [n * t * w, t * w, w - 1, 1], t - 1)
              def toPositions(self: __torch__.M, x: Tensor) -> Tensor:
                n = torch.size(x, 1)
                t = torch.size(x, 2)
                w = torch.size(x, 3) + t - 1
                h = (t + 1) * w
                padded = torch.constant_pad_nd(x, [t - 1, 0, 0, 1])
                return torch.as_strided(padded, [torch.size(x, 0), n, t, w], [n * h, h, w + 1, 1], 0)
              def complex(self: __torch__.M, x: Tensor) -> Tensor:
                pairs = torch.unflatten(x, -1, [-1, 2])
                odd = torch.storage_offset(pairs) % 2 + (torch.stride(pairs, -1) - 1) * (torch.stride(pairs, -1) - 1)
                for axis in range(torch.dim(pairs) - 1):
                  odd = odd + torch.stride(pairs, axis) % 2
                if odd != 0:
                  pairs = torch.clone(pairs, memory_format=0)
                return torch.view_as_complex(pairs)
              def rotateNeighbors(self: __torch__.M, x: Tensor, rows: Tensor) -> Tensor:
                type = ops.prim.dtype(x)
                wide = type
                if type == 5:
                  wide = 6
                r = torch.size(rows, -1)
                product = self.complex(torch.to(torch.slice(x, -1, 0, r), wide)) * self.complex(torch.to(rows, wide))
                rotated = torch.to(torch.flatten(torch.view_as_real(product), -2), type)
                if r < torch.size(x, -1):
                  rotated = torch.cat([rotated, torch.slice(x, -1, r)], -1)
                return rotated
              def rotatePart(self: __torch__.M, x: Tensor, c: Tensor, sin: Tensor, out: Tensor) -> Tensor:
                h = torch.size(sin, -1)
                _0 = torch.mul(x, c, out=out)
                _1 = torch.addcmul_(torch.slice(out, -1, 0, h), torch.slice(x, -1, h), sin, value=-1)
                return torch.addcmul_(torch.slice(out, -1, h), torch.slice(x, -1, 0, h), sin)
              def rotateHalves(self: __torch__.M, x: Tensor, rows: Tensor) -> Tensor:
                r = torch.size(rows, -1)
                h = torch.floordiv(r, 2)
                cos = torch.slice(rows, -1, 0, h)
                sin = torch.slice(rows, -1, h)
                c = torch.cat([cos, cos], -1)
                part = torch.slice(x, -1, 0, r)
                if ops.prim.requires_grad(x):
                  s = torch.cat([torch.neg(sin), sin], -1)
                  rotated = torch.addcmul(part * c, torch.roll(part, [h], [-1]), s)
                else:
                  rotated = torch.empty_like(part)
                  axis = -2
                  if torch.size(rows, -2) != torch.size(x, -2):
                    axis = -3
                  length = torch.size(x, axis)
                  count = 1
                  if not ops.prim.is_cuda(x):
                    count = ops.prim.min(torch.floordiv(torch.numel(x), 524288) + 1, length)
                  step = torch.floordiv(length + count - 1, count)
                  for i in range(count):
                    a = i * step
                    b = a + step
                    out = torch.slice(rotated, axis, a, b)
                    _0 = self.rotatePart(torch.slice(part, axis, a, b), torch.slice(c, axis, a, b), torch.slice(sin, axis, a, b), out)
                if r < torch.size(x, -1):
                  rotated = torch.cat([rotated, torch.slice(x, -1, r)], -1)
                return rotated
              def units(self: __torch__.M, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
                return torch.relu_(torch.add_(torch.matmul(weight, x), torch.unsqueeze(bias, 1)))
              def perceptron(self: __torch__.M, x: Tensor, weight1: Tensor, bias1: Tensor, weight2: Tensor, bias2: Tensor) -> Tensor:
                n = torch.size(x, 1)
                recorded = ops.prim.requires_grad(x) or ops.prim.requires_grad(weight1)
                recorded = recorded or ops.prim.requires_grad(bias1) or ops.prim.requires_grad(weight2)
                if torch.is_grad_enabled() and recorded or ops.prim.is_cuda(x):
                  y = torch.matmul(weight2, self.units(x, weight1, bias1))
                else:
                  y = torch.new_empty(x, [torch.size(weight2, 0), n])
                  step = torch.floordiv(262144, torch.size(weight1, 0)) + 1
                  for i in range(torch.floordiv(n + step - 1, step)):
                    a = i * step
                    b = a + step
                    part = torch.matmul(weight2, self.units(torch.slice(x, 1, a, b), weight1, bias1))
                    _0 = torch.copy_(torch.slice(y, 1, a, b), part)
                if torch.numel(bias2) != 0:
                  y = y + torch.unsqueeze(bias2, 1)
                return y
              def geluTanh(self: __torch__.M, x: Tensor) -> Tensor:
                return torch.gelu(x, approximate="tanh")
              def toHalf(self: __torch__.M, x: Tensor) -> Tensor:
                return torch.to(x, 5)
              def toFloat(self: __torch__.M, x: Tensor) -> Tensor:
                return torch.to(x, 6)
              def toDouble(self: __torch__.M, x: Tensor) -> Tensor:
                return torch.to(x, 7)
              def lookUp(self: __torch__.M, table: Tensor, indices: Tensor) -> Tensor:
                inside = torch.logical_and(torch.ge(indices, 0), torch.lt(indices, torch.size(table, 0)))
                rows = torch.embedding(table, torch.where(inside, indices, torch.zeros_like(indices)))
                return torch.masked_fill(rows, torch.logical_not(torch.unsqueeze(inside, -1)), float("nan"))
            """;

    /** The floats of a vector of AVX-512, two of AVX2; the vectors of other processors are too short to matter. */
    private static final int LANES = "amd64".equals(System.getProperty("os.arch")) ? 16 : 1;

    /** With more keys, those that are left over hardly matter. */
    private static final int MOST_KEYS = 256;

    /** A pickled object of the class M whose attribute {@code training} is false, in protocol 2. */
    private static final String OBJECT = "\u0080\u0002c__torch__\nM\n)\u0081}X\b\0\0\0training\u0089sb.";

    /** The name of an array by which DJL calls a method of the archive begins so. */
    private static final String METHOD = "module_method:";

    /** Names of arrays that DJL would pass together, as a dictionary, a tuple or a list. */
    private static final Pattern GROUPED = Pattern.compile("[.(\\[]");

    private static final String EMPTY_TUPLE = "\u0080\u0002).";

    private static final Map<Engine, Optional<TorchFunctions>> BY_ENGINE = new ConcurrentHashMap<>();

    /** Keeps the archive for as long as the engine. */
    private final Model model;

    private final ParameterStore none;

    /** The methods of the archive by name: an array by whose name DJL calls another method than {@code forward}. */
    private final Map<String, NDArray> methods = new HashMap<>();

    /** Arrays without numbers, by the sizes of their first axes. */
    private final Map<Shape, NDArray> bySizes = new ConcurrentHashMap<>();

    private TorchFunctions(Model model) {
        this.model = model;
        // without a manager, it would start DJL's default engine
        none = new ParameterStore(model.getNDManager(), false);
        Pattern.compile("def (\\w+)\\(").matcher(CODE).results().forEach(found -> {
            NDArray array = model.getNDManager().zeros(new Shape(1));
            NDScope.unregister(array);
            array.setName(METHOD + found.group(1));
            methods.put(found.group(1), array);
        });
    }

    /** Returns the functions of an array's engine, or null if it has none. */
    public static TorchFunctions of(NDArray array) {
        return BY_ENGINE
                .computeIfAbsent(array.getManager().getEngine(), TorchFunctions::load)
                .orElse(null);
    }

    private static Optional<TorchFunctions> load(Engine engine) {
        if (!"PyTorch".equals(engine.getEngineName()) || versionOf(engine) < LEAST_VERSION) {
            return Optional.empty();
        }
        Model model = engine.newModel("torchFunctions", Device.cpu());
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            model.load(new ByteArrayInputStream(archive()));
            return Optional.of(new TorchFunctions(model));
        } catch (IOException | MalformedModelException | EngineException | UnsupportedOperationException e) {
            model.close();
            LoggerFactory.getLogger(TorchFunctions.class)
                    .warn(
                            "PyTorch's functions cannot be loaded; attention is slower without them, and no gradient passes a"
                                    + " conversion from or to FLOAT16",
                            e);
            return Optional.empty();
        }
    }

    /** The first two numbers of a version: 2.07 for 2.7.1. */
    private static double versionOf(Engine engine) {
        String[] numbers = engine.getVersion().split("\\D+", 3);
        return Integer.parseInt(numbers[0]) + Integer.parseInt(numbers[1]) / 100.0;
    }

    private static byte[] archive() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            // version 10 is the first with an approximation of GELU
            Map<String, String> entries = Map.of(
                    "version", "10\n", "constants.pkl", EMPTY_TUPLE, "data.pkl", OBJECT, "code/__torch__.py", CODE);
            for (Map.Entry<String, String> entry : entries.entrySet()) {
                zip.putNextEntry(new ZipEntry("attention/" + entry.getKey()));
                zip.write(entry.getValue().getBytes(StandardCharsets.ISO_8859_1));
                zip.closeEntry();
            }
        }
        return bytes.toByteArray();
    }

    /**
     * Returns the results for queries (B, N, T, H), keys and values (B, K, F, H), where K divides N, and a mask that is
     * added to the scores, or null: a new array. The mask is (B or 1, N or 1, T or 1, F), of one head if K is not N.
     *
     * @param mayHideAll whether the mask may hide all keys of a query, whose result is then 0
     * @param type the data type that the kernel computes in; the result has that of the queries
     */
    public NDArray attend(
            NDArray queries, NDArray keys, NDArray values, NDArray mask, boolean mayHideAll, DataType type) {
        NDArray kernel = kernel(type, queries, keys);
        return mask == null
                ? run("unmasked", queries, keys, values, kernel)
                : run(mayHideAll ? "hidden" : "masked", queries, keys, values, mask, kernel);
    }

    /** An array whose sizes are PyTorch's number of a data type, and the number of hidden keys to add. */
    private NDArray kernel(DataType type, NDArray queries, NDArray keys) {
        int number = switch (type) {
            case FLOAT16 -> 5;
            case FLOAT64 -> 7;
            case BFLOAT16 -> 15;
            default -> 6;
        };
        return sizes(number, hiddenKeys(queries, keys.getShape().get(2)));
    }

    /**
     * Returns how many hidden keys to add, so that an attention takes less time. On a CPU, the exponentials of a row
     * are computed 16 at a time and those that are left over one by one, each of which takes as long as 16.
     *
     * @param queries (B, N, T, H), or scores
     * @param keyLength F
     */
    public static int hiddenKeys(NDArray queries, long keyLength) {
        int rest = (int) (keyLength % LANES);
        boolean isWorth = rest > LANES / 2
                && keyLength < MOST_KEYS
                && 2 * queries.getShape().get(2) >= keyLength
                && HostData.isHost(queries.getDevice());
        return isWorth ? LANES - rest : 0;
    }

    /**
     * Writes the key and the value of a token, (B, K, 1, H), into those of a cache, (B, K, n, H), and returns the
     * result of its query, (B, K, N / K, H). Scores are FLOAT32 if the queries are FLOAT16.
     *
     * @param firstKey the index in the cache of the first key that the query sees
     * @param at the index in the cache of the token
     * @param bias what is added to the scores, (1 or N, n or more), the nearest distance last; null for nothing
     * @param scale the factor of the scores, a number; null for 1 / √H
     */
    public NDArray step(
            NDArray query,
            NDArray key,
            NDArray value,
            NDArray keys,
            NDArray values,
            int firstKey,
            int at,
            NDArray bias,
            NDArray scale) {
        try (NDArray range = query.getManager().create(new Shape(firstKey, at, 0))) {
            NDArray none = sizes(0);
            return run(
                    "step",
                    query,
                    key,
                    value,
                    keys,
                    values,
                    bias == null ? none : bias,
                    scale == null ? none : scale,
                    range);
        }
    }

    /**
     * Returns the heads of queries, (B, N, T, H), keys and values, (B, K, T, H), of a self-attention.
     *
     * @param x (B, T, D)
     * @param weightsAndBiases those of the projections to queries, keys and values, (N · H, D) or (K · H, D), each
     *     followed by its bias, or by null
     * @param headCount N
     * @param keyHeadCount K
     */
    public NDList heads(NDArray x, NDArray[] weightsAndBiases, int headCount, int keyHeadCount) {
        NDArray[] arrays = new NDArray[8];
        arrays[0] = x;
        for (int i = 0; i < 6; i++) {
            arrays[1 + i] = weightsAndBiases[i] == null ? sizes(0) : weightsAndBiases[i];
        }
        arrays[7] = sizes(headCount, keyHeadCount);
        return results("heads", arrays);
    }

    /** An array without numbers whose first axes have sizes: how a method gets whole numbers. */
    private NDArray sizes(long... sizes) {
        return bySizes.computeIfAbsent(new Shape(sizes), shape -> {
            NDArray array = model.getNDManager().create(shape.add(0));
            NDScope.unregister(array);
            return array;
        });
    }

    /** Returns the results where query i sees the keys 0 … i. */
    public NDArray attendCausally(NDArray queries, NDArray keys, NDArray values, DataType type) {
        return run("causal", queries, keys, values, kernel(type, queries, keys));
    }

    /**
     * Returns the results where what is added to a score depends on the distance only.
     *
     * @param lines what is added, (N or 1, T + F - 1): column j - i + T - 1 for query i and key j
     */
    public NDArray attendByDistance(NDArray queries, NDArray keys, NDArray values, NDArray lines, DataType type) {
        return run("distances", queries, keys, values, lines, kernel(type, queries, keys));
    }

    /**
     * Returns the lines of a self-attention on a CPU with a lower limit for each head. Without it, many weights of a
     * long sequence with ALiBi's biases are denormal numbers in the backward pass, with which exponentials and products
     * take 20 to 120 times as long. The limit changes no result: with the logarithm L of a query's sum of exponentials
     * without biases, its score s with its own key, and the biases b of its own key and c of another, the other's
     * weight is at most exp(L - s + c - b). This is less than exp(-40) at and below the limit.
     */
    public NDArray limited(NDArray queries, NDArray keys, NDArray values, NDArray lines) {
        return run("limited", queries, keys, values, lines);
    }

    /** Does what the relative shift does: (B, N, T, W) to (B, N, T, F). */
    public NDArray toKeys(NDArray byPosition, int keyLength) {
        try (NDArray keys = byPosition.getManager().create(new Shape(keyLength))) {
            return run("toKeys", byPosition, keys);
        }
    }

    /** Does what the reverse of the relative shift does: (B, N, T, F) to (B, N, T, F + T - 1). */
    public NDArray toPositions(NDArray byKey) {
        return run("toPositions", byKey);
    }

    /**
     * Rotates pairs of dimensions, the first r of the last axis, by given angles: a new array like x.
     *
     * @param x (B, N, T, H) or (B, T, N, H)
     * @param rows the cosine and the sine of each pair's angle in place of the pair, (…, r), which broadcast over x
     * @param layout where the two halves of a pair are
     */
    public NDArray rotate(NDArray x, NDArray rows, PairLayout layout) {
        return run(layout == PairLayout.INTERLEAVED ? "rotateNeighbors" : "rotateHalves", x, rows);
    }

    /**
     * Returns W₂ · relu(W₁ · x + b₁) + b₂, (O, n): a new array. Without gradients, a CPU computes it in parts whose
     * hidden units stay in its caches.
     *
     * @param x n columns of inputs, (I, n)
     * @param weight1 (E, I)
     * @param bias1 (E)
     * @param weight2 (O, E)
     * @param bias2 (O), or null
     */
    public NDArray perceptron(NDArray x, NDArray weight1, NDArray bias1, NDArray weight2, NDArray bias2) {
        return run("perceptron", x, weight1, bias1, weight2, bias2 == null ? sizes(0) : bias2);
    }

    /** Returns x / 2 · (1 + tanh(√(2 / π) · (x + 0.044715 x³))): a new array. */
    public NDArray geluTanh(NDArray x) {
        return run("geluTanh", x);
    }

    /** Converts to FLOAT16, FLOAT32 or FLOAT64: a new array, through which gradients pass. */
    NDArray toType(NDArray array, DataType type) {
        return run(
                switch (type) {
                    case FLOAT16 -> "toHalf";
                    case FLOAT32 -> "toFloat";
                    default -> "toDouble";
                },
                array);
    }

    /**
     * Looks up rows of a table (n, D) by integer indices; a row is NaN, and has no gradient, where the index is out of
     * range. The result has the shape of the indices + (D).
     */
    NDArray lookUp(NDArray table, NDArray indices) {
        return run("lookUp", table, indices);
    }

    private NDArray run(String method, NDArray... arrays) {
        return results(method, arrays).singletonOrThrow();
    }

    private NDList results(String method, NDArray... arrays) {
        NDList inputs = new NDList(arrays);
        try (Temporaries temporaries = new Temporaries()) {
            for (int i = 0; i < arrays.length; i++) {
                String name = arrays[i].getName();
                if (name != null && GROUPED.matcher(name).find()) {
                    inputs.set(i, temporaries.add(arrays[i].reshape(arrays[i].getShape())));
                }
            }
            inputs.add(methods.get(method));
            // not in training, DJL would run it in inference mode, in which no gradient is recorded
            return model.getBlock().forward(none, inputs, true);
        }
    }
}
