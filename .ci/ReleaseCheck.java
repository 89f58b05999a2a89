import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.Document;

/**
 * Checks the files that a release uploads: java .ci/ReleaseCheck.java STAGED OTHER, two folders to which two builds
 * deployed the library. Prints what is wrong, and exits with 1.
 */
public class ReleaseCheck {

    private static final Set<String> EXPECTED =
            Set.of(".pom", ".jar", "-sources.jar", "-javadoc.jar", "-cyclonedx.json", "-cyclonedx.xml");
    private static final List<String> ELEMENTS = List.of(
            "groupId", "artifactId", "version", "name", "description", "url", "licenses/license/name",
            "licenses/license/url", "developers/developer/name", "scm/connection", "scm/developerConnection", "scm/url");

    private static final String MODULE = "io.github.djlpositional";

    private static boolean isWrong;

    public static void main(String[] args) throws Exception {
        Map<String, Path> files = files(Path.of(args[0]));
        require(files.keySet().equals(EXPECTED), "expected the files " + EXPECTED + ", actual " + files.keySet());
        Map<String, Path> others = files(Path.of(args[1]));
        for (String suffix : EXPECTED) {
            boolean isEqual = Files.mismatch(files.get(suffix), others.get(suffix)) == -1;
            require(isEqual, "two builds of " + suffix + " differ");
        }
        checkFiles(files);
        checkPom(files.get(".pom"));
        checkJars(files);
        String bom = Files.readString(files.get("-cyclonedx.json"));
        require(bom.contains("pkg:maven/ai.djl/api@"), "the bill of materials has no ai.djl:api");
        require(!bom.contains("pytorch"), "the bill of materials has dependencies of the tests");
        if (isWrong) {
            System.exit(1);
        }
        System.out.println("complete and reproducible: " + new TreeSet<>(files.keySet()));
    }

    private static void require(boolean isTrue, String otherwise) {
        if (!isTrue) {
            isWrong = true;
            System.err.println("wrong: " + otherwise);
        }
    }

    /** The staged files by what follows the version in their names. */
    private static Map<String, Path> files(Path staged) throws IOException {
        Map<String, Path> files = new TreeMap<>();
        try (Stream<Path> all = Files.walk(staged.resolve("io/github/djlpositional/djl-positional"))) {
            for (Path file : all.filter(Files::isRegularFile).toList()) {
                String name = file.getFileName().toString();
                if (!name.matches(".*\\.(md5|sha\\d+|asc)|maven-metadata.xml")) {
                    // a snapshot has a time and a number
                    String suffix = name.replaceFirst("djl-positional-\\d+\\.\\d+\\.\\d+(-\\d+\\.\\d+-\\d+)?", "");
                    files.put(suffix, file);
                }
            }
        }
        return files;
    }

    private static void checkFiles(Map<String, Path> files) throws Exception {
        for (Path file : files.values()) {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(Files.readAllBytes(file));
            String recorded = Files.readString(Path.of(file + ".sha1")).strip();
            require(HexFormat.of().formatHex(digest).equals(recorded), "the checksum of " + file);
            boolean isSigned = Files.exists(Path.of(file + ".asc"));
            require(isSigned == (System.getenv("MAVEN_GPG_KEY") != null), "the signature of " + file);
        }
    }

    private static void checkPom(Path pom) throws Exception {
        Document document =
                DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(pom.toFile());
        for (String element : ELEMENTS) {
            String text = XPathFactory.newInstance().newXPath().evaluate("/project/" + element, document);
            require(!text.isBlank() && !text.contains("${"), "the POM has '" + text + "' as " + element);
        }
        String dependencies = XPathFactory.newInstance()
                .newXPath()
                .evaluate("count(/project/dependencies/dependency)", document);
        require(dependencies.equals("1"), "the POM has " + dependencies + " dependencies instead of ai.djl:api only");
    }

    private static void checkJars(Map<String, Path> files) throws IOException {
        Set<String> classes = entries(files.get(".jar"));
        Set<String> sources = entries(files.get("-sources.jar"));
        Set<String> javadoc = entries(files.get("-javadoc.jar"));
        Set<String> compiled = classes.stream()
                .filter(name -> name.endsWith(".class") && !name.contains("$"))
                .map(name -> name.replace(".class", ".java"))
                .collect(Collectors.toCollection(TreeSet::new));
        require(compiled.size() > 50, "the jar has " + compiled.size() + " classes");
        require(sources.containsAll(compiled), "the sources have not all of " + compiled);
        for (String line : Files.readAllLines(Path.of("src/test/resources/api.txt"))) {
            if (!line.startsWith(" ")) {
                String page = line.substring(0, line.indexOf(':')).replace('.', '/').replace('$', '.') + ".html";
                // in a folder of the automatic module
                require(javadoc.contains(MODULE + "/" + page), "the Javadoc has no " + page);
            }
        }
        require(javadoc.stream().noneMatch(name -> name.contains("/internal/")), "the Javadoc describes internals");
        try (ZipFile jar = new ZipFile(files.get(".jar").toFile())) {
            byte[] manifest = jar.getInputStream(jar.getEntry("META-INF/MANIFEST.MF")).readAllBytes();
            require(
                    new String(manifest, StandardCharsets.UTF_8)
                            .contains("Automatic-Module-Name: " + MODULE),
                    "the manifest has no name of the module");
            require(classes.contains("META-INF/LICENSE"), "the jar has no META-INF/LICENSE");
        }
    }

    private static Set<String> entries(Path jar) throws IOException {
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            return zip.stream().map(entry -> entry.getName()).collect(Collectors.toSet());
        }
    }
}
