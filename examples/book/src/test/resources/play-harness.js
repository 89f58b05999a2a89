// Moves the controls of the page, and writes its width and what is wrong into the page around it, for PlayIT.
// PlayTest compares the functions that are called here with the library. Of each slider: its inputs, and the numbers
// that it must show first.
const cases = {
    bits: [{ smoothness: 1, position: 3 }],
    biases: [{ slope: 3 }],
    checker: [{ text: "0 1 0 1 0 1 0 1" }, 3],
    contexts: [{ scaling: "ntk" }, 17, 64], // the table of the chapter
    formats: [{ format: "float32", distance: 3, frequency: 3 }, Math.cos(0.3), Math.cos(0.3)],
    heatmap: [{ position: 7, dimension: 1 }, 7, 1, Math.cos(7)],
    patches: [{ row: 5, column: 3 }, 5, 3, 83],
    playground: [{ encoding: "alibi", text: "The  cat sat", t: 9, d: 4 },
        Math.max(...play.softmax(playground.scores("alibi", ["the", "cat", "sat"], 64)[2]))],
    rotary: [{ distance: 9, d: 4, alpha: 0 }, Math.cos(9) + Math.cos(0.09)],
    shift: [{ distance: 5, gain: 6 }, 25, Math.max(...shift.weights(8, 10000, 50, 25, 5, 16))],
    sinusoids: [{ convention: "diffusion", size: 7 }]
};
const problems = document.documentElement.scrollWidth > innerWidth ? ["the page slides sideways"] : [];
document.querySelectorAll("[data-play]").forEach(place => {
    const name = place.dataset.play;
    const check = (isRight, problem) => isRight || problems.push(`${name} ${problem}`);
    const [inputs, ...expected] = cases[name] ?? [{}];
    const all = selector => [...place.querySelectorAll(selector)];
    // the text of a label that is folded away is empty
    place.querySelectorAll("details:has(fieldset)").forEach(more => { more.open = true; });
    Object.entries(inputs).forEach(([control, value]) => {
        const input = place.querySelector(`[name="${control}"]`);
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    const controls = all("input[type=range], input[type=text], select");
    check(controls.length > 0, "has no controls");
    controls.forEach(({ labels, name, clientHeight }) => {
        check(labels[0].innerText.trim(), `has no label for ${name}`);
        check(clientHeight >= 24, `has a control of ${clientHeight} pixels, too small for a finger: ${name}`);
    });
    const number = text => Number(text.replaceAll(",", ""));
    all("input[type=range]").forEach(range => {
        const box = place.querySelector(`[data-box="${range.name}"]`);
        check(number(range.ariaValueText) === number(box.value), `announces ${range.ariaValueText} for ${box.value}`);
    });
    const shown = all(".score b").map(each => number(each.textContent));
    expected.forEach((each, i) => check(Math.abs(shown[i] - each) < 0.50001e-4, `shows ${shown}: expected ${expected}`));
});
const written = Object.assign(document.createElement("pre"), { id: "shown" });
written.textContent = [innerWidth, ...problems].join("\n");
parent.document.body.append(written);
