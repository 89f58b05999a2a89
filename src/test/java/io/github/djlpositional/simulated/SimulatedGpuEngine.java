package io.github.djlpositional.simulated;

import ai.djl.BaseModel;
import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.internal.NDArrayEx;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingConfig;
import io.github.djlpositional.support.TestEngine;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * PyTorch with simulated GPUs: arrays are computed on the CPU, but report the device that they were created for.
 * Operations reject arrays of two devices, as PyTorch does. Operations that wait for a real GPU, as measured on one,
 * are counted: reading values, creating an array from memory of Java or of another device, and every operation with a
 * number of Java.
 */
public final class SimulatedGpuEngine extends Engine {

    /** The methods of arrays that read values, or whose shape depends on values. */
    public static final Pattern READS = Pattern.compile(
            "to(Byte|Uint8|Int|UnsignedInt|UnsignedByte|Short|UnsignedShort|Long|Float|Double|Boolean|String)?Array"
                    + "|toByteBuffer|get(Long|Int|Float|Double|Boolean|Byte|Uint8|String)|contentEquals|allClose|encode"
                    + "|toDebugString|nonzero|booleanMask|unique|getScalar");

    /** Operations that may take arrays of two devices. */
    private static final List<String> ACROSS_DEVICES = List.of("copyTo", "set", "equals", "toDevice");

    private final Engine real = TestEngine.PYTORCH.get();
    private final Map<String, NDArray> arrays = new ConcurrentHashMap<>();
    private final Map<NDManager, NDManager> managers = new ConcurrentHashMap<>();
    private final AtomicInteger waits = new AtomicInteger();
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger reads = new AtomicInteger();

    /** Returns whether PyTorch is available, without starting it. */
    public static boolean isAvailable() {
        return TestEngine.PYTORCH.isAvailable();
    }

    /** Returns how often a GPU was waited for since the last call. */
    public int takeWaits() {
        return waits.getAndSet(0);
    }

    /** Returns how often values were read since the last call, on any device. */
    public int takeReads() {
        return reads.getAndSet(0);
    }

    /** Returns how many operations created arrays since the last call, and methods of TorchScript. */
    public int takeCalls() {
        return calls.getAndSet(0);
    }

    /** Returns the open arrays of a shape on any device. */
    public Stream<NDArray> openArrays(Shape shape) {
        return arrays.values().stream()
                .filter(array -> !array.isReleased() && array.getShape().equals(shape));
    }

    private final class Handled implements InvocationHandler {
        private final Object real;
        private final Device device;

        Handled(Object real, Device device) {
            this.real = real;
            this.device = device;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
            Object[] arguments = args == null ? new Object[0] : args;
            return switch (method.getName()) {
                case "getDevice" -> device;
                case "getEngine" -> SimulatedGpuEngine.this;
                case "equals" -> proxy == arguments[0];
                case "hashCode" -> System.identityHashCode(proxy);
                default ->
                    real instanceof NDManager ? ofManager(proxy, method, arguments) : ofArray(proxy, method, arguments);
            };
        }

        private Object ofManager(Object proxy, Method method, Object... args) throws Throwable {
            String name = method.getName();
            if (name.equals("from")) {
                return args[0];
            }
            Device wanted = Arrays.stream(args)
                    .filter(Device.class::isInstance)
                    .map(Device.class::cast)
                    .findFirst()
                    .orElse(device);
            boolean isFromJavaMemory = name.startsWith("create") && !(args[0] instanceof Shape);
            if (isFromJavaMemory && wanted.isGpu()) {
                waits.incrementAndGet();
            }
            return wrapped(call(real, method, args), wanted, proxy, real);
        }

        private Object ofArray(Object proxy, Method method, Object... args) throws Throwable {
            String name = method.getName();
            boolean hasNumber = List.of(method.getParameterTypes()).contains(Number.class);
            boolean isRead = READS.matcher(name).matches();
            reads.addAndGet(isRead ? 1 : 0);
            if (device.isGpu() && (hasNumber || isRead)) {
                waits.incrementAndGet();
            }
            if (name.equals("toDevice")) {
                return moved((NDArray) proxy, (Device) args[0], (boolean) args[1]);
            }
            if (name.equals("getManager")) {
                return simulated((NDManager) call(real, method, args), device);
            }
            if (!ACROSS_DEVICES.contains(name)) {
                requireOneDevice(name, args);
            }
            return wrapped(call(real, method, args), device, proxy, real);
        }

        private NDArray moved(NDArray array, Device to, boolean copy) {
            if (to.equals(device) && !copy) {
                return array;
            }
            if (!to.equals(device)) {
                waits.incrementAndGet();
            }
            // a move by PyTorch to the same device would share the memory
            return simulated(((NDArray) real).duplicate(), to);
        }

        private void requireOneDevice(String name, Object... args) {
            for (Object arg : args) {
                List<NDArray> others =
                        arg instanceof NDList list ? list : arg instanceof NDArray other ? List.of(other) : List.of();
                for (NDArray other : others) {
                    if (!other.getDevice().equals(device)) {
                        throw new IllegalStateException(name + " of arrays on " + device + " and " + other.getDevice());
                    }
                }
            }
        }
    }

    private static Object call(Object real, Method method, Object... args) throws Throwable {
        try {
            return method.invoke(
                    real, Arrays.stream(args).map(SimulatedGpuEngine::real).toArray());
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** Returns the object that PyTorch gets for an argument. */
    private static Object real(Object argument) {
        if (argument instanceof Device) {
            return Device.cpu();
        }
        if (argument instanceof NDList list) {
            NDList reals = new NDList();
            list.forEach(array -> reals.add((NDArray) real(array)));
            return reals;
        }
        if (argument instanceof NDArray[] several) {
            return Arrays.stream(several).map(SimulatedGpuEngine::real).toArray(NDArray[]::new);
        }
        return argument != null
                        && Proxy.isProxyClass(argument.getClass())
                        && Proxy.getInvocationHandler(argument) instanceof Handled handled
                ? handled.real
                : argument;
    }

    private Object wrapped(Object result, Device device, Object proxy, Object itself) {
        if (result == itself) {
            return proxy;
        }
        if (result instanceof NDArray || result instanceof NDList) {
            calls.incrementAndGet();
        }
        if (result instanceof NDArray array) {
            return simulated(array, device);
        }
        if (result instanceof NDList list) {
            NDList simulated = new NDList();
            list.forEach(array -> simulated.add(simulated(array, device)));
            return simulated;
        }
        if (result instanceof NDArrayEx internals) {
            return proxy(NDArrayEx.class, internals, device);
        }
        return result instanceof NDManager manager ? simulated(manager, device) : result;
    }

    private NDArray simulated(NDArray array, Device device) {
        // PyTorch reuses the identifiers of closed arrays
        return arrays.compute(array.getUid(), (uid, known) -> {
            if (known != null && real(known) == array) {
                return known;
            }
            NDArray simulated = proxy(NDArray.class, array, device);
            // a scope must close the simulated array
            NDScope.unregister(array);
            NDScope.register(simulated);
            return simulated;
        });
    }

    private NDManager simulated(NDManager manager, Device device) {
        return managers.computeIfAbsent(manager, key -> proxy(NDManager.class, manager, device));
    }

    private <T> T proxy(Class<T> type, T object, Device device) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, new Handled(object, device)));
    }

    @Override
    public Engine getAlternativeEngine() {
        return null;
    }

    @Override
    public String getEngineName() {
        return real.getEngineName();
    }

    @Override
    public int getRank() {
        return real.getRank();
    }

    @Override
    public String getVersion() {
        return real.getVersion();
    }

    @Override
    public boolean hasCapability(String capability) {
        return real.hasCapability(capability);
    }

    @Override
    public Model newModel(String name, Device device) {
        return new SimulatedGpuModel(name, this, newBaseManager(device));
    }

    @Override
    public NDManager newBaseManager() {
        return newBaseManager(Device.cpu());
    }

    @Override
    public NDManager newBaseManager(Device device) {
        return simulated(real.newBaseManager(Device.cpu()), device);
    }

    @Override
    public GradientCollector newGradientCollector() {
        GradientCollector collector = real.newGradientCollector();
        return (GradientCollector) Proxy.newProxyInstance(
                GradientCollector.class.getClassLoader(),
                new Class<?>[] {GradientCollector.class},
                (proxy, method, args) -> call(collector, method, args == null ? new Object[0] : args));
    }

    private static final class SimulatedGpuModel extends BaseModel {

        private final SimulatedGpuEngine engine;

        SimulatedGpuModel(String name, SimulatedGpuEngine engine, NDManager manager) {
            super(name);
            this.engine = engine;
            this.manager = manager;
            dataType = DataType.FLOAT32;
        }

        @Override
        public void load(Path modelPath, String prefix, Map<String, ?> options) {
            throw new UnsupportedOperationException("a simulated GPU's model is built, not loaded");
        }

        /** Loads TorchScript. Its block computes on the device of its first input. */
        @Override
        public void load(InputStream stream, Map<String, ?> options) throws IOException, MalformedModelException {
            Model script = engine.real.newModel(getName(), Device.cpu());
            script.load(stream, options);
            setBlock(new LambdaBlock(inputs -> {
                NDList results = script.getBlock()
                        .forward(new ParameterStore(script.getNDManager(), false), (NDList) real(inputs), true);
                NDArray first = inputs.head();
                return (NDList) engine.wrapped(results, first.getDevice(), null, null);
            }));
        }

        @Override
        public Trainer newTrainer(TrainingConfig config) {
            Block trained = getBlock();
            config.getInitializers().forEach(pair -> trained.setInitializer(pair.getKey(), pair.getValue()));
            return new Trainer(this, config);
        }
    }
}
