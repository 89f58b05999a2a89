// Moves the controls of the page, and writes what it then shows as JSON into the page around it, for PlayIT.
// PlayTest compares the functions that are called here with the library.
const cases = {
    bits: [{ smoothness: 1, position: 3 }],
    biases: [{ slope: 3 }],
    checker: [{ text: "0 1 0 1 0 1 0 1" }, 3],
    contexts: [{ scaling: "ntk" }, 17, 64, 1], // the table of the chapter
    formats: [{ format: "float32", distance: 3, frequency: 3 }, Math.cos(0.3), Math.cos(0.3)],
    heatmap: [{ position: 7, dimension: 1 }, 7, 1, Math.cos(7)],
    patches: [{ row: 5, column: 3 }, 5, 3, 83],
    playground: [{ encoding: "alibi", text: "The  cat sat", t: 9, d: 4 },
        Math.max(...play.softmax(playground.scores("alibi", ["the", "cat", "sat"], 64)[2]))],
    rotary: [{ distance: 9, d: 4 }, Math.cos(9) + Math.cos(0.09)],
    shift: [{ distance: 5, gain: 6 }, 25, Math.max(...shift.weights(8, 10000, 50, 25, 5, 16))],
    sinusoids: [{ convention: "diffusion", size: 7 }]
};
const shown = [...document.querySelectorAll("[data-play]")].map(place => {
    const name = place.dataset.play;
    const [inputs, ...expected] = cases[name] ?? [{}];
    const all = (selector, read) => [...place.querySelectorAll(selector)].map(read);
    // the text of a label that is folded away is empty
    place.querySelectorAll("details:has(fieldset)").forEach(more => { more.open = true; });
    Object.entries(inputs).forEach(([control, value]) => {
        const input = place.querySelector(`[name="${control}"]`);
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    return {
        name, expected,
        labels: all("input[type=range], input[type=text], select", input => input.labels[0].innerText),
        announced: all("input[type=range]", input => input.getAttribute("aria-valuetext")),
        outputs: all("input[type=number]", box => box.value),
        numbers: all(".score b", number => number.textContent)
    };
});
const written = Object.assign(document.createElement("pre"), { id: "shown" });
written.textContent = JSON.stringify({ width: innerWidth, needed: document.documentElement.scrollWidth, shown });
parent.document.body.append(written);
