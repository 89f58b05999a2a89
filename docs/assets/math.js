// Formulas, by KaTeX in assets/katex, which only a page with formulas loads.
{
  const assets = document.currentScript.src.replace(/math\.js.*/, "");
  const load = (name) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = assets + "katex/" + name;
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
  document.addEventListener("DOMContentLoaded", async () => {
    const formulas = document.querySelectorAll(".arithmatex");
    if (formulas.length > 0) {
      const style = document.createElement("link");
      style.rel = "stylesheet";
      style.href = assets + "katex/katex.min.css";
      document.head.append(style);
      await load("katex.min.js");
      for (const formula of formulas) {
        const [, tex] = formula.textContent.match(/^\\[([]([^]*)\\[)\]]$/);
        katex.render(tex, formula, { displayMode: formula.tagName === "DIV" });
        // stays on the line of the formula
        const next = formula.nextSibling;
        const [mark] = (next?.nodeType === Node.TEXT_NODE && next.data.match(/^[.,;:!?)]+/)) || [];
        if (mark) {
          formula.append(mark);
          next.data = next.data.slice(mark.length);
        }
      }
    }
  });
}
