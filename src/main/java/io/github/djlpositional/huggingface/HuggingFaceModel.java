package io.github.djlpositional.huggingface;

import static io.github.djlpositional.internal.InvalidFileException.quoted;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.JsonUtils;
import com.google.gson.JsonParseException;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import io.github.djlpositional.weights.TensorNames;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Loads a published language or vision model from its folder, as Hugging Face's transformers saves it.
 *
 * <pre>{@code
 * TransformerStackBlock model = HuggingFaceModel.load(Path.of("Llama-3.2-1B"), manager);
 * }</pre>
 *
 * <p>The folder has {@code config.json}, and {@code model.safetensors} or {@code model.safetensors.index.json} with the
 * files that it names. Anything in the configuration or the weights that the blocks of this library do not support is
 * rejected by name.
 */
public final class HuggingFaceModel {

    private static final String CONFIG = "config.json";
    private static final String ONE_FILE = "model.safetensors";
    private static final String INDEX = "model.safetensors.index.json";

    /** Tensors that are no weights of this model: masks, positions and frequencies of older files, and other heads. */
    private static final String[] UNUSED = {
        "*.attn.bias",
        "*.attn.masked_bias",
        "*.attention.bias",
        "*.attention.masked_bias",
        "*inv_freq",
        "*position_ids",
        "*pooler.*",
        "cls.seq_relationship.*",
        "sop_classifier.*",
        "*.decoder.bias",
        "discriminator_predictions.*",
        "visual.*",
        "model.visual.*",
        "*EncDecAttention.relative_attention_bias.weight",
        "lm_predictions.*",
        "mask_predictions.*"
    };

    /** Tensors of models of pictures that are no weights of the encoder: other classifiers, and indices. */
    private static final String[] UNUSED_OF_PICTURES = {
        "classifier.*", "*mask_token", "*pooler.*", "*relative_position_index", "*relative_coords_table"
    };

    private HuggingFaceModel() {}

    /**
     * {@return the model in a folder; see {@link #load(Path, int, NDManager)}}
     *
     * @param folder the folder, whose files may be untrusted
     * @param manager owns the parameters
     * @throws IllegalArgumentException as there, or if the rope type is {@code longrope}, or {@code dynamic} without
     *     {@code alpha}, whose frequencies depend on the length
     * @throws MalformedModelException if a file is damaged
     * @throws IOException if a file cannot be read
     */
    public static TransformerStackBlock load(Path folder, NDManager manager)
            throws IOException, MalformedModelException {
        return load(folder, null, manager);
    }

    /**
     * Loads a model in FLOAT32: token ids (B, T) to scores of tokens, (B, T, V), of the next one or, in a masked
     * language model, of the one at each place; without an output layer in the folder to the last hidden states, (B, T,
     * D). Poolers and vision towers are not loaded, and a folder with a head for another task, such as a classifier, is
     * rejected. Numbers in BF16 or F16 are converted tensor by tensor, so that only one of them is in memory twice.
     *
     * @param folder the folder, whose files may be untrusted
     * @param length the maximum length of the sequences, at least 1
     * @param manager owns the parameters
     * @return a new block, whose parameters are frozen: call {@code freezeParameters(false)} to train them. The caller
     *     closes the manager
     * @throws IllegalArgumentException if the model type or a value of the configuration is not known or cannot be
     *     computed, a file is missing, or tensors do not fit the configuration
     * @throws MalformedModelException if a file is damaged
     * @throws IOException if a file cannot be read
     */
    public static TransformerStackBlock load(Path folder, int length, NDManager manager)
            throws IOException, MalformedModelException {
        return load(folder, Integer.valueOf(length), manager);
    }

    private static TransformerStackBlock load(Path folder, Integer length, NDManager manager)
            throws IOException, MalformedModelException {
        HuggingFaceConfig config = config(folder);
        Check.that(
                !VisionModel.isOfPictures(config),
                () -> "the folder " + folder + " has a vision model: expected a text model; call loadVision");
        Weights weights = new Weights(files(folder));
        Check.that(
                !ModelType.WITH_DECODER.containsKey(config.config.get("model_type")) || !weights.haveDecoder(),
                () -> "the folder " + folder
                        + " has a model with an encoder and a decoder: expected one stack of layers;"
                        + " call loadEncoderDecoder");
        Part part = weights.part(config, length, null);
        weights.load(manager, part);
        return part.stack();
    }

    /**
     * Loads a vision model in FLOAT32: normalized images (B, C, H, W) to the last hidden states, (B, T, D), or with the
     * classifier of a ViT or a Swin V2 in the folder to the scores of classes, (B, classes). The heads of other types
     * are not loaded.
     *
     * <pre>{@code
     * VisionTransformerBlock model = HuggingFaceModel.loadVision(Path.of("dinov2-base"), manager);
     * NDArray vectors = model.forward(store, new NDList(pictures), false).head(); // the class token is the first
     * }</pre>
     *
     * @param folder the folder, whose files may be untrusted
     * @param manager owns the parameters
     * @return a new block, whose parameters are frozen: call {@code freezeParameters(false)} to train them. The caller
     *     closes the manager
     * @throws IllegalArgumentException as {@link #load(Path, int, NDManager)}, or if the model is one of text
     * @throws MalformedModelException if a file is damaged
     * @throws IOException if a file cannot be read
     */
    public static VisionTransformerBlock loadVision(Path folder, NDManager manager)
            throws IOException, MalformedModelException {
        HuggingFaceConfig config = config(folder);
        VisionModel vision = new VisionModel(config);
        Weights weights = new Weights(files(folder));
        VisionTransformerBlock encoder =
                vision.encoder(vision.mayClassify() ? weights.classes() : null).build();
        weights.load(manager, new Part(new ModelLayers(config), encoder, List.of(vision.inputShape())));
        return encoder;
    }

    /**
     * Loads a model with an encoder and a decoder, such as T5, in FLOAT32. The encoder turns token ids (B, S) into
     * vectors (B, S, D); the decoder turns token ids (B, T) and these vectors into the scores of the next token, (B, T,
     * V), or without an output layer into its last hidden states, (B, T, D):
     *
     * <pre>{@code
     * EncoderDecoder t5 = HuggingFaceModel.loadEncoderDecoder(Path.of("t5-small"), manager);
     * NDArray memory = t5.encoder().forward(store, new NDList(ids), false).head();
     * NDArray scores = t5.decoder().forward(store, new NDList(target, memory), false).head();
     * }</pre>
     *
     * @param folder the folder, whose files may be untrusted
     * @param manager owns the parameters
     * @return two new blocks, which share the token table, and whose parameters are frozen: call
     *     {@code freezeParameters(false)} on both to train them. The caller closes the manager
     * @throws IllegalArgumentException as {@link #load(Path, int, NDManager)}, or if the model has one stack of layers
     * @throws MalformedModelException if a file is damaged
     * @throws IOException if a file cannot be read
     */
    public static EncoderDecoder loadEncoderDecoder(Path folder, NDManager manager)
            throws IOException, MalformedModelException {
        requireConfig(folder);
        HuggingFaceConfig decoderConfig = HuggingFaceConfig.readDecoder(folder);
        Weights weights = new Weights(files(folder));
        Part encoder = weights.part(HuggingFaceConfig.read(folder), null, null);
        Part decoder = weights.part(decoderConfig, null, encoder.stack().getInput());
        weights.load(manager, encoder, decoder);
        return new EncoderDecoder(encoder.stack(), decoder.stack());
    }

    /**
     * A model with an encoder and a decoder.
     *
     * @param encoder token ids (B, S) to vectors (B, S, D)
     * @param decoder token ids (B, T) and vectors (B, S, D) to scores (B, T, V), or to hidden states (B, T, D)
     */
    public record EncoderDecoder(TransformerStackBlock encoder, TransformerStackBlock decoder) {}

    /** The configuration in a folder. */
    static HuggingFaceConfig config(Path folder) throws IOException, MalformedModelException {
        requireConfig(folder);
        return HuggingFaceConfig.read(folder);
    }

    private static void requireConfig(Path folder) {
        Check.that(
                Files.isRegularFile(folder.resolve(CONFIG)),
                () -> "the folder " + folder + " has no file " + CONFIG
                        + ": expected the files of a model as Hugging Face publishes it; download what is missing");
    }

    /** A stack of a model, or an encoder of pictures. */
    private record Part(ModelLayers layers, Block block, List<Shape> inputShapes) {

        /** The stack, or the last one of the encoder. */
        TransformerStackBlock stack() {
            return block instanceof VisionTransformerBlock encoder
                    ? encoder.getStages().get(encoder.getStages().size() - 1)
                    : (TransformerStackBlock) block;
        }

        List<TensorNames.Tensor> tensors() {
            return block instanceof VisionTransformerBlock encoder
                    ? layers.names().tensors(encoder)
                    : layers.names().tensors(stack());
        }

        void add(WeightLoader loader, String prefix) {
            if (block instanceof VisionTransformerBlock encoder) {
                loader.module(prefix, encoder, layers.names()).allowUnused(UNUSED_OF_PICTURES);
            } else {
                loader.module(prefix, stack(), layers.names()).allowUnused(UNUSED);
            }
        }

        boolean isRead(Parameter parameter) {
            return !layers.lacks(parameter.getName());
        }
    }

    /** The weights of a folder. */
    private static final class Weights {

        private final List<WeightFile> files;
        private final Map<String, TensorInfo> tensors = new TreeMap<>();

        Weights(List<WeightFile> files) {
            this.files = files;
            files.forEach(file -> tensors.putAll(file.getTensors()));
        }

        boolean haveDecoder() {
            return tensors.keySet().stream().anyMatch(name -> name.startsWith("decoder."));
        }

        /** The number of classes of a classifier; null for none. */
        Integer classes() {
            TensorInfo classifier = tensors.get("classifier.weight");
            return classifier == null || classifier.shape().dimension() != 2
                    ? null
                    : Math.toIntExact(classifier.shape().get(0));
        }

        /** Builds a stack, with an output layer if the weights have one; with the input of another stack, or null. */
        Part part(HuggingFaceConfig config, Integer length, InputEmbeddingBlock input) {
            ModelLayers layers = new ModelLayers(config);
            TransformerStackBlock.Builder builder = layers.stack(length);
            if (input != null) {
                builder.optInput(input);
            }
            boolean hasHead = layers.names().getHead() != null
                    && (layers.names().hasOutput(tensors.keySet()) || layers.isLanguageModel());
            TransformerStackBlock stack = (hasHead ? layers.withHead(builder) : builder).build();
            return new Part(layers, stack, List.of(layers.inputShapes()));
        }

        void load(NDManager manager, Part... parts) throws IOException, MalformedModelException {
            WeightLoader loader = WeightLoader.ofAll(files).oneByOne();
            Map<String, List<Parameter>> needed = new HashMap<>(); // layers may share a tensor
            for (Part part : parts) {
                add(loader, part, needed);
            }
            requireRoom(needed, tensors);
            for (Part part : parts) {
                // they are replaced, so that random numbers would be drawn for nothing
                part.block.setInitializer(Initializer.ZEROS, part::isRead);
                part.block.freezeParameters(true); // before, since MXNet would allocate gradients
                part.block.initialize(manager, DataType.FLOAT32, part.inputShapes.toArray(Shape[]::new));
            }
            loader.load(Stream.of(parts).map(Part::block).toArray(Block[]::new));
        }

        private void add(WeightLoader loader, Part part, Map<String, List<Parameter>> needed) {
            ModelLayers layers = part.layers;
            TensorNames names = layers.names();
            String prefix = layers.prefix(tensors.keySet());
            part.tensors().forEach(tensor -> needed.put(prefix + tensor.name(), tensor.parameters()));
            names.outputTensors(part.stack()).forEach(tensor -> needed.put(tensor.name(), tensor.parameters()));
            needed.values().removeIf(parameters -> !part.isRead(parameters.get(0)));
            if (layers.tied(prefix).length > 0) {
                loader.tied(layers.tied(prefix));
            }
            part.add(loader, prefix);
            loader.output(part.stack(), names).allowMissing(layers.missing()).addOne(layers.storedMinusOne());
        }
    }

    /** Checks that the parameters are not larger than the weights, before they take memory. */
    private static void requireRoom(Map<String, List<Parameter>> needed, Map<String, TensorInfo> tensors) {
        double described = needed.values().stream()
                .flatMap(List::stream)
                .mapToDouble(parameter -> parameter.getShape().size())
                .sum();
        double stored = tensors.values().stream()
                .mapToDouble(info -> info.shape().size())
                .sum();
        Check.that(
                described <= stored,
                () -> String.format(
                        Locale.ROOT,
                        "config.json describes a model of %,.0f numbers: expected at most the %,.0f of the weights;"
                                + " download both again",
                        described,
                        stored));
    }

    private static List<WeightFile> files(Path folder) throws IOException, MalformedModelException {
        Path index = folder.resolve(INDEX);
        if (!Files.exists(index)) {
            Check.that(
                    Files.exists(folder.resolve(ONE_FILE)),
                    () -> "the folder " + folder + " has no file " + ONE_FILE + " or " + INDEX
                            + ": expected one of them; download the weights in this format");
            return List.of(WeightFile.open(folder.resolve(ONE_FILE)));
        }
        List<WeightFile> files = new ArrayList<>();
        for (String name : shards(index)) {
            Check.that(
                    name.matches("[\\w.-]+"),
                    () -> index + " names the file " + quoted(name)
                            + ": expected files of its folder; download the index again");
            Check.that(
                    Files.isRegularFile(folder.resolve(name)),
                    () -> "the folder " + folder + " has no file " + name + ": expected all files that " + INDEX
                            + " names; download it");
            files.add(WeightFile.open(folder.resolve(name)));
        }
        return files;
    }

    private static Set<String> shards(Path index) throws IOException, MalformedModelException {
        try (Reader reader = Files.newBufferedReader(index)) {
            Object map = JsonUtils.GSON.fromJson(reader, Map.class).get("weight_map");
            Set<String> files = new TreeSet<>();
            ((Map<?, ?>) map).values().forEach(file -> files.add(file.toString()));
            return files;
        } catch (JsonParseException | ClassCastException | NullPointerException e) {
            throw new MalformedModelException(
                    index + " has no weight_map: expected the file of each tensor; download it again", e);
        }
    }
}
