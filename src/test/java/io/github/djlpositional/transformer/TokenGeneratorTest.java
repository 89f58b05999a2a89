package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.SmallLayers.causal;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TokenGeneratorTest extends OnEachEngine {

    private static final long[] PROMPT = {3, 1, 4};

    private TransformerStackBlock.Builder stack() {
        return TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(11)
                        .setEmbeddingSize(8)
                        .build())
                .setLayers(2, () -> layer(causal()));
    }

    private TransformerStackBlock decoder(boolean isTied) {
        TransformerStackBlock.Builder builder = isTied ? stack().optTiedOutput(true) : stack().optOutputSize(11);
        return filled(manager, builder.build(), DataType.FLOAT64, new Shape(1, 3));
    }

    /** The best token after those so far, each time from a forward of all tokens. */
    private long[] greedy(Block decoder, int count) {
        long[] all = PROMPT.clone();
        for (int i = 0; i < count; i++) {
            NDArray scores = infer(manager, decoder, manager.create(all).expandDims(0));
            long best = scores.get("0, -1").argMax().getLong();
            all = Arrays.copyOf(all, all.length + 1);
            all[all.length - 1] = best;
        }
        return Arrays.copyOfRange(all, PROMPT.length, all.length);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void givesTheTokensOfForwardsOfAllTokens(boolean isTied) {
        TransformerStackBlock decoder = decoder(isTied);
        long[] expected = greedy(decoder, 8);
        TokenGenerator generator = TokenGenerator.builder().setDecoder(decoder).build();
        assertThat(generator.generate(PROMPT, 8)).isEqualTo(expected);
        int before = manager.getManagedArrays().size();
        generator.generate(PROMPT, 8);
        assertThat(manager.getManagedArrays()).as("nothing else").hasSize(before);
    }

    /** The output layer of a large vocabulary takes most of the time of a long prompt. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void scoresOnlyTheLastToken(boolean isTied) {
        TransformerStackBlock decoder = decoder(isTied);
        NDArray ids = manager.create(PROMPT).expandDims(0);
        NDArray scores = decoder.scoresOfNext(new ParameterStore(manager, false), new NDList(ids), null);
        assertThat(scores.getShape()).isEqualTo(new Shape(1, 1, 11));
        assertThat(scores.toDoubleArray())
                .containsExactly(infer(manager, decoder, ids).get("0, -1").toDoubleArray(), within(1e-12));
    }

    @Test
    void streamsTokensAndStops() {
        TransformerStackBlock decoder = decoder(true);
        TokenGenerator generator = TokenGenerator.builder().setDecoder(decoder).build();
        List<Long> streamed = new ArrayList<>();
        long[] tokens = generator.generate(PROMPT, 8, token -> {
            streamed.add(token);
            return streamed.size() < 3;
        });
        assertThat(tokens).isEqualTo(Arrays.copyOf(greedy(decoder, 8), 3)).hasSameSizeAs(streamed);
    }

    @Test
    void stopsBeforeAnEndToken() {
        TransformerStackBlock decoder = decoder(false);
        long[] all = greedy(decoder, 8);
        long end = all[5];
        int first = Arrays.stream(all).boxed().toList().indexOf(end);
        TokenGenerator generator = TokenGenerator.builder()
                .setDecoder(decoder)
                .optEndTokens(List.of(end))
                .build();
        assertThat(generator.generate(PROMPT, 8)).isEqualTo(Arrays.copyOf(all, first));
    }

    @Test
    void samplesTheSameTokensForTheSameSeed() {
        TransformerStackBlock decoder = decoder(true);
        TokenGenerator generator = TokenGenerator.builder()
                .setDecoder(decoder)
                .optSampling(Sampling.builder().optTemperature(3).optSeed(7).build())
                .build();
        assertThat(generator.generate(PROMPT, 8))
                .isEqualTo(generator.generate(PROMPT, 8))
                .isNotEqualTo(greedy(decoder, 8));
    }

    @Test
    void rejectsWhatCannotGenerate() {
        TransformerStackBlock decoder = decoder(true);
        TokenGenerator generator = TokenGenerator.builder().setDecoder(decoder).build();
        refused(() -> generator.generate(new long[0], 3), "prompt", "empty");
        refused(() -> generator.generate(PROMPT, 0), "0");
        refused(() -> TokenGenerator.builder().setDecoder(stack().build()).build(), "optTiedOutput");
        TransformerStackBlock pooled =
                stack().optOutputSize(11).optPooling(Pooling.MEAN).build();
        refused(() -> TokenGenerator.builder().setDecoder(pooled).build(), "optPooling");
        refused(
                () -> pooled.scoresOfNext(new ParameterStore(manager, false), new NDList(), null),
                "pooling MEAN",
                "optPooling");
        refused(() -> TokenGenerator.builder().build(), "decoder");
        TokenGenerator early = TokenGenerator.builder()
                .setDecoder(stack().optTiedOutput(true).build())
                .build();
        assertThatIllegalStateException()
                .isThrownBy(() -> early.generate(PROMPT, 3))
                .withMessageContaining("initialized");
    }
}
