package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class TrainingOptionsTest {

    @ParameterizedTest
    @CsvSource({
        "cpu, '', 128, 0.002, false",
        "gpu, '', 512, 0.004, true",
        "gpu, --batch 64, 64, 0.004, true",
        "gpu, --learning-rate 0.001, 512, 0.001, true",
        "gpu, --no-mixed-lengths, 512, 0.004, false",
        "cpu, --mixed-lengths --batch 512, 512, 0.002, true"
    })
    void batchesSuitTheDeviceUnlessTheyAreSet(
            String device, String arguments, int batchSize, float learningRate, boolean mixesLengths) {
        TrainingOptions options = new TrainingOptions();
        new CommandLine(CommandLine.Model.CommandSpec.forAnnotatedObject(options))
                .parseArgs(arguments.isEmpty() ? new String[0] : arguments.split(" ", -1));
        options.chooseFor(device.equals("gpu") ? Device.gpu() : Device.cpu());
        assertThat(options.batchSize).isEqualTo(batchSize);
        assertThat(options.learningRate).isEqualTo(learningRate);
        assertThat(options.mixesLengths).isEqualTo(mixesLengths);
    }
}
