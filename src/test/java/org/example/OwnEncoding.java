package org.example;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.Rotation;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.options.HasArguments;
import java.util.List;
import java.util.Map;

/** Encodings of a program, with one parameter each, of which a bias takes the fewest lines. */
public abstract class OwnEncoding extends RelativeEncoding.Base implements HasArguments {

    private final int headCount;
    private final Parameter parameter;

    private OwnEncoding(int headCount, Shape shape) {
        this.headCount = headCount;
        parameter = addParameter(Parameter.builder()
                .setName("learned")
                .setType(Parameter.Type.WEIGHT)
                .optShape(shape)
                .build());
    }

    NDArray learned(AttentionCall call, NDArray like) {
        return call.value(parameter, like);
    }

    @Override
    public Map<String, Object> getArguments() {
        return Map.of("type", getClass().getSimpleName(), "headCount", headCount);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return inputShapes;
    }

    /** A rotation with a frequency of each head for each pair (i, i + H / 2). */
    public static final class LearnedRotation extends OwnEncoding {

        static final int HEAD_SIZE = 4;

        LearnedRotation(int headCount) {
            super(headCount, new Shape(1, headCount, 1, HEAD_SIZE / 2));
        }

        public static LearnedRotation fromArguments(Map<?, ?> arguments) {
            return new LearnedRotation((int) arguments.get("headCount"));
        }

        @Override
        public List<Term> terms() {
            return List.of(new Rotation(0, HEAD_SIZE, PairLayout.CONCATENATED, this::rows));
        }

        private NDArray rows(AttentionCall call, NDArray x, boolean areKeys) {
            NDArray positions = (areKeys ? call.keys() : call.queries()).toArray(x, x.getDataType());
            NDArray column = positions.reshape(-1, 1, positions.size(1), 1);
            NDArray angles = column.mul(learned(call, x));
            return NDArrays.concat(new NDList(angles.cos(), angles.sin()), 3);
        }
    }

    /** (x · w) (y · w) for the inputs x of the query and y of the key, with a w of each head. */
    public static final class TokenTerm extends OwnEncoding {

        TokenTerm(int headCount) {
            super(headCount, new Shape((long) headCount * LearnedRotation.HEAD_SIZE, headCount));
        }

        public static TokenTerm fromArguments(Map<?, ?> arguments) {
            return new TokenTerm((int) arguments.get("headCount"));
        }

        @Override
        public List<Term> terms() {
            return List.of(Term.scoresOfTokens(this::numbers, this::numbers, this::scores));
        }

        /** (B, n, D) to (B, n, N). */
        private NDArray numbers(AttentionCall call, NDArray input) {
            return input.matMul(learned(call, input));
        }

        private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
            return queries.transpose(0, 2, 1)
                    .expandDims(3)
                    .mul(keys.transpose(0, 2, 1).expandDims(2));
        }
    }

    /** q · w where query and key are in the same segment, with a vector w of each head. */
    public static final class SegmentTerm extends OwnEncoding {

        SegmentTerm(int headCount) {
            super(headCount, new Shape(1, headCount, LearnedRotation.HEAD_SIZE, 1));
        }

        public static SegmentTerm fromArguments(Map<?, ?> arguments) {
            return new SegmentTerm((int) arguments.get("headCount"));
        }

        // tag::segments[]
        @Override
        public List<Term> terms() {
            return List.of(Term.scores(this::scores));
        }

        private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
            NDArray segments = (NDArray) call.parameters().get("segments"); // (B, F)
            NDArray ofQueries = slice(segments, call.queries());
            NDArray ofKeys = slice(segments, call.keys());
            NDArray isSame =
                    ofQueries.reshape(-1, 1, ofQueries.size(1), 1).eq(ofKeys.reshape(-1, 1, 1, ofKeys.size(1)));
            NDArray products = queries.matMul(learned(call, queries)); // (B, N, T, 1)
            return products.mul(isSame.toType(queries.getDataType(), false)); // (B, N, T, F)
        }

        private static NDArray slice(NDArray segments, Positions tokens) {
            return segments.get(":, {}:{}", tokens.first(), tokens.first() + tokens.count());
        }
        // end::segments[]
    }
}
