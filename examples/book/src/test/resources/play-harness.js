// Moves the controls of the page, and writes what it then shows as JSON into the page around it, for PlayIT.
const shown = cases.map(({ name, inputs }) => {
    const place = document.querySelector(`[data-play="${name}"]`);
    const all = (selector, read) => [...place.querySelectorAll(selector)].map(read);
    // the text of a label that is folded away is empty
    place.querySelectorAll("details:has(fieldset)").forEach(more => { more.open = true; });
    Object.entries(inputs).forEach(([control, value]) => {
        const input = place.querySelector(`[name="${control}"]`);
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    return {
        labels: all("input[type=range], input[type=text], select", input => input.labels[0].innerText),
        announced: all("input[type=range]", input => input.getAttribute("aria-valuetext")),
        outputs: all("input[type=number]", box => box.value),
        numbers: all(".score b", number => number.textContent)
    };
});
const written = Object.assign(document.createElement("pre"), { id: "shown" });
written.textContent = JSON.stringify({ width: innerWidth, needed: document.documentElement.scrollWidth, shown });
parent.document.body.append(written);
