package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A bound on PyTorch: the same numbers from one method of TorchScript in {@code limits.py}, with everything prepared.
 */
final class OneCall {

    private static final int BUCKETS = 256;
    private static final int MAX_DISTANCE = 512;

    private OneCall() {}

    /** A self-attention with Shaw's encoding or DeBERTa's. */
    static Callable<NDResource> attention(Setting setting, NDArray x, MultiHeadAttentionBlock attention)
            throws Exception {
        NDList inputs = withProjections(x, attention);
        RelativeEncoding encoding = attention.getRelativeEncodings().get(0);
        ((Block) encoding)
                .getDirectParameters().values().stream()
                        .map(Parameter::getArray)
                        .forEach(inputs::add);
        if (encoding instanceof ShawRelativePositionBlock) {
            return call(setting, "shaw", inputs);
        }
        int last = setting.size(1) - 1;
        long[] rows = IntStream.rangeClosed(-last, last).mapToLong(OneCall::row).toArray();
        inputs.add(setting.manager().create(rows));
        inputs.add(setting.manager().zeros(new Shape(attention.getHeadCount())));
        return call(setting, "deberta", inputs);
    }

    /** The index of DeBERTa's vector for a distance: {@code make_log_bucket_position} of transformers. */
    private static long row(int distance) {
        int middle = BUCKETS / 2;
        int size = Math.abs(distance);
        double fraction = Math.log((double) size / middle) / Math.log((MAX_DISTANCE - 1.0) / middle);
        int bucket = size <= middle ? size : middle + (int) Math.ceil(fraction * (middle - 1));
        return Math.min(2 * BUCKETS - 1, BUCKETS + (distance < 0 ? -bucket : bucket));
    }

    /** A step of an attention with a cache that holds copies of the same tokens. */
    static Callable<NDResource> step(Setting setting, MultiHeadAttentionBlock attention, NDArray tokens, NDArray token)
            throws Exception {
        int length = setting.size(1);
        long copies = length / tokens.getShape().get(1);
        NDArray prompt = NDArrays.concat(
                new NDList(
                        IntStream.range(0, (int) copies).mapToObj(i -> tokens).toArray(NDArray[]::new)),
                1);
        NDList inputs = withProjections(token, attention);
        RotaryEmbeddingBlock rotary = attention.getRelativeEncodings().stream()
                .map(RotaryEmbeddingBlock.class::cast)
                .findFirst()
                .orElse(null);
        NDArray keys = heads(setting, attention, attention.getKeyProjection(), prompt);
        inputs.add(
                withRoom(rotary == null ? keys : setting.forward(rotary, keys).head()));
        inputs.add(withRoom(heads(setting, attention, attention.getValueProjection(), prompt)));
        inputs.add(rotary == null ? setting.manager().create(new Shape(0)) : rows(setting, rotary));
        return call(setting, "step", inputs);
    }

    /** x with the weights and biases of queries, keys, values and the result. */
    private static NDList withProjections(NDArray x, MultiHeadAttentionBlock attention) {
        NDList inputs = new NDList(x);
        for (Linear projection : List.of(
                attention.getQueryProjection(),
                attention.getKeyProjection(),
                attention.getValueProjection(),
                attention.getResultProjection())) {
            projection.getParameters().values().stream()
                    .map(Parameter::getArray)
                    .forEach(inputs::add);
        }
        return inputs;
    }

    private static Callable<NDResource> call(Setting setting, String method, NDList inputs) throws Exception {
        Model model = setting.own(Engine.getEngine(Case.PYTORCH).newModel(method, Device.cpu()));
        model.load(new ByteArrayInputStream(archive()));
        // DJL calls the method that the last input names
        NDArray name = setting.manager().create(new Shape(0));
        name.setName("module_method:" + method);
        inputs.add(name);
        return () -> model.getBlock().forward(setting.store(), inputs, true);
    }

    private static NDArray heads(
            Setting setting, MultiHeadAttentionBlock attention, Linear projection, NDArray prompt) {
        return setting.forward(projection, prompt)
                .head()
                .reshape(1, prompt.getShape().get(1), attention.getHeadCount(), attention.getHeadSize())
                .transpose(0, 2, 1, 3);
    }

    private static NDArray withRoom(NDArray array) {
        NDArray next = array.get(":, :, :1");
        return array.concat(next, 2);
    }

    /** The cosines and sines of the next position: what its rotation makes of 1. */
    private static NDArray rows(Setting setting, RotaryEmbeddingBlock rotary) {
        int pairs = rotary.getHeadSize() / 2;
        Shape half = new Shape(1, 1, 1, pairs);
        NDArray one = setting.manager().ones(half).concat(setting.manager().zeros(half), 3);
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.START_POSITION, setting.size(1));
        return rotary.forward(setting.store(), new NDList(one), false, params).head();
    }

    /** An archive of TorchScript with the code and without numbers. */
    private static byte[] archive() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream file = OneCall.class.getResourceAsStream("/limits.py");
                ZipOutputStream zip = new ZipOutputStream(bytes)) {
            String code = new String(file.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.stripLeading().startsWith("#"))
                    .collect(Collectors.joining("\n", "", "\n"));
            String object = "\u0080\u0002c__torch__\nM\n)\u0081}X\b\0\0\0training\u0089sb.";
            for (Map.Entry<String, String> entry : Map.of(
                            "version",
                            "10\n",
                            "constants.pkl",
                            "\u0080\u0002).",
                            "data.pkl",
                            object,
                            "code/__torch__.py",
                            code)
                    .entrySet()) {
                zip.putNextEntry(new ZipEntry("limits/" + entry.getKey()));
                zip.write(entry.getValue().getBytes(StandardCharsets.ISO_8859_1));
                zip.closeEntry();
            }
        }
        return bytes.toByteArray();
    }
}
