// on the class path: an engine and
// io.github.djlpositional:djl-positional:0.1.0-SNAPSHOT
import ai.djl.ndarray.*
import io.github.djlpositional.*
// without toDebugString(true), DJL hides the values in JShell
System.out.println(PositionalEncodingBlock.builder().setEmbeddingSize(4).build().encode(NDManager.newBaseManager().arange(3)).toDebugString(true))
