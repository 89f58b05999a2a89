package io.github.djlpositional;

import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.options.OptionTypes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A small block with or without options that differ from the defaults, of {@code cases/blocks.txt}.
 *
 * @param name its name, and that of its model file
 * @param inputs the shapes of its inputs
 * @param hasSteps whether it gives the results of the whole sequence in steps along the second axis
 * @param text the class and the arguments
 */
record BlockCase(String name, List<Shape> inputs, boolean hasSteps, String text) implements TestBlocks {

    /** All of them. */
    static final List<BlockCase> ALL = read();

    private static List<BlockCase> read() {
        CaseFile file = CaseFile.read("cases/blocks.txt");
        return file.rows().stream()
                .map(row -> file.expanded(row).split(" [|] ", -1))
                .map(columns -> new BlockCase(columns[0], shapes(columns[1]), columns[2].equals("steps"), columns[3]))
                .toList();
    }

    private static List<Shape> shapes(String text) {
        return Stream.of(text.split(" ", -1))
                .map(shape -> new Shape(Stream.of(shape.split("x", -1))
                        .mapToLong(Long::parseLong)
                        .toArray()))
                .toList();
    }

    @Override
    public Shape input() {
        return inputs.get(0);
    }

    @Override
    public Shape[] shapes() {
        return inputs.toArray(Shape[]::new);
    }

    @Override
    public Block block() {
        int brace = text.indexOf('{');
        Map<Object, Object> arguments = new HashMap<>();
        arguments.putAll((Map<?, ?>) JsonUtils.GSON.fromJson(text.substring(brace), Map.class));
        arguments.put("type", text.substring(0, brace));
        return (Block) OptionTypes.create(name, Block.class, arguments);
    }

    @Override
    public String toString() {
        return name;
    }
}
