package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A command that computes with an engine. It has the options for the engine and the device. */
@Command(
        mixinStandardHelpOptions = true,
        versionProvider = Program.class,
        sortOptions = false,
        showDefaultValues = true)
public abstract class EngineCommand implements Callable<Integer> {

    private static final Pattern GPU = Pattern.compile("gpu(?::(\\d{1,4}))?");

    @Spec
    private CommandSpec spec;

    @Option(names = "--engine", description = "PyTorch or MXNet.")
    private String engine = "PyTorch";

    @Option(names = "--device", description = "cpu, gpu or gpu:N.")
    private String device = "cpu";

    @Override
    public final Integer call() throws Exception {
        Program.checkOptions(spec, this::checkOptions);
        run(spec.commandLine().getOut());
        return CommandLine.ExitCode.OK;
    }

    /** Throws an {@link IllegalArgumentException} if an option is not valid. */
    protected void checkOptions() {}

    /** Runs the command, after its options have been checked. */
    protected abstract void run(PrintWriter out) throws Exception;

    /** Starts the engine, or throws a {@link UserError} if it is not there or cannot start on this machine. */
    protected final Engine startEngine() {
        Set<String> engines = Engine.getAllEngines();
        String name = engines.stream()
                .filter(engine::equalsIgnoreCase)
                .findFirst()
                .orElseThrow(() -> new UserError("engine " + engine + " is not in this build, which has " + engines
                        + ": choose one of them with --engine, or build with -Pmxnet"));
        // DJL would download a missing library
        if (EngineCommand.class.getResource("/native/lib/" + name.toLowerCase(Locale.ROOT) + ".properties") == null
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

    /** Returns the device, or throws a {@link UserError} if the engine does not find it. */
    protected final Device deviceOf(Engine started) {
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
