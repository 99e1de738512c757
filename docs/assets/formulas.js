// Formulas, set by our own copy of KaTeX. A page without a formula does not load it. Without this
// script the TeX can be read as it is.

const formulas = document.querySelectorAll(".arithmatex");
const katexFolder = new URL("katex/", document.currentScript.src);

// A formula comes as \(...\) in a line, or as \[...\] in a block of its own.
function setFormulas() {
  for (const place of formulas) {
    const tex = place.textContent.trim();
    const displayMode = tex.startsWith("\\[");
    katex.render(tex.slice(2, -2), place, { displayMode, throwOnError: false });
  }
  reachWideBlocks();
  document.fonts.ready.then(reachWideBlocks); // their widths depend on the fonts
}

if (formulas.length) {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("katex.min.css", katexFolder);
  const script = document.createElement("script");
  script.src = new URL("katex.min.js", katexFolder);
  script.onload = setFormulas;
  document.head.append(style, script);
}
