package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Option;

/** The options that say what computes: which engine, on which device. */
final class EngineOptions {

    private static final List<String> ENGINES = List.of("PyTorch", "MXNet");
    private static final Pattern GPU = Pattern.compile("gpu(?::(\\d{1,4}))?");

    @Option(
            names = "--engine",
            paramLabel = "NAME",
            defaultValue = "PyTorch",
            description = "PyTorch or MXNet (default: ${DEFAULT-VALUE}).")
    private String engine;

    @Option(
            names = "--device",
            paramLabel = "DEVICE",
            defaultValue = "cpu",
            description = "cpu, gpu or gpu:N (default: ${DEFAULT-VALUE}).")
    private String device;

    /** Starts the engine. */
    Engine startEngine() {
        String name = ENGINES.stream()
                .filter(engine::equalsIgnoreCase)
                .filter(Engine::hasEngine)
                .findFirst()
                .orElseThrow(() -> new UserError("unknown engine '" + engine + "': choose one of "
                        + String.join(", ", ENGINES) + " with --engine"));
        // without it DJL would download one
        if (EngineOptions.class.getResource("/native/lib/" + name.toLowerCase(Locale.ROOT) + ".properties") == null
                && System.getenv(name.toUpperCase(Locale.ROOT) + "_LIBRARY_PATH") == null) {
            throw new UserError("engine " + name + " has no native library for " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch") + ": choose another with --engine");
        }
        try {
            return Engine.getEngine(name);
        } catch (EngineException e) {
            throw new UserError(
                    "engine " + name + " cannot start on this machine (" + rootMessage(e)
                            + "): choose another with --engine",
                    e);
        }
    }

    /** The device, of which the engine has one. */
    Device deviceOf(Engine started) {
        if (device.equals("cpu")) {
            return Device.cpu();
        }
        Matcher gpu = GPU.matcher(device);
        if (!gpu.matches()) {
            throw new UserError("unknown device '" + device + "': choose cpu, gpu or gpu:N with --device");
        }
        int number = gpu.group(1) == null ? 0 : Integer.parseInt(gpu.group(1));
        int available = started.getGpuCount();
        if (number >= available) {
            throw new UserError("device " + device + " is not there: " + started.getEngineName() + " finds " + available
                    + (available == 1 ? " GPU" : " GPUs") + " on this machine; choose cpu"
                    + (available == 0 ? "" : " or gpu:0 to gpu:" + (available - 1)) + " with --device");
        }
        return Device.gpu(number);
    }

    private static String rootMessage(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return String.valueOf(root.getMessage()).lines().findFirst().orElse("");
    }
}
