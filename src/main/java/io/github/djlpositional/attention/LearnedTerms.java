package io.github.djlpositional.attention;

import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;

/** Parameters of the encodings. */
final class LearnedTerms {

    private LearnedTerms() {}

    /**
     * A parameter with a start of its own: of type OTHER, so that an initializer which a trainer has for all weights does not
     * replace it.
     */
    static Parameter table(String name, Shape shape, Initializer initializer) {
        return Parameter.builder()
                .setName(name)
                .setType(Parameter.Type.OTHER)
                .optShape(shape)
                .optInitializer(initializer)
                .build();
    }
}
