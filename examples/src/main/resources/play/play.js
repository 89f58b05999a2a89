// What sinusoids.js and rotary.js share: sliders, numbers, clocks and styles. Plain JavaScript, without network.
// The scripts declare their names with var, so that a page may contain play.js twice.
var play = {
    /** Returns the numbers that a rule has for 0 ... count - 1. */
    each: (count, rule) => Array.from({ length: count }, (_, i) => rule(i)),

    /**
     * Fills each empty <div class="play" data-play="(name)"> before the script, and draws its view at each change.
     * A field is a list of options, a list of values, or a range. Without a page, as in tests, nothing is filled.
     */
    start(name, { title, fields, view, draw }) {
        globalThis.document?.querySelectorAll(`[data-play="${name}"]:empty`).forEach(place => {
            place.innerHTML = `<style>${play.style}</style><fieldset><legend>${title}</legend>
                ${Object.entries(fields).map(play.control).join("")}</fieldset>
                ${view}<details open><summary>Numbers</summary><table></table></details>`;
            const update = () => draw(play.read(place, fields), selector => place.querySelector(selector));
            place.addEventListener("input", update);
            update();
        });
    },

    /** A native range or select in its label, so that keyboards and screen readers work. */
    control([name, { label, options, values, min, max, step, start }]) {
        if (options) {
            const texts = Object.entries(options).map(([value, option]) => `<option value="${value}">${option.label}`);
            return `<label><span>${label}</span><select name="${name}">${texts.join("")}</select></label>`;
        }
        const range = values // the range then chooses an index
            ? `min="0" max="${values.length - 1}" value="${values.indexOf(start)}"`
            : `min="${min}" max="${max}" step="${step || 1}" value="${start}"`;
        // screen readers read the value text of the range, so the output does not announce it again
        return `<label><span>${label}</span><input type="range" name="${name}" ${range} autocomplete="off"></label>
            <output aria-live="off"></output>`;
    },

    /** Returns the value of each control, and shows it beside its range. */
    read(place, fields) {
        const settings = {};
        Object.entries(fields).forEach(([name, { options, values }]) => {
            const input = place.querySelector(`[name="${name}"]`);
            settings[name] = options ? input.value : values ? values[input.value] : Number(input.value);
            if (!options) {
                input.ariaValueText = input.parentNode.nextElementSibling.value = settings[name].toLocaleString("en");
            }
        });
        return settings;
    },

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
        fieldset { display: grid; grid-template-columns: auto minmax(4rem, 1fr) 4.5em; gap: .4rem .8rem; margin: 0;
            align-items: center; border: 1px solid var(--line); border-radius: .4rem }
        label { display: contents }
        input { width: 100%; margin: 0 }
        select { grid-column: 2 / -1; min-width: 0; font: inherit; color: var(--text); background: var(--code) }
        output, th, td { text-align: right; font-variant-numeric: tabular-nums }
        figure { margin: 1rem 0; border: 0; overflow: visible }
        figcaption { margin: .4rem 0; padding: 0; font-size: .9rem; text-align: left }
        .plot { display: grid; grid-template-columns: 2.8em 1fr; gap: .2rem .4rem; font-size: .8rem }
        .plot > span { display: flex; justify-content: space-between; text-align: right }
        .plot > .rows { flex-direction: column; margin: -.6em 0 }
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
        .above { fill: var(--above); stroke: none }
        .below { fill: var(--below); stroke: none }
        .unscaled { stroke-width: 1px; opacity: .5 }
        table { width: 100%; border-collapse: collapse; font-size: .8rem }
        th, td { padding: .1rem .2rem; border: solid var(--line); border-width: 0 0 1px } }`,

    /** The bases to choose from: 10, 20, 50, 100 ... 1,000,000. */
    bases: [10, 100, 1000, 10000, 100000].flatMap(ten => [ten, 2 * ten, 5 * ten]).concat(1000000)
};
