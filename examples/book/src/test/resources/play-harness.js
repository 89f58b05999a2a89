// Moves the controls of the page, and writes what it then shows as JSON into the page around it, for PlayIT.
const shown = cases.map(({ name, inputs, boxes }) => {
    const place = document.querySelector(`[data-play="${name}"]`);
    const all = (selector, read) => [...place.querySelectorAll(selector)].map(read);
    const enter = attribute => ([control, value]) => {
        const input = place.querySelector(`[${attribute}="${control}"]`);
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    };
    Object.entries(inputs).forEach(enter("name"));
    Object.entries(boxes).forEach(enter("data-box"));
    const canvas = place.querySelector("canvas");
    const pixels = canvas ? [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data] : [];
    return {
        labels: all("input[type=range], select", input => input.labels[0].innerText),
        announced: all("input[type=range]", input => input.getAttribute("aria-valuetext")),
        outputs: all("input[type=number]", box => box.value),
        rows: all("tbody tr", row => [...row.cells].map(cell => cell.textContent)),
        numbers: all(".score b", number => number.textContent),
        tips: all(".clocks [cx], .one [class^=tip]", tip => [tip.cx.baseVal.value, tip.cy.baseVal.value]),
        bars: all("rect", bar => bar.height.baseVal.value * (bar.matches(".above") ? 1 : -1)),
        curve: all(".curve", curve => curve.getAttribute("d").slice(1).split("L").map(point => point.split(" ").map(Number)))
            .flat(),
        // the opacity of each pixel; negative for blue
        cells: pixels.flatMap((opacity, i) => i % 4 === 3 ? [pixels[i - 3] < pixels[i - 1] ? -opacity : opacity] : [])
    };
});
const written = Object.assign(document.createElement("pre"), { id: "shown" });
written.textContent = JSON.stringify({ width: innerWidth, needed: document.documentElement.scrollWidth, shown });
parent.document.body.append(written);
