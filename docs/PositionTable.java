///usr/bin/env jbang "$0" "$@" ; exit $?
//JAVA 17+
//DEPS io.github.djlpositional:djl-positional:0.1.0-SNAPSHOT
//DEPS ai.djl.pytorch:pytorch-engine:0.36.0
//DEPS ai.djl.pytorch:pytorch-jni:2.7.1-0.36.0
//DEPS ai.djl.pytorch:pytorch-native-cpu:2.7.1:linux-x86_64
//DEPS org.slf4j:slf4j-nop:2.0.17

import ai.djl.ndarray.NDManager;
import io.github.djlpositional.PositionalEncodingBlock;

/** Prints the encodings of the first positions: jbang docs/PositionTable.java [embedding size] [positions]. */
public class PositionTable {

    public static void main(String[] arguments) {
        int embeddingSize = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 4;
        int positions = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 3;
        try (NDManager manager = NDManager.newBaseManager()) {
            PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(embeddingSize)
                    .build();
            // DJL hides values under a debugger's agent, and so in JShell, unless toDebugString(true) is called
            System.out.println(block.encode(manager.arange(positions)).toDebugString(true));
        }
    }
}
