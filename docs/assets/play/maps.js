// Maps, row by row: the attention of a head of all-MiniLM-L6-v2, and the cosines of a small learned table.
play.figures.maps = {
    title: "A map, row by row",
    caption: "Red is above 0, blue below; a stronger color is farther from 0. The bars are the chosen row, framed.",
    words: "[CLS] a rose is a rose is a rose [SEP]".split(" "),
    inputs: {
        encoding: {
            label: "map",
            options: { with2: "layer 2, head 2, with positions", without2: "layer 2, head 2, without positions",
                learned: "cosines of a small learned table", sinusoids: "cosines of sinusoids of the same size" }
        },
        t: { label: "t, row", max: 15, limit: ({ encoding }) => encoding.endsWith("2") ? 9 : 15, value: 2 }
    },

    /** What was measured, in hundredths. */
    measured: {
        with2: `98 0 0 0 0 0 0 0 0 0 | 68 6 0 1 7 0 1 17 0 1 | 64 0 6 0 0 14 0 0 13 3 | 59 1 0 15 1 0 23 1 0 1 |
            52 22 0 1 8 0 1 15 0 1 | 62 0 14 0 0 9 0 0 9 5 | 37 2 0 41 1 0 17 1 0 1 | 36 32 0 3 18 0 1 9 0 1 |
            42 0 24 0 0 22 0 0 8 4 | 94 1 0 1 1 0 1 1 0 0`,
        without2: `100 0 0 0 0 0 0 0 0 0 | 1 30 0 1 30 0 1 30 0 6 | 10 0 27 0 0 27 0 0 27 7 | 1 1 0 47 1 0 47 1 0 2 |
            1 30 0 1 30 0 1 30 0 6 | 10 0 27 0 0 27 0 0 27 7 | 1 1 0 47 1 0 47 1 0 2 | 1 30 0 1 30 0 1 30 0 6 |
            10 0 27 0 0 27 0 0 27 7 | 26 14 0 13 14 0 13 14 0 4`,
        learned: `100 5 -20 -47 -36 -39 -44 -45 -43 -40 -38 -43 -41 -48 -47 -50 |
            5 100 -5 -1 -22 -43 -42 -39 -41 -42 -31 -36 -48 -30 -11 -35 |
            -20 -5 100 35 -15 -17 -34 -38 -26 -38 -39 -31 -33 -31 -30 -22 |
            -47 -1 35 100 8 8 -19 -16 -13 -11 -21 -13 -6 -5 -2 -5 |
            -36 -22 -15 8 100 45 44 45 33 44 25 38 21 34 25 30 | -39 -43 -17 8 45 100 67 66 61 58 55 51 58 34 28 43 |
            -44 -42 -34 -19 44 67 100 78 65 63 61 59 59 50 49 64 |
            -45 -39 -38 -16 45 66 78 100 72 74 75 74 70 63 64 73 |
            -43 -41 -26 -13 33 61 65 72 100 68 71 77 71 52 55 64 |
            -40 -42 -38 -11 44 58 63 74 68 100 75 76 71 63 59 72 |
            -38 -31 -39 -21 25 55 61 75 71 75 100 78 69 69 66 70 |
            -43 -36 -31 -13 38 51 59 74 77 76 78 100 72 72 66 74 |
            -41 -48 -33 -6 21 58 59 70 71 71 69 72 100 70 52 76 |
            -48 -30 -31 -5 34 34 50 63 52 63 69 72 70 100 75 76 |
            -47 -11 -30 -2 25 28 49 64 55 59 66 66 52 75 100 74 | -50 -35 -22 -5 30 43 64 73 64 72 70 74 76 76 74 100`
    },

    cells(encoding) {
        return encoding === "sinusoids" // 64 dimensions
            ? play.each(16, t => play.each(16, s => play.dot(play.sinusoids(t, 64), play.sinusoids(s, 64)) / 32))
            : this.measured[encoding].split("|").map(row => row.trim().split(/\s+/).map(number => number / 100));
    },

    rows({ encoding, t }) {
        const cells = this.cells(encoding);
        const row = Math.min(t, cells.length - 1);
        const words = cells.length === this.words.length ? this.words : [];
        return cells[row].map((value, column) => ({ row, word: words[column] ?? "", column, value }));
    },

    plots(rows, { encoding }) {
        const cells = this.cells(encoding).flatMap((values, row) => values.map((value, column) => ({ row, column, value })));
        const names = rows.map(({ word, column }) => `${word} ${column}`);
        const { row } = rows[0];
        return play.map(["The map", `The row ${names[row]}, in percent`], cells, names, row);
    },

    text(rows) {
        const others = rows.filter(({ row, column }) => column !== row);
        const largest = Math.max(...others.map(other => other.value));
        const best = others.filter(other => other.value === largest).map(({ word, column }) => `${word} ${column}`);
        return `Row ${rows[0].row}: the largest number of another place, <b>${play.number(largest, 2)}</b>, is at
            ${best.join(", ")}.`;
    }
};
