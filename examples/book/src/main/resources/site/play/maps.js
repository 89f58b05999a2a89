// Maps to look at row by row: the attention of two heads of all-MiniLM-L6-v2, and the cosines of a small learned table.
var maps = {
    words: "[CLS] a rose is a rose is a rose [SEP]".split(" "),

    // in hundredths; PlayTest compares them with the model and the table
    encodings: {
        with1: {
            label: "layer 1, head 3, with positions",
            rows: `100 0 0 0 0 0 0 0 0 0 | 100 0 0 0 0 0 0 0 0 0 | 0 100 0 0 0 0 0 0 0 0 | 0 0 100 0 0 0 0 0 0 0 |
            0 0 0 100 0 0 0 0 0 0 | 0 0 0 0 100 0 0 0 0 0 | 0 0 0 0 0 100 0 0 0 0 | 0 0 0 0 0 0 100 0 0 0 |
            0 0 0 0 0 0 0 100 0 0 | 0 0 0 0 0 0 0 0 100 0`
        },
        without1: {
            label: "layer 1, head 3, without",
            rows: `0 0 33 0 0 33 0 0 33 0 | 8 0 30 1 0 30 1 0 30 0 | 91 2 1 1 2 1 1 2 1 0 | 9 0 30 0 0 30 0 0 30 0 |
            8 0 30 1 0 30 1 0 30 0 | 91 2 1 1 2 1 1 2 1 0 | 9 0 30 0 0 30 0 0 30 0 | 8 0 30 1 0 30 1 0 30 0 |
            91 2 1 1 2 1 1 2 1 0 | 81 0 6 0 0 6 0 0 6 0`
        },
        with2: {
            label: "layer 2, head 2, with positions",
            rows: `98 0 0 0 0 0 0 0 0 0 | 68 6 0 1 7 0 1 17 0 1 | 64 0 6 0 0 14 0 0 13 3 | 59 1 0 15 1 0 23 1 0 1 |
            52 22 0 1 8 0 1 15 0 1 | 62 0 14 0 0 9 0 0 9 5 | 37 2 0 41 1 0 17 1 0 1 | 36 32 0 3 18 0 1 9 0 1 |
            42 0 24 0 0 22 0 0 8 4 | 94 1 0 1 1 0 1 1 0 0`
        },
        without2: {
            label: "layer 2, head 2, without",
            rows: `100 0 0 0 0 0 0 0 0 0 | 1 30 0 1 30 0 1 30 0 6 | 10 0 27 0 0 27 0 0 27 7 | 1 1 0 47 1 0 47 1 0 2 |
            1 30 0 1 30 0 1 30 0 6 | 10 0 27 0 0 27 0 0 27 7 | 1 1 0 47 1 0 47 1 0 2 | 1 30 0 1 30 0 1 30 0 6 |
            10 0 27 0 0 27 0 0 27 7 | 26 14 0 13 14 0 13 14 0 4`
        },
        learned: {
            label: "cosines of a small learned table",
            rows: `100 5 -20 -47 -36 -39 -44 -45 -43 -40 -38 -43 -41 -48 -47 -50 |
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
            -47 -11 -30 -2 25 28 49 64 55 59 66 66 52 75 100 74 |
            -50 -35 -22 -5 30 43 64 73 64 72 70 74 76 76 74 100`
        },
        sinusoids: { label: "cosines of sinusoids of the same size" } // Vaswani et al. (2017), 64 dimensions
    },

    /** Returns the numbers of a map, row by row. */
    cells: encoding => encoding === "sinusoids"
        ? play.each(16, t => play.each(16, s => play.each(32, m => Math.cos((t - s) * 10000 ** (-m / 32)) / 32)
            .reduce((a, b) => a + b)))
        : maps.encodings[encoding].rows.split("|").map(row => row.trim().split(/\s+/).map(number => number / 100))
};

play.start("maps", {
    title: "A map, row by row",
    fields: {
        encoding: { label: "map", options: maps.encodings },
        t: { label: "t, row", min: 0, max: 15, start: 2 }
    },

    view: `
        <figure>
            <div class="one map" role="img" aria-label="The map"></div>
            <p role="status" class="score"></p>
            <figcaption>The bars are the chosen row, in percent.</figcaption>
        </figure>`,

    draw({ encoding, t: chosen }, find) {
        const rows = maps.cells(encoding);
        const count = rows.length;
        const t = Math.min(chosen, count - 1);
        const names = play.each(count, s => count === maps.words.length ? `${maps.words[s]} ${s}` : `${s}`);
        const above = count === maps.words.length ? 3 : 1.5; // the names of the columns
        find(".map").innerHTML = `<svg viewBox="-3 ${-above} ${count + 3} ${count + 4 + above}">
            ${names.map((name, i) => `<text x="-.3" y="${i + 0.7}" text-anchor="end">${name}</text>
                <text transform="translate(${i + 0.68} -.3) rotate(-90)">${name}</text>`).join("")}
            ${rows.flatMap((row, i) => row.map((value, j) => `<rect class="cell ${value < 0 ? "negative" : ""}" x="${j}" y="${i}"
                width=".95" height=".95" fill-opacity="${Math.abs(value)}"/>`)).join("")}
            <rect class="chosen" y="${t}" width="${count}" height=".95"/>
            ${rows[t].map((value, j) => `<rect class="${value < 0 ? "below" : "above"}" x="${j + 0.1}" width=".75"
                y="${count + 3 - 2 * Math.max(value, 0)}" height="${2 * Math.abs(value)}"/><text x="${j + 0.5}"
                y="${count + 2.9 - 2 * Math.max(value, 0)}" text-anchor="middle">${Math.round(100 * value)}</text>`).join("")}</svg>`;
        const others = rows[t].map((value, s) => encoding.startsWith("with") || s !== t ? value : -1);
        const largest = play.largest(others);
        const best = names.filter((_, s) => others[s] === largest).join(", ");
        find(".score").innerHTML = `Row ${names[t]}: the largest number${encoding.startsWith("with") ? "" : " of another position"},
            <b>${play.number(largest, 2)}</b>, is that of ${best}.`;
        find("table").innerHTML = play.table(["column", "number"], rows[t].map((value, s) => [names[s], play.number(value, 2)]));
    }
});
