// The scores and the weights of one head without and with encodings of positions.
play.figures.playground = {
    title: "Scores of words",
    hint: `change the sentence with the encoding <i>none</i>: each word gets the same weight in both. With <i>rotary</i>, the
        weights differ.`,
    caption: `The score of each query (row) and key (column); red is above 0, blue below. The bars are the weights of the
        framed row. The vectors of words are fixed random numbers, and query and key are the same; a trained head learns
        both.`,
    inputs: {
        sentence: {
            label: "sentence",
            options: { dog: "the dog bites the man", man: "the man bites the dog", rose: "a rose is a rose is a rose" }
        },
        encoding: {
            label: "encoding",
            options: { none: "none", rotary: "rotary: queries and keys are rotated", sinusoids: "sinusoids, added to the words",
                learned: "learned table, added to the words", alibi: "ALiBi: a line is added to the scores",
                t5: "T5: a number for each bucket is added" }
        },
        t: { label: "t of the query", max: 7, limit: ({ sentence }) => sentence === "rose" ? 7 : 4, value: 2 }
    },

    /** Returns a number from -1 to 1 that depends on a text only: FNV-1a, with the bits mixed as in MurmurHash3. */
    hash(text) {
        let bits = [...text].reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 0x01000193), 0x811c9dc5 | 0);
        bits = Math.imul(bits ^ bits >>> 16, 0x85ebca6b);
        bits = Math.imul(bits ^ bits >>> 13, 0xc2b2ae35);
        return (bits ^ bits >>> 16) / 2147483648;
    },

    /** Returns random numbers from a text, with a variance: in place of trained ones. */
    random(text, variance) {
        return play.each(16, i => Math.sqrt(3 * variance) * this.hash(`${text}#${i}`));
    },

    /** Returns the vector of a word at a position, which is query and key. */
    vector(encoding, word, t) {
        const vector = this.random(word, 1);
        if (encoding === "rotary") { // pairs of neighbors: Su et al. (2021)
            return vector.map((x, i) => {
                const angle = t * play.frequency(Math.floor(i / 2), 16);
                return x * Math.cos(angle) + (i % 2 ? vector[i - 1] : -vector[i + 1]) * Math.sin(angle);
            });
        }
        const position = { sinusoids: play.sinusoids(t, 16), learned: this.random(t, 0.5) }[encoding];
        return vector.map((x, i) => x + (position?.[i] ?? 0));
    },

    /** Returns what is added to a score: ALiBi's line, or a number of T5's bucket as if learned. */
    bias(encoding, distance) {
        // Raffel et al. (2020): 4 buckets in each direction, with the largest distance 16
        const bucket = (distance < 0 ? 4 : 0) + [1, 2, 6].filter(first => Math.abs(distance) >= first).length;
        // Press et al. (2022)
        return encoding === "alibi" ? -0.25 * Math.abs(distance)
            : encoding === "t5" ? 1.5 * this.hash(`bucket ${bucket}`) : 0;
    },

    /** Returns q·k / sqrt(d) + bias of each key for the query at t. */
    rows({ sentence, encoding, t }) {
        const words = this.inputs.sentence.options[sentence].split(" ");
        const query = Math.min(t, words.length - 1);
        const vectors = words.map((word, s) => this.vector(encoding, word, s));
        const biases = words.map((_, s) => this.bias(encoding, query - s));
        const scores = vectors.map((key, s) => play.dot(vectors[query], key) / 4 + biases[s]);
        const weights = play.softmax(scores);
        return words.map((key, s) => ({ query, key, s, bias: biases[s], score: scores[s], weight: weights[s] }));
    },

    plots(rows, values) {
        const all = rows.flatMap((_, t) => this.rows({ ...values, t }));
        const largest = Math.max(...all.map(row => Math.abs(row.score)));
        const cells = all.map(({ query, s, score }) =>
            ({ row: query, column: s, value: score / largest, text: play.number(score, 1) }));
        const names = rows.map(({ key, s }) => `${key} ${s}`);
        const { query } = rows[0];
        return play.map(["The score of each query and key", `The weights of ${names[query]}, in percent`], cells, names,
            query, rows.map(({ s, weight }) => ({ column: s, value: weight })));
    },

    text(rows) {
        const { query } = rows[0];
        const best = rows.filter(row => Math.max(...rows.map(other => other.weight)) - row.weight < 1e-9);
        const names = best.map(({ key, s }) => `<i>${key}</i> at <i>s</i> = ${s}`).join(" and ");
        return `The query <i>${rows[query].key}</i> at <i>t</i> = ${query} gives the largest weight,
            <b>${play.number(best[0].weight, 4)}</b>, to ${names}.`;
    }
};
