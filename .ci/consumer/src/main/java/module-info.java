module consumer {
    requires ai.djl.api;
    requires io.github.djlpositional;
}
