// Rotary positions to play with: the angles of each pair under a scaling, and the score of a query and a key.
var rotary = {
    /** The scalings for longer contexts: what each makes of rope, the unscaled frequency of pair k. */
    scalings: {
        none: { label: "none", frequency: rope => rope }, // Su et al., RoFormer (2021)
        linear: { label: "linear", frequency: (rope, { factor }) => rope / factor }, // Chen et al. (2023)
        // bloc97 (2023): the greater base base * factor^(size / (size - 2))
        ntk: { label: "NTK-aware", frequency: (rope, { k, size, factor }) => rope * factor ** (-2 * k / (size - 2)) },
        yarn: {
            label: "YaRN", // Peng et al. (2023), section 3; as its code, with bounds rounded outwards to whole pairs
            frequency(rope, { k, size, base, factor, length }) {
                const pairWithTurns = turns => size * Math.log(length / (2 * Math.PI * turns)) / (2 * Math.log(base));
                const low = Math.max(Math.floor(pairWithTurns(32)), 0);
                const high = Math.min(Math.ceil(pairWithTurns(1)), size - 1);
                return rotary.mixed(rope, (k - low) / (high === low ? 0.001 : high - low), factor);
            }
        },
        llama3: {
            label: "Llama 3", // Meta, Llama 3.1 (2024): pairs with up to 1 turn are slowed, with 4 or more kept
            frequency: (rope, { factor, length }) => rotary.mixed(rope, (4 - rope * length / (2 * Math.PI)) / 3, factor)
        }
    },

    /** A frequency of which a part, limited to 0 to 1, is divided by the factor, and the rest kept. */
    mixed(frequency, part, factor) {
        const slowed = Math.min(Math.max(part, 0), 1);
        return frequency * (1 - slowed + slowed / factor);
    },

    /** Returns the angle per position of each pair, in radians: base^(-2k / size), scaled. */
    frequencies: (scaling, size, base, factor, length) => play.each(size / 2, k =>
        rotary.scalings[scaling].frequency(base ** (-2 * k / size), { k, size, base, factor, length })),

    /** Returns the factor of cosines and sines, which only YaRN has. */
    attentionFactor: (scaling, factor) => scaling === "yarn" ? 0.1 * Math.log(factor) + 1 : 1,

    /** Returns the product of a query and a key whose pairs are all (1, 0) before their positions turn them. */
    score(frequencies, attentionFactor, queryPosition, keyPosition) {
        const turned = angle => [attentionFactor * Math.cos(angle), attentionFactor * Math.sin(angle)];
        return frequencies.reduce((sum, frequency) => {
            const query = turned(queryPosition * frequency);
            const key = turned(keyPosition * frequency);
            return sum + query[0] * key[0] + query[1] * key[1];
        }, 0);
    }
};

play.start("rotary", {
    title: "Rotary positions",
    fields: {
        size: { label: "head size", min: 4, max: 64, step: 2, start: 32 },
        base: { label: "base", values: play.bases, start: 10000 },
        query: { label: "query at i", min: 0, max: 256, start: 20 },
        key: { label: "key at j", min: 0, max: 256, start: 12 },
        scaling: { label: "scaling", options: rotary.scalings },
        factor: { label: "factor", values: [1, 2, 4, 8, 16, 32], start: 4 },
        length: { label: "trained length", values: play.each(11, i => 8 * 2 ** i), start: 64 }
    },

    view: `
        <figure>
            <div class="clocks" role="img" aria-label="The pairs of query and key as hands of clocks"></div>
            <figcaption>Each pair of the query (blue, filled tip) and of the key (orange, dashed) starts at the right,
                and turns by its position times the frequency of the pair.</figcaption>
        </figure>
        <figure>
            <p role="status" class="score"></p>
            <div class="plot">
                <span class="rows"><span class="most"></span><span>0</span><span class="least"></span></span>
                <div class="frame scores" role="img" aria-label="The score as a function of the distance j - i"></div>
                <span></span><span>-256 <span>distance j - i</span> 256</span>
            </div>
            <figcaption>The products of the query at i and keys at all distances. The vertical line is the distance of
                the key; dashed lines are the trained length; the thin line is the score without scaling.</figcaption>
        </figure>`,

    draw({ size, base, query, key, scaling, factor, length }, find) {
        find("[name=factor]").disabled = scaling === "none";
        const unscaled = rotary.frequencies("none", size, base);
        const frequencies = rotary.frequencies(scaling, size, base, factor, length);
        const attentionFactor = rotary.attentionFactor(scaling, factor);
        const score = (i, j) => rotary.score(frequencies, attentionFactor, i, j);
        find(".clocks").innerHTML = play.clocks(frequencies.map((each, k) => [k, [query * each, key * each]]));
        find(".score").innerHTML = `
            Distance j - i = <b>${key - query}</b>: score <b>${play.number(score(query, key), 4)}</b>.
            Both 1,000 positions later: <b>${play.number(score(query + 1000, key + 1000), 4)}</b>.
            Attention factor: <b>${play.number(attentionFactor, 4)}</b>.`;
        // computed for the query at i; the curve does not change when the query moves
        const most = attentionFactor ** 2 * size / 2;
        const curve = (kind, scoreAt) =>
            `<path class="${kind}" d="M${play.each(513, n => `${n - 256} ${-scoreAt(n - 256)}`).join("L")}"/>`;
        const vertical = (kind, x) => `<path class="${kind}" d="M${x} ${-most}V${most}"/>`;
        [find(".most").textContent, find(".least").textContent] = [play.number(most, 1), play.number(-most, 1)];
        find(".scores").innerHTML = `
            <svg viewBox="-256 ${-most} 512 ${2 * most}" preserveAspectRatio="none" style="height: 12rem">
                <path class="zero" d="M-256 0H256"/>
                ${length < 256 ? vertical("trained", -length) + vertical("trained", length) : ""}
                ${scaling === "none" ? "" : curve("unscaled", d => rotary.score(unscaled, 1, query, query + d))}
                ${curve("curve", d => score(query, query + d))}
                ${vertical("distance", key - query)}
            </svg>`;
        find("table").innerHTML = play.table(
            ["pair", "positions per turn", "slowed by", "angle of query", "angle of key", "cosine between"],
            frequencies.map((frequency, k) => [
                k, play.wavelength(frequency), play.number(unscaled[k] / frequency, 3),
                play.number(query * frequency, 3), play.number(key * frequency, 3),
                play.number(Math.cos((key - query) * frequency), 4)]));
    }
});
