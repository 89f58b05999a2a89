// What the other scripts share: sliders, numbers, clocks and styles. Plain JavaScript, without network.
// The scripts declare their names with var, so that a page may contain play.js twice.
var play = {
    /** Returns the numbers that a rule has for 0 ... count - 1. */
    each: (count, rule) => Array.from({ length: count }, (_, i) => rule(i)),

    /**
     * Fills each empty <div class="play" data-play="(name)"> before the script, and draws its view at each change.
     * A hint, what to try and what it shows, comes first. A field is a list of options, a text, a list of values, or a range; those with more: true are folded. The view may change fields by set(name, value).
     * An attribute data-(field) of the <div> chooses the first option. Without a page, as in tests, nothing is filled.
     */
    start(name, { title, hint, fields, view, draw, listen }) {
        globalThis.document?.querySelectorAll(`[data-play="${name}"]:empty`).forEach(place => {
            const controls = more => Object.entries(fields).filter(field => !field[1].more === !more).map(play.control).join("");
            const more = controls(true);
            place.innerHTML = `<style>${play.style}</style>${hint ? `<p>Try: ${hint}</p>` : ""}
                <fieldset><legend>${title}</legend>${controls(false)}</fieldset>
                ${more && `<details><summary>More</summary><fieldset>${more}</fieldset></details>`}
                ${view}<details><summary>Numbers</summary><table></table></details>`;
            const find = selector => place.querySelector(selector);
            place.querySelectorAll("select").forEach(select => { select.value = place.dataset[select.name] || select.value; });
            const update = event => draw(play.read(place, fields, event?.target), find);
            const set = (field, value) => {
                const box = find(`[data-box="${field}"]`);
                box.value = fields[field].text ? value : Math.min(Math.max(value, box.min), box.max);
                box.dispatchEvent(new Event("input", { bubbles: true }));
            };
            place.addEventListener("input", update);
            update();
            listen?.(find, set, () => play.read(place, fields));
        });
    },

    /** A native select, or a range and a box for its number, with labels, so that keyboards and screen readers work. */
    control([name, { label, options, text, values, min, max, step, start }]) {
        if (options) {
            const texts = Object.entries(options).map(([value, option]) => `<option value="${value}">${option.label}`);
            return `<label><span>${label}</span><select name="${name}">${texts.join("")}</select></label>`;
        }
        if (text) {
            return `<label><span>${label}</span><input type="text" name="${name}" data-box="${name}" value="${text}"
                autocomplete="off" autocapitalize="off" spellcheck="false"></label>`;
        }
        const range = values // the range then chooses an index
            ? `min="0" max="${values.length - 1}" value="${values.indexOf(start)}"`
            : `min="${min}" max="${max}" step="${step || 1}" value="${start}"`;
        const box = values
            ? `min="${values[0]}" max="${values[values.length - 1]}" step="any"`
            : `min="${min}" max="${max}" step="${step || 1}"`;
        return `<label><span>${label}</span><input type="range" name="${name}" ${range} autocomplete="off"></label>
            <input type="number" data-box="${name}" aria-label="${label}, number" ${box} value="${start}" autocomplete="off">`;
    },

    /** Returns the value of each control; the range and the box that were not changed follow the other. */
    read(place, fields, changed) {
        const settings = {};
        Object.entries(fields).forEach(([name, { options, text, values }]) => {
            const input = place.querySelector(`[name="${name}"]`);
            if (options || text) {
                settings[name] = input.value;
                return;
            }
            const box = place.querySelector(`[data-box="${name}"]`);
            const isNumber = box.value !== "" && box.validity.valid;
            if (changed === input || !isNumber && changed !== box) {
                box.value = values ? values[input.value] : input.value;
            } else if (changed === box && isNumber) {
                const distance = i => Math.abs(values[i] - box.value);
                input.value = values
                    ? values.map((_, i) => i).reduce((best, i) => distance(i) < distance(best) ? i : best) : box.value;
            }
            // while a number is being typed, that of the range
            settings[name] = box.value !== "" && box.validity.valid
                ? Number(box.value) : values ? values[input.value] : Number(input.value);
            input.ariaValueText = settings[name].toLocaleString("en", { maximumFractionDigits: 8 });
        });
        return settings;
    },

    largest: values => values.reduce((a, b) => Math.max(a, b)),

    /** Returns the weights of scores: their softmax. */
    softmax(scores) {
        const most = play.largest(scores);
        const powers = scores.map(score => Math.exp(score - most));
        const sum = powers.reduce((a, b) => a + b, 0);
        return powers.map(power => power / sum);
    },

    /** A curve in SVG through points. */
    curve: (kind, points) => `<path class="${kind}" d="M${points.map(point => point.join(" ")).join("L")}"/>`,

    /** Dots in SVG at points. */
    dots: (kind, points) => `<path class="dots ${kind}" d="${points.map(([x, y]) => `M${x} ${y}h0`).join("")}"/>`,

    /** Bars in SVG for numbers from 0 to 1, one unit wide and high. */
    bars: values => values.map((value, i) => `<rect class="${value < 0 ? "below" : "above"}" x="${i + 0.1}" width=".8"
        y="${-Math.max(value, 0)}" height="${Math.abs(value)}"/>`).join(""),

    /** Writes a number with this many decimals, as 12,345.678; never -0.000. */
    number: (value, decimals) => value.toLocaleString("en",
        { minimumFractionDigits: decimals, maximumFractionDigits: decimals, signDisplay: "negative" }),

    /** Writes the number of positions per turn of a pair, with five digits. */
    wavelength: frequency => (2 * Math.PI / frequency).toLocaleString("en",
        { minimumSignificantDigits: 5, maximumSignificantDigits: 5 }),

    /** One dial for each label and the angles of its hands, counterclockwise from the right. */
    clocks: dials => dials.map(([label, angles]) => `<div><svg viewBox="-1.2 -1.2 2.4 2.4">
        <circle class="dial" r="1"/>${angles.map(play.hand).join("")}</svg>${label}</div>`).join(""),

    hand(angle, i) {
        const [x, y] = [Math.cos(angle), -Math.sin(angle)];
        return `<path class="hand${i}" d="M0 0L${x} ${y}"/><circle class="tip${i}" cx="${x}" cy="${y}" r=".12"/>`;
    },

    /** The content of a table. */
    table(headings, rows) {
        const row = (tag, cells) => `<tr>${cells.map(cell => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
        return `<thead>${row("th", headings)}</thead><tbody>${rows.map(cells => row("td", cells)).join("")}</tbody>`;
    },

    // for hands blue and orange of Okabe and Ito, for signs red and blue as in the pictures, all legible on light and dark
    // pages; SVG of any width without redrawing
    style: `.play { --blue: #0072b2; --orange: #d55e00; --above: #d03a3a; --below: #2a7fc8; margin: 1.5rem 0; line-height: 1.4;
        fieldset { display: grid; grid-template-columns: minmax(4.5rem, auto) minmax(3rem, 1fr) 5.5em; gap: .4rem .8rem; margin: 0;
            align-items: center; border: 1px solid var(--line); border-radius: .4rem }
        @media (max-width: 450px) { /* a label and its box, and the track below them */
            fieldset { grid-template-columns: 1fr 5.5em; grid-auto-flow: dense }
            fieldset input[type=range], fieldset select, fieldset input[type=text], label:has(select, [type=text]) span {
                grid-column: 1 / -1 } }
        label { display: contents }
        input, select { box-sizing: border-box; width: 100%; min-width: 0; min-height: 1.75rem; margin: 0 }
        input[type=number] { font: inherit; text-align: right; color: var(--text); background: var(--code);
            border: 1px solid var(--line); border-radius: .2rem }
        select, input[type=text] { grid-column: 2 / -1; font: inherit; color: var(--text); background: var(--code) }
        input[type=text] { color: var(--text); border: 1px solid var(--line); border-radius: .2rem; padding: .2rem .4rem }
        th, td { text-align: right; font-variant-numeric: tabular-nums }
        figure { margin: 1rem 0; border: 0; overflow: visible }
        figcaption { margin: .4rem 0; padding: 0; font-size: .9rem; text-align: left }
        .plot { display: grid; grid-template-columns: 2.8em 1fr; gap: .2rem .4rem; font-size: .8rem }
        .plot > span { display: flex; justify-content: space-between; text-align: right }
        .plot > .rows { flex-direction: column; margin: -.6em 0 }
        .plot > .frame + .rows { margin-top: .6em } .plot > .frame + .rows + .frame { margin-top: 1.2em }
        .frame { position: relative; border: 1px solid var(--line) }
        .mark { position: absolute; left: -3px; right: -3px; border: 2px solid }
        .clocks { display: grid; grid-template-columns: repeat(auto-fill, minmax(max(2.7rem, 5%), 1fr)); gap: .3rem;
            font-size: .75rem; text-align: center }
        canvas { height: 18rem; image-rendering: pixelated }
        canvas, svg { display: block; width: 100%; overflow: visible }
        svg * { fill: none; stroke: currentColor; stroke-width: 1.5px; vector-effect: non-scaling-stroke }
        .dial, .zero { stroke: var(--line) }
        .hand0, .curve { stroke: var(--blue); stroke-width: 2px }
        .hand1, .tip1 { stroke: var(--orange); stroke-width: 2px; fill: var(--page) }
        .hand1, .trained { stroke-dasharray: 4 3 }
        .tip0 { fill: var(--blue); stroke: none }
        .curve1 { stroke: var(--orange); stroke-width: 2px }
        .curves .dots { stroke-width: 4.5px; stroke-linecap: round }
        .met { stroke: var(--blue); stroke-width: 6px }
        .unmet { stroke: var(--above); stroke-width: 6px }
        .drag { cursor: grab; touch-action: none }
        .one { max-width: 22rem; margin: 0 auto; padding: 0 1rem }
        .wave { height: 3.2rem; margin: .3rem 0 }
        svg text { fill: currentColor; stroke: none }
        .above { fill: var(--above); stroke: none }
        .below { fill: var(--below); stroke: none }
        .other { stroke-width: 1px; opacity: .3 }
        .unscaled { stroke-width: 1px; opacity: .5 }
        .words { display: flex; flex-wrap: wrap; gap: .3rem; margin: .6rem 0 }
        button { font: inherit; color: var(--text); background: var(--code); border: 1px solid var(--line); border-radius: .3rem;
            padding: .2rem .5rem; touch-action: none; cursor: grab }
        .presets { line-height: 2 } .presets button { touch-action: auto; cursor: pointer }
        button[aria-pressed=true] { outline: 2px solid var(--blue) }
        .cell { stroke: none; fill: var(--above) } .cell.negative { fill: var(--below) }
        .weight { fill: var(--blue); stroke: none }
        .map { max-width: 30rem }
        .map text { font-size: .55px }
        .chosen { stroke-width: 2px }
        details { overflow-x: auto }
        table { display: table; width: 100%; border-collapse: collapse; font-size: .8rem }
        th, td { padding: .1rem .2rem; border: solid var(--line); border-width: 0 0 1px } }`,

    /** The bases to choose from: 1, 2, 5, 10, 20 ... 1,000,000. */
    bases: [1, 10, 100, 1000, 10000, 100000].flatMap(ten => [ten, 2 * ten, 5 * ten]).concat(1000000)
};
