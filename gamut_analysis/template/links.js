// One choice for the whole page: a model or a domain that is picked in a chart, in a table or in the list at the side
// is picked everywhere. Its marks and rows stay, those of others fade; long tables show its rows alone.
// A chart says which fields of its data are names (charts/links.py); names are compared, never made into expressions.
"use strict";

(() => {
  const { element, last } = Gamut;
  const LABELS = { model: "Highlight a model", domain: "Highlight a domain" };
  const KINDS = Object.keys(LABELS);
  const MARKS = ".chart path, .chart line, .chart text";
  const LABELLED = ["axis-label", "legend-label", "legend-symbol"];
  const chosen = { model: null, domain: null };
  const known = { model: new Set(), domain: new Set() };
  const charts = new Map();
  const rows = new Map();
  const controls = {};

  // What belongs to whom --------------------------------------------------------------------------------------------

  const named = (links, kind, datum) => (links[kind] ?? []).map((field) => datum[field]).filter((name) => typeof name === "string");

  // The names that a chart holds, by kind.
  function namesOf({ links, spec }) {
    const data = Object.values(spec.datasets ?? {}).flat();
    return Object.fromEntries(KINDS.map((kind) => [kind, new Set(data.flatMap((datum) => named(links, kind, datum)))]));
  }

  // Whose a drawn thing is: the names of each kind that it stands for. A label of an axis or a legend stands for its value.
  function owners({ links, names }, item) {
    if (!item?.datum || item.mark?.marktype === "group") return null;
    const label = LABELLED.includes(item.mark.role) ? item.datum.value : undefined;
    const of = (kind) => (label === undefined ? named(links, kind, item.datum) : names[kind].has(label) ? [label] : []);
    return { model: of("model"), domain: of("domain") };
  }

  // "chosen" for what the choice is about, "faded" for what is about others, "" for what is about neither.
  function standing(own, names = known) {
    const asked = KINDS.filter((kind) => chosen[kind] !== null && own[kind].length && names[kind].has(chosen[kind]));
    if (!asked.length) return "";
    return asked.every((kind) => own[kind].includes(chosen[kind])) ? "chosen" : "faded";
  }

  function mark(part, state) {
    part.classList.toggle("chosen", state === "chosen");
    part.classList.toggle("faded", state === "faded");
  }

  // Charts and rows -------------------------------------------------------------------------------------------------

  function paintChart(figure) {
    const chart = charts.get(figure);
    for (const drawn of figure.querySelectorAll(MARKS)) {
      const own = owners(chart, drawn.__data__);
      if (!own) continue;
      drawn.classList.toggle("linked", KINDS.some((kind) => own[kind].length));
      drawn.classList.toggle("subject", drawn.__data__.datum.is_focus === true);
      mark(drawn, standing(own, chart.names));
    }
  }

  const words = (cell) => cell.firstChild?.textContent.trim() ?? "";
  const readRow = (row) => {
    const cells = [...row.cells].flatMap((cell) => [words(cell), cell.querySelector("small")?.textContent]);
    return Object.fromEntries(KINDS.map((kind) => [kind, cells.filter((name) => known[kind].has(name))]));
  };

  function paintRows() {
    for (const [row, own] of rows) {
      const state = standing(own);
      mark(row, state);
      if (state === "chosen") row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  function choose(next) {
    Object.assign(chosen, next);
    for (const figure of charts.keys()) paintChart(figure);
    paintRows();
    tell();
    for (const part of document.querySelectorAll("[data-component]")) part.dispatchEvent(new CustomEvent("gamut-choice", { detail: { ...chosen } }));
  }

  // The same name again lets go of it.
  function pick(own) {
    const kind = KINDS.find((one) => own?.[one].length);
    if (!kind) return;
    const name = own[kind].find((one) => one === chosen[kind]) ?? own[kind][0];
    choose({ [kind]: name === chosen[kind] ? null : name });
  }

  // By hand and by keyboard -----------------------------------------------------------------------------------------

  const selection = element("p", { className: "selection", hidden: true });
  const clear = () => choose({ model: null, domain: null });

  function tell() {
    const names = KINDS.map((kind) => chosen[kind]).filter((name) => name !== null);
    const shown = names.flatMap((name, place) => [place ? " in " : "", element("b", { textContent: name })]);
    const button = element("button", { type: "button", textContent: "Clear" });
    button.addEventListener("click", clear);
    selection.replaceChildren(element("span", {}, "Showing ", ...shown), button);
    selection.hidden = !names.length;
    for (const [kind, control] of Object.entries(controls)) control.value = chosen[kind] ?? "";
  }

  // In the list at the side; an empty value stands for none, so no name can be taken for it.
  function control(kind) {
    const names = [...known[kind]].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const options = names.map((name) => element("option", { value: name, textContent: name }));
    controls[kind] = element("select", {}, element("option", { value: "", textContent: `All ${kind}s` }), ...options);
    controls[kind].addEventListener("change", ({ target }) => choose({ [kind]: target.selectedIndex ? target.value : null }));
    return element("label", {}, element("span", { textContent: LABELS[kind] }), controls[kind]);
  }

  // One row of a table can be reached by the tabulator, the others from it by the arrows.
  function reach(body) {
    const reachable = () => [...body.rows].filter((row) => rows.has(row) && !row.hidden);
    const [first] = reachable();
    first.tabIndex = 0;
    body.addEventListener("keydown", (event) => {
      const row = event.target;
      if (!rows.has(row)) return;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter") pick(rows.get(row));
      if (!step) return;
      const all = reachable();
      const next = all[all.indexOf(row) + step];
      if (!next) return;
      event.preventDefault();
      row.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    body.addEventListener("click", ({ target }) => {
      const row = target.closest("tr");
      if (!rows.has(row) || target.closest("a, button") || String(getSelection())) return;
      const name = words(target.closest("td, th"));
      const own = rows.get(row);
      const exact = Object.fromEntries(KINDS.map((kind) => [kind, own[kind].filter((one) => one === name)]));
      pick(KINDS.some((kind) => exact[kind].length) ? exact : own);
    });
  }

  function link() {
    const kinds = KINDS.filter((kind) => known[kind].size > 1);
    if (!kinds.length) return;
    for (const body of document.querySelectorAll("main .gamut-table tbody")) {
      for (const row of body.rows) {
        const own = readRow(row);
        if (!KINDS.some((kind) => own[kind].length)) continue;
        rows.set(row, own);
        row.classList.add("linked");
      }
      if ([...body.rows].some((row) => rows.has(row) && !row.hidden)) reach(body);
    }
    const note = element("p", { textContent: "Or click a mark, a name or a row." });
    const group = element("div", { className: "highlight" }, ...kinds.map(control), note);
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Highlight in all charts and tables");
    document.querySelector("#contents .tools").before(group);
    selection.setAttribute("role", "status");
    document.querySelector(".layout").before(selection);
    addEventListener("keydown", ({ key, target }) => {
      if (key === "Escape" && !selection.hidden && !target.closest?.('input[type="search"]')) clear();
    });
  }

  // A chart tells each time that it is drawn.
  addEventListener("gamut-drawn", ({ target, detail }) => {
    const links = detail.usermeta?.gamut?.links;
    if (!links) return;
    if (!charts.has(target)) {
      const chart = { links, names: namesOf({ links, spec: detail }) };
      charts.set(target, chart);
      for (const kind of KINDS) for (const name of chart.names[kind]) known[kind].add(name);
      target.addEventListener("click", ({ target: hit }) => pick(owners(chart, hit.closest(MARKS)?.__data__)));
    }
    paintChart(target);
  });

  last.push(link);
})();
