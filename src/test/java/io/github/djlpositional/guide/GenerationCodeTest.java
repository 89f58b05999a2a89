package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.guide.UsingCodeTest.LanguageModel;
import io.github.djlpositional.relative.AlibiBiasBlock;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** The code of docs/using.md for packed documents, and for decoding several sequences. */
class GenerationCodeTest {

    private static final int STEPS = 4;

    private static final int VOCABULARY = 1000;

    /** Scores differ by the rounding of sums of at most 64 products of numbers below 4. */
    private static final float TOLERANCE = 64 * 16 * 0x1p-24f;

    // tag::model[]
    /** [ids (B, T), mask (B, T) or (B, T, F)] to scores (B, T, 50). */
    static final class MaskedLanguageModel extends AbstractBlock {
        private final InputEmbeddingBlock input;
        private final Block attention;

        MaskedLanguageModel(InputEmbeddingBlock input, MultiHeadAttentionBlock attention) {
            this.input = addChildBlock("input", input);
            this.attention = addChildBlock("attention", attention);
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray x = input.forward(store, new NDList(inputs.get(0)), training, params)
                    .head();
            x = attention
                    .forward(store, new NDList(x, inputs.get(1)), training, params)
                    .head();
            NDArray table = store.getValue(input.getTokenTable(), x.getDevice(), training);
            return new NDList(x.matMul(table.transpose()));
        }
        // end::model[]

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            input.initialize(manager, dataType, inputShapes[0]);
            attention.initialize(manager, dataType, inputShapes[0].add(16));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(50)};
        }
        // tag::model[]
    }
    // end::model[]

    /** With sinusoids at the input and ALiBi in the attention. */
    private static Block masked(NDManager manager) {
        return initialized(
                manager,
                new MaskedLanguageModel(
                        InputEmbeddingBlock.builder()
                                .setVocabularySize(50)
                                .setEmbeddingSize(16)
                                .optScaleEmbedding(true)
                                .build(),
                        MultiHeadAttentionBlock.builder()
                                .setEmbeddingSize(16)
                                .setHeadCount(4)
                                .optKeyValueHeadCount(2)
                                .optRelativeEncoding(
                                        AlibiBiasBlock.builder().setHeadCount(4).build())
                                .optCausal(true)
                                .build()));
    }

    private static Block initialized(NDManager manager, Block model) {
        model.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        return model;
    }

    @EngineTest
    void packedDocuments(NDManager manager) {
        Block model = masked(manager);
        ParameterStore store = new ParameterStore(manager, false);
        // tag::packed[]
        // two documents in one row: 5 17 3 and 8 9 4 1
        NDArray ids = manager.create(new int[][] {{5, 17, 3, 8, 9, 4, 1}}); // (B, T)
        NDArray positions = manager.create(new int[][] {{0, 1, 2, 0, 1, 2, 3}}); // (B, T)
        NDArray mask = MultiHeadAttentionBlock.packedMask(positions); // (B, T, T), true within a document
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, positions); // for the input and for every attention
        NDArray scores =
                model.forward(store, new NDList(ids, mask), false, params).singletonOrThrow();
        // end::packed[]
        for (String document : new String[] {":, :3", ":, 3:"}) {
            NDArray alone = ids.get(document);
            NDArray expected = Forward.infer(manager, model, alone, alone.onesLike());
            requireClose(scores.get(document), doubles(expected), TOLERANCE);
        }
    }

    @EngineTest
    void leftPaddedPrompts(NDManager manager) {
        Block model = masked(manager);
        assertThat(leftPadded(manager, model, new long[][] {{5, 17, 3, 9, 9, 4}, {1, 1, 1, 8, 30, 2}}))
                .containsExactly(
                        leftPadded(manager, model, new long[][] {{5, 17, 3, 9, 9, 4}})
                                .get(0),
                        leftPadded(manager, model, new long[][] {{8, 30, 2}}).get(0));
    }

    private static List<List<Long>> emptyLists(int count) {
        return Stream.generate(() -> (List<Long>) new ArrayList<Long>())
                .limit(count)
                .toList();
    }

    private static List<List<Long>> leftPadded(NDManager manager, Block model, long[][] prompts) {
        ParameterStore store = new ParameterStore(manager, false);
        List<List<Long>> generated = emptyLists(prompts.length);
        // tag::left-padded[]
        int padding = 1;
        int first = 2; // the position of the first token: 2 in OPT, usually 0
        NDArray ids = manager.create(prompts); // (B, T), shorter prompts have padding on the left
        NDArray mask = ids.neq(padding).toType(DataType.INT64, false); // (B, T), of the tokens of the step
        NDArray positions = mask.cumSum(1).add(first - 1).mul(mask); // (B, T), of the tokens of the step
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < STEPS; step++) {
                PairList<String, Object> params = cache.nextStep();
                params.add(PositionalEncodingBlock.POSITIONS, positions);
                NDArray scores = model.forward(store, new NDList(ids, mask), false, params)
                        .head();
                NDArray best = scores.get(":, -1").argMax(1).toType(DataType.INT64, false); // (B)
                for (int row = 0; row < prompts.length; row++) {
                    generated.get(row).add(best.getLong(row));
                }
                ids = best.expandDims(1); // (B, 1)
                mask = ids.onesLike();
                positions = positions.max(new int[] {1}, true).add(1); // (B, 1)
            }
        }
        // end::left-padded[]
        return generated;
    }

    @EngineTest
    void sequencesOfDifferentLengths(NDManager manager) {
        Block model = masked(manager);
        assertThat(ragged(manager, model, new long[][] {{5, 17, 3, 9}, {8, 30, 1, 1}}, 4, 2))
                .containsExactly(
                        ragged(manager, model, new long[][] {{5, 17, 3, 9}}, 4).get(0),
                        ragged(manager, model, new long[][] {{8, 30}}, 2).get(0));
    }

    private static List<List<Long>> ragged(NDManager manager, Block model, long[][] prompts, int... lengths) {
        ParameterStore store = new ParameterStore(manager, false);
        List<List<Long>> generated = emptyLists(lengths.length);
        // tag::ragged[]
        int padding = 1;
        NDArray ids = manager.create(prompts); // (B, T), shorter prompts have padding on the right
        NDArray mask = ids.neq(padding).toType(DataType.INT64, false); // (B, T), of the tokens of the step
        NDArray positions = mask.cumSum(1).sub(1); // (B, T), of the tokens of the step
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < STEPS; step++) {
                PairList<String, Object> params = cache.nextStep();
                params.add(PositionalEncodingBlock.POSITIONS, positions);
                NDArray scores = model.forward(store, new NDList(ids, mask), false, params)
                        .head();
                long[][] next = new long[lengths.length][1];
                for (int row = 0; row < lengths.length; row++) {
                    int last = step == 0 ? lengths[row] - 1 : 0; // the first step has all tokens of the prompts
                    NDArray best = scores.get("{}, {}", row, last).argMax();
                    next[row][0] = best.toType(DataType.INT64, false).getLong();
                    generated.get(row).add(next[row][0]);
                }
                ids = manager.create(next); // (B, 1)
                mask = ids.onesLike();
                positions = positions.max(new int[] {1}, true).add(1); // (B, 1)
            }
        }
        // end::ragged[]
        return generated;
    }

    @EngineTest
    void beamSearch(NDManager manager) {
        Block model = initialized(manager, new LanguageModel());
        ParameterStore store = new ParameterStore(manager, false);
        long[] prompt = {5, 17, 3};
        // tag::beams[]
        int beams = 3;
        List<List<Long>> found = List.of(List.of()); // the tokens of each beam
        NDArray ids = manager.create(prompt).expandDims(0); // (1, T), then (beams, 1)
        NDArray total = manager.zeros(new Shape(1, 1)); // the logarithm of the probability of each beam
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < STEPS; step++) {
                NDArray scores = model.forward(store, new NDList(ids), false, cache.nextStep())
                        .head()
                        .get(":, -1"); // (beams, V)
                float[] sums = scores.logSoftmax(1).add(total).toFloatArray();
                long[][] tokens = new long[beams][1];
                long[] rows = new long[beams];
                float[][] best = new float[beams][1];
                List<List<Long>> longer = new ArrayList<>();
                for (int beam = 0; beam < beams; beam++) {
                    int index = indexOfLargest(sums);
                    rows[beam] = index / VOCABULARY;
                    tokens[beam][0] = index % VOCABULARY;
                    best[beam][0] = sums[index];
                    sums[index] = Float.NEGATIVE_INFINITY;
                    longer.add(new ArrayList<>(found.get((int) rows[beam])));
                    longer.get(beam).add(tokens[beam][0]);
                }
                cache.select(manager.create(rows)); // each beam continues the sequence that it came from
                found = longer;
                ids = manager.create(tokens);
                total = manager.create(best);
            }
        }
        // end::beams[]
        for (int beam = 0; beam < beams; beam++) {
            long[] sequence = prompt;
            float expected = 0;
            for (long token : found.get(beam)) {
                expected += lastScores(manager, model, sequence).logSoftmax(0).getFloat(token);
                sequence = LongStream.concat(LongStream.of(sequence), LongStream.of(token))
                        .toArray();
            }
            assertThat(total.getFloat(beam, 0)).isCloseTo(expected, within(STEPS * TOLERANCE));
        }
    }

    private static int indexOfLargest(float... values) {
        return IntStream.range(0, values.length)
                .reduce((a, b) -> values[b] > values[a] ? b : a)
                .orElseThrow();
    }

    /** The scores of the token after some, (V). */
    private static NDArray lastScores(NDManager manager, Block model, long... ids) {
        return Forward.infer(manager, model, manager.create(ids).expandDims(0)).get("0, -1");
    }

    @EngineTest
    void severalContinuations(NDManager manager) {
        Block model = initialized(manager, new LanguageModel());
        ParameterStore store = new ParameterStore(manager, false);
        long[] prompt = {5, 17, 3};
        long[][] questions = {{8, 9}, {4, 1, 2}};
        List<NDArray> answers = new ArrayList<>();
        // tag::forks[]
        try (KeyValueCache ofPrompt = new KeyValueCache(manager)) {
            NDArray first = manager.create(prompt).expandDims(0); // (1, T)
            model.forward(store, new NDList(first), false, ofPrompt.nextStep()); // once for all continuations
            for (long[] question : questions) {
                try (KeyValueCache cache = ofPrompt.fork()) {
                    NDArray ids = manager.create(question).expandDims(0);
                    NDArray scores = model.forward(store, new NDList(ids), false, cache.nextStep())
                            .singletonOrThrow(); // (1, T, V); further steps follow with the same cache
                    answers.add(scores.get("0, -1"));
                }
            }
        }
        // end::forks[]
        requireClose(answers.get(0), doubles(lastScores(manager, model, 5, 17, 3, 8, 9)), TOLERANCE);
        requireClose(answers.get(1), doubles(lastScores(manager, model, 5, 17, 3, 4, 1, 2)), TOLERANCE);
    }
}
