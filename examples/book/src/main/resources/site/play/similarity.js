// The dot product of two positions by their distance, and the cosine that each pair adds to it.
var similarity = {
    /** The largest distance that is drawn. */
    reach: 200,

    /** Returns the cosine of each pair of sinusoids at a distance. */
    cosines: (pairs, base, distance) => play.each(pairs, m => Math.cos(distance * base ** (-m / pairs))),

    /** Returns the dot product of two positions. */
    product: (pairs, base, distance) =>
        similarity.cosines(pairs, base, distance).reduce((sum, cosine) => sum + cosine, 0)
};

play.start("similarity", {
    title: "The dot product of two positions",
    hint: "move Δ from 0 to 10. The product falls from 32 to 21, because the fast pairs on the left turn. The next section looks at 101.",
    fields: {
        distance: { label: "distance Δ", min: -200, max: 200, start: 0 },
        pairs: { label: "pairs d/2", min: 1, max: 256, start: 32 },
        base: { label: "base", values: play.bases, start: 10000 }
    },

    view: `
        <figure>
            <div class="plot">
                <span class="rows">1 <span>0</span> <span>-1</span></span>
                <div class="frame curve-frame" role="img" aria-label="The dot product by distance"></div>
                <span></span><span>-200 <span>distance Δ</span> 200</span>
                <span class="rows">1 <span>0</span> <span>-1</span></span>
                <div class="frame bars" role="img" aria-label="The cosine of each pair"></div>
                <span></span><span>0 <span>pair m</span> <span class="last"></span></span>
            </div>
            <p role="status" class="score"></p>
            <figcaption>Above, the dot product at each distance, divided by d/2; the vertical line is Δ. Below, the cosine
                that each pair adds at Δ: fast pairs on the left, slow ones on the right.</figcaption>
        </figure>`,

    draw({ distance, pairs, base }, find) {
        const cosines = similarity.cosines(pairs, base, distance);
        const points = play.each(2 * similarity.reach + 1, i => i - similarity.reach)
            .map(at => [at, -similarity.product(pairs, base, at) / pairs]);
        find(".curve-frame").innerHTML = `<svg viewBox="-200 -1 400 2" preserveAspectRatio="none" style="height: 9rem">
            <path class="zero" d="M-200 0h400"/>${play.curve("curve", points)}<path d="M${distance} 1v-2"/></svg>`;
        find(".bars").innerHTML = `<svg viewBox="0 -1 ${pairs} 2" preserveAspectRatio="none" style="height: 6rem">
            ${play.bars(cosines)}</svg>`;
        find(".last").textContent = pairs - 1;
        find(".score").innerHTML = `Dot product: <b>${play.number(similarity.product(pairs, base, distance), 3)}</b> of
            <b>${pairs}</b>.`;
        find("table").innerHTML = play.table(["pair m", "turns", "cosine"], cosines.slice(0, 8).map((cosine, m) =>
            [m, play.number(distance * base ** (-m / pairs) / (2 * Math.PI), 2), play.number(cosine, 3)]));
    }
});
