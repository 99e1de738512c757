// What the theme leaves out for readers who use a keyboard or a screen reader.

// Code, tables and formulas wider than the page scroll in themselves: the keyboard reaches them, too.
const wideBlocks = ".md-typeset__scrollwrap, .md-typeset pre > code, div.arithmatex";

function reachWideBlocks() {
  for (const box of document.querySelectorAll(wideBlocks)) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
}

addEventListener("load", reachWideBlocks);
addEventListener("resize", reachWideBlocks);
addEventListener("toggle", reachWideBlocks, true); // what was folded has its width only now

document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
