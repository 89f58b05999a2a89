// From bits to sines: the bits of a number as waves of the position, which become smooth.
var bits = {
    /** The number of bits. */
    count: 5,

    /** Returns the bit with the value 2^bit, as a wave of real positions. */
    square: (bit, position) => Math.floor(position / 2 ** bit) % 2,

    /** Returns the sine with the same period, from 0 to 1; it is below one half where the bit is 0. */
    smooth: (bit, position) => (1 - Math.sin(2 * Math.PI * position / 2 ** (bit + 1))) / 2,

    /** Returns a mixture: bits for 0, sines for 1. */
    wave: (bit, position, smoothness) =>
        (1 - smoothness) * bits.square(bit, position) + smoothness * bits.smooth(bit, position),

    /** Returns the same of the cosine: the wave a quarter of a period later. */
    cosine: (bit, position, smoothness) => bits.wave(bit, position + 2 ** (bit - 1), smoothness),

    /** Returns the numbers of a position. */
    row: (waves, position, smoothness) => play.each(bits.count, bit => bit).flatMap(bit => waves === "both"
        ? [bits.wave(bit, position, smoothness), bits.cosine(bit, position, smoothness)]
        : [bits.wave(bit, position, smoothness)]),

    /** Returns the other positions up to 31 with the same numbers. */
    same(waves, position, smoothness) {
        const row = bits.row(waves, position, smoothness);
        return play.each(32, t => t).filter(t => t !== position
            && bits.row(waves, t, smoothness).every((value, i) => Math.abs(value - row[i]) < 1e-9));
    }
};

play.start("bits", {
    title: "From bits to sines",
    hint: "move the smoothness to 1. The bits become sines, and 0 and 16 get the same numbers; with cosines they differ.",
    fields: {
        smoothness: { label: "smoothness", min: 0, max: 1, step: 0.05, start: 0 },
        waves: {
            label: "waves",
            options: { one: { label: "one for each bit: sines" }, both: { label: "two for each bit: sines and cosines" } }
        },
        position: { label: "position t", min: 0, max: 31, start: 0 }
    },

    view: `
        <figure>
            <div class="waves" role="img" aria-label="The waves of each bit, over the positions 0 to 31"></div>
            <p role="status" class="score"></p>
            <figcaption>The bits become waves, the slowest at the top, over the positions 0 to 31. The vertical line is
                the position <i>t</i>; the second curve is the cosine.</figcaption>
        </figure>`,

    draw({ smoothness, waves, position }, find) {
        const rows = play.each(bits.count, i => bits.count - 1 - i);
        find(".waves").innerHTML = rows.map(bit => `
            <svg class="wave" viewBox="0 -1.1 32 1.2" preserveAspectRatio="none">
                ${play.curve("curve", play.each(641, n => [n / 20, -bits.wave(bit, n / 20, smoothness)]))}
                ${waves !== "both" ? ""
                    : play.curve("curve1", play.each(641, n => [n / 20, -bits.cosine(bit, n / 20, smoothness)]))}
                <path d="M${position} .1V-1.1"/></svg>`).join("");
        const same = bits.same(waves, position, smoothness);
        find(".score").innerHTML = same.length === 0 ? `No other position has the numbers of position <b>${position}</b>.`
            : `The same numbers as position <b>${position}</b>: <b>${same.join(", ")}</b>.`;
        find("table").innerHTML = play.table(
            ["bit", "positions per period", "value", "at the next position", "step"],
            rows.map(bit => {
                const [now, next] = [position, position + 1].map(at => bits.wave(bit, at, smoothness));
                return [2 ** bit, 2 ** (bit + 1), ...[now, next, next - now].map(value => play.number(value, 4))];
            }));
    }
});
