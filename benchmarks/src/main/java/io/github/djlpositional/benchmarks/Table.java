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

    SHARE(
            "The encoding's share of that step: the encoding alone, forward and backward",
            "TrainingBenchmark",
            "encoding",
            TRAINING.shapes) {
        @Override
        Map<String, Case> columns(String shape) {
            return inOrder(column("the step", jmh("block", "PyTorch", shape)));
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

    /** The shapes, or smaller ones that only show that everything runs. */
    private List<String> shapes(boolean smoke) {
        return smoke ? shapes.stream().map(Table::smaller).distinct().toList() : shapes;
    }

    private static String smaller(String shape) {
        String[] parts = shape.split(":", 2);
        String sizes = Arrays.stream(parts[0].split("x", -1))
                .map(size -> size.length() > 3 ? "128" : size)
                .collect(Collectors.joining("x"));
        return parts.length == 1 ? sizes : sizes + ":" + parts[1];
    }

    /** Everything that is measured for this table. */
    List<Case> cases(boolean smoke) {
        List<Case> cases = new ArrayList<>();
        for (String shape : shapes(smoke)) {
            cases.addAll(columns(shape).values());
            cases.add(own(shape));
        }
        return cases;
    }

    /** Prints the table as Markdown. */
    void print(PrintStream out, Measurements measurements, boolean smoke) throws RunnerException {
        List<String> measured = shapes(smoke);
        List<String> names = columns(measured.get(0)).entrySet().stream()
                .filter(column -> measurements.has(column.getValue()))
                .map(Map.Entry::getKey)
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
        out.printf("%n#### %s%n%n%s garbage, bytes | fresh pages |%n%s --- | --- |%n", title, header, rule);
        for (String shape : measured) {
            Case own = own(shape);
            out.printf("| %s |", shape.replace("x", " × ").replace(":", ", "));
            if (hasRoofline) {
                double copied = measurements.median(columns(shape).get("copy"));
                double copiedBytes = 2 * 4.0 * Setting.shape(shape).size();
                cell(out, "%.1f", copied * rooflineBytes(shape) / copiedBytes);
            }
            for (String name : names) {
                cell(out, "%.1f", measurements.median(columns(shape).get(name)));
            }
            cell(out, "**%.1f**", measurements.median(own));
            for (String name : names) {
                double ratio = measurements.ratio(own, columns(shape).get(name));
                // two figures that say something
                cell(out, ratio < 0.095 ? "%.3f" : "%.2f", ratio);
            }
            Measurements.Cost cost = measurements.cost(own);
            cell(out, "%.0f", cost.garbage());
            if (ProcessMemory.isKnown()) {
                cell(out, "%.0f", cost.pageFaults());
            } else {
                out.print(" unknown |");
            }
            out.println();
        }
    }

    private static void cell(PrintStream out, String format, double value) {
        out.printf(Locale.ROOT, " " + format + " |", value);
    }
}
