"use strict";
// Everything that a feed wrote is set as text, never as markup; only http and https become links.
const data = JSON.parse(document.getElementById("data").textContent);
const PAGE = 100;
const RANK = { keep: 0, unsure: 1, "": 2, drop: 3 };
const byId = new Map(data.candidates.map((one) => [one.id, one]));
const chosen = new Set();
const open = new Set();
let shown = [];
let drawn = 0;
let at = -1;
let group = null;

const $ = (id) => document.getElementById(id);
const list = $("list");
const end = $("end");

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function badge(text, className) {
  return element("span", `badge ${className || ""}`, text);
}

for (const one of data.candidates) {
  one.words = [one.title, one.feed, one.url, one.summary, one.topic, one.reason, ...one.categories]
    .join(" ").toLowerCase();
}
for (const topic of [...new Set(data.candidates.map((one) => one.topic))].filter(Boolean).sort()) {
  const option = element("option", "", topic);
  option.value = topic;
  $("topic").append(option);
}

const ORDERS = {
  topic: (a, b) => !a.topic - !b.topic || a.topic.localeCompare(b.topic) || best(a, b),
  score: (a, b) => best(a, b),
  newest: (a, b) => b.published.localeCompare(a.published) || a.id - b.id,
  oldest: (a, b) => (a.published || "~").localeCompare(b.published || "~") || a.id - b.id,
  feed: (a, b) => a.feed.localeCompare(b.feed) || best(a, b),
};

function best(a, b) {
  return RANK[a.suggestion] - RANK[b.suggestion] || b.score - a.score || a.id - b.id;
}

function fits(one) {
  const what = $("what").value;
  if (what === "open" && (one.suggestion === "drop" || one.known)) return false;
  if (what === "chosen" && !chosen.has(one.id)) return false;
  if (["keep", "unsure", "drop"].includes(what) && one.suggestion !== what) return false;
  if (what === "undated" && one.published) return false;
  if ($("topic").value && one.topic !== $("topic").value) return false;
  const min = Number($("min").value);
  if (min > 0 && one.score < min) return false;
  return $("search").value.toLowerCase().split(/\s+/).every((word) => one.words.includes(word));
}

function refresh() {
  shown = data.candidates.filter(fits).sort(ORDERS[$("order").value]);
  list.replaceChildren();
  drawn = 0;
  at = -1;
  group = null;
  draw();
  count();
}

function draw() {
  const grouped = $("order").value === "topic";
  const part = document.createDocumentFragment();
  for (const one of shown.slice(drawn, drawn + PAGE)) {
    if (grouped && one.topic !== group) {
      group = one.topic;
      part.append(element("h2", "", group || "no topic yet"));
    }
    part.append(row(one));
  }
  drawn = Math.min(drawn + PAGE, shown.length);
  list.append(part);
  end.hidden = drawn >= shown.length;
}

function row(one) {
  const made = element("article");
  made.dataset.id = one.id;
  if (chosen.has(one.id)) made.classList.add("on");
  const box = element("input");
  box.type = "checkbox";
  box.checked = chosen.has(one.id);
  box.setAttribute("aria-label", `choose ${one.id}`);
  const title = element("div", "title");
  const name = one.title || "(without a title)";
  if (/^https?:\/\//i.test(one.url)) {
    const link = element("a", "", name);
    link.href = one.url;
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
    link.referrerPolicy = "no-referrer";
    title.append(link);
  } else {
    title.append(element("bdi", "", name));
  }
  if (one.known) title.append(badge("stored already"));
  if (one.elsewhere) title.append(badge("known from another feed"));
  if (one.suspicious) title.append(badge("tries to steer the reader", "alarm"));
  const score = element("div", `score ${one.suggestion}`);
  if (one.suggestion) score.textContent = `${one.suggestion} ${one.score.toFixed(2)}`;
  const meta = element("div", "meta");
  meta.append(element("bdi", "", [one.published ? one.published.slice(0, 16).replace("T", " ") : "undated",
    one.feed, one.url].filter(Boolean).join(" · ")));
  made.append(box, element("div", "id", String(one.id)), title, score, meta);
  if (one.reason) made.append(element("div", "why", one.reason));
  if (open.has(one.id)) made.append(details(one));
  return made;
}

function details(one) {
  const parts = [one.summary, one.categories.join(", "), one.evidence.join(" · "), one.url];
  return element("div", "more", parts.filter(Boolean).join("\n\n"));
}

function count() {
  $("count").textContent = `${chosen.size} chosen, ${shown.length} of ${data.candidates.length} shown`;
  $("copy").disabled = $("save").disabled = chosen.size === 0;
}

function redraw(id) {
  const old = list.querySelector(`article[data-id="${id}"]`);
  if (!old) return;
  const made = row(byId.get(id));
  if (old.classList.contains("at")) made.classList.add("at");
  old.replaceWith(made);
}

function choose(id, on) {
  if (on) chosen.add(id);
  else chosen.delete(id);
  say(""); // what was saved or copied before is not this choice
  redraw(id);
  count();
}

function chooseShown(on) {
  if (on) for (const one of shown) chosen.add(one.id);
  else chosen.clear();
  say("");
  for (const made of list.querySelectorAll("article")) {
    made.classList.toggle("on", on);
    made.querySelector("input").checked = on;
  }
  count();
}

function selection() {
  const ids = [...chosen].sort((a, b) => a - b);
  return `# feedmill-selection/1\n# file ${data.digest}\n# shown page\n${ids.join("\n")}\n`;
}

function say(words) {
  $("said").textContent = words;
}

async function copy() {
  const ids = [...chosen].sort((a, b) => a - b).join(",");
  try {
    await navigator.clipboard.writeText(ids);
  } catch {
    const area = element("textarea");
    area.value = ids;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("copied: give it to --selected-ids");
}

function save() {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([selection()], { type: "text/plain" }));
  link.download = data.save_as;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  say(`saved: give ${data.save_as} to --selected-ids-file`);
}

function go(step) {
  if (!shown.length) return;
  at = Math.max(0, Math.min(shown.length - 1, at + step));
  while (drawn <= at) draw();
  for (const old of list.querySelectorAll("article.at")) old.classList.remove("at");
  const made = list.querySelector(`article[data-id="${shown[at].id}"]`);
  made.classList.add("at");
  made.scrollIntoView({ block: "center" });
}

list.addEventListener("change", (event) => {
  choose(Number(event.target.closest("article").dataset.id), event.target.checked);
});
list.addEventListener("click", (event) => {
  const made = event.target.closest("article");
  if (!made || event.target.closest("a, input")) return;
  const id = Number(made.dataset.id);
  if (open.has(id)) open.delete(id);
  else open.add(id);
  redraw(id);
});
for (const id of ["search", "min"]) $(id).addEventListener("input", refresh);
for (const id of ["topic", "order", "what"]) $(id).addEventListener("change", refresh);
$("all").addEventListener("click", () => chooseShown(true));
$("none").addEventListener("click", () => chooseShown(false));
$("copy").addEventListener("click", copy);
$("save").addEventListener("click", save);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("#search, #min, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const one = shown[at];
  const keys = {
    j: () => go(1),
    k: () => go(-1),
    x: () => one && choose(one.id, !chosen.has(one.id)),
    a: () => chooseShown(true),
    n: () => chooseShown(false),
    c: () => chosen.size && copy(),
    s: () => chosen.size && save(),
    o: () => one && list.querySelector("article.at a")?.click(),
    "/": () => $("search").focus(),
    Enter: () => one && list.querySelector("article.at .meta").click(),
  };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
const watcher = new IntersectionObserver((seen) => {
  if (!seen.some((one) => one.isIntersecting) || drawn >= shown.length) return;
  draw();
  watcher.unobserve(end); // so that it is told again when the end is still in sight
  watcher.observe(end);
}, { rootMargin: "800px" });
watcher.observe(end);
refresh();
if (!shown.length && data.candidates.length) {
  const number = (test) => data.candidates.filter(test).length;
  $("what").value = "all";
  refresh();
  say(`nothing was kept: ${number((one) => one.suggestion === "drop")} are suggested to be dropped, ` +
    `${number((one) => one.known)} are stored already; all are shown`);
}
