package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.refusals.Expression;
import java.util.List;

/**
 * The rows of {@code cases/forwards.txt}: two expressions of an array with the same shape, data type and numbers. Those
 * of {@code float16} are for PyTorch: MXNet has no parameters in FLOAT16.
 */
class EqualForwardsTest {

    private static final CaseFile FILE = CaseFile.read("cases/forwards.txt");

    static List<String> names() {
        return FILE.rows();
    }

    @EngineTest
    void haveTheSameNumbers(NDManager manager, String row) throws Exception {
        String engine = manager.getEngine().getEngineName();
        assumeTrue(engine.equals("PyTorch") || !row.startsWith("float16: "));
        String[] columns = row.replaceFirst("^float16: ", "").split(" +[|] ", -1);
        NDArray actual = array(manager, columns[0]);
        NDArray expected = array(manager, columns[1]);
        assertThat(actual.getDataType()).isEqualTo(expected.getDataType());
        requireSame(actual, expected);
    }

    private static NDArray array(NDManager manager, String expression) throws Exception {
        return (NDArray) new Expression(expression, FILE.definitions(), manager).value();
    }
}
