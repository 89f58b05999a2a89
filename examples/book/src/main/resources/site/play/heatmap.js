// The heat map of a sinusoidal encoding, with the number under the pointer or of a cell chosen by keyboard.
var heatmap = {
    /** Returns a number of the encoding: Vaswani et al. (2017), section 3.5. */
    value(position, dimension, size, base) {
        const angle = position * base ** (-2 * Math.floor(dimension / 2) / size);
        return dimension % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }
};

play.start("heatmap", {
    title: "The number in each cell",
    hint: "move <i>t</i> in dimension 0, then in 16. The numbers repeat after about 6 rows, and after about 63.",
    fields: {
        size: { label: "d, dimensions", min: 1, max: 128, start: 64 },
        base: { label: "base", values: play.bases, start: 10000 },
        length: { label: "T, length", min: 1, max: 200, start: 100 },
        position: { label: "t, position", min: 0, max: 199, start: 20 },
        dimension: { label: "dimension", min: 0, max: 127, start: 8 }
    },

    view: `
        <figure>
            <div class="plot">
                <span></span><span>dimension 0 <span class="last"></span></span>
                <span class="rows">0 <span class="end"></span></span>
                <div class="frame" tabindex="0" role="application"
                    aria-label="Heat map; the arrow keys choose a cell"><canvas></canvas><div class="mark"></div></div>
            </div>
            <p role="status" class="score"></p>
            <figcaption>One row for each position. Red is above 0, blue below; a stronger color is farther from 0. Point at a
                cell, or choose one with the arrow keys or the sliders.</figcaption>
        </figure>`,

    draw({ size, base, length, position, dimension }, find) {
        const numbers = play.each(length, row => play.each(size, column => heatmap.value(row, column, size, base))).flat();
        const color = value => [...(value < 0 ? [0x2a, 0x7f, 0xc8] : [0xd0, 0x3a, 0x3a]), Math.round(255 * Math.abs(value))];
        const pixels = new ImageData(Uint8ClampedArray.from(numbers.flatMap(color)), size, length);
        [find("canvas").width, find("canvas").height] = [size, length];
        find("canvas").getContext("2d").putImageData(pixels, 0, 0);
        [find(".last").textContent, find(".end").textContent] = [size - 1, length - 1];
        const [row, column] = [Math.min(position, length - 1), Math.min(dimension, size - 1)];
        find(".mark").style = `top: calc(${100 * row / length}% - 2px); height: ${100 / length}%;
            left: calc(${100 * column / size}% - 2px); width: ${100 / size}%; right: auto`;
        const value = heatmap.value(row, column, size, base);
        find(".score").innerHTML = `<i>t</i> = <b>${row}</b>, dimension <b>${column}</b>: <b>${play.number(value, 4)}</b>.`;
        find("table").innerHTML = play.table(["dimension", "function", "positions per turn", "value"],
            play.each(5, i => column - 2 + i).filter(i => i >= 0 && i < size).map(i => [i, i % 2 === 0 ? "sine" : "cosine",
                play.wavelength(base ** (-2 * Math.floor(i / 2) / size)), play.number(heatmap.value(row, i, size, base), 4)]));
    },

    listen(find, set, settings) {
        const canvas = find("canvas");
        const choose = (row, column) => {
            const { length, size } = settings();
            set("position", Math.min(Math.max(row, 0), length - 1));
            set("dimension", Math.min(Math.max(column, 0), size - 1));
        };
        canvas.addEventListener("pointermove", event => {
            const { left, top, width, height } = canvas.getBoundingClientRect();
            choose(Math.floor((event.clientY - top) / height * canvas.height),
                Math.floor((event.clientX - left) / width * canvas.width));
        });
        canvas.parentNode.addEventListener("keydown", event => {
            const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
            if (step) {
                const { position, dimension, length, size } = settings();
                choose(Math.min(position, length - 1) + step[0], Math.min(dimension, size - 1) + step[1]);
                event.preventDefault();
            }
        });
    }
});
