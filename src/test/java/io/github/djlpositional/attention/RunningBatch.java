package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A cache of several attentions of the same tokens, and the requests in its rows. Each step compares each row with a
 * forward of its own tokens only, without a cache and without padding.
 */
final class RunningBatch implements AutoCloseable {

    /** FLOAT64: 2^-53 of sums of at most 70 products of numbers below 100. */
    private static final double TOLERANCE = 1e-12;

    /** The tokens of a request, (1, T, D), and which are visible, (1, T); both null at first. */
    private record Request(NDArray tokens, NDArray mask) {

        int length() {
            return tokens == null ? 0 : (int) tokens.size(1);
        }

        Request followedBy(NDArray added, NDArray addedMask) {
            return tokens == null
                    ? new Request(added, addedMask)
                    : new Request(tokens.concat(added, 1), mask.concat(addedMask, 1));
        }

        Request first(int length) {
            return new Request(tokens.get(":, :" + length), mask.get(":, :" + length));
        }

        Request without(int from, int to) {
            return new Request(without(tokens, from, to), without(mask, from, to));
        }

        /** MXNet cannot slice nothing. */
        private static NDArray without(NDArray array, int from, int to) {
            if (from == 0 || to == array.size(1)) {
                return array.get(":, {}:{}", from == 0 ? to : 0, from == 0 ? array.size(1) : from);
            }
            return array.get(":, :" + from).concat(array.get(":, " + to + ":"), 1);
        }
    }

    private final NDManager manager;
    private final KeyValueCache cache;
    private final List<MultiHeadAttentionBlock> attentions;
    private List<Request> requests = new ArrayList<>();
    private long seed;

    RunningBatch(NDManager manager, MultiHeadAttentionBlock... attentions) {
        this(manager, List.of(attentions), new KeyValueCache(manager, 2));
    }

    private RunningBatch(NDManager manager, List<MultiHeadAttentionBlock> attentions, KeyValueCache cache) {
        this.manager = manager;
        this.attentions = attentions;
        this.cache = cache;
    }

    KeyValueCache cache() {
        return cache;
    }

    int count() {
        return requests.size();
    }

    /** The number of tokens of the longest request. */
    int longest() {
        return requests.stream().mapToInt(Request::length).max().orElse(0);
    }

    int shortest() {
        return requests.stream().mapToInt(Request::length).min().orElse(0);
    }

    /** Prompts of the same length join. */
    RunningBatch join(int prompts, int length, int... mask) {
        try (RunningBatch others = new RunningBatch(manager, attentions, new KeyValueCache(manager, 2))) {
            others.seed = seed + 1000;
            for (int i = 0; i < prompts; i++) {
                others.requests.add(new Request(null, null));
            }
            others.step(length, mask);
            return join(others);
        }
    }

    RunningBatch join(RunningBatch others) {
        cache.join(others.cache);
        requests.addAll(others.requests);
        seed = Math.max(seed, others.seed);
        requireLength();
        return this;
    }

    /** The next tokens of all requests, of which a mask, (T), may hide some of each row but the first. */
    RunningBatch step(int count, int... mask) {
        NDArray x = numbers(manager, seed++, DataType.FLOAT64, count(), count, SIZE);
        NDArray visible = manager.ones(new Shape(count(), count));
        for (int row = 1; row < count() && mask.length > 0; row++) {
            visible.set(new NDIndex("{}", row), manager.create(mask).toType(DataType.FLOAT32, false));
        }
        PairList<String, Object> params = cache.nextStep(count);
        List<NDArray> results = new ArrayList<>();
        for (MultiHeadAttentionBlock attention : attentions) {
            results.add(forward(attention, mask.length > 0 ? new NDList(x, visible) : new NDList(x), params));
        }
        for (int row = 0; row < count(); row++) {
            String own = row + ":" + (row + 1);
            Request longer = requests.get(row).followedBy(x.get(own), visible.get(own));
            requests.set(row, longer);
            for (int i = 0; i < attentions.size(); i++) {
                NDArray alone = forward(attentions.get(i), new NDList(longer.tokens, longer.mask), null);
                requireClose(results.get(i).get(own), doubles(alone.get(":, {}:", longer.length() - count)), TOLERANCE);
            }
        }
        requireLength();
        return this;
    }

    private NDArray forward(MultiHeadAttentionBlock attention, NDList inputs, PairList<String, Object> params) {
        return attention
                .forward(new ParameterStore(manager, false), inputs, false, params)
                .head();
    }

    /** The other requests leave. */
    RunningBatch select(int... rows) {
        cache.select(manager.create(rows));
        requests = of(rows);
        requireLength();
        return this;
    }

    private List<Request> of(int... rows) {
        return new ArrayList<>(Arrays.stream(rows).mapToObj(requests::get).toList());
    }

    /** A batch of some requests; this one stays. */
    RunningBatch extract(int... rows) {
        RunningBatch extracted = new RunningBatch(manager, attentions, cache.extract(rows));
        extracted.requests = of(rows);
        extracted.seed = seed + 500;
        extracted.requireLength();
        return extracted;
    }

    RunningBatch fork() {
        RunningBatch fork = new RunningBatch(manager, attentions, cache.fork());
        fork.requests = new ArrayList<>(requests);
        fork.seed = seed + 700;
        return fork;
    }

    /** The same requests, whose cache was saved and loaded. */
    RunningBatch reloaded() {
        RunningBatch reloaded = new RunningBatch(manager, attentions, SavedCache.reloaded(manager, cache, attentions));
        reloaded.requests = requests;
        reloaded.seed = seed;
        reloaded.requireLength();
        close();
        return reloaded;
    }

    /** Drops tokens of all requests. */
    RunningBatch rewindBy(int count) {
        cache.rewind(cache.getLength() - count);
        requests.replaceAll(request -> request.first(request.length() - count));
        requireLength();
        return this;
    }

    /** Removes tokens of all requests, which have the same length. */
    RunningBatch remove(int from, int to) {
        cache.remove(from, to);
        requests.replaceAll(request -> request.without(from, to));
        requireLength();
        return this;
    }

    private void requireLength() {
        assertThat(cache.getLength()).isEqualTo(longest());
    }

    @Override
    public void close() {
        cache.close();
    }
}
