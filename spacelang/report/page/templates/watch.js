"use strict";
// Replaces the content of the page by its newest version, and keeps open sections, scroll positions and the focus.
const boxes = (main) => {
  const counts = {};
  return [...main.querySelectorAll("details, .scroll")].map((box) => {
    const place = `${box.closest("section[id], header")?.id} ${box.localName}`;
    counts[place] = (counts[place] ?? 0) + 1;
    return [`${place} ${counts[place]}`, box];
  });
};
const renewed = (before, after) => {
  const known = new Map(boxes(before));
  const focused = boxes(before).find(([, box]) => box.contains(document.activeElement));
  before.replaceWith(after);
  for (const [place, box] of boxes(after)) {
    const old = known.get(place);
    if (!old) continue;
    if (box.localName === "details") box.open = old.open;
    box.scrollLeft = old.dataset.left ?? 0;
    box.scrollTop = old.dataset.top ?? 0;
    if (focused?.[0] === place) (box.querySelector("summary") ?? box).focus({ preventScroll: true });
  }
};
const look = async () => {
  const main = document.querySelector("main");
  let seconds = Number(main.dataset.every);
  try {
    const answer = await fetch(location.pathname, { cache: "no-store" });
    if (!answer.ok) throw new Error(await answer.text());
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = document.adoptNode(found.querySelector("main"));
    // The page does not change while the reader has selected text.
    if (fresh.dataset.version !== main.dataset.version && getSelection().isCollapsed) {
      for (const [, box] of boxes(main)) Object.assign(box.dataset, { left: box.scrollLeft, top: box.scrollTop });
      renewed(main, fresh);
    }
  } catch (error) {
    const said = document.querySelector(".live");
    said.className = "live ended";
    said.textContent = error instanceof TypeError ? "not connected any more: this is the last known state of the run" : error.message;
    seconds *= 4;
  }
  setTimeout(look, 1000 * seconds);
};
setTimeout(look, 1000 * Number(document.querySelector("main").dataset.every));
