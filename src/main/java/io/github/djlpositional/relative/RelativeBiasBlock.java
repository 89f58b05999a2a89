package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.DistanceBias;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Temporaries;
import java.util.Set;

/**
 * A relative encoding that adds a bias to each score, which depends on the head and the distance only. A subclass
 * computes the biases of distances.
 */
abstract class RelativeBiasBlock extends ScoreTermBlock {

    RelativeBiasBlock(Record options, int headCount) {
        super(options, headCount, -1);
    }

    /**
     * Computes the biases of distances, (N, size), in the data type of the attention or of its scores, on any manager.
     * Other arrays that it creates are closed.
     */
    abstract NDArray biases(AttentionCall call, Distances distances);

    @Override
    public final Set<Term> terms() {
        return Set.of(Term.DISTANCE_BIAS);
    }

    @Override
    public final NDArray distanceBias(AttentionCall call, Distances distances) {
        return Temporaries.result(() -> biases(call, distances));
    }

    @Override
    public final NDArray scoreTerm(AttentionCall call, NDArray queries, NDArray keys) {
        return null;
    }

    @Override
    final NDArray term(AttentionCall call, NDArray queries, NDArray keys) {
        NDArray term = DistanceBias.term(this, call, queries, null);
        // the term of one query may be a view of a table
        NDArray copy = call.queries().length() == 1 ? Arithmetic.copy(term) : term;
        copy.attach(queries.getManager());
        return copy;
    }
}
