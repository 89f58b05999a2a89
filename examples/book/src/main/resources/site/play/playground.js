// Words to type and to move: the scores and the weights of one head without and with encodings of their positions.
var playground = {
    encodings: {
        none: { label: "none" },
        rotary: { label: "rotary: queries and keys are rotated" },
        sinusoids: { label: "sinusoids, added to the words" },
        learned: { label: "learned table, added to the words" },
        alibi: { label: "ALiBi: a line is added to the scores" },
        t5: { label: "T5: a number for each bucket is added" }
    },

    /** Returns a number from -1 to 1 that depends on a text only: FNV-1a, with the bits mixed as in MurmurHash3. */
    hash(text) {
        let bits = text.split("").reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 0x01000193), 0x811c9dc5 | 0);
        bits = Math.imul(bits ^ bits >>> 16, 0x85ebca6b);
        bits = Math.imul(bits ^ bits >>> 13, 0xc2b2ae35);
        return (bits ^ bits >>> 16) / 2147483648;
    },

    /** Returns the vector of a word, in place of a trained one: d numbers with the variance 1. */
    word: (word, d) => play.each(d, i => Math.sqrt(3) * playground.hash(word + "/" + i)),

    /** Returns the row of a position that is added to a word: sinusoids (Vaswani et al., 2017), or made up as if learned. */
    position: (encoding, t, d) => play.each(d, i => encoding === "learned" ? Math.sqrt(1.5) * playground.hash(t + "/" + i)
        : encoding === "sinusoids" ? (i % 2 === 0 ? Math.sin : Math.cos)(t * 10000 ** (-(i - i % 2) / d)) : 0),

    /** Returns a vector whose neighboring pairs are rotated by a position: Su et al. (2021). */
    turned: (x, t) => x.map((value, i) => {
        const angle = t * 10000 ** (-(i - i % 2) / x.length);
        return value * Math.cos(angle) + (i % 2 === 0 ? -x[i + 1] : x[i - 1]) * Math.sin(angle);
    }),

    /** Returns T5's bucket of a key, one of 4 in each direction with the largest distance 16: Raffel et al. (2020). */
    bucket: distance => (distance < 0 ? 4 : 0) + [1, 2, 6].filter(first => Math.abs(distance) >= first).length,

    /** Returns what is added to a score: ALiBi's line (Press et al., 2022), or a number of the bucket as if learned. */
    bias: (encoding, distance) => encoding === "alibi" ? -0.25 * Math.abs(distance)
        : encoding === "t5" ? 1.5 * playground.hash("bucket " + playground.bucket(distance)) : 0,

    /** Returns q·k / sqrt(d) + bias for each query and key, row by row; queries and keys are the vectors themselves. */
    scores(encoding, words, d) {
        const vectors = words.map((word, t) => {
            const position = playground.position(encoding, t, d);
            const x = playground.word(word, d).map((value, i) => value + position[i]);
            return encoding === "rotary" ? playground.turned(x, t) : x;
        });
        return vectors.map((q, t) => vectors.map((k, s) =>
            q.reduce((sum, value, i) => sum + value * k[i], 0) / Math.sqrt(d) + playground.bias(encoding, t - s)));
    },

    /** Returns the words of a text, from 1 to 12, without letters that HTML reads as its own. */
    split: text => (text.toLowerCase().match(/[^\s<>&"]+/g) || ["…"]).slice(0, 12)
};

play.start("playground", {
    title: "Scores of your words",
    fields: {
        encoding: { label: "encoding", options: playground.encodings },
        text: { label: "words", text: "the dog bites the man" },
        t: { label: "t of the query", min: 0, max: 11, start: 2 },
        d: { label: "d, dimensions", values: [4, 8, 16, 32, 64], start: 16 }
    },

    view: `
        <p class="presets">Try: <button type="button" data-text="the dog bites the man">dog bites man</button>
            <button type="button" data-text="the man bites the dog">man bites dog</button> with
            <button type="button" data-encoding="none">none</button>
            <button type="button" data-encoding="rotary">rotary</button><br>
            With <i>none</i>, each word gets the same weight in both sentences. With <i>rotary</i>, the weights differ.</p>
        <div class="words" role="group" aria-label="Words: choose the query, or move a word by the arrow keys"></div>
        <figure>
            <div class="map" role="img" aria-label="The scores of each query and key"></div>
            <p role="status" class="score"></p>
            <figcaption>The score of each query (row) and key (column); red is above 0, blue below. The bars are the weights of the
                chosen row in percent. Choose a word, or drag it to another place (arrow keys move it). The vectors of words are
                fixed random numbers, and query and key are the same; a trained head learns both.</figcaption>
        </figure>`,

    draw({ encoding, text, t: chosen, d }, find) {
        const words = playground.split(text);
        const count = words.length;
        const t = Math.min(chosen, count - 1);
        const scores = playground.scores(encoding, words, d);
        const weights = play.softmax(scores[t]);
        const best = play.each(count, s => s).filter(s => play.largest(weights) - weights[s] < 1e-9);
        find(".words").innerHTML = words.map((word, i) =>
            `<button type="button" data-i="${i}" aria-pressed="${i === t}">${word}</button>`).join("");
        const most = play.largest(scores.flat().map(Math.abs));
        const label = (place, anchor, i) =>
            `<text transform="translate${place}" text-anchor="${anchor}">${words[i].slice(0, 7)} ${i}</text>`;
        find(".map").innerHTML = `<svg viewBox="0 0 ${4 + Math.max(count, 6)} ${count + 6.8}">
            ${words.map((_, i) => label(`(3.8 ${3.7 + i})`, "end", i) + label(`(${4.7 + i} 2.8) rotate(-90)`, "start", i)).join("")}
            ${scores.flatMap((row, i) => row.map((score, j) => `<rect class="cell ${score < 0 ? "negative" : ""}" x="${4 + j}"
                y="${3 + i}" width=".95" height=".95" fill-opacity="${Math.abs(score) / most}"/>`)).join("")}
            <rect class="chosen" x="4" y="${3 + t}" width="${count}" height=".95"/>
            ${weights.map((weight, i) => `<rect class="weight" x="${4.1 + i}" y="${count + 5.7 - 2 * weight}" width=".75"
                height="${2 * weight}"/><text x="${4.5 + i}" y="${count + 6.4}" text-anchor="middle">${Math.round(100 * weight)}
                </text>`).join("")}</svg>`;
        find(".score").innerHTML = `The query <i>${words[t]}</i> at <i>t</i> = ${t} gives
            ${best.length > 1 ? "the same largest weight," : "the largest weight,"} <b>${play.number(weights[best[0]], 4)}</b>, to
            ${best.map(s => `<i>${words[s]}</i> at <i>s</i> = ${s}`).join(" and ")}.`;
        find("table").innerHTML = play.table(["key", "s", "Δ", "bias", "score", "weight"], words.map((word, s) => [word, s, t - s,
            play.number(playground.bias(encoding, t - s), 3), play.number(scores[t][s], 4), play.number(weights[s], 4)]));
    },

    listen(find, set, settings) {
        const index = element => Number(element?.closest(".words button")?.dataset.i ?? -1);
        const move = (from, to) => {
            const words = playground.split(settings().text);
            if (from >= 0 && to >= 0 && to < words.length) {
                words.splice(to, 0, words.splice(from, 1)[0]);
                set("text", words.join(" "));
                set("t", to);
                find(`[data-i="${to}"]`).focus();
            }
        };
        find(".presets").addEventListener("click", event => {
            const select = find("select");
            select.value = event.target.dataset.encoding || select.value;
            select.dispatchEvent(new Event("input", { bubbles: true }));
            if (event.target.dataset.text) {
                set("text", event.target.dataset.text);
                set("t", 2);
            }
        });
        let from = -1;
        const on = (type, react) => find(".words").addEventListener(type, event => react(event, index(event.target)));
        on("pointerdown", (_, i) => { from = i; });
        on("pointerup", event => move(from, index(document.elementFromPoint(event.clientX, event.clientY))));
        on("keydown", (event, i) => move(i, i + ({ ArrowLeft: -1, ArrowRight: 1, Enter: 0, " ": 0 }[event.key] ?? NaN)));
    }
});
