// A table that is wider than the page scrolls in itself: the keyboard reaches it, too.
function reachWideTables() {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", "Table, wider than the page");
    } else {
      box.removeAttribute("tabindex");
      box.removeAttribute("role");
      box.removeAttribute("aria-label");
    }
  }
}

addEventListener("load", reachWideTables);
addEventListener("resize", reachWideTables);
