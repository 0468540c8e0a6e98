// Fills the list of versions. Each has a folder of its name; versions.json, a list of names, lies
// beside these folders, and a copy in each of them serves where there is none. All addresses are
// relative to the folder of this page's version, so that the site may lie anywhere.
"use strict";

async function namesOfVersions(root) {
  for (const place of ["../versions.json", "_static/versions.json"]) {
    try {
      const answer = await fetch(new URL(place, root));
      if (answer.ok) {
        return await answer.json();
      }
    } catch {
      // A page that is opened from a disk may fetch nothing: its own version is the whole list.
    }
  }
  return [];
}

async function goTo(version, root, page) {
  const folder = new URL(`../${encodeURIComponent(version)}/`, root);
  const same = new URL(page, folder);
  const found = await fetch(same, { method: "HEAD" }).catch(() => ({ ok: false }));
  window.location.href = found.ok ? same : new URL("index.html", folder);
}

document.addEventListener("DOMContentLoaded", async () => {
  for (const list of document.querySelectorAll(".versions select")) {
    const root = new URL(list.dataset.root, window.location.href);
    const own = list.value;
    for (const name of await namesOfVersions(root)) {
      if (name !== own) {
        list.add(new Option(name));
      }
    }
    list.addEventListener("change", () => goTo(list.value, root, list.dataset.page));
  }
});
