package io.github.djlpositional.weights;

import ai.djl.Model;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import com.google.gson.GsonBuilder;
import com.google.gson.stream.MalformedJsonException;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.OptionTypes;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.options.TypeProvider;
import java.io.IOException;
import java.io.Reader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;

/**
 * Creates the block of a saved model from its folder, so that a program can load the model without code that builds the
 * block:
 *
 * <pre>{@code
 * model.save(folder, "encoder");                            // encoder-0000.params
 * SavedBlockFactory.describe(model.getBlock(), folder);     // block.json and serving.properties
 *
 * Criteria.builder()                                        // elsewhere
 *         .setTypes(NDList.class, NDList.class)
 *         .optModelPath(folder)
 *         .optModelName("encoder")
 *         .build();
 * }</pre>
 *
 * <p>{@code block.json} has the {@linkplain HasArguments arguments} of the block; {@code serving.properties} names this
 * class, which DJL then creates. A folder may be untrusted: the only classes that are created are blocks of this
 * library, blocks of a {@link TypeProvider}, and DJL's {@link SequentialBlock} and {@link Linear}.
 */
public final class SavedBlockFactory implements BlockFactory {

    private static final long serialVersionUID = 1L;

    private static final String FILE = "block.json";
    private static final String PROPERTIES = "serving.properties";
    private static final String FACTORY = "blockFactory";

    /** The arguments of DJL's blocks. */
    private static final String BLOCKS = "blocks";

    private static final String UNITS = "units";
    private static final String BIAS = "bias";

    /** A description of 10,000 layers is shorter. */
    private static final long MAX_BYTES = 16 << 20;

    /**
     * Writes {@code block.json} and {@code serving.properties}, whose other properties are kept, into the folder of a
     * saved model.
     *
     * @param block the initialized block: one of this library, or of a {@link TypeProvider}, or DJL's
     *     {@link SequentialBlock} of such blocks and {@link Linear}
     * @param folder the folder, which exists
     * @throws IllegalArgumentException if the block, or one within it, is of another class
     * @throws UnsupportedOperationException if the block has no arguments, since several attentions share an encoding
     * @throws IOException if a file cannot be written; then neither is changed
     */
    public static void describe(Block block, Path folder) throws IOException {
        String json = new GsonBuilder().setPrettyPrinting().create().toJson(arguments(block));
        Properties properties = new Properties();
        Path file = folder.resolve(PROPERTIES);
        if (Files.exists(file)) {
            try (Reader reader = Files.newBufferedReader(file)) {
                properties.load(reader);
            }
        }
        properties.setProperty(FACTORY, SavedBlockFactory.class.getName());
        StringWriter text = new StringWriter();
        properties.store(text, null);
        write(folder.resolve(FILE), json + "\n");
        // without the first line, which has the time
        write(file, text.toString().lines().skip(1).sorted().collect(Collectors.joining("\n", "", "\n")));
    }

    /** Writes a file as a whole, or not at all. */
    private static void write(Path file, String text) throws IOException {
        // not a temporary file of Java's, which other users cannot read
        Path partial = file.resolveSibling("." + file.getFileName() + ".partial");
        try {
            Files.writeString(partial, text);
            Files.move(partial, file, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(partial);
        }
    }

    private static Map<String, Object> arguments(Block block) {
        if (block instanceof HasArguments described) {
            return described.getArguments();
        }
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put(Settings.TYPE, block.getClass().getSimpleName());
        if (block.getClass() == SequentialBlock.class) {
            List<Block> children = block.getChildren().values();
            arguments.put(
                    BLOCKS, children.stream().map(SavedBlockFactory::arguments).toList());
            return arguments;
        }
        Check.that(
                block.getClass() == Linear.class,
                () -> Settings.classOf(block) + " cannot be described: expected a block of this library, of a"
                        + " TypeProvider, SequentialBlock or Linear; use one of these, or load the model with optBlock");
        Shape weight = block.getDirectParameters().get("weight").getShape();
        Check.that(
                weight != null,
                "Linear is not initialized: expected a block that was trained or loaded; initialize it first");
        arguments.put(UNITS, weight.get(0));
        arguments.put(BIAS, block.getDirectParameters().size() > 1);
        return arguments;
    }

    /**
     * {@inheritDoc} The block is not initialized.
     *
     * @throws IllegalArgumentException if {@code block.json} is damaged, or describes no block
     * @throws IOException if it cannot be read
     */
    @Override
    public Block newBlock(Model model, Path modelPath, Map<String, ?> arguments) throws IOException {
        Path folder = Files.isDirectory(modelPath)
                ? modelPath
                : modelPath.toAbsolutePath().getParent();
        Path file = folder.resolve(FILE);
        Check.that(
                !Files.exists(file) || Files.size(file) <= MAX_BYTES,
                () -> FILE + " is larger than " + MAX_BYTES + " bytes: expected the file that describe wrote; save the"
                        + " model again");
        try {
            return created(Json.read(Files.readAllBytes(file)));
        } catch (MalformedJsonException e) {
            throw new IllegalArgumentException(
                    FILE + " is damaged (" + e.getMessage().lines().findFirst().orElse("")
                            + "): expected the file that describe wrote; save the model again",
                    e);
        }
    }

    private static Block created(Map<?, ?> arguments) {
        Object type = arguments.get(Settings.TYPE);
        if (SequentialBlock.class.getSimpleName().equals(type)) {
            SequentialBlock blocks = new SequentialBlock();
            Object list = arguments.get(BLOCKS);
            require(list instanceof List<?>, BLOCKS, list, "a list of blocks");
            for (Object each : (List<?>) list) {
                require(each instanceof Map<?, ?>, "a block of " + BLOCKS, each, "an object");
                blocks.add(created((Map<?, ?>) each));
            }
            return blocks;
        }
        if (Linear.class.getSimpleName().equals(type)) {
            Object units = arguments.get(UNITS);
            Object bias = arguments.get(BIAS);
            require(units instanceof Number number && number.longValue() > 0, UNITS, units, "a positive number");
            require(bias instanceof Boolean, BIAS, bias, "true or false");
            return Linear.builder()
                    .setUnits(((Number) units).longValue())
                    .optBias((boolean) bias)
                    .build();
        }
        return (Block) OptionTypes.create(FILE, Block.class, arguments);
    }

    private static void require(boolean holds, String name, Object found, String expected) {
        Check.that(
                holds,
                () -> name + " of " + FILE + " is " + Settings.shown(found) + ": expected " + expected
                        + "; save the model again");
    }
}
