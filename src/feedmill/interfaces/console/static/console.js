/* Live updates, zoom of charts and "select all". Every page works without this file. */
"use strict";

/* A page with parts marked data-live asks for itself again when the server says so. */
function follow() {
  const parts = document.querySelectorAll("[data-live]");
  if (parts.length === 0 || document.querySelector("[data-stream]")) return;
  let busy = false;
  const source = new EventSource("/console/stream");
  source.addEventListener("tick", async () => {
    const focused = document.activeElement;
    if (busy || document.hidden || (focused && focused.closest("[data-live]"))) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected || answer.status === 403) return source.close();  // no longer allowed to look
      if (!answer.ok) return;  // the next tick asks again
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.getElementById(part.id);
        if (other && other.innerHTML !== part.innerHTML) part.replaceChildren(...other.childNodes);
      }
      zoomable();
    } catch {
      // The server is away; the stream reconnects by itself, and its next tick asks again.
    } finally {
      busy = false;
    }
  });
}

/* The log: each event is a row that the server has rendered. */
function stream() {
  const table = document.querySelector("[data-stream]");
  if (!table) return;
  const most = 500;
  const status = document.getElementById("stream-status");
  const source = new EventSource(table.dataset.stream);
  source.addEventListener("row", (event) => {
    const rows = new DOMParser().parseFromString(`<table><tbody>${event.data}</tbody></table>`, "text/html");
    for (const row of rows.querySelectorAll("tbody > tr")) {
      row.classList.add("fresh");
      table.prepend(document.adoptNode(row));
    }
    while (table.rows.length > most) table.lastElementChild.remove();
  });
  source.onopen = () => { if (status) status.textContent = "live"; };
  source.onerror = () => {  // closed for good: the session has ended, or the log went back
    const words = source.readyState === EventSource.CLOSED ? "stopped: reload this page" : "reconnecting …";
    if (status) status.textContent = words;
  };
}

/* Drag over a chart to see a part of it larger; a double click shows all of it again. */
function zoomable() {
  for (const chart of document.querySelectorAll("svg[data-zoom]:not([data-ready])")) {
    chart.dataset.ready = "";
    const all = chart.getAttribute("viewBox");
    let from = null;
    const at = (event) => {
      const [left, , width] = chart.getAttribute("viewBox").split(" ").map(Number);
      const box = chart.getBoundingClientRect();
      return left + ((event.clientX - box.left) / box.width) * width;
    };
    chart.addEventListener("pointerdown", (event) => { from = at(event); });
    chart.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [low, high] = [from, at(event)].sort((one, other) => one - other);
      const [, top, , height] = all.split(" ");
      from = null;
      if (high - low < 12) return;
      chart.setAttribute("viewBox", `${low} ${top} ${high - low} ${height}`);
      chart.setAttribute("preserveAspectRatio", "none");
    });
    chart.addEventListener("dblclick", () => {
      chart.setAttribute("viewBox", all);
      chart.removeAttribute("preserveAspectRatio");
    });
  }
}

function selectAll() {
  for (const box of document.querySelectorAll("input[data-select-all]")) {
    box.hidden = false;
    box.addEventListener("change", () => {
      for (const one of document.querySelectorAll(`input[name="${box.dataset.selectAll}"]`)) one.checked = box.checked;
    });
  }
}

follow();
stream();
zoomable();
selectAll();
