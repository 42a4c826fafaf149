"use strict";
const said = document.getElementById("said");
const copied = (button, text) => {
  button.textContent = text;
  said.textContent = text;
  setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2000);
};
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const line = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(line.textContent);
      copied(button, "Copied");
    } catch {
      // A browser may not let a file use the clipboard: the line is selected for the person's own copy.
      getSelection().selectAllChildren(line);
      copied(button, document.execCommand("copy") ? "Copied" : "Selected");
    }
  });
}
for (const button of document.querySelectorAll("button.only")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const on = button.closest("details").querySelector("table").classList.toggle("only");
    button.setAttribute("aria-pressed", on);
  });
}
// A link to a row opens what it is in.
const open = () => {
  const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let e = at; e; e = e.parentElement) {
    if (e.tagName === "DETAILS") e.open = true;
  }
  if (at) { at.scrollIntoView({ block: at.matches("tr") ? "center" : "start" }); at.focus({ preventScroll: true }); }
};
addEventListener("hashchange", open);
if (location.hash) open();
