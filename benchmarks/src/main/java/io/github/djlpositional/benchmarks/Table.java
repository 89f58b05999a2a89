package io.github.djlpositional.benchmarks;

import io.github.djlpositional.benchmarks.Measurements.Case;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.openjdk.jmh.runner.RunnerException;

/** The tables of the report: which things are measured together, and what they are compared with. */
enum Table {
    ADD("The encodings added", "AddBenchmark", "block", List.of("1x1x512", "1x128x512", "32x128x512", "8x2048x1024")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("copy", jmh("copy", "PyTorch", shape)),
                    column("bare add", jmh("bareAdd", "PyTorch", shape)),
                    column("book", jmh("book", "PyTorch", shape)),
                    column("Python", python("module", shape)));
        }

        @Override
        double rooflineBytes(String shape) {
            long[] sizes = Setting.shape(shape).getShape();
            // x and the slice read, the sum written
            return 4.0 * (2 * sizes[0] * sizes[1] * sizes[2] + sizes[1] * sizes[2]);
        }
    },

    ADD_MXNET("The encodings added, on MXNet", "AddBenchmark", "block", ADD.shapes) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("bare add", jmh("bareAdd", "MXNet", shape)), column("book", jmh("book", "MXNet", shape)));
        }

        @Override
        Case own(String shape) {
            return jmh("block", "MXNet", shape);
        }
    },

    STEP("A decoder's step, at 4096 positions one after another, (1, 1, 512)", "DecodeBenchmark", "step", List.of("")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("bare add", jmh("bareAdd", "PyTorch", shape)),
                    column("bare add of 64 rows", jmh("bareAddOfSomeRows", "PyTorch", shape)),
                    column("bare add of 4096 rows", jmh("bareAddOfRows", "PyTorch", shape)));
        }
    },

    EXPLICIT("Explicit positions (32, 128), size 512", "DecodeBenchmark", "explicit", List.of("")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(column("bare look-up and add", jmh("bareLookUpAndAdd", "PyTorch", shape)));
        }
    },

    EMBEDDING("Token ids to vectors with positions", "InputEmbeddingBenchmark", "block", List.of("8x2048x1024")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("bare look-up", jmh("bareLookUp", "PyTorch", shape)),
                    column("book", jmh("book", "PyTorch", shape)),
                    column("Python", python("chain", shape)));
        }
    },

    EMBEDDING_SCALED("The same with the factor √d", "InputEmbeddingBenchmark", "blockScaled", EMBEDDING.shapes) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("bare look-up", jmh("bareLookUp", "PyTorch", shape)),
                    column("book", jmh("bookScaled", "PyTorch", shape)),
                    column("Python", python("chainScaled", shape)));
        }
    },

    TABLE("The table, made", "TableBenchmark", "block", List.of("5000x512", "1000000x64")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(column("book", jmh("book", "PyTorch", shape)), column("Python", python("table", shape)));
        }
    },

    TABLE_MXNET("The table, made on MXNet", "TableBenchmark", "block", TABLE.shapes) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(column("book", jmh("book", "MXNet", shape)));
        }

        @Override
        Case own(String shape) {
            return jmh("block", "MXNet", shape);
        }
    },

    FIRST("The first forward of a loaded block, (1, 128, 512)", "FirstForwardBenchmark", "block", List.of("")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("book", jmh("book", "PyTorch", shape)), column("Python", python("first", "1x128x512")));
        }
    },

    ROTARY("Queries and keys turned, halves side by side", "RotaryBenchmark", "halves", List.of("8x16x1024x64")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("usual in DJL", jmh("usual", "PyTorch", shape)), column("Python", python("rotary", shape)));
        }
    },

    ROTARY_INTERLEAVED("The same, pairs side by side", "RotaryBenchmark", "interleaved", ROTARY.shapes) {
        @Override
        Map<String, Case> columns(String shape) {
            return ROTARY.columns(shape);
        }
    },

    TRAINING("A training step of the examples' encoder", "TrainingBenchmark", "block", List.of("128x16")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(column("book", jmh("book", "PyTorch", shape)));
        }
    },

    SHARE("The shares of that step", "TrainingBenchmark", "block", List.of("128x16:encoding", "128x16:optimizer")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(column("the step", TRAINING.own("128x16")));
        }

        @Override
        Case own(String shape) {
            return jmh(shape.split(":", 2)[1], "PyTorch", "128x16");
        }
    },

    LAYER(
            "A transformer layer and its parts, inference",
            "LayerBenchmark",
            "inference",
            parts("5x128x384", "32x64x384")) {
        @Override
        Map<String, Case> columns(String shape) {
            return wholeLayer(shape);
        }
    },

    LAYER_TRAINING(
            "A layer of the examples' encoder and its parts, forward and backward",
            "LayerBenchmark",
            "training",
            parts("128x16x64")) {
        @Override
        Map<String, Case> columns(String shape) {
            return wholeLayer(shape);
        }
    },

    ATTENTION(
            "Attention, inference",
            "AttentionBenchmark",
            "block",
            kinds("8x256x512", "1x1024x512", "1x4096x512", "32x32x256")) {
        @Override
        Map<String, Case> columns(String shape) {
            return attentions(shape, "attention");
        }
    },

    ATTENTION_LONG("The same, a long sequence", "AttentionBenchmark", "block", kinds("1x16384x512")) {
        @Override
        Map<String, Case> columns(String shape) {
            return Map.of();
        }
    },

    ATTENTION_MXNET(
            "Attention on MXNet, inference",
            "AttentionBenchmark",
            "block",
            kinds("8x256x512", "1x1024x512", "32x32x256")) {
        @Override
        Map<String, Case> columns(String shape) {
            return withoutPositions(shape, "MXNet");
        }

        @Override
        Case own(String shape) {
            return jmh("block", "MXNet", shape);
        }
    },

    ATTENTION_MEMORY(
            "Attention, inference: peak memory of a process, in MB",
            "AttentionBenchmark",
            "block",
            kinds("1x1024x512", "1x4096x512", "1x16384x512")) {
        @Override
        Map<String, Case> columns(String shape) {
            // beyond, DJL's block would need 17 GB
            return Setting.shape(shape).get(1) > 4096 ? Map.of() : ATTENTION.columns(shape);
        }

        @Override
        boolean isMemory() {
            return true;
        }
    },

    ATTENTION_TRAINING(
            "Attention, forward and backward",
            "AttentionTrainingBenchmark",
            "block",
            kinds("8x256x512", "1x1024x512", "32x32x256")) {
        @Override
        Map<String, Case> columns(String shape) {
            return attentions(shape, "attentionTraining");
        }
    },

    ATTENTION_TRAINING_MXNET(
            "Attention on MXNet, forward and backward",
            "AttentionTrainingBenchmark",
            "block",
            ATTENTION_TRAINING.shapes) {
        @Override
        Map<String, Case> columns(String shape) {
            return withoutPositions(shape, "MXNet");
        }

        @Override
        Case own(String shape) {
            return jmh("block", "MXNet", shape);
        }
    },

    ATTENTION_TRAINING_MEMORY(
            "Attention, forward and backward: peak memory of a process, in MB",
            "AttentionTrainingBenchmark",
            "block",
            kinds("1x1024x512")) {
        @Override
        Map<String, Case> columns(String shape) {
            return ATTENTION_TRAINING.columns(shape);
        }

        @Override
        boolean isMemory() {
            return true;
        }
    },

    GENERATION(
            "A decoder's step with a cache of the length",
            "GenerationBenchmark",
            "step",
            kinds("1x64x512", "1x1024x512", "1x4096x512")) {
        @Override
        Map<String, Case> columns(String shape) {
            Map<String, Case> columns = new LinkedHashMap<>(withoutPositions(shape, "PyTorch"));
            columns.put("not fused", jmh("plain", "PyTorch", shape));
            if (AttentionKind.of(shape).isInPython()) {
                columns.put("Python", python("generation", shape));
            }
            return columns;
        }
    },

    GENERATION_MXNET("The same on MXNet", "GenerationBenchmark", "step", GENERATION.shapes) {
        @Override
        Map<String, Case> columns(String shape) {
            return withoutPositions(shape, "MXNet");
        }

        @Override
        Case own(String shape) {
            return jmh("step", "MXNet", shape);
        }
    },

    GENERATION_LLAMA(
            "A decoder's step of one layer of Llama 3",
            "GenerationBenchmark",
            "step",
            List.of("1x1024x4096:llama-3", "1x4096x4096:llama-3")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("32 key heads", jmh("allKeyHeads", "PyTorch", shape)),
                    column("Python", python("generation", shape)));
        }
    },

    GENERATION_LLAMA_MEMORY(
            "The same: peak memory of a process, in MB",
            "GenerationBenchmark",
            "step",
            List.of("1x64x4096:llama-3", "1x1024x4096:llama-3", "1x4096x4096:llama-3")) {
        @Override
        Map<String, Case> columns(String shape) {
            return GENERATION_LLAMA.columns(shape);
        }

        @Override
        boolean isMemory() {
            return true;
        }
    },

    GROWTH(
            "Growth with the length",
            "AddBenchmark",
            "block",
            List.of("1x128x512", "1x512x512", "1x2048x512", "1x8192x512", "1x32768x512", "1x65536x512")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(column("bare add", jmh("bareAdd", "PyTorch", shape)));
        }
    },

    GPU(
            "The encodings added, on a GPU",
            "GpuBenchmark",
            "block",
            List.of(
                    "1x1x512:FLOAT32",
                    "32x128x512:FLOAT32",
                    "8x2048x1024:FLOAT32",
                    "64x8192x1024:FLOAT32",
                    "1x1x512:FLOAT16",
                    "32x128x512:FLOAT16",
                    "8x2048x1024:FLOAT16",
                    "64x8192x1024:FLOAT16",
                    "128x8192x2048:FLOAT16")) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(
                    column("copy", jmh("copy", "PyTorch", shape)),
                    column("bare add", jmh("bareAdd", "PyTorch", shape)));
        }

        @Override
        boolean needsGpu() {
            return true;
        }
    },

    GPU_EXPLICIT("The same with explicit positions", "GpuBenchmark", "explicit", GPU.shapes) {
        @Override
        Map<String, Case> columns(String shape) {
            return GPU.columns(shape);
        }

        @Override
        boolean needsGpu() {
            return true;
        }
    };

    private final String title;
    private final String group;
    private final String own;

    @SuppressWarnings("ImmutableEnumChecker") // made by List.of
    private final List<String> shapes;

    Table(String title, String group, String own, List<String> shapes) {
        this.title = title;
        this.group = group;
        this.own = own;
        this.shapes = shapes;
    }

    /** What this library is compared with, by its name in the table. */
    abstract Map<String, Case> columns(String shape);

    private static Map.Entry<String, Case> column(String name, Case measured) {
        return Map.entry(name, measured);
    }

    @SafeVarargs
    private static Map<String, Case> inOrder(Map.Entry<String, Case>... columns) {
        Map<String, Case> ordered = new LinkedHashMap<>();
        for (Map.Entry<String, Case> column : columns) {
            ordered.put(column.getKey(), column.getValue());
        }
        return ordered;
    }

    /** Each shape with each kind of attention. */
    private static List<String> kinds(String... shapes) {
        return Arrays.stream(shapes)
                .flatMap(shape -> AttentionKind.ALL.stream().map(kind -> shape + ":" + kind.text()))
                .toList();
    }

    /** Each shape with each part of a layer. */
    private static List<String> parts(String... shapes) {
        return Arrays.stream(shapes)
                .flatMap(shape -> LayerBenchmark.Part.ofLayer().map(part -> shape + ":" + part))
                .toList();
    }

    /** The layer of whose parts a table is. */
    Map<String, Case> wholeLayer(String shape) {
        return inOrder(column("the layer", own(shape.split(":", 2)[0] + ":layer")));
    }

    /** What this library's attention is compared with. */
    Map<String, Case> attentions(String shape, String python) {
        Map<String, Case> columns = new LinkedHashMap<>();
        columns.put("DJL", jmh("djl", "PyTorch", shape));
        if (AttentionKind.of(shape).isMask()) {
            columns.put("DJL with mask", jmh("djlMask", "PyTorch", shape));
        }
        columns.put("not fused", jmh("plain", "PyTorch", shape));
        if (AttentionKind.of(shape).isInPython()) {
            columns.put("Python", python(python, shape));
        }
        return columns;
    }

    /** This library's attention without positions, beside its others. */
    Map<String, Case> withoutPositions(String shape, String engine) {
        return inOrder(column("none", jmh(own, engine, shape.split(":", 2)[0] + ":none")));
    }

    /** Whether it is of the memory of processes instead of times. */
    boolean isMemory() {
        return false;
    }

    /** Whether it says something about GPUs alone. */
    boolean needsGpu() {
        return false;
    }

    /** What a perfect implementation reads and writes; 0 where that is not shown. */
    double rooflineBytes(String shape) {
        return 0;
    }

    /** This library's own case. */
    Case own(String shape) {
        return jmh(own, "PyTorch", shape);
    }

    Case jmh(String name, String engine, String shape) {
        return new Case(group, name, engine, shape);
    }

    static Case python(String name, String shape) {
        return new Case("python", name, "", shape);
    }

    /** The shapes that contain a text, or smaller ones that only show that everything runs. */
    private List<String> shapes(boolean smoke, String text) {
        // processes take seconds to start
        return smoke
                ? shapes.stream()
                        .map(Table::smaller)
                        .distinct()
                        .limit(isMemory() ? 1 : Long.MAX_VALUE)
                        .toList()
                : shapes.stream().filter(shape -> shape.contains(text)).toList();
    }

    private static String smaller(String shape) {
        String[] parts = shape.split(":", 2);
        if (parts.length == 2) {
            return "1x64x64:" + parts[1];
        }
        return Arrays.stream(parts[0].split("x", -1))
                .map(size -> size.length() > 3 ? "128" : size)
                .collect(Collectors.joining("x"));
    }

    /** Everything that is measured for this table; nothing if no row has the text in its shape and kind. */
    List<Case> cases(boolean smoke, String text) {
        List<Case> cases = new ArrayList<>();
        for (String shape : shapes(smoke, text)) {
            cases.addAll(columns(shape).values());
            cases.add(own(shape));
        }
        return cases.stream().distinct().toList();
    }

    /** Prints the table as Markdown. */
    void print(PrintStream out, Measurements measurements, boolean smoke, String text) throws RunnerException {
        List<String> measured = shapes(smoke, text);
        List<String> names = measured.stream()
                .flatMap(shape -> columns(shape).entrySet().stream())
                .filter(column -> measurements.has(column.getValue()))
                .map(Map.Entry::getKey)
                .distinct()
                .toList();
        boolean hasRoofline = rooflineBytes(measured.get(0)) > 0;
        StringBuilder header = new StringBuilder("| shape |");
        StringBuilder rule = new StringBuilder("| --- |");
        if (hasRoofline) {
            header.append(" roofline |");
            rule.append(" --- |");
        }
        for (String name : names) {
            header.append(' ').append(name).append(" |");
            rule.append(" --- |");
        }
        header.append(" **this library** |");
        rule.append(" --- |");
        for (String name : names) {
            header.append(" ÷ ").append(name).append(" |");
            rule.append(" --- |");
        }
        if (!isMemory()) {
            header.append(" garbage, bytes | fresh pages |");
            rule.append(" --- | --- |");
        }
        out.printf("%n#### %s%n%n%s%n%s%n", title, header, rule);
        for (String shape : measured) {
            Case own = own(shape);
            String[] parts = shape.split(":", 2);
            out.printf("| %s%s |", parts[0].replace("x", " × "), parts.length == 1 ? "" : ", " + parts[1]);
            if (hasRoofline) {
                double copied = measurements.median(columns(shape).get("copy"));
                double copiedBytes = 2 * 4.0 * Setting.shape(shape).size();
                cell(out, "%.1f", copied * rooflineBytes(shape) / copiedBytes);
            }
            String format = isMemory() ? "%.0f" : "%.1f";
            Map<String, Case> columns = columns(shape);
            for (String name : names) {
                if (columns.containsKey(name)) {
                    cell(out, format, measurements.median(columns.get(name)));
                } else {
                    out.print(" – |");
                }
            }
            cell(out, "**" + format + "**", measurements.median(own));
            for (String name : names) {
                if (columns.containsKey(name)) {
                    double ratio = measurements.ratio(own, columns.get(name));
                    // two figures that say something
                    cell(out, ratio < 0.095 ? "%.3f" : "%.2f", ratio);
                } else {
                    out.print(" – |");
                }
            }
            if (!isMemory()) {
                printCost(out, measurements.cost(own));
            }
            out.println();
        }
    }

    private static void printCost(PrintStream out, Measurements.Cost cost) {
        cell(out, "%.0f", cost.garbage());
        if (ProcessMemory.isKnown()) {
            cell(out, "%.0f", cost.pageFaults());
        } else {
            out.print(" unknown |");
        }
    }

    private static void cell(PrintStream out, String format, double value) {
        out.printf(Locale.ROOT, " " + format + " |", value);
    }
}
