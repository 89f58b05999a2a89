// Forgetting attention: what the gates of the words add to the scores of one query, and its weights.
var forgetting = {
    words: "the cat sat . the dog ran . it".split(" "),

    /** Returns what is added to the score of each key: Lin et al. (2025), the sum of ln f after the key. */
    biases: (word, stop) => forgetting.words.map((_, j) => forgetting.words.slice(j + 1)
        .reduce((sum, token) => sum + Math.log(token === "." ? stop : word), 0))
};

play.start("forgetting", {
    title: "Gates that forget",
    fields: {
        stop: { label: "gate of a full stop", min: 0.0001, max: 1, step: 0.0001, start: 0.0067 },
        word: { label: "gate of a word", min: 0.0001, max: 1, step: 0.0001, start: 0.9933 }
    },

    view: `
        <figure>
            <div class="plot">
                <span class="rows"><span class="most"></span><span>0</span></span>
                <div class="frame bars" role="img" aria-label="The weights of the keys"></div>
                <span></span><span style="justify-content: space-around">${forgetting.words.map(text => `<span>${text}</span>`).join("")}</span>
            </div>
            <p role="status" class="score"></p>
            <figcaption>The weights that <i>it</i> gives to all keys, if their scores are equal.</figcaption>
        </figure>`,

    draw({ stop, word }, find) {
        const biases = forgetting.biases(word, stop);
        const weights = play.softmax(biases);
        const most = play.largest(weights);
        find(".bars").innerHTML = `<svg viewBox="0 -1 9 1" preserveAspectRatio="none" style="height: 8rem">
            ${play.bars(weights.map(weight => weight / most))}</svg>`;
        find(".most").textContent = play.number(most, 2);
        find(".score").innerHTML = `The first <i>the</i> gets <b>${play.number(biases[0], 3)}</b> added to its score.`;
        find("table").innerHTML = play.table(["key", "added", "weight"],
            forgetting.words.map((text, j) => [text, play.number(biases[j], 3), play.number(weights[j], 4)]));
    }
});
