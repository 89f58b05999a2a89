// From bits to sines: the bits of a number as waves of the position, which become smooth.
play.figures.bits = {
    title: "From bits to sines",
    hint: "move the smoothness to 1. The bits become sines, and 0 and 16 get the same numbers; with cosines they differ.",
    caption: `The bits become waves of the position, the slowest at the top. The dashed wave is the cosine, a quarter of a
        period ahead.`,
    inputs: {
        smoothness: { label: "smoothness", max: 1, step: 0.05, value: 0 },
        t: { label: "t, position", max: 31, value: 0 },
        waves: { label: "waves", options: { one: "one for each bit: sines", both: "two: sines and cosines" } }
    },

    /** Returns a mixture of a bit, and of the sine from 0 to 1 with its period, below one half where the bit is 0. */
    wave: (bit, t, smoothness) => (1 - smoothness) * (Math.floor(t / bit) % 2)
        + smoothness * (1 - Math.sin(Math.PI * t / bit)) / 2,

    rows({ smoothness, t, waves }) {
        return [16, 8, 4, 2, 1].map(bit => ({ bit, period: 2 * bit, value: this.wave(bit, t, smoothness),
            ...waves === "both" && { cosine: this.wave(bit, t + bit / 2, smoothness) } }));
    },

    plots(rows, { smoothness, t, waves }) {
        const line = (bit, shift, options) => Plot.line(play.each(641, n => n / 20),
            { x: at => at, y: at => this.wave(bit, at + shift, smoothness), ...options });
        return rows.map(({ bit, value }) => ({
            label: `Bit ${bit}`, marginTop: 5, marginRight: 10, y: { ticks: 1, domain: [0, 1], label: null },
            ...bit === 1 ? { height: 80, x: { label: "position" } } : { height: 54, marginBottom: 12, x: { axis: null } },
            marks: [
                line(bit, 0, play.blue), waves === "both" ? line(bit, bit / 2, play.orange) : null, Plot.ruleX([t]),
                Plot.dot([value], { x: [t], y: [value], r: 4, fill: play.blue.stroke })
            ]
        }));
    },

    text(rows, values) {
        const numbers = t => this.rows({ ...values, t }).flatMap(row => [row.value, row.cosine ?? 0]);
        const isSame = (a, b) => a.every((x, i) => Math.abs(x - b[i]) < 1e-9);
        const same = play.each(32, t => t).filter(t => t !== values.t && isSame(numbers(t), numbers(values.t)));
        return same.length ? `The same numbers as position <b>${values.t}</b>: <b>${same.join(", ")}</b>.`
            : `No other position has the numbers of position <b>${values.t}</b>.`;
    }
};
