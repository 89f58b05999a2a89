// A word and a position in one sum, and both read from it again.
play.figures.added = {
    title: "Read word and position",
    hint: "lower the norm of words to 1. The word is read wrong from the sum, and right after the position is subtracted.",
    caption: `64 dimensions; every position has the norm √32 = 5.7. The largest bar is what is read; the vertical line
        marks the right one.`,
    words: `the dog man cat house tree sees hears bites finds old young red blue here there now then not but`.split(" "),
    inputs: {
        norm: { label: "norm of words", min: 0.5, max: 24, step: 0.5, value: 4 },
        word: { label: "number of the word", max: 19, value: 0 },
        t: { label: "t, position", max: 49, value: 7 }
    },

    /** Returns a vector for each word: sums of 12 random numbers of Lehmer's generator, which are nearly normal. */
    vectors(norm) {
        let seed = 1;
        const next = () => (seed = seed * 48271 % 2147483647) / 2147483647;
        return this.words.map(() => {
            const vector = play.each(64, () => play.sum(play.each(12, next)) - 6);
            return vector.map(x => norm * x / Math.sqrt(play.dot(vector, vector)));
        });
    },

    sum({ norm, word, t }) {
        const vector = this.vectors(norm)[word];
        return play.sinusoids(t, 64).map((x, i) => x + vector[i]);
    },

    /** Returns the product of the sum with each position. */
    positions(values) {
        const sum = this.sum(values);
        return play.each(50, position => ({ position, product: play.dot(sum, play.sinusoids(position, 64)) }));
    },

    /** Returns the number of the largest value: what is read. */
    read: (rows, column) => rows.findIndex(row => row[column] === Math.max(...rows.map(other => other[column]))),

    /** Returns the products with each word: of the sum, and of the sum minus the position that is read from it. */
    rows(values) {
        const sum = this.sum(values);
        const position = play.sinusoids(this.read(this.positions(values), "product"), 64);
        const rest = sum.map((x, i) => x - position[i]);
        return this.vectors(values.norm).map((vector, number) => ({ word: this.words[number], number,
            product: play.dot(sum, vector), "after subtracting": play.dot(rest, vector) }));
    },

    plots(rows, values) {
        const plot = (label, data, x, y, right) => ({ label, height: 110, x: { label: x }, y: { ticks: 3, label: null },
            marks: [play.bars(data, x, y), Plot.ruleX([right])] });
        return [
            plot("Products of the sum with the positions", this.positions(values), "position", "product", values.t),
            plot("Products of the sum with the words", rows, "number", "product", values.word),
            plot("The same after the position is subtracted", rows, "number", "after subtracting", values.word)
        ];
    },

    text(rows, values) {
        const verdict = (number, right, name = number) => `<b>${name}</b> (${number === right ? "right" : "wrong"})`;
        const word = number => verdict(number, values.word, this.words[number]);
        const position = verdict(this.read(this.positions(values), "product"), values.t);
        return `The word <b>${this.words[values.word]}</b> at position <b>${values.t}</b>. Read: position ${position}; word
            ${word(this.read(rows, "product"))}; after subtracting, word ${word(this.read(rows, "after subtracting"))}.`;
    }
};
