package io.github.djlpositional.examples;

import ai.djl.ndarray.NDList;
import ai.djl.translate.TranslatorContext;
import java.util.ArrayList;
import java.util.List;

/** From a sentence to token ids, and from the encoder's scores and embedding to a {@link Judgement}. */
final class JudgementTranslator extends SentenceTranslator<Judgement> {

    JudgementTranslator(Vocabulary vocabulary, int maxWords) {
        super(vocabulary, maxWords);
    }

    @Override
    public Judgement processOutput(TranslatorContext ctx, NDList outputs) {
        float inOrder = outputs.get(0).softmax(0).toFloatArray()[WordOrderDataset.IN_ORDER];
        List<Float> embedding = new ArrayList<>();
        for (float value : outputs.get(1).toFloatArray()) {
            embedding.add(value);
        }
        return new Judgement(inOrder, embedding);
    }
}
