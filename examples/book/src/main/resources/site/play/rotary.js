// Rotary pairs to play with: one of them as a query and a key on a circle, and the sum of all of them as the score.
var rotary = {
    /** Returns the angle per position of each pair, in radians: Su et al., RoFormer (2021). */
    frequencies: (d, base) => play.each(d / 2, m => base ** (-2 * m / d)),

    /** Returns the angle of a vector that starts at an angle, after the rotation by its position; in radians. */
    angle: (start, position, frequency) => start + position * frequency,

    /** Returns what each pair adds to the score of a query and a key at a distance, both of norm 1 in each pair. */
    contributions: (alpha, d, base, distance) =>
        rotary.frequencies(d, base).map(frequency => Math.cos(alpha - frequency * distance)),

    /** Returns the score: the sum over the pairs. */
    score: (alpha, d, base, distance) => rotary.contributions(alpha, d, base, distance).reduce((a, b) => a + b, 0),

    /** Degrees in radians. */
    radians: degrees => degrees * Math.PI / 180
};

play.start("rotary", {
    title: "Rotary pairs",
    fields: {
        t: { label: "t of the query", min: 0, max: 200, start: 20 },
        distance: { label: "Δ, query minus key", min: -20, max: 100, start: 3 },
        m: { label: "m, pair on the circle", min: 0, max: 63, start: 8, more: true },
        d: { label: "d, dimensions", min: 2, max: 128, step: 2, start: 64, more: true },
        base: { label: "base", values: play.bases, start: 10000, more: true },
        query: { label: "query starts at (°)", min: 0, max: 359, start: 20, more: true },
        alpha: { label: "φ, from query to key (°)", min: -180, max: 180, start: 40, more: true }
    },

    view: `
        <figure>
            <div class="one drag" role="img" aria-label="The query and the key of a pair on a circle"></div>
            <figcaption>The query (blue, filled tip) and the key (orange, dashed) of the pair <i>m</i> after the rotation; gray marks
                show where they start. Drag a tip to change where it starts. When <i>t</i> moves, both rotate, and the angle
                between them stays.</figcaption>
        </figure>
        <figure>
            <div class="plot">
                <span class="rows">1 <span>0</span> <span>-1</span></span>
                <div class="frame curves" role="img" aria-label="The score by distance"></div>
                <span></span><span>-20 <span>Δ</span> 100</span>
            </div>
            <p role="status" class="score"></p>
            <figcaption>Blue: the score divided by the number of pairs. Orange, dashed: the pair <i>m</i>. Gray, if there are at
                most 8: all pairs. The dots are the distances that words can have, the integers. The vertical line is at Δ.</figcaption>
        </figure>`,

    draw({ distance, t, d, base, m: chosen, query, alpha: degrees }, find) {
        const alpha = rotary.radians(degrees);
        const m = Math.min(chosen, d / 2 - 1);
        const frequencies = rotary.frequencies(d, base);
        const pair = m => distance => Math.cos(alpha - frequencies[m] * distance);
        const mean = distance => rotary.score(alpha, d, base, distance) / frequencies.length;
        // a fast pair rotates far from one integer to the next
        const points = (value, count) => play.each(120 * count + 1, i => [i / count - 20, -value(i / count - 20)]);
        find(".curves").innerHTML = `<svg viewBox="-20 -1 120 2" preserveAspectRatio="none" style="height: 12rem">
            ${frequencies.length > 8 ? "" : frequencies.map((frequency, m) =>
                play.curve("other", points(pair(m), frequency > 0.2 ? 10 : 1))).join("")}
            ${play.curve("curve1 trained", points(pair(m), 10))}${play.curve("curve", points(mean, 10))}
            ${play.dots("curve1", points(pair(m), 1))}${play.dots("curve", points(mean, 1))}
            <path class="zero" d="M-20 0H100"/><path d="M${distance} -1v2"/></svg>`;
        const contributions = rotary.contributions(alpha, d, base, distance);
        const score = rotary.score(alpha, d, base, distance);
        find(".score").innerHTML = `Score at Δ = ${distance}: <b>${play.number(score, 4)}</b>, divided by ${d / 2} pairs
            <b>${play.number(score / (d / 2), 4)}</b>. Pair ${m} adds <b>${play.number(contributions[m], 4)}</b>.`;

        const starts = [rotary.radians(query), rotary.radians(query) + alpha];
        const angles = starts.map((start, i) => rotary.angle(start, t - i * distance, frequencies[m]));
        const mark = angle => `<path class="unscaled" d="M0 0L${Math.cos(angle)} ${-Math.sin(angle)}"/>`;
        find(".one").innerHTML = `<svg viewBox="-1.2 -1.2 2.4 2.4"><circle class="dial" r="1"/>
            ${starts.map(mark).join("")}${angles.map(play.hand).join("")}</svg>`;
        find("table").innerHTML = play.table(["m", "ω", "period in tokens", "ωΔ", "adds to the score"],
            frequencies.map((frequency, pair) => [pair, frequency.toPrecision(4), play.wavelength(frequency),
                play.number(frequency * distance / Math.PI * 180, 1) + "°", play.number(contributions[pair], 4)]));
    },

    listen(find, set, settings) {
        let dragged = -1;
        const place = find(".one");
        const angleAt = event => {
            const { left, top, width, height } = place.querySelector("svg").getBoundingClientRect();
            return Math.atan2(top + height / 2 - event.clientY, event.clientX - left - width / 2) / Math.PI * 180;
        };
        const wrapped = (degrees, first) => ((Math.round(degrees) - first) % 360 + 360) % 360 + first;
        const rotation = ({ t, distance, d, base, m }, i) =>
            (t - i * distance) * rotary.frequencies(d, base)[Math.min(m, d / 2 - 1)] / Math.PI * 180;
        place.addEventListener("pointerdown", event => {
            const now = settings();
            const starts = [now.query, now.query + now.alpha];
            const away = i => Math.abs(wrapped(angleAt(event) - rotation(now, i) - starts[i], -180));
            dragged = away(0) <= away(1) ? 0 : 1;
            place.setPointerCapture(event.pointerId);
        });
        place.addEventListener("pointermove", event => {
            if (dragged >= 0) {
                const now = settings();
                const start = angleAt(event) - rotation(now, dragged);
                dragged === 0 ? set("query", wrapped(start, 0)) : set("alpha", wrapped(start - now.query, -180));
            }
        });
        ["pointerup", "pointercancel"].forEach(end => place.addEventListener(end, () => { dragged = -1; }));
    }
});
