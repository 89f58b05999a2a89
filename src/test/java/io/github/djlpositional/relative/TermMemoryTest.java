package io.github.djlpositional.relative;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.TestEngine;
import java.util.function.Function;
import org.junitpioneer.jupiter.cartesian.CartesianTest;

/**
 * The memory of a long sequence, which an attention processes in parts: no array may be larger than a part, whatever
 * the encoding computes for each query and key.
 */
@Sampled(oneIn = 3)
class TermMemoryTest {

    private static final int HEADS = 2;
    private static final int BATCH = 2;

    /** So many that the numbers of all queries and keys, B · N of them for each pair, are more than a part has. */
    private static final int LENGTH = 800;

    /** The numbers of a part on a CPU, 8 MB of floats. */
    private static final long PART = 1 << 21;

    /** The forms of positions. */
    @SuppressWarnings("ImmutableEnumChecker") // the functions have no state
    enum Form {
        INDICES(manager -> null),
        SHARED(manager -> manager.arange(LENGTH)),
        BY_SEQUENCE(manager -> rows(manager).toType(DataType.INT64, true)),
        /** So far apart that each distance is computed for itself. */
        SPREAD(manager -> rows(manager).mul(1000).toType(DataType.INT64, true)),
        REAL(manager -> rows(manager).mul(0.7));

        private final Function<NDManager, NDArray> create;

        Form(Function<NDManager, NDArray> create) {
            this.create = create;
        }

        private static NDArray rows(NDManager manager) {
            NDArray row = manager.arange(0f, LENGTH);
            return row.expandDims(0).concat(row.add(1).expandDims(0));
        }
    }

    @CartesianTest
    void noArrayIsLargerThanAPart(@CartesianTest.Enum EncodingType type, @CartesianTest.Enum Form form) {
        TestEngine.PYTORCH.assumeAvailable();
        assumeThat(form != Form.REAL || type.takesRealPositions()).isTrue();
        // windows have no such cells, and tables of rotations no such rows
        assumeThat(form != Form.SPREAD || !type.name().matches("(WINDOW|ROTARY).*"))
                .isTrue();
        SimulatedGpuEngine engine = new SimulatedGpuEngine();
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            MultiHeadAttentionBlock block =
                    type.attention(HEADS, LENGTH).optFusedKernel(false).build();
            block.initialize(manager, DataType.FLOAT32, new Shape(BATCH, LENGTH, block.getEmbeddingSize()));
            NDArray x = manager.ones(new Shape(BATCH, LENGTH, block.getEmbeddingSize()));
            NDArray positions = form.create.apply(manager);
            engine.takeLargest();
            if (positions == null) {
                Forward.infer(manager, block, x);
            } else {
                Forward.infer(manager, block, Forward.params(PositionalEncodingBlock.POSITIONS, positions), x);
            }
            // for each query, there are up to T + F - 1 distances of indices, and as many rows of window vectors
            boolean isByDistance = form == Form.INDICES || type == EncodingType.WINDOW_VECTORS;
            assertThat(engine.takeLargest()).isLessThanOrEqualTo(isByDistance ? 2 * PART : PART);
        }
    }
}
