// Patches of an image: choose one, and see how similar its encoding is to those of all others.
play.figures.patches = {
    title: "Choose a patch",
    caption: `The similarity of the chosen patch, framed, to all patches of 16 by 16, with the same colors for both
        encodings: from 0.5 or less, transparent, to 1. Point at a patch for its number.`,
    inputs: {
        encoding: {
            label: "encoding",
            options: { axes: "half of the dimensions for each axis", number: "the number of the patch, row by row" }
        },
        row: { label: "row", max: 15, value: 4 },
        column: { label: "column", max: 15, value: 10 }
    },

    /** Returns 64 dimensions: a half for the column and one for the row, He et al. (2022), or sinusoids of the number. */
    encode: (encoding, row, column) => encoding === "number" ? play.sinusoids(16 * row + column, 64)
        : [column, row].flatMap(t => [Math.sin, Math.cos].flatMap(wave =>
            play.each(16, m => wave(t * play.frequency(m, 32))))),

    /** The similarity is the cosine of the angle between two encodings; each has the squared norm 32. */
    rows({ encoding, row, column }) {
        const chosen = this.encode(encoding, row, column);
        return play.each(256, number => {
            const [y, x] = [Math.floor(number / 16), number % 16];
            return { number, row: y, column: x, similarity: play.dot(chosen, this.encode(encoding, y, x)) / 32 };
        });
    },

    plots: (rows, { row, column }) => [{
        label: "The similarity to each patch", maxWidth: 400, aspectRatio: 1, padding: 0,
        marks: [
            Plot.cell(rows, { x: "column", y: "row", inset: 0.5, fill: play.color(1),
                fillOpacity: patch => Math.max(0, 2 * patch.similarity - 1) }),
            Plot.cell([{ row, column }], { x: "column", y: "row", stroke: "currentColor", strokeWidth: 2.5 }),
            Plot.tip(rows, Plot.pointer({ x: "column", y: "row",
                title: patch => `${patch.number}: ${patch.similarity.toFixed(3)}` }))
        ]
    }],

    text: (rows, { row, column }) => `Row <b>${row}</b>, column <b>${column}</b>, number <b>${16 * row + column}</b>. The
        similarities are from <b>${play.number(Math.min(...rows.map(patch => patch.similarity)), 3)}</b> to 1.`
};
