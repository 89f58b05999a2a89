// A word and a position in one sum, and both read from it again.
var added = {
    dimensions: 64,
    positions: 50,
    names: "the dog man cat house tree sees hears bites finds old young red blue here there now then not but".split(" "),

    /** Returns a vector of norm 1 for each word: sums of 12 random numbers of Lehmer's generator, which are nearly normal. */
    words() {
        let seed = 1;
        const next = () => (seed = seed * 48271 % 2147483647) / 2147483647;
        return added.names.map(() => {
            const vector = play.each(added.dimensions, () => play.each(12, next).reduce((a, b) => a + b) - 6);
            const norm = Math.sqrt(added.product(vector, vector));
            return vector.map(x => x / norm);
        });
    },

    product: (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0),

    /** Returns the encoding of a position: Vaswani et al. (2017), section 3.5. */
    encoding: t => play.each(added.dimensions, i => {
        const angle = t * 10000 ** (-2 * Math.floor(i / 2) / added.dimensions);
        return i % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),

    largest: products => products.indexOf(play.largest(products)),

    /** Returns the products of a sum with all positions and all words, and those of the sum minus the position that was read. */
    read(norm, word, position) {
        const words = added.words().map(vector => vector.map(x => norm * x));
        const positions = play.each(added.positions, added.encoding);
        const sum = words[word].map((x, i) => x + positions[position][i]);
        const byPosition = positions.map(row => added.product(sum, row));
        const rest = sum.map((x, i) => x - positions[added.largest(byPosition)][i]);
        return {
            byPosition,
            byWord: words.map(row => added.product(sum, row)),
            byWordOfRest: words.map(row => added.product(rest, row))
        };
    }
};

play.start("added", {
    title: "Read word and position",
    hint: "lower the norm of words to 1. The word is read wrong from the sum, and right after the position is subtracted.",
    fields: {
        norm: { label: "norm of words", min: 0.5, max: 24, step: 0.5, start: 4 },
        word: { label: "word", options: Object.fromEntries(added.names.map((label, i) => [i, { label }])) },
        position: { label: "position t", min: 0, max: 49, start: 7 }
    },

    view: `
        <figure>
            <p>Products of the sum with the positions 0 to 49</p><div class="by0"></div>
            <p>Products of the sum with the 20 words</p><div class="by1"></div>
            <p>The same after the position that was read is subtracted</p><div class="by2"></div>
            <p role="status" class="score"></p>
            <figcaption>64 dimensions; every position has the norm √32 = 5.7. The largest bar is what is read; a frame marks the
                right one. Red is above 0, blue below.</figcaption>
        </figure>`,

    draw({ norm, word, position }, find) {
        const { byPosition, byWord, byWordOfRest } = added.read(norm, Number(word), position);
        [byPosition, byWord, byWordOfRest].forEach((products, i) => {
            const most = play.largest(products.map(Math.abs));
            find(".by" + i).innerHTML = `<svg viewBox="0 -1 ${products.length} 2" preserveAspectRatio="none" style="height: 4rem">
                ${play.bars(products.map(product => product / most))}<line class="zero" x2="${products.length}"/>
                <rect x="${i === 0 ? position : word}" y="-1" width="1" height="2"/></svg>`;
        });
        const verdict = (read, right) => `<b>${read}</b> (${read === right ? "right" : "wrong"})`;
        const name = products => verdict(added.names[added.largest(products)], added.names[word]);
        find(".score").innerHTML = `Read: position ${verdict(added.largest(byPosition), position)}; word ${name(byWord)};
            after subtracting, word ${name(byWordOfRest)}.`;
        find("table").innerHTML = play.table(["word", "product with the sum", "after subtracting"],
            added.names.map((label, i) => [label, play.number(byWord[i], 3), play.number(byWordOfRest[i], 3)]));
    }
});
