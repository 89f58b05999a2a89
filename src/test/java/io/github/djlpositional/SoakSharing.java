package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Threads share a block whose table grows during their forwards. Once it has its full length, all take a new block. */
final class SoakSharing implements SoakTest.Activity {

    private static final int THREADS = 16;
    private static final int SIZE = 16;
    private static final int LONGEST_INPUT = 8;
    private static final int POSITIONS = 512;

    /** The number of forwards of each thread with each block. */
    private static final int FORWARDS = 64;

    /** Much more than a round takes, so that a thread that failed does not block the others forever. */
    private static final int TIMEOUT_SECONDS = 60;

    private static final float[] TABLE = SinusoidalEncoding.vaswani(SIZE).table(0, POSITIONS + LONGEST_INPUT);

    private final Engine engine;
    private final Model model;
    private final CyclicBarrier round = new CyclicBarrier(THREADS, this::beginRound);
    private final AtomicLong forwards = new AtomicLong();
    private long rounds;
    private PositionalEncodingBlock shared;

    /** Read by the action of the barrier, when all threads have reached it. */
    private volatile boolean isTimeUp;

    private boolean isOver;

    SoakSharing(Engine engine) {
        this.engine = engine;
        model = Model.newInstance("sharing", Device.cpu(), engine.getEngineName());
        shared = newBlock();
    }

    private PositionalEncodingBlock newBlock() {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(SIZE)
                .optMaxSequenceLength(1)
                .optAutoExtend(1 << 20)
                .build();
        block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 1, SIZE));
        return block;
    }

    private void beginRound() {
        shared.clear();
        shared = newBlock();
        rounds++;
        isOver = isTimeUp;
        // so that the soak can be repeated
        isTimeUp = false;
    }

    @Override
    public int threads() {
        return THREADS;
    }

    @Override
    public boolean step(int thread, boolean timeUp) throws Exception {
        isTimeUp |= timeUp;
        round.await(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        if (isOver) {
            return false;
        }
        Random random = new Random(thread);
        try (NDManager manager = engine.newBaseManager(Device.cpu())) {
            for (int i = 0; i < FORWARDS; i++) {
                int length = 1 + random.nextInt(LONGEST_INPUT);
                // from the first position to the last; threads are at different positions
                int start = Math.min(POSITIONS - 1, i * POSITIONS / FORWARDS + random.nextInt(POSITIONS / FORWARDS));
                forward(manager, start, length);
            }
        }
        return true;
    }

    private void forward(NDManager manager, int start, int length) {
        try (NDArray x = manager.zeros(new Shape(1, length, SIZE));
                NDArray y = Forward.inferFrom(manager, start, shared, x)) {
            float[] values = y.toFloatArray();
            assertThat(Arrays.equals(values, 0, values.length, TABLE, start * SIZE, (start + length) * SIZE))
                    .as("%s rows from %s are right", length, start)
                    .isTrue();
        }
        forwards.incrementAndGet();
    }

    @Override
    public String done() {
        return String.format(
                Locale.ROOT, "%,d forwards of %d threads over %,d growing tables", forwards.get(), THREADS, rounds);
    }

    @Override
    public int openArrays() {
        return model.getNDManager().getManagedArrays().size();
    }

    @Override
    public void close() {
        model.close();
    }
}
