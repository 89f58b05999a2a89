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
        (1 - smoothness) * bits.square(bit, position) + smoothness * bits.smooth(bit, position)
};

play.start("bits", {
    title: "From bits to sines",
    fields: {
        smoothness: { label: "smoothness", min: 0, max: 1, step: 0.05, start: 0 },
        position: { label: "t, position", min: 0, max: 31, start: 15 }
    },

    view: `
        <figure>
            <div class="waves" role="img" aria-label="One wave for each bit, over the positions 0 to 31"></div>
            <figcaption>One wave for each bit, the slowest at the top, over the positions 0 to 31. The vertical line is
                at <i>t</i>.</figcaption>
        </figure>`,

    draw({ smoothness, position }, find) {
        const rows = play.each(bits.count, i => bits.count - 1 - i);
        find(".waves").innerHTML = rows.map(bit => `
            <svg class="wave" viewBox="0 -1.1 32 1.2" preserveAspectRatio="none">
                ${play.curve("curve", play.each(641, n => [n / 20, -bits.wave(bit, n / 20, smoothness)]))}
                <path d="M${position} .1V-1.1"/></svg>`).join("");
        find("table").innerHTML = play.table(
            ["bit", "positions per period", "value", "at the next position", "step"],
            rows.map(bit => {
                const [now, next] = [position, position + 1].map(at => bits.wave(bit, at, smoothness));
                return [2 ** bit, 2 ** (bit + 1), ...[now, next, next - now].map(value => play.number(value, 4))];
            }));
    }
});
