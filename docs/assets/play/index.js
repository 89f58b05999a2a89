/*
 * Figures with sliders. NAME.js beside this script fills each <figure class="play" data-play="NAME"></figure> of a page;
 * data-INPUT="VALUE" sets the first value of an input. These are classic scripts, because browsers do not load modules
 * from pages that are opened as files.
 *
 * NAME.js sets play.figures.NAME to an object with
 *   title, hint, caption  texts; the hint, what to try, is optional
 *   inputs                the sliders, selects and texts by name, see control; a slider's limit(values) lowers its end
 *   rows(values)          what the figure computes from the values of the inputs: the rows of its table, as objects
 *   plots(rows, values)   options of Observable Plot, each with a label, for plots one below the other
 *   text(rows, values)    a sentence with the result
 * src/test/javascript tests what the figures compute.
 */
var play = {
    figures: {},

    /** Returns the results of a function of 0 ... count - 1. */
    each: (count, value) => Array.from({ length: count }, (_, i) => value(i)),
    sum: values => values.reduce((a, b) => a + b, 0),
    dot: (a, b) => play.sum(a.map((x, i) => x * b[i])),

    softmax(scores) {
        const powers = scores.map(score => Math.exp(score - Math.max(...scores)));
        return powers.map(power => power / play.sum(powers));
    },

    /** Returns the angle per position of pair m of d dimensions, in radians: Vaswani et al. (2017), section 3.5. */
    frequency: (m, d, base = 10000) => base ** (-2 * m / d),

    /** Returns the row of a position: the sine and the cosine of each pair. */
    sinusoids: (t, d, base) => play.each(d, i =>
        (i % 2 ? Math.cos : Math.sin)(t * play.frequency(Math.floor(i / 2), d, base))),

    /** The bases to choose from: 1, 2, 5, 10, 20 ... 1,000,000. */
    bases: [...[1, 10, 100, 1000, 10000, 100000].flatMap(ten => [ten, 2 * ten, 5 * ten]), 1000000],

    blue: { stroke: "var(--play-blue)", strokeWidth: 2 },
    orange: { stroke: "var(--play-orange)", strokeWidth: 2, strokeDasharray: "6 4" },
    color: value => value < 0 ? "var(--play-below)" : "var(--play-above)",

    /** The channels of a value from -1 to 1: red above 0, blue below, stronger if farther from 0. */
    signed: { fill: row => play.color(row.value), fillOpacity: row => Math.abs(row.value) },

    /** Bars over whole numbers. */
    bars: (rows, x, y, fill = row => play.color(row[y])) =>
        [Plot.ruleY([0]), Plot.rectY(rows, { x1: row => row[x] - 0.4, x2: row => row[x] + 0.4, y, fill })],

    /** The plot of hands on a circle from their angles in radians, and of lines where they start. */
    circle: (label, angles, starts = []) => ({
        label, maxWidth: 300, height: 300, margin: 14, axis: null, x: { domain: [-1, 1] }, y: { domain: [-1, 1] },
        marks: [
            Plot.line(play.each(91, i => i * Math.PI / 45), { x: Math.cos, y: Math.sin, strokeOpacity: 0.3 }),
            Plot.link(starts, { x1: 0, y1: 0, x2: Math.cos, y2: Math.sin, strokeOpacity: 0.4 }),
            angles.map((angle, i) => Plot.link([angle],
                { x1: 0, y1: 0, x2: Math.cos, y2: Math.sin, markerEnd: "dot", ...[play.blue, play.orange][i] }))
        ]
    }),

    /** The plots of a map of cells with a row, a column, a value and perhaps a text, and of bars for one row of it. */
    map(labels, cells, names, row, bars = cells.filter(cell => cell.row === row)) {
        const tickFormat = i => names[i];
        const options = { maxWidth: 480, marginLeft: 60, padding: 0 };
        return [
            {
                label: labels[0], ...options, height: 75 + 24 * names.length, marginTop: 60, marginBottom: 5,
                x: { axis: "top", label: null, tickFormat, tickRotate: -60 }, y: { label: null, tickFormat },
                marks: [
                    Plot.cell(cells, { x: "column", y: "row", inset: 0.5, ...play.signed }),
                    Plot.text(cells, { x: "column", y: "row", text: "text" }),
                    Plot.rect([row], { y: row => row, stroke: "currentColor", strokeWidth: 2 })
                ]
            },
            {
                label: labels[1], ...options, height: 160, marginTop: 20, marginBottom: 60,
                x: { label: null, type: "band", tickFormat, tickRotate: -60 }, y: { axis: null },
                marks: [
                    Plot.ruleY([0]),
                    Plot.barY(bars, { x: "column", y: "value", inset: 1, fill: bar => play.color(bar.value) }),
                    Plot.text(bars, { x: "column", y: bar => Math.max(bar.value, 0), dy: -6, fontSize: 10,
                        text: bar => Math.round(100 * bar.value) })
                ]
            }
        ];
    },

    /** Writes a number with this many decimals, as 12,345.678; never -0.000. */
    number: (value, decimals) => value.toLocaleString("en",
        { minimumFractionDigits: decimals, maximumFractionDigits: decimals, signDisplay: "negative" }),

    /** Writes a number with five digits, or a text. */
    cell: value => typeof value !== "number" ? value : !Number.isFinite(value) ? "not finite"
        : value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential(2) : value.toLocaleString("en", { maximumSignificantDigits: 5, signDisplay: "negative" }),

    /** A select, a text, or a range of numbers or of a list of values, whose number is written beside it. */
    control([name, { label, options, text, values, min = 0, max, step = 1, value }]) {
        const named = input => `<label><span>${label}</span>${input}</label>`;
        if (options) {
            const texts = Object.entries(options).map(([key, option]) => `<option value="${key}">${option}</option>`);
            return named(`<select name="${name}">${texts.join("")}</select>`);
        }
        if (text) {
            return named(`<input name="${name}" value="${text}" autocomplete="off" spellcheck="false">`);
        }
        const numbers = values ? [0, values.length - 1, 1, values.indexOf(value)] : [min, max, step, value];
        const range = ["min", "max", "step", "value"].map((attribute, i) => `${attribute}="${numbers[i]}"`);
        return named(`<input type="range" name="${name}" ${range.join(" ")} autocomplete="off">`) + `<b aria-hidden="true"></b>`;
    },

    /** Returns the values of the inputs, after moving sliders that are beyond their limits. */
    read(inputs, fieldset) {
        const get = (name, input = fieldset.elements.namedItem(name)) => input.type !== "range" ? input.value
            : inputs[name].values?.[input.value] ?? input.valueAsNumber;
        const all = () => Object.fromEntries(Object.keys(inputs).map(name => [name, get(name)]));
        Object.entries(inputs).filter(([, { limit }]) => limit).forEach(([name, { limit }]) => {
            fieldset.elements.namedItem(name).max = limit(all());
        });
        return all();
    },

    /** Writes the numbers of the ranges beside them. */
    write(values, fieldset) {
        fieldset.querySelectorAll("[type=range]").forEach(range => {
            const text = values[range.name].toLocaleString("en", { maximumFractionDigits: 6 });
            range.ariaValueText = range.closest("label").nextSibling.textContent = text;
        });
    },

    /** Fills the place of a figure, and draws it now, after an input and when its width changes. */
    fill(place, figure) {
        const { title, hint, caption, inputs } = figure;
        place.innerHTML = `${hint ? `<p>Try: ${hint}</p>` : ""}
            <fieldset><legend>${title}</legend>${Object.entries(inputs).map(play.control).join("")}</fieldset>
            <div></div><output></output><figcaption>${caption}</figcaption>
            <details><summary>Numbers</summary><div tabindex="0"><table></table></div></details>`;
        const [fieldset, drawing, output, table] =
            ["fieldset", "div", "output", "table"].map(name => place.querySelector(name));
        Object.keys(inputs).filter(name => name in place.dataset)
            .forEach(name => { fieldset.elements.namedItem(name).value = place.dataset[name]; });
        let width, frame;
        const draw = () => {
            width = drawing.clientWidth;
            const values = play.read(inputs, fieldset);
            play.write(values, fieldset);
            const rows = figure.rows(values);
            drawing.replaceChildren(...figure.plots(rows, values).flatMap(({ label, maxWidth = Infinity, ...options }) => {
                const svg = Plot.plot({ width: Math.min(width, maxWidth), marginBottom: options.margin ?? 38,
                    opacity: { type: "identity" }, style: { fontSize: "12px" }, ...options });
                svg.setAttribute("role", "img");
                svg.setAttribute("aria-label", label);
                return [Object.assign(document.createElement("p"), { textContent: label }), svg];
            }));
            output.innerHTML = figure.text(rows, values);
            const line = (tag, cells) => `<tr>${cells.map(cell => `<${tag}>${play.cell(cell)}</${tag}>`).join("")}</tr>`;
            table.innerHTML = line("th", Object.keys(rows[0] ?? {})) + rows.map(row => line("td", Object.values(row))).join("");
        };
        fieldset.addEventListener("input", () => {
            cancelAnimationFrame(frame);
            frame = requestAnimationFrame(draw);
        });
        // a hidden figure has no width
        new ResizeObserver(() => ![0, width].includes(drawing.clientWidth) && draw()).observe(drawing);
    },

    scripts: {},

    /** Loads a script once. */
    load: src => play.scripts[src] ??= new Promise((resolve, reject) =>
        document.head.append(Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject }))),

    /** Fills the figures of the page. Only a page with figures loads Plot. */
    start: folder => document.querySelectorAll("figure.play:not([data-filled])").forEach(async place => {
        place.dataset.filled = "";
        const name = place.dataset.play;
        await play.load(`${folder}/../plot/d3.min.js`);
        await Promise.all([`${folder}/../plot/plot.umd.min.js`, `${folder}/${name}.js`].map(play.load));
        play.fill(place, play.figures[name]);
    })
};

if (globalThis.document) {
    const folder = document.currentScript.src.replace(/\/[^/]*$/, "");
    const start = () => play.start(folder);
    // Material's instant navigation shows other pages without loading them
    globalThis.document$ ? document$.subscribe(start) : addEventListener("DOMContentLoaded", start);
}
