// One rotary pair to play with: a query and a key on a circle, which both turn with their positions.
var rotary = {
    /** Returns the angle of a vector that starts at an angle, after its position has turned it; in radians. */
    angle: (start, position, frequency) => start + position * frequency,

    /** Returns the product of a query and a key of length 1. */
    score: (queryAngle, keyAngle) => Math.cos(keyAngle - queryAngle),

    /** Degrees in radians. */
    radians: degrees => degrees * Math.PI / 180
};

play.start("rotary", {
    title: "A query and a key on a circle",
    fields: {
        query: { label: "query starts at (°)", min: 0, max: 359, start: 20 },
        alpha: { label: "α, query to key (°)", min: -180, max: 180, start: 40 },
        position: { label: "position of the query", min: 0, max: 200, start: 0 },
        distance: { label: "key less query", min: -20, max: 20, start: 3 },
        frequency: { label: "radians a position", values: [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1], start: 0.2 }
    },

    view: `
        <figure>
            <div class="one drag" role="img" aria-label="The query and the key on a circle"></div>
            <p role="status" class="score"></p>
            <figcaption>The query (blue, filled tip) and the key (orange, dashed) after turning; gray marks show where they
                start. Drag a tip to change where it starts. Then move the position: both turn, and the angle between
                them stays.</figcaption>
        </figure>`,

    draw({ query, alpha, position, distance, frequency }, find) {
        const starts = [query, query + alpha].map(rotary.radians);
        const angles = [rotary.angle(starts[0], position, frequency),
            rotary.angle(starts[1], position + distance, frequency)];
        const mark = angle => `<path class="unscaled" d="M0 0L${Math.cos(angle)} ${-Math.sin(angle)}"/>`;
        find(".one").innerHTML = `<svg viewBox="-1.2 -1.2 2.4 2.4"><circle class="dial" r="1"/>
            ${starts.map(mark).join("")}${angles.map(play.hand).join("")}</svg>`;
        const between = (angles[1] - angles[0]) / Math.PI * 180;
        find(".score").innerHTML = `Angle from query to key: <b>${play.number(between, 1)}</b>°.
            Score, its cosine: <b>${play.number(rotary.score(angles[0], angles[1]), 4)}</b>.`;
        find("table").innerHTML = play.table(["", "position", "starts at", "turned by", "angle"],
            ["query", "key"].map((name, i) => [name, position + i * distance,
                ...[starts[i], angles[i] - starts[i], angles[i]].map(angle => play.number(angle / Math.PI * 180, 1) + "°")]));
    },

    listen(find, set, settings) {
        let dragged = -1;
        const place = find(".one");
        const angleAt = event => {
            const { left, top, width, height } = place.querySelector("svg").getBoundingClientRect();
            return Math.atan2(top + height / 2 - event.clientY, event.clientX - left - width / 2) / Math.PI * 180;
        };
        const wrapped = (degrees, least) => ((Math.round(degrees) - least) % 360 + 360) % 360 + least;
        const turn = ({ position, distance, frequency }, i) => (position + i * distance) * frequency / Math.PI * 180;
        place.addEventListener("pointerdown", event => {
            const now = settings();
            const starts = [now.query, now.query + now.alpha];
            const away = i => Math.abs(wrapped(angleAt(event) - turn(now, i) - starts[i], -180));
            dragged = away(0) <= away(1) ? 0 : 1;
            place.setPointerCapture(event.pointerId);
        });
        place.addEventListener("pointermove", event => {
            if (dragged >= 0) {
                const now = settings();
                const start = angleAt(event) - turn(now, dragged);
                dragged === 0 ? set("query", wrapped(start, 0)) : set("alpha", wrapped(start - now.query, -180));
            }
        });
        ["pointerup", "pointercancel"].forEach(end => place.addEventListener(end, () => { dragged = -1; }));
    }
});
