// What the figures with sliders compute, against numbers from Python: src/test/python/make_play.py.
// Needs Node.js only: node --test src/test/javascript
"use strict";
const assert = require("node:assert/strict");
const { readFileSync, readdirSync } = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const vm = require("node:vm");

const folder = path.join(__dirname, "../../../docs/assets/play");
const names = readdirSync(folder).filter(name => name.endsWith(".js") && name !== "index.js");
const scope = vm.createContext({});
["index.js", ...names].forEach(name => vm.runInContext(readFileSync(path.join(folder, name), "utf8"), scope, name));
const { figures } = scope.play;
const cases = JSON.parse(readFileSync(path.join(__dirname, "expected.json"), "utf8"));

/** Returns the values of all inputs: those that are given, and the first values of the others. */
const inputs = (figure, given) => ({ ...Object.fromEntries(Object.entries(figure.inputs)
    .map(([name, { options, text, value }]) => [name, options ? Object.keys(options)[0] : text ?? value])), ...given });

Object.entries(figures).forEach(([name, figure]) => {
    test(`${name} computes the numbers of Python`, () => {
        const own = cases.filter(each => each.figure === name && each.function);
        own.forEach(({ function: compute, values, arguments: given, column, expected, tolerance }) => {
            const result = figure[compute](...given ?? [inputs(figure, values)]);
            const actual = [column ? result.map(row => row[column]) : result].flat(2);
            const all = [expected].flat(2);
            assert.equal(actual.length, all.length);
            all.forEach((x, i) => assert.ok(Math.abs(actual[i] - x) <= tolerance,
                `${compute} ${JSON.stringify(given ?? values)} ${column ?? ""} [${i}]: expected ${x}, actual ${actual[i]}`));
        });
        assert.ok(own.length > 0 || name === "checker");
    });

    test(`${name} says what it shows for the first values`, () => {
        const values = inputs(figure, {});
        const said = figure.text(figure.rows(values), values);
        assert.match(said, /<b>/);
        assert.doesNotMatch(said, /NaN|undefined/);
    });
});

test("checker finds the convention of a row", () => {
    cases.filter(each => each.found).forEach(({ text, found: [number, t, base] }) => {
        const convention = figures.checker.conventions[number].name;
        const rows = figures.checker.rows({ text });
        // base 10,000 with exponents divided by 4 is base 1,000 with exponents divided by 3
        assert.ok(rows.length <= 2 && rows.some(row => row.convention === convention && row.t === t && row.base === base),
            `${convention}, ${t}, ${base}: ${JSON.stringify(rows)}`);
    });
});
