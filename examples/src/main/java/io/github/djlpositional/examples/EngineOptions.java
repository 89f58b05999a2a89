package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Option;

/** The options for the engine and the device. */
public final class EngineOptions {

    private static final List<String> ENGINES = List.of("PyTorch", "MXNet");
    private static final Pattern GPU = Pattern.compile("gpu(?::(\\d{1,4}))?");

    @Option(names = "--engine", description = "PyTorch or MXNet.")
    private String engine = "PyTorch";

    @Option(names = "--device", description = "cpu, gpu or gpu:N.")
    private String device = "cpu";

    /**
     * Starts the engine.
     *
     * @return the engine
     * @throws UserError if there is no such engine, or it cannot start on this machine
     */
    public Engine startEngine() {
        String name = ENGINES.stream()
                .filter(engine::equalsIgnoreCase)
                .filter(Engine::hasEngine)
                .findFirst()
                .orElseThrow(() -> new UserError("unknown engine '" + engine + "': choose one of "
                        + String.join(", ", ENGINES) + " with --engine"));
        // DJL would download a missing library
        if (EngineOptions.class.getResource("/native/lib/" + name.toLowerCase(Locale.ROOT) + ".properties") == null
                && System.getenv(name.toUpperCase(Locale.ROOT) + "_LIBRARY_PATH") == null) {
            throw new UserError("engine " + name + " has no native library for " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch") + ": choose another with --engine");
        }
        try {
            return Engine.getEngine(name);
        } catch (EngineException e) {
            Throwable root = e;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            throw new UserError(
                    "engine " + name + " cannot start on this machine (" + root.getMessage()
                            + "): choose another with --engine",
                    e);
        }
    }

    /**
     * Returns the device, after checking that the engine finds it.
     *
     * @param started the engine
     * @return the device
     * @throws UserError if the engine finds no such device
     */
    public Device deviceOf(Engine started) {
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
            throw new UserError("device " + device + " does not exist: " + started.getEngineName() + " finds "
                    + available + " GPUs on this machine; choose cpu"
                    + (available == 0 ? "" : " or gpu:0 to gpu:" + (available - 1)) + " with --device");
        }
        return Device.gpu(number);
    }
}
