// Which convention of sinusoids a row follows: paste its numbers, and see the position and the base that fit.
play.figures.checker = {
    title: "Which convention is it?",
    caption: `Paste all the numbers of one position, from 4 to 64 of them: as many as the encoding has dimensions. Positions
        from 0 to 9,999 are tried with the bases 100, 1,000, 5,000, 10,000, 100,000, 500,000 and 1,000,000. At
        <i>t</i> = 0 only the order of sines and cosines can be told. A position one more than you expect means that the
        program counts from 1.`,
    inputs: { text: { label: "numbers of a row", text: "0.8415, 0.0464, 0.0022, 0.0001, 0.5403, 0.9989, 1.0000, 1.0000" } },

    /**
     * In a convention all sines may come before all cosines (halves) or cosines first, exponents may be divided by
     * d/2 - 1 (less), and each dimension may have an exponent of its own.
     */
    conventions: [
        { name: "Attention Is All You Need: pairs of neighbors, sine first" },
        { name: "pairs of neighbors, cosine first", cosineFirst: true },
        { name: "x-transformers: all sines, then all cosines", halves: true },
        { name: "Stable Diffusion: all cosines, then all sines", halves: true, cosineFirst: true },
        { name: "tensor2tensor, fairseq, Whisper, DDPM: all sines, then all cosines, exponents divided by d/2 − 1",
            halves: true, less: 1 },
        { name: "DiT in diffusers: all cosines, then all sines, exponents divided by d/2 − 1",
            halves: true, cosineFirst: true, less: 1 },
        { name: "pairs of neighbors, exponents divided by d/2 − 1", less: 1 },
        { name: "pairs of neighbors, but each dimension with an exponent of its own (a mistake)", own: 0.5 }
    ],

    /** Returns the number of a convention in dimension i, of n pairs. */
    number({ halves, cosineFirst = false, less = 0, own = 0 }, t, i, n, base) {
        const m = halves ? i % n : Math.floor(i / 2);
        const isCosine = (halves ? i >= n : i % 2 === 1) !== cosineFirst;
        return (isCosine ? Math.cos : Math.sin)(t * base ** (-(m + (isCosine ? own : 0)) / Math.max(n - less, 1)));
    },

    /** Returns the numbers of a text, which are separated by blanks, commas or semicolons, perhaps in brackets. */
    numbers: text => (text.match(/[-−+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/gi) || []).slice(0, 64)
        .map(number => Number(number.replace("−", "-"))),

    /** Returns what agrees with the numbers to half a unit of their last digit, one of the first to the seventh. */
    rows({ text }) {
        const row = this.numbers(text);
        const n = row.length / 2;
        const digits = Math.max(1, ...(text.match(/\.\d+/g) || []).map(decimals => decimals.length - 1));
        const isClose = (x, y) => Math.abs(x - y) <= 0.51 * 10 ** -Math.min(digits, 7);
        const bases = [100, 1000, 5000, 10000, 100000, 500000, 1000000];
        return n < 2 || n % 1 ? [] : this.conventions.flatMap(convention => {
            const fits = (t, base) => row.every((x, i) => isClose(this.number(convention, t, i, n, base), x));
            // the first sine has the frequency 1 with any base, so that few positions are left
            const first = row.findIndex((_, i) => this.number(convention, Math.PI / 2, i, n, 1) === 1);
            return play.each(10000, t => t).filter(t => isClose(Math.sin(t), row[first])).flatMap(t =>
                bases.filter(base => fits(t, base)).map(base => ({ convention: convention.name, t, base })));
        });
    },

    plots: () => [],

    text(rows, { text }) {
        const count = this.numbers(text).length;
        const names = [...new Set(rows.map(row => row.convention))];
        const fits = names.map(name => {
            const some = column => [...new Set(rows.filter(row => row.convention === name)
                .map(row => play.cell(row[column])))].slice(0, 7).join(" or ");
            return `<li>${name}: <i>t</i> = ${some("t")}, base ${some("base")}</li>`;
        });
        return count < 4 || count % 2 ? `An even number of numbers, at least 4, is needed, not <b>${count}</b>.`
            : `<b>${names.length}</b> of ${this.conventions.length} conventions fit.<ul>${fits.join("")}</ul>`;
    }
};
