// Which convention of sinusoids a row follows: paste its numbers, and see the position and the base that fit.
var checker = {
    /**
     * In a convention, pair m of n has the frequency base^(-m / period(n)); sine and cosine say which dimension is which.
     * The same row may follow several.
     */
    conventions: {
        vaswani: { label: "Attention Is All You Need: pairs of neighbors, sine first", period: n => n,
            sine: m => 2 * m, cosine: m => 2 * m + 1 },
        cosineFirst: { label: "pairs of neighbors, cosine first", period: n => n, sine: m => 2 * m + 1, cosine: m => 2 * m },
        concatenated: { label: "x-transformers: all sines, then all cosines", period: n => n, sine: m => m, cosine: (m, n) => n + m },
        cosinesFirst: { label: "Stable Diffusion: all cosines, then all sines", period: n => n,
            sine: (m, n) => n + m, cosine: m => m },
        tensor2tensor: { label: "tensor2tensor, fairseq, Whisper, DDPM: all sines, then all cosines, exponents divided by d/2 − 1",
            period: n => n - 1, sine: m => m, cosine: (m, n) => n + m },
        dit: { label: "DiT in diffusers: all cosines, then all sines, exponents divided by d/2 − 1",
            period: n => n - 1, sine: (m, n) => n + m, cosine: m => m },
        neighborsLess: { label: "pairs of neighbors, exponents divided by d/2 − 1", period: n => n - 1,
            sine: m => 2 * m, cosine: m => 2 * m + 1 },
        ownExponents: { label: "pairs of neighbors, but each dimension with an exponent of its own (a mistake)",
            period: n => n, sine: m => 2 * m, cosine: m => 2 * m + 1, own: true }
    },
    bases: [100, 1000, 5000, 10000, 100000, 500000, 1000000],
    positions: 10000,

    /** Returns the row of a position. */
    row(name, t, d, base) {
        const { period, sine, cosine, own } = checker.conventions[name];
        const n = d / 2;
        const row = play.each(d, () => 0);
        play.each(n, m => {
            row[sine(m, n)] = Math.sin(t * base ** (-m / Math.max(period(n), 1)));
            row[cosine(m, n)] = Math.cos(t * base ** (-(own ? m + 0.5 : m) / Math.max(period(n), 1)));
        });
        return row;
    },

    /** Returns the numbers of a text, which are separated by blanks, commas or semicolons, perhaps in brackets. */
    numbers: text => (text.match(/[-−+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/gi) || []).map(number => Number(number.replace("−", "-"))),

    /** Returns half a unit of the last digit of the number with the most digits, at least of seven, at most of one. */
    tolerance: text => 0.51 * 10 ** -Math.min(play.largest([1, ...(text.match(/\.\d+/g) || []).map(digits => digits.length - 1)]), 7),

    /** Returns [convention, position, base] of all rows that agree with the numbers. */
    find(numbers, tolerance) {
        const d = numbers.length;
        const close = (one, other) => Math.abs(one - other) <= tolerance;
        return d < 4 || d % 2 ? [] : Object.entries(checker.conventions).flatMap(([name, { sine, cosine, own }]) =>
            // the first pair has the frequency 1 whatever the base, so that few positions are left
            play.each(checker.positions, t => t).filter(t => close(Math.sin(t), numbers[sine(0, d / 2)])
                && (own || close(Math.cos(t), numbers[cosine(0, d / 2)])))
                .flatMap(t => checker.bases.map(base => [name, t, base]))
                .filter(found => checker.row(found[0], found[1], d, found[2]).every((value, i) => close(value, numbers[i]))));
    }
};

play.start("checker", {
    title: "Which convention is it?",
    fields: { text: { label: "numbers of a row", text: "0.8415, 0.0464, 0.0022, 0.0001, 0.5403, 0.9989, 1.0000, 1.0000" } },

    view: `
        <figure>
            <div role="status" class="score"></div>
            <figcaption>Paste all the numbers of one position, from 4 to 64 of them: as many as the encoding has dimensions. Positions
                from 0 to 9,999 are tried with the bases 100, 1,000, 5,000, 10,000, 100,000, 500,000 and 1,000,000. At
                <i>t</i> = 0 only the order of sines and cosines can be told. A position one more than you expect means that
                the program counts from 1.</figcaption>
        </figure>`,

    draw({ text }, find) {
        const numbers = checker.numbers(text).slice(0, 64);
        const found = checker.find(numbers, checker.tolerance(text));
        const names = [...new Set(found.map(([name]) => name))];
        find(".score").innerHTML = names.length === 0
            ? `<b>None</b> of the conventions below has these ${numbers.length} numbers${numbers.length < 4 || numbers.length % 2
                ? ": an even number of them, at least 4, is needed" : ""}.`
            : `<b>${names.length}</b> of ${Object.keys(checker.conventions).length} conventions fit:<ul>${names.map(name => {
                const all = found.filter(([other]) => other === name);
                const some = i => [...new Set(all.map(row => row[i].toLocaleString("en")))].slice(0, 7).join(" or ");
                return `<li>${checker.conventions[name].label}: <i>t</i> = ${some(1)}, base ${some(2)}</li>`;
            }).join("")}</ul>`;
        const [t, base] = found.length ? found[0].slice(1) : [1, 10000];
        find("table").innerHTML = numbers.length < 4 || numbers.length % 2 ? "" : play.table(
            [`convention, t = ${t}, base ${base.toLocaleString("en")}`, "row"], Object.entries(checker.conventions).map(([name, { label }]) =>
                [label, checker.row(name, t, numbers.length, base).slice(0, 8).map(value => play.number(value, 4)).join(" ")]));
    }
});
