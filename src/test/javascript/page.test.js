// A page with all figures with sliders in a browser: on a phone and a desktop, moved by keys.
// Skipped if there is no Chromium or Chrome; the environment variable BROWSER names another one.
"use strict";
const assert = require("node:assert/strict");
const { existsSync, mkdirSync, readdirSync, writeFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");
const { after, before, describe, test } = require("node:test");
const { pathToFileURL } = require("node:url");

const root = path.join(__dirname, "../../..");
const assets = path.join(root, "docs/assets");
const names = readdirSync(path.join(assets, "play")).filter(name => name.endsWith(".js") && name !== "index.js")
    .map(name => path.parse(name).name);
const executablePath = [process.env.BROWSER, "/usr/bin/chromium", "/usr/bin/google-chrome"]
    .find(name => name && existsSync(name));
const page = path.join(root, "target/play.html");
const url = name => pathToFileURL(path.join(assets, name));

describe("a page with all figures", { skip: executablePath ? false : "no browser is installed" }, () => {
    let browser;

    before(async () => {
        mkdirSync(path.dirname(page), { recursive: true });
        const figures = names.map(name => `<figure class="play" data-play="${name}"></figure>`).join("\n");
        writeFileSync(page, `<!DOCTYPE html><html lang="en"><title>Figures</title><meta charset="utf-8">
            <meta name="viewport" content="width=device-width"><link rel="stylesheet" href="${url("play/play.css")}">
            <script src="${url("play/index.js")}"></script><body class="md-typeset">${figures}
            <figure class="play" data-play="maps" data-encoding="learned"></figure>`);
        const { chromium } = createRequire(path.join(root, "target/npm/"))("playwright-core");
        browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    });
    after(() => browser?.close());

    [360, 1280].forEach(width => test(`${width} pixels wide`, async () => {
        const tab = await browser.newPage({ viewport: { width, height: 800 } });
        const problems = [];
        tab.on("console", message => message.type() === "error" && problems.push(message.text()));
        tab.on("pageerror", error => problems.push(error.message));
        tab.on("request", request => request.url().startsWith("file:") || problems.push(`loads ${request.url()}`));
        await tab.goto(pathToFileURL(page).href);
        await tab.waitForFunction(() => document.querySelectorAll("output:not(:empty)").length
            === document.querySelectorAll("figure.play").length);
        for (const range of await tab.locator("input[type=range]").all()) {
            await range.press("End");
            await range.press("Home");
            await range.press("ArrowRight");
        }
        assert.deepEqual(problems, []);
        assert.deepEqual(await tab.evaluate(() => {
            const wrong = (selector, isRight, problem) => [...document.querySelectorAll(`figure ${selector}`)]
                .filter(element => !isRight(element)).map(element => `${problem}: ${element.name ?? element.textContent}`);
            const number = range => range.closest("label").nextSibling.textContent;
            return [
                document.documentElement.scrollWidth > innerWidth ? ["the page scrolls sideways"] : [],
                wrong("input, select", control => control.labels[0].innerText.trim(), "has no label"),
                wrong("input, select", control => control.clientHeight >= 24, "is too small for a finger"),
                wrong("[type=range]", range => range.ariaValueText && range.ariaValueText === number(range), "announces no number"),
                wrong("svg", svg => svg.getAttribute("aria-label") && !/NaN|undefined/.test(svg.innerHTML), "wrong plot"),
                wrong("output", output => !/NaN|undefined/.test(output.textContent), "wrong text")
            ].flat();
        }), []);
        assert.equal(await tab.locator("[data-encoding=learned] select").inputValue(), "learned");
        // 2 dimensions have one pair
        for (const [name, value] of [["m", "63"], ["d", "2"]]) {
            await tab.locator(`[data-play=rotary] [name=${name}]`).fill(value);
        }
        await tab.waitForFunction(() => /by 1 pairs.*Pair 0 adds/s.test(document.querySelector("[data-play=rotary] output").textContent));
        assert.deepEqual(await tab.locator("[data-play=rotary] [name=m]").evaluate(({ value, max }) => [value, max]), ["0", "0"]);
        await tab.close();
    }));
});
