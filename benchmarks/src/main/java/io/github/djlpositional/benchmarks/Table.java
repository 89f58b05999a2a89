package io.github.djlpositional.benchmarks;

import static io.github.djlpositional.benchmarks.Attentions.*;
import static io.github.djlpositional.benchmarks.Encodings.*;
import static io.github.djlpositional.benchmarks.Generation.*;
import static io.github.djlpositional.benchmarks.Rotations.*;
import static io.github.djlpositional.benchmarks.Training.*;

import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The tables of the report: what is measured together, and what it is compared with. */
enum Table {
    ADD(
            "Adding the encodings",
            cases(
                    Encodings.ADD,
                    new Shape(1, 1, 512),
                    new Shape(1, 128, 512),
                    new Shape(32, 128, 512),
                    new Shape(8, 2048, 1024)),
            COPY,
            BARE_ADD,
            ADD_LIKE_BOOK,
            Peer.PYTHON),
    ADD_MXNET("Adding the encodings on MXNet", ADD.on(Case.MXNET), BARE_ADD, ADD_LIKE_BOOK),
    STEP(
            "A decoder's step at 4096 consecutive positions",
            cases(Encodings.STEP, new Shape(1, 1, 512)),
            BARE_ADD,
            ADD_64_ROWS,
            ADD_4096_ROWS),
    EXPLICIT("Explicit positions", cases(ADD_EXPLICIT, new Shape(32, 128, 512)), LOOK_UP_AND_ADD),
    EMBEDDING(
            "Token ids to vectors with positions",
            cases(EMBED, new Shape(8, 2048, 1024)),
            LOOK_UP,
            EMBED_LIKE_BOOK,
            Peer.PYTHON),
    EMBEDDING_SCALED(
            "The same with the factor √d",
            cases(EMBED_SCALED, new Shape(8, 2048, 1024)),
            LOOK_UP,
            EMBED_SCALED_LIKE_BOOK,
            Peer.PYTHON),
    TABLE(
            "Computing the table",
            cases(COMPUTE_TABLE, new Shape(5000, 512), new Shape(1_000_000, 64)),
            TABLE_LIKE_BOOK,
            Peer.PYTHON),
    TABLE_MXNET("Computing the table on MXNet", TABLE.on(Case.MXNET), TABLE_LIKE_BOOK),
    FIRST(
            "The first forward of a loaded block",
            cases(FIRST_FORWARD, new Shape(1, 128, 512)),
            FIRST_FORWARD_LIKE_BOOK,
            Peer.PYTHON),
    ROTARY(
            "Rotating queries and keys, concatenated layout",
            cases(ROTATE, new Shape(8, 16, 1024, 64)),
            ROTATE_AS_USUAL,
            Peer.PYTHON),
    ROTARY_INTERLEAVED(
            "The same, interleaved layout",
            cases(ROTATE_INTERLEAVED, new Shape(8, 16, 1024, 64)),
            ROTATE_AS_USUAL,
            Peer.PYTHON),

    TRAINING("A training step of the examples' encoder", cases(TRAIN, new Shape(128, 16)), TRAIN_LIKE_BOOK),
    SHARE(
            "The shares of that step",
            Stream.of(TRAIN_ENCODING, TRAIN_OPTIMIZER).map(part -> Case.of(part, new Shape(128, 16))),
            TRAIN),
    LAYER(
            "A transformer layer and its parts, inference",
            layers(Layers.INFERENCE, new Shape(5, 128, 384), new Shape(32, 64, 384)),
            Layers.INFERENCE.get(0)),
    LAYER_TRAINING(
            "A layer of the examples' encoder and its parts, forward and backward",
            layers(Layers.TRAINING, new Shape(128, 16, 64)),
            Layers.TRAINING.get(0)),

    SENTENCES(
            "Sentences with all-MiniLM-L6-v2",
            cases(Sentences.ENCODE, new Shape(1024), new Shape(4096), new Shape(5, 128), new Shape(32, 64)),
            Sentences.ENCODE_WITH_ONNX),

    ATTENTION(
            "Attention, inference",
            kinds(
                    ATTEND,
                    new Shape(8, 256, 512),
                    new Shape(1, 1024, 512),
                    new Shape(1, 4096, 512),
                    new Shape(32, 32, 256)),
            Common.ATTENTIONS),
    ATTENTION_LONG("The same, a long sequence", kinds(ATTEND, new Shape(1, 16_384, 512))),
    ATTENTION_TIMES(
            "Attention at real positions of each sequence, inference",
            kinds(ATTEND_AT_TIMES, new Shape(8, 256, 512))
                    .filter(each -> each.kind().takesTimes()),
            ATTEND_AT_INDICES),
    ATTENTION_MXNET(
            "Attention on MXNet, inference", kinds(ATTEND, Common.SHAPES).map(each -> each.on(Case.MXNET)), Peer.NONE),
    ATTENTION_MEMORY(
            "Attention, inference: peak memory of a process, in MB",
            kinds(ATTEND, new Shape(1, 1024, 512), new Shape(1, 4096, 512)),
            Common.ATTENTIONS),
    ATTENTION_LONG_MEMORY("The same, a long sequence", kinds(ATTEND, new Shape(1, 16_384, 512))),
    ATTENTION_TRAINING(
            "Attention, forward and backward", kinds(TRAIN_ATTENTION, Common.SHAPES), Common.TRAINED_ATTENTIONS),
    ATTENTION_TRAINING_MXNET("Attention on MXNet, forward and backward", ATTENTION_TRAINING.on(Case.MXNET), Peer.NONE),
    ATTENTION_TRAINING_MEMORY(
            "Attention, forward and backward: peak memory of a process, in MB",
            kinds(TRAIN_ATTENTION, new Shape(1, 1024, 512)),
            Common.TRAINED_ATTENTIONS),
    ATTENTION_LIMIT(
            "Attention beside one call of PyTorch, inference",
            cases(ATTEND, new Shape(8, 256, 512), new Shape(32, 32, 256))
                    .flatMap(each ->
                            Stream.of(AttentionKind.SHAW, AttentionKind.DEBERTA).map(each::with)),
            ATTEND_DJL,
            ATTEND_IN_ONE_CALL),

    GENERATION(
            "A decoder's step with a cache of the length",
            kinds(GENERATE, new Shape(1, 64, 512), new Shape(1, 1024, 512), new Shape(1, 4096, 512)),
            Peer.NONE,
            GENERATE_NOT_FUSED,
            Peer.PYTHON),
    GENERATION_LIMIT(
            "A decoder's step beside one call of PyTorch",
            cases(GENERATE, new Shape(1, 64, 512), new Shape(1, 1024, 512))
                    .flatMap(each ->
                            Stream.of(AttentionKind.NONE, AttentionKind.ROTARY).map(each::with)),
            GENERATE_IN_ONE_CALL),
    GENERATION_MXNET("The same on MXNet", GENERATION.on(Case.MXNET), Peer.NONE),
    GENERATION_LLAMA(
            "A decoder's step of one layer of Llama 3",
            cases(GENERATE_LLAMA, new Shape(1, 1024, 4096), new Shape(1, 4096, 4096)),
            GENERATE_LLAMA_32_KEY_HEADS,
            Peer.PYTHON),
    GENERATION_LLAMA_MEMORY(
            "The same: peak memory of a process, in MB",
            cases(GENERATE_LLAMA, new Shape(1, 64, 4096), new Shape(1, 1024, 4096), new Shape(1, 4096, 4096)),
            GENERATE_LLAMA_32_KEY_HEADS,
            Peer.PYTHON),

    GPU("Adding the encodings on a GPU", gpu(Encodings.ADD.onGpu()), COPY.onGpu(), BARE_ADD.onGpu()),
    GPU_EXPLICIT("The same with explicit positions", gpu(ADD_SHARED.onGpu()), COPY.onGpu(), BARE_ADD.onGpu());

    /** What several tables of attention have in common. */
    private static final class Common {

        static final Shape[] SHAPES = {new Shape(8, 256, 512), new Shape(1, 1024, 512), new Shape(32, 32, 256)};
        static final Peer[] ATTENTIONS = {ATTEND_DJL, ATTEND_DJL_MASK, ATTEND_NOT_FUSED, Peer.PYTHON};
        static final Peer[] TRAINED_ATTENTIONS = {
            TRAIN_ATTENTION_DJL, TRAIN_ATTENTION_DJL_MASK, TRAIN_ATTENTION_NOT_FUSED, Peer.PYTHON
        };
    }

    private final String title;

    @SuppressWarnings("ImmutableEnumChecker") // made by toList
    private final List<Row> rows;

    Table(String title, Stream<Case> cases, Peer... peers) {
        this.title = title;
        rows = cases.map(own -> Row.of(own, peers)).toList();
    }

    private static Stream<Case> cases(Operation operation, Shape... shapes) {
        return Arrays.stream(shapes).map(shape -> Case.of(operation, shape));
    }

    /** Each shape with each part of a layer. */
    private static Stream<Case> layers(List<Operation> operations, Shape... shapes) {
        return Arrays.stream(shapes)
                .flatMap(shape -> operations.stream().skip(1).map(part -> Case.of(part, shape)));
    }

    /** Each shape with each kind of attention. */
    private static Stream<Case> kinds(Operation operation, Shape... shapes) {
        return cases(operation, shapes)
                .flatMap(each -> AttentionKind.ALL.stream().map(each::with));
    }

    private static Stream<Case> gpu(Operation operation) {
        Shape[] shapes = {
            new Shape(1, 1, 512), new Shape(32, 128, 512), new Shape(8, 2048, 1024), new Shape(64, 8192, 1024)
        };
        return Stream.of(
                        cases(operation, shapes),
                        cases(operation, shapes).map(each -> each.in(DataType.FLOAT16)),
                        cases(operation, new Shape(128, 8192, 2048)).map(each -> each.in(DataType.FLOAT16)))
                .flatMap(each -> each);
    }

    /** The cases of this library on another engine. */
    private Stream<Case> on(String engine) {
        return rows.stream().map(row -> row.own().on(engine));
    }

    String title() {
        return title;
    }

    /** Whether it is of the memory of processes instead of times. */
    boolean isMemory() {
        return name().endsWith("_MEMORY");
    }

    boolean needsGpu() {
        return rows.get(0).own().operation().isOnGpu();
    }

    /** The rows whose label contains a text. */
    List<Row> rows(String text) {
        return rows.stream().filter(row -> row.own().label().contains(text)).toList();
    }

    /** The rows with small shapes, which only show that everything runs. */
    List<Row> quickRows() {
        // a process takes seconds to start
        long limit = isMemory() ? 1 : rows.size();
        return rows.stream().map(Row::quick).distinct().limit(limit).toList();
    }

    /** The case of any table, by what {@link Case#toString} says. */
    static Case caseNamed(String text) {
        return Arrays.stream(values())
                .flatMap(table -> table.rows.stream())
                .flatMap(row -> Stream.concat(row.cases(), row.quick().cases()))
                .filter(each -> each.toString().equals(text))
                .findFirst()
                .orElseThrow();
    }
}
