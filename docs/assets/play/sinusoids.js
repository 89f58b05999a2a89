// The table of sinusoids as a heat map, and one of its rows as hands of clocks.
play.figures.sinusoids = {
    title: "Sinusoidal positions",
    hint: "raise <i>t</i> by 1 several times. The first hand turns by 57° each time, the last one hardly moves.",
    caption: `One row for each position. Red is above 0, blue below; a stronger color is farther from 0. Point at a cell
        for its number. Each pair of a sine and a cosine is a hand: the cosine is its reach to the right, the sine its
        height.`,
    inputs: {
        t: { label: "t, position", max: 99, value: 20 },
        dimension: { label: "dimension", max: 63, limit: ({ d }) => d - 1, value: 8 },
        d: { label: "d, dimensions", min: 2, max: 64, step: 2, value: 64 },
        base: { label: "base", values: play.bases, value: 10000 }
    },

    rows: ({ t, d, base }) => play.each(d / 2, pair => {
        const frequency = play.frequency(pair, d, base);
        const angle = t * frequency;
        return { pair, "positions per turn": 2 * Math.PI / frequency, angle, sine: Math.sin(angle),
            cosine: Math.cos(angle) };
    }),

    plots(rows, { t, dimension, d, base }) {
        const cells = play.each(100, position => play.sinusoids(position, d, base)
            .map((value, i) => ({ position, dimension: i, value }))).flat();
        const frame = (x1, x2, y1, y2) =>
            Plot.rect([0], { x1: [x1], x2: [x2], y1: [y1], y2: [y2], stroke: "currentColor" });
        const clock = { x: row => row.pair % 8, y: row => Math.floor(row.pair / 8) };
        const hand = { draw(context, length) { context.moveTo(0, 0); context.lineTo(0, -length); } };
        const clockRows = Math.ceil(d / 16);
        return [
            {
                label: "The number of each position and dimension", height: 320,
                x: { label: "dimension" }, y: { reverse: true, label: "position" },
                marks: [
                    // an image, because 6,400 rectangles are slow; its colors cannot be variables
                    Plot.raster(cells, { width: d, height: 100, x1: -0.5, x2: d - 0.5, y1: -0.5, y2: 99.5,
                        fill: cell => cell.value < 0 ? "#2a7fc8" : "#d03a3a", fillOpacity: cell => Math.abs(cell.value),
                        imageRendering: "pixelated" }),
                    frame(-0.5, d - 0.5, t - 0.5, t + 0.5), frame(dimension - 0.5, dimension + 0.5, -0.5, 99.5),
                    Plot.tip(cells, Plot.pointer({ x: "dimension", y: "position", title: cell =>
                        `t = ${cell.position}, dimension ${cell.dimension}: ${cell.value.toFixed(4)}` }))
                ]
            },
            {
                label: "The pairs of the row as hands of clocks", maxWidth: 500, height: 48 * clockRows, margin: 4,
                axis: null, x: { domain: [-0.5, 7.5] }, y: { domain: [clockRows - 0.35, -0.35] },
                marks: [
                    Plot.dot(rows, { ...clock, r: 14, strokeOpacity: 0.4 }),
                    Plot.vector(rows, { ...clock, rotate: row => 90 - row.angle * 180 / Math.PI, length: 14,
                        anchor: "start", shape: hand, ...play.blue }),
                    Plot.text(rows, { ...clock, text: "pair", dy: 22 })
                ]
            }
        ];
    },

    text(rows, { t, dimension }) {
        const { sine, cosine } = rows[Math.floor(dimension / 2)];
        return `<i>t</i> = <b>${t}</b>, dimension <b>${dimension}</b>: <b>${play.number(dimension % 2 ? cosine : sine, 4)}</b>.`;
    }
};
