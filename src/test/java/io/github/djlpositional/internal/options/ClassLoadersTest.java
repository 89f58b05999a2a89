package io.github.djlpositional.internal.options;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.nn.Block;
import com.google.gson.JsonElement;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.options.TypeProvider;
import io.github.djlpositional.relative.AlibiBiasBlock;
import java.io.File;
import java.io.OutputStream;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.Logger;

/** Classes are found by name where plugins, containers and modules have class loaders of their own. */
class ClassLoadersTest {

    private static final String PROVIDER = "org.example.plugin.hidden.PluginProvider";

    /** A plugin with an encoding, a provider in a package of its own, and a class that asks for the encoding. */
    private static final Map<String, String> PLUGIN = Map.of(
            "org/example/plugin/Own.java",
            """
            package org.example.plugin;
            public final class Own extends io.github.djlpositional.attention.RelativeEncoding.Base
                    implements io.github.djlpositional.options.HasArguments {
                private final int headCount;
                private Own(int headCount) { this.headCount = headCount; }
                public static Own fromArguments(java.util.Map<?, ?> arguments) {
                    return new Own((int) arguments.get("headCount"));
                }
                @Override public java.util.Map<String, Object> getArguments() {
                    return java.util.Map.of("type", "Own", "headCount", headCount);
                }
                @Override public java.util.List<io.github.djlpositional.attention.Term> terms() {
                    return java.util.List.of();
                }
                @Override public ai.djl.ndarray.types.Shape[] getOutputShapes(ai.djl.ndarray.types.Shape[] shapes) {
                    return shapes;
                }
            }
            """,
            "org/example/plugin/hidden/PluginProvider.java",
            """
            package org.example.plugin.hidden;
            public final class PluginProvider implements io.github.djlpositional.options.TypeProvider {
                @Override public java.util.Map<String, Class<?>> types() {
                    return java.util.Map.of("own", org.example.plugin.Own.class);
                }
            }
            """,
            "org/example/plugin/Caller.java",
            """
            package org.example.plugin;
            import io.github.djlpositional.attention.MultiHeadAttentionBlock;
            import io.github.djlpositional.attention.RelativeEncoding;
            import java.util.List;
            import java.util.Map;
            public final class Caller {
                public static List<Object> call() {
                    Map<String, Object> arguments = MultiHeadAttentionBlock.builder()
                            .setEmbeddingSize(8)
                            .setHeadCount(2)
                            .optRelativeEncoding(RelativeEncoding.named("own", 2, 4, Map.of()))
                            .build()
                            .getArguments();
                    return List.of(
                            RelativeEncoding.named("alibi", 2, 4, Map.of()),
                            RelativeEncoding.fromArguments(Map.of("type", "AlibiBiasBlock", "headCount", 2)),
                            RelativeEncoding.named("own", 2, 4, Map.of()),
                            MultiHeadAttentionBlock.fromArguments(arguments).getRelativeEncodings().get(0));
                }
            }
            """);

    private static final String MODULE = """
            module org.example.plugin {
                requires io.github.djlpositional;
                requires ai.djl.api;
                exports org.example.plugin;
                provides io.github.djlpositional.options.TypeProvider with org.example.plugin.hidden.PluginProvider;
            }
            """;

    /** The context class loaders that programs have. */
    enum Context {
        NULL,
        PLATFORM,
        PLUGIN_WITHOUT_LIBRARY,
        ANOTHER_COPY,
        STOPPED;

        ClassLoader create() throws Exception {
            return switch (this) {
                case NULL -> null;
                case PLATFORM -> ClassLoader.getPlatformClassLoader();
                case PLUGIN_WITHOUT_LIBRARY -> new URLClassLoader(new URL[0], ClassLoader.getPlatformClassLoader());
                case ANOTHER_COPY -> anotherCopy(ClassLoader.getPlatformClassLoader());
                case STOPPED -> new StoppedLoader();
            };
        }
    }

    /** The class loader of an application that was stopped, as Tomcat's behaves. */
    private static final class StoppedLoader extends ClassLoader {

        @Override
        protected Class<?> loadClass(String name, boolean resolve) {
            throw new IllegalStateException("this web application was stopped; it cannot load " + name);
        }
    }

    @TempDir
    private Path folder;

    private ClassLoader before;

    @BeforeEach
    void keepTheContext() {
        before = Thread.currentThread().getContextClassLoader();
    }

    @AfterEach
    void restoreTheContext() {
        Thread.currentThread().setContextClassLoader(before);
    }

    private static Path locationOf(Class<?> type) {
        URL location = type.getProtectionDomain().getCodeSource().getLocation();
        return Path.of(URI.create(location.toString()));
    }

    private static List<Path> libraries() {
        return Stream.of(Block.class, JsonElement.class, Logger.class)
                .map(ClassLoadersTest::locationOf)
                .toList();
    }

    private static URLClassLoader loader(ClassLoader parent, List<Path> paths) throws Exception {
        List<URL> urls = new ArrayList<>();
        for (Path path : paths) {
            urls.add(path.toUri().toURL());
        }
        return new URLClassLoader(urls.toArray(URL[]::new), parent);
    }

    /** A loader of the library, DJL and plugins that has nothing in common with that of the tests. */
    private static URLClassLoader anotherCopy(ClassLoader parent, Path... plugins) throws Exception {
        List<Path> paths = new ArrayList<>(List.of(plugins));
        paths.add(locationOf(OptionTypes.class));
        paths.addAll(libraries());
        return loader(parent, paths);
    }

    private Path plugin() throws Exception {
        Path services = Files.createDirectories(folder.resolve("plugin/META-INF/services"));
        Files.writeString(services.resolve(TypeProvider.class.getName()), PROVIDER);
        List<Path> classPath = new ArrayList<>(libraries());
        classPath.add(locationOf(OptionTypes.class));
        return compiled("-cp", classPath, Map.of());
    }

    /** Compiles the plugin and other sources. */
    private Path compiled(String option, List<Path> paths, Map<String, String> others) throws Exception {
        String joined = paths.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
        List<String> arguments =
                new ArrayList<>(List.of("-d", folder.resolve("plugin").toString(), "-proc:none", option, joined));
        Map<String, String> sources = new HashMap<>(PLUGIN);
        sources.putAll(others);
        for (Map.Entry<String, String> source : sources.entrySet()) {
            Path file = folder.resolve("sources").resolve(source.getKey());
            Files.createDirectories(file.getParent());
            arguments.add(Files.writeString(file, source.getValue()).toString());
        }
        assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new)))
                .isZero();
        return folder.resolve("plugin");
    }

    /** The classes of what the plugin asks for. */
    private static void requireFound(ClassLoader plugin) throws Exception {
        List<?> created = (List<?>) Class.forName("org.example.plugin.Caller", true, plugin)
                .getMethod("call")
                .invoke(null);
        Class<?> alibi = Class.forName(AlibiBiasBlock.class.getName(), true, plugin);
        Class<?> own = Class.forName("org.example.plugin.Own", true, plugin);
        assertThat(created).<Class<?>>extracting(Object::getClass).containsExactly(alibi, alibi, own, own);
    }

    @ParameterizedTest
    @EnumSource
    void theLibrarysEncodingsAreFoundWithAnyContextClassLoader(Context context) throws Exception {
        Thread.currentThread().setContextClassLoader(context.create());
        assertThat(RelativeEncoding.names()).contains("ALiBi", "rotary");
        RelativeEncoding alibi = RelativeEncoding.named("alibi", 2, 4, Map.of());
        assertThat(alibi).isInstanceOf(AlibiBiasBlock.class);
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(alibi)
                .build();
        assertThat(MultiHeadAttentionBlock.fromArguments(attention.getArguments())
                        .getRelativeEncodings())
                .singleElement()
                .isInstanceOf(AlibiBiasBlock.class);
    }

    /** As a plugin that has the library in it. */
    @ParameterizedTest
    @EnumSource
    void aPluginsEncodingIsFoundNextToItsCopyOfTheLibrary(Context context) throws Exception {
        try (URLClassLoader plugin = anotherCopy(ClassLoader.getPlatformClassLoader(), plugin())) {
            Thread.currentThread().setContextClassLoader(context.create());
            requireFound(plugin);
        }
    }

    /** As a plugin of a program that has the library. */
    @ParameterizedTest
    @EnumSource
    void aPluginsEncodingIsFoundFromItsCodeIfTheLibraryIsShared(Context context) throws Exception {
        try (URLClassLoader plugin = loader(OptionTypes.class.getClassLoader(), List.of(plugin()))) {
            Thread.currentThread().setContextClassLoader(context.create());
            requireFound(plugin);
        }
    }

    /** Both plugins have a class of the same name. */
    @Test
    void aPluginGetsItsOwnClassAndNotThatOfTheContext() throws Exception {
        Path path = plugin();
        try (URLClassLoader plugin = loader(OptionTypes.class.getClassLoader(), List.of(path));
                URLClassLoader other = loader(OptionTypes.class.getClassLoader(), List.of(path))) {
            Thread.currentThread().setContextClassLoader(other);
            requireFound(plugin);
        }
    }

    @ParameterizedTest
    @EnumSource
    void theProviderOfANamedModuleNeedsNoExportedPackage(Context context) throws Exception {
        List<Path> paths = new ArrayList<>(libraries());
        paths.add(jar(locationOf(OptionTypes.class)));
        paths.add(compiled("--module-path", paths, Map.of("module-info.java", MODULE)));
        Configuration configuration = ModuleLayer.boot()
                .configuration()
                .resolve(ModuleFinder.of(paths.toArray(Path[]::new)), ModuleFinder.of(), Set.of("org.example.plugin"));
        for (boolean isOneLoader : new boolean[] {true, false}) {
            ClassLoader platform = ClassLoader.getPlatformClassLoader();
            ModuleLayer layer = isOneLoader
                    ? ModuleLayer.boot().defineModulesWithOneLoader(configuration, platform)
                    : ModuleLayer.boot().defineModulesWithManyLoaders(configuration, platform);
            Thread.currentThread().setContextClassLoader(context.create());
            requireFound(layer.findLoader("org.example.plugin"));
        }
    }

    /** A folder of classes as the jar of an automatic module, as it is published. */
    private Path jar(Path classes) throws Exception {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Automatic-Module-Name", "io.github.djlpositional");
        Path jar = folder.resolve("library.jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out, manifest);
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                entries.putNextEntry(
                        new JarEntry(classes.relativize(file).toString().replace('\\', '/')));
                Files.copy(file, entries);
                entries.closeEntry();
            }
        }
        return jar;
    }
}
