// Moves the sliders of heatmap, patches, playground and rotary by keys and pointers, and writes their
// numbers into the page around.
const place = name => document.querySelector(`[data-play="${name}"]`);
const boxes = (name, ...fields) => fields
    .map(field => place(name).querySelector(`[data-box="${field}"]`).value).join(" ");

const frame = place("heatmap").querySelector(".frame");
["ArrowRight", "ArrowDown", "Tab"].forEach(key => frame.dispatchEvent(new KeyboardEvent("keydown", { key })));
const keyed = boxes("heatmap", "position", "dimension");
const canvas = frame.querySelector("canvas");
const cells = canvas.getBoundingClientRect();
canvas.dispatchEvent(new PointerEvent("pointermove",
    { clientX: cells.left + cells.width * 10.5 / 64, clientY: cells.top + cells.height * 30.5 / 100 }));
const pointed = boxes("heatmap", "position", "dimension");

const grid = place("patches").querySelector(".grid");
["ArrowLeft", "ArrowDown"].forEach(key => grid.dispatchEvent(new KeyboardEvent("keydown", { key })));
const word = place("playground").querySelector('[data-i="1"]');
word.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));

// a pointer that is not pressed cannot be captured
Element.prototype.setPointerCapture = () => {};
const circle = place("rotary").querySelector(".one");
const drag = (from, to) => {
    const { left, top, width, height } = circle.querySelector("svg").getBoundingClientRect();
    const move = (type, degrees) => circle.dispatchEvent(new PointerEvent(type, {
        clientX: left + width / 2 + width / 2.4 * Math.cos(degrees * Math.PI / 180),
        clientY: top + height / 2 - height / 2.4 * Math.sin(degrees * Math.PI / 180)
    }));
    move("pointerdown", from);
    move("pointermove", to);
    move("pointerup", to);
    move("pointermove", from);
};
// pair 8 of 32 turns by 0.1 a token: the query is at 20, the key at 17 and 40 degrees ahead
const degrees = tokens => tokens * 0.1 * 180 / Math.PI;
drag(20 + degrees(20), 90 + degrees(20));
drag(130 + degrees(17), 50 + degrees(17));
const written = Object.assign(document.createElement("pre"), { id: "shown" });
// from position 20 and dimension 8 of the heat map one to the right and one down; from row 4 and column 10 of the patches
// one to the left and down
written.textContent = `heatmap ${keyed}, ${pointed}; patches ${boxes("patches", "row", "column")}; rotary ${
    boxes("rotary", "query", "alpha")}; ${place("playground").querySelector("[name=text]").value}`;
parent.document.body.append(written);
