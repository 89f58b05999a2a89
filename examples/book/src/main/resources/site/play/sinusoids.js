// Sinusoidal positions to play with: the table as a heat map, and one position as bars, hands of clocks and numbers.
var sinusoids = {
    /**
     * In a convention, pair m of n has the frequency base^(-m / period), and dimensions for its sine and cosine. Half of
     * the last pair of an odd size is left out; with count, there is a pair less, and a zero.
     */
    conventions: {
        // Vaswani et al. (2017), section 3.5
        vaswani: { label: "Attention Is All You Need", period: (n, size) => size / 2, dimensions: m => [2 * m, 2 * m + 1] },
        // get_timing_signal_1d, with timescales from 1 to the base
        tensor2tensor: { label: "tensor2tensor", count: Math.floor, period: n => Math.max(n - 1, 1), dimensions: (m, n) => [m, n + m] },
        // ScaledSinusoidalEmbedding
        xTransformers: { label: "x-transformers", period: (n, size) => size / 2, dimensions: (m, n) => [m, n + m] },
        // get_timestep_embedding with flip_sin_to_cos
        diffusion: { label: "Stable Diffusion", count: Math.floor, period: n => n, dimensions: (m, n) => [n + m, m] }
    },

    /** Returns each pair's angle per position, in radians, and its dimensions. */
    pairs(convention, size, base) {
        const { period, dimensions, count } = sinusoids.conventions[convention];
        const n = (count || Math.ceil)(size / 2);
        return play.each(n, m => ({ frequency: base ** (-m / period(n, size)), dimensions: dimensions(m, n) }));
    },

    /** Returns the encoding of a position: the sine and the cosine of position times frequency, for each pair. */
    values(convention, size, base, position) {
        const values = play.each(size, () => 0);
        sinusoids.pairs(convention, size, base).forEach(({ frequency, dimensions }) => {
            values[dimensions[0]] = Math.sin(position * frequency);
            values[dimensions[1]] = Math.cos(position * frequency);
        });
        return values.slice(0, size);
    }
};

play.start("sinusoids", {
    title: "Sinusoidal positions",
    hint: "raise <i>t</i> by 1 several times. The first hand turns by 57° each time, the last one hardly moves.",
    fields: {
        convention: { label: "convention", options: sinusoids.conventions },
        size: { label: "d, dimensions", min: 2, max: 64, start: 32 },
        base: { label: "base", values: play.bases, start: 10000 },
        length: { label: "T, length", min: 10, max: 200, step: 10, start: 100 },
        position: { label: "t, position", min: 0, max: 199, start: 20 }
    },

    view: `
        <figure>
            <div class="plot">
                <span></span><span>dimension 0 <span class="last"></span></span>
                <span class="rows">0 <span class="end"></span></span>
                <div class="frame"><canvas role="img" aria-label="Heat map"></canvas><div class="mark"></div></div>
                <span class="rows">1 <span>0</span> <span>-1</span></span>
                <div class="frame bars" role="img" aria-label="Bars of the values"></div>
            </div>
            <figcaption>One row for each position, 0 at the top. Red is above 0, blue below; a stronger color is
                farther from 0. The frame marks the position; the bars below are its values.</figcaption>
        </figure>
        <figure>
            <div class="clocks" role="img" aria-label="The pairs as hands of clocks"></div>
            <figcaption>Each pair of a sine and a cosine is the hand of a clock, named by its two dimensions. The
                cosine is its reach to the right, the sine its height.</figcaption>
        </figure>`,

    draw({ convention, size, base, length, position }, find) {
        // one pixel for each number; the page shines through where it is near 0
        const table = play.each(length, row => sinusoids.values(convention, size, base, row)).flat();
        const color = value => [...(value < 0 ? [0x2a, 0x7f, 0xc8] : [0xd0, 0x3a, 0x3a]), Math.round(255 * Math.abs(value))];
        const pixels = new ImageData(Uint8ClampedArray.from(table.flatMap(color)), size, length);
        [find("canvas").width, find("canvas").height] = [size, length];
        find("canvas").getContext("2d").putImageData(pixels, 0, 0);
        [find(".last").textContent, find(".end").textContent] = [size - 1, length - 1];
        find(".mark").hidden = position >= length;
        find(".mark").style = `top: calc(${100 * position / length}% - 2px); height: ${100 / length}%`;
        const values = sinusoids.values(convention, size, base, position);
        find(".bars").innerHTML = `<svg viewBox="0 -1 ${size} 2" preserveAspectRatio="none" style="height: 5rem">
            ${play.bars(values)}<line class="zero" x2="${size}"/></svg>`;

        const pairs = sinusoids.pairs(convention, size, base);
        find(".clocks").innerHTML =
            play.clocks(pairs.map(({ frequency, dimensions }) => [dimensions.join(", "), [position * frequency]]));
        find("table").innerHTML = play.table(
            ["dimensions", "positions per turn", "angle in radians", "sine", "cosine"],
            pairs.map(({ frequency, dimensions }) => [
                dimensions.join(", "), play.wavelength(frequency), play.number(position * frequency, 3),
                ...dimensions.map(dimension => dimension < size ? play.number(values[dimension], 4) : "none")]));
    }
});
