// Patches of an image: pick one, and see its encoding and how similar it is to those of all others.
var patches = {
    encodings: {
        axes: { label: "half of the dimensions for each axis" }, // He et al., masked autoencoders (2022)
        number: { label: "the number of the patch, row by row" } // Vaswani et al. (2017)
    },

    /** Returns the sines and then the cosines of one axis: d / 2 dimensions. */
    axis(t, d) {
        const angles = play.each(d / 4, m => t * 10000 ** (-4 * m / d));
        return [...angles.map(Math.sin), ...angles.map(Math.cos)];
    },

    /** Returns the encoding of a patch: its column's half and its row's half, or the sinusoids of its number. */
    values: (encoding, row, column, columns, d) => encoding === "axes"
        ? [...patches.axis(column, d), ...patches.axis(row, d)]
        : play.each(d, i => (i % 2 === 0 ? Math.sin : Math.cos)((row * columns + column) * 10000 ** (-(i - i % 2) / d))),

    /** Returns the similarity, the cosine of the angle between two encodings; both have the squared norm d / 2. */
    similarity: (one, other) => one.reduce((sum, value, i) => sum + value * other[i], 0) / (one.length / 2),

    /** Returns the similarity of a patch to all patches, row by row. */
    similarities(encoding, row, column, rows, columns, d) {
        const chosen = patches.values(encoding, row, column, columns, d);
        return play.each(rows * columns, i => patches.similarity(chosen,
            patches.values(encoding, Math.floor(i / columns), i % columns, columns, d)));
    }
};

play.start("patches", {
    title: "Pick a patch",
    fields: {
        encoding: { label: "encoding", options: patches.encodings },
        row: { label: "row", min: 0, max: 23, start: 4 },
        column: { label: "column", min: 0, max: 23, start: 10 },
        rows: { label: "rows", min: 2, max: 24, start: 16 },
        columns: { label: "columns", min: 2, max: 24, start: 16 },
        d: { label: "d, dimensions", min: 4, max: 128, step: 4, start: 64 }
    },

    view: `
        <figure>
            <div class="one grid" tabindex="0" role="application" aria-label="Patches; the arrow keys choose one"></div>
            <p role="status" class="score"></p>
            <figcaption>The similarity of the chosen patch to all patches, with the same colors for both encodings: from 0.5 or less,
                transparent, to 1. Point at a patch and press, or use the arrow keys or the sliders.</figcaption>
        </figure>
        <figure>
            <div class="plot">
                <span class="rows">1 <span>0</span> <span>-1</span></span>
                <div class="frame bars" role="img" aria-label="The encoding of the chosen patch"></div>
                <span></span><span class="halves"></span>
            </div>
            <figcaption>The encoding of the chosen patch.</figcaption>
        </figure>`,

    draw({ encoding, row: chosenRow, column: chosenColumn, rows, columns, d }, find) {
        const [row, column] = [Math.min(chosenRow, rows - 1), Math.min(chosenColumn, columns - 1)];
        const all = patches.similarities(encoding, row, column, rows, columns, d);
        const smallest = -play.largest(all.map(value => -value));
        find(".grid").innerHTML = `<svg viewBox="0 0 ${columns} ${rows}">${all.map((value, i) => `<rect class="cell"
            x="${i % columns}" y="${Math.floor(i / columns)}" width=".94" height=".94"
            fill-opacity="${Math.max(0, 2 * value - 1)}"/>`).join("")}
            <rect class="chosen" x="${column - 0.03}" y="${row - 0.03}" width="1" height="1"/></svg>`;
        find(".score").innerHTML = `Row <b>${row}</b>, column <b>${column}</b>, number <b>${row * columns + column}</b>. The
            similarities are from <b>${play.number(smallest, 3)}</b> to 1.`;
        find(".bars").innerHTML = `<svg viewBox="0 -1 ${d} 2" preserveAspectRatio="none" style="height: 5rem">
            ${play.bars(patches.values(encoding, row, column, columns, d))}<line class="zero" x2="${d}"/></svg>`;
        find(".halves").innerHTML = encoding === "axes"
            ? `0 <span>column: sin, cos</span><span>row: sin, cos</span> ${d - 1}` : `0 <span>dimension</span> ${d - 1}`;
        const others = [["itself", row, column], ["left", row, column - 1], ["right", row, column + 1], ["above", row - 1, column],
            ["below", row + 1, column], ["end of the row", row, columns - 1], ["start of the next row", row + 1, 0],
            ["last patch", rows - 1, columns - 1]];
        find("table").innerHTML = play.table(["patch", "row", "column", "similarity"],
            others.filter(([, y, x]) => y >= 0 && y < rows && x >= 0 && x < columns)
                .map(([name, y, x]) => [name, y, x, play.number(all[y * columns + x], 3)]));
    },

    listen(find, set, settings) {
        const grid = find(".grid");
        const choose = (row, column) => {
            set("row", Math.min(Math.max(row, 0), settings().rows - 1));
            set("column", Math.min(Math.max(column, 0), settings().columns - 1));
        };
        grid.addEventListener("pointerdown", event => {
            const { left, top, width, height } = grid.querySelector("svg").getBoundingClientRect();
            const { rows, columns } = settings();
            choose(Math.floor((event.clientY - top) / height * rows), Math.floor((event.clientX - left) / width * columns));
        });
        grid.addEventListener("keydown", event => {
            const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
            if (step) {
                const { row, column, rows, columns } = settings();
                choose(Math.min(row, rows - 1) + step[0], Math.min(column, columns - 1) + step[1]);
                event.preventDefault();
            }
        });
    }
});
