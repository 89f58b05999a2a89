package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.relative.EncodingType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A line of commands for caches of some attentions, one after the other. Each step is compared with a forward of the
 * whole sequence, and after each command the cache must have the length of that sequence. {@code scenarios/cache.txt}
 * lists the commands.
 */
final class CacheScenario {

    private static final Pattern STEP = Pattern.compile("(fail )?([0-9]+)((?: [a-z]+ [^ ]+)*)(?: x([0-9]+))?( train)?");

    private record Attention(MultiHeadAttentionBlock block, boolean isCross) {}

    /** A cache, and what it should hold. */
    private static final class Sequence {
        private KeyValueCache cache;
        private NDArray tokens;
        private NDArray positions;
        private NDArray mask;
        private NDArray memory;
        private NDArray memoryMask;
        private boolean hasFailed;

        int length() {
            return tokens == null ? 0 : (int) tokens.getShape().get(1);
        }

        void truncate(int length) {
            hasFailed = false;
            if (length < length()) {
                tokens = first(length, tokens);
                mask = first(length, mask);
                positions = first(length, positions);
            }
        }

        private static NDArray first(int length, NDArray array) {
            return length == 0 || array == null ? null : array.get(":, :" + length);
        }
    }

    private final NDManager manager;
    private final NDManager parent;
    private final List<Attention> model;
    private final List<Sequence> sequences = new ArrayList<>();
    private Sequence current;
    private PairList<String, Object> skipped;
    private int batch = 2;
    private int seed = 100;

    /**
     * Creates the attentions.
     *
     * @param model their relative encodings and options, such as {@code ALIBI{causal: true}, cross NONE{}}
     */
    CacheScenario(NDManager manager, String model) {
        this.manager = manager;
        parent = manager.newSubManager();
        this.model = Arrays.stream(model.split(", (?=(cross )?[A-Z_0-9]+\\{)", -1))
                .map(each -> attention(manager, each))
                .toList();
    }

    private static Attention attention(NDManager manager, String text) {
        int brace = text.indexOf('{');
        boolean isCross = text.startsWith("cross ");
        EncodingType type = EncodingType.valueOf(text.substring(isCross ? 6 : 0, brace));
        Map<?, ?> options = JsonUtils.GSON.fromJson(text.substring(brace), Map.class);
        return new Attention(
                filled(manager, type.attention(HEADS).setAll(options).build(), DataType.FLOAT64), isCross);
    }

    /** Runs the commands, and expects no array of the caches to remain when they are closed. */
    void run(String... commands) {
        List<String> left = new ArrayList<>(List.of(commands));
        boolean hasCapacity = left.get(0).startsWith("capacity ");
        add(hasCapacity ? new KeyValueCache(parent, number(left.remove(0))) : new KeyValueCache(parent));
        for (String command : left) {
            try {
                runOne(command);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(
                        "command " + command + " with " + current.length() + " tokens: " + e.getMessage(), e);
            }
        }
        sequences.forEach(each -> each.cache.close());
        if (parent.isOpen()) {
            assertThat(parent.getManagedArrays()).isEmpty();
            parent.close();
        }
    }

    private void add(KeyValueCache cache) {
        current = new Sequence();
        current.cache = cache;
        current.memory = numbers(manager, 9, DataType.FLOAT64, batch, 4, SIZE);
        sequences.add(current);
    }

    private void setBatch(int size) {
        batch = size;
        if (current.length() == 0) {
            current.memory = numbers(manager, 9, DataType.FLOAT64, batch, 4, SIZE);
        }
    }

    private static int number(String command) {
        return Integer.parseInt(command.substring(command.lastIndexOf(' ') + 1));
    }

    private void runOne(String line) {
        String[] columns = line.split(" !+ ", 2);
        if (columns.length == 1) {
            run(line);
        } else {
            Throwable thrown = catchThrowable(() -> run(columns[0]));
            Class<?> expected = line.contains(" !! ") ? IllegalStateException.class : IllegalArgumentException.class;
            assertThat(thrown).as(line).isInstanceOf(expected);
            assertThat(thrown)
                    .as(line)
                    .hasMessageContaining(": expected ")
                    .hasMessageContainingAll(columns[1].split("; ", -1));
        }
        if (!current.hasFailed) {
            assertThat(current.cache.getLength()).as("after %s", line).isEqualTo(current.length());
        }
    }

    private void run(String command) {
        Matcher step = STEP.matcher(command);
        if (step.matches()) {
            int times = step.group(4) == null ? 1 : Integer.parseInt(step.group(4));
            for (int i = 0; i < times; i++) {
                step(step.group(1) != null, Integer.parseInt(step.group(2)), step.group(3), step.group(5) != null);
            }
            return;
        }
        switch (command.split(" ", -1)[0]) {
            case "skip" -> skipped = current.cache.nextStep();
            case "rewind" -> rewind(number(command));
            case "select" -> select(command.substring("select ".length()));
            case "fork" -> fork();
            case "clear" -> clear();
            case "close" -> close(command.endsWith("parent"));
            case "other" -> current = sequences.get((sequences.indexOf(current) + 1) % sequences.size());
            case "new" -> add(new KeyValueCache(parent));
            case "batch" -> setBatch(number(command));
            case "room" -> requireLengths(4, 2, number(command));
            case "heads" -> requireLengths(4, 1, number(command));
            case "line" -> requireLengths(2, 1, number(command));
            default -> throw new AssertionError("unknown command: " + command);
        }
    }

    private void step(boolean fails, int count, String options, boolean isTraining) {
        Sequence s = current;
        Matcher option = Pattern.compile("([a-z]+) ([^ ]+)").matcher(options);
        Map<String, String> values =
                option.results().collect(Collectors.toMap(each -> each.group(1), each -> each.group(2)));
        PairList<String, Object> params = parameters(values.get("start"));
        NDArray x = numbers(manager, seed++, DataType.FLOAT64, batch, count, SIZE);
        NDArray positions = values.containsKey("at") ? matrix(values.get("at"), ",") : null;
        if (positions != null) {
            boolean isShared = positions.getShape().get(0) == 1;
            params.add(
                    PositionalEncodingBlock.POSITIONS,
                    isShared && seed % 2 == 0 ? positions.reshape(count) : positions);
        }
        NDArray mask = values.containsKey("mask") ? typed(matrix(values.get("mask"), "")) : null;
        NDArray once = values.containsKey("once") ? ofQueries(values.get("once"), s.length(), count) : null;
        NDArray ofMemory = values.containsKey("memory") ? typed(matrix(values.get("memory"), "")) : null;
        s.hasFailed |= fails;
        if (fails) {
            NDArray wrong = manager.ones(new Shape(batch, 1, 99));
            assertThat(catchThrowable(() -> forward(model, params, x, null, null, wrong, false)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("mask");
            return;
        }
        if (values.containsKey("of")) {
            // after a first step in one attention only, the cache holds that attention's tokens
            s.hasFailed |= s.length() == 0;
            forward(List.of(model.get(Integer.parseInt(values.get("of")))), params, x, null, null, null, false);
            return;
        }
        NDArray y = forward(model, params, x, once == null ? mask : once, ofMemory, null, isTraining);
        append(x, positions, mask, ofMemory);
        PairList<String, Object> whole = new PairList<>();
        if (s.positions != null) {
            whole.add(PositionalEncodingBlock.POSITIONS, s.positions);
        }
        NDArray ofWhole = once == null ? s.mask : ofQueries(values.get("once"), 0, s.length());
        NDArray expected = forward(model, whole, s.tokens, ofWhole, s.memoryMask, null, false);
        requireClose(y, doubles(expected.get(":, {}:", s.length() - count)), 1e-12);
    }

    /** Of the next step, or of the user's own. */
    private PairList<String, Object> parameters(String start) {
        if (start != null) {
            PairList<String, Object> own = Forward.params(KeyValueCache.KEY, current.cache);
            if (!start.equals("none")) {
                own.add(
                        PositionalEncodingBlock.START_POSITION,
                        start.contains(".") ? (Object) Double.parseDouble(start) : (Object) Integer.parseInt(start));
            }
            return own;
        }
        PairList<String, Object> params = skipped == null ? current.cache.nextStep() : skipped;
        skipped = null;
        return params;
    }

    /** Rows that are separated by slashes. */
    private NDArray matrix(String text, String separator) {
        double[][] rows = Arrays.stream(text.split("/", -1))
                .map(row -> Arrays.stream(row.split(separator, separator.isEmpty() ? 0 : -1))
                        .mapToDouble(Double::parseDouble)
                        .toArray())
                .toArray(double[][]::new);
        NDArray reals = manager.create(
                Arrays.stream(rows).flatMapToDouble(Arrays::stream).toArray(), new Shape(rows.length, rows[0].length));
        return text.contains(".") ? reals : reals.toType(seed % 3 == 0 ? DataType.INT32 : DataType.INT64, false);
    }

    /** A mask with an axis of queries, in one of its forms: of the keys that queries see, or of the earlier keys. */
    private NDArray ofQueries(String text, int from, int count) {
        if (text.equals("causal")) {
            NDArray keys = manager.arange((float) from + count).expandDims(0);
            NDArray queries = manager.arange((float) from, from + count).expandDims(1);
            return keys.lte(queries).expandDims(0).repeat(0, batch);
        }
        NDArray visible = matrix(text, "").toType(DataType.FLOAT64, false);
        NDArray ofScores = visible.reshape(batch, 1, 1, visible.getShape().get(1));
        return switch (seed % 3) {
            case 0 -> ofScores.neq(0);
            case 1 -> ofScores.log();
            default -> ofScores.reshape(batch, 1, -1).repeat(1, count);
        };
    }

    /** A mask in one of the data types that masks may have. */
    private NDArray typed(NDArray mask) {
        return switch (seed % 3) {
            case 0 -> mask.neq(0);
            case 1 -> mask.toType(DataType.FLOAT32, false);
            default -> mask;
        };
    }

    private NDArray forward(
            List<Attention> attentions,
            PairList<String, Object> params,
            NDArray x,
            NDArray mask,
            NDArray memoryMask,
            NDArray maskOfLast,
            boolean isTraining) {
        NDArray y = x;
        for (Attention each : attentions) {
            NDList inputs = each.isCross ? new NDList(current.memory, y, current.memory) : new NDList(y);
            boolean isLast = each.equals(attentions.get(attentions.size() - 1));
            NDArray added = isLast && maskOfLast != null ? maskOfLast : each.isCross ? memoryMask : mask;
            if (added != null) {
                inputs.add(added);
            }
            y = each.block
                    .forward(new ParameterStore(manager, false), inputs, isTraining, params)
                    .head();
        }
        return y;
    }

    private void append(NDArray x, NDArray positions, NDArray mask, NDArray ofMemory) {
        Sequence s = current;
        int before = s.length();
        long count = x.getShape().get(1);
        if (positions != null) {
            NDArray earlier = s.positions == null
                    ? manager.arange(before)
                            .toType(DataType.INT64, false)
                            .reshape(1, before)
                            .broadcast(new Shape(batch, before))
                    : s.positions;
            NDArray later = positions.broadcast(new Shape(batch, count));
            boolean isReal =
                    earlier.getDataType().isFloating() || later.getDataType().isFloating();
            DataType type = isReal ? DataType.FLOAT64 : DataType.INT64;
            s.positions = before == 0
                    ? later.toType(type, false)
                    : earlier.toType(type, false).concat(later.toType(type, false), 1);
        }
        NDArray earlier = s.mask == null ? manager.ones(new Shape(batch, Math.max(1, before))) : s.mask;
        NDArray later = mask == null ? manager.ones(new Shape(batch, count)) : mask.toType(DataType.FLOAT32, false);
        boolean isOfAll = later.getShape().get(1) == before + count;
        s.mask = isOfAll ? later : earlier.concat(later, 1);
        s.tokens = s.tokens == null ? x : s.tokens.concat(x, 1);
        s.memoryMask = ofMemory == null ? s.memoryMask : ofMemory;
    }

    private void rewind(int length) {
        current.cache.rewind(length);
        current.truncate(length);
    }

    private void select(String text) {
        if (text.equals("none")) {
            current.cache.select(manager.create(new Shape(0), DataType.INT32));
        }
        NDArray matrix = matrix(text.replace(' ', ','), ",");
        NDArray rows = text.contains("/") ? matrix : matrix.reshape(-1);
        current.cache.select(rows);
        current.tokens = current.tokens.get(rows);
        current.mask = current.mask.get(rows);
        current.positions = current.positions == null ? null : current.positions.get(rows);
        current.memory = current.memory.get(rows);
        batch = (int) rows.size();
    }

    private void fork() {
        Sequence from = current;
        add(from.cache.fork());
        current.tokens = from.tokens;
        current.positions = from.positions;
        current.mask = from.mask;
        current.memory = from.memory;
        current.memoryMask = from.memoryMask;
    }

    private void clear() {
        current.cache.clear();
        skipped = null;
        current.truncate(0);
    }

    private void close(boolean isOfParent) {
        if (isOfParent) {
            parent.close();
        } else {
            current.cache.close();
            current.truncate(0);
        }
    }

    /** The lengths of an axis of all arrays of a rank that caches hold, each once. */
    private void requireLengths(int rank, int axis, int expected) {
        Set<Long> lengths = parent.getManagedArrays().stream()
                .map(NDArray::getShape)
                .filter(shape -> shape.dimension() == rank)
                .map(shape -> shape.get(axis))
                .collect(Collectors.toSet());
        assertThat(lengths).isEqualTo(expected == 0 ? Set.of() : Set.of((long) expected));
    }
}
