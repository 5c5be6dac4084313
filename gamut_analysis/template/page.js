// What a page does once it is open: draw charts, sort and search tables, follow the reader, light and dark.
// A part of the page that wants behaviour names it (data-component="chart") and finds it in `components`.
// Text from data only ever becomes text: nothing here writes markup.
"use strict";

(() => {
  const root = document.documentElement;
  const SHOWN_ROWS = 20;

  // Light and dark ------------------------------------------------------------------------------------------------
  // The reader's choice is kept where the browser lets a file keep one; without a choice the system decides.

  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const remembered = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const remember = (key, value) => { try { localStorage.setItem(key, value); } catch { /* not for this page */ } };

  function applyTheme(theme = remembered("gamut-theme") ?? (systemDark.matches ? "dark" : "light")) {
    root.dataset.theme = theme;
    for (const button of document.querySelectorAll('[data-action="theme"]'))
      button.textContent = theme === "dark" ? "Light page" : "Dark page";
    dispatchEvent(new Event("gamut-theme"));
  }

  function switchTheme() {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    remember("gamut-theme", theme);
    applyTheme(theme);
  }

  // Numbers -------------------------------------------------------------------------------------------------------
  // The rule of display.py: rounded once, half to even, on the exact value; a true minus; 100.0 for 100 alone.

  function decimal(value, digits, shift = 0) {
    const places = 90;
    const unit = 10n ** BigInt(places - shift - digits);
    const exact = BigInt(Math.abs(value).toFixed(places).replace(".", ""));
    let rounded = exact / unit;
    const rest = 2n * (exact % unit);
    if (rest > unit || (rest === unit && rounded % 2n === 1n)) rounded += 1n;
    const text = String(rounded).padStart(digits + 1, "0");
    const whole = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+$)/g, ",");
    const sign = value < 0 && rounded > 0n ? "\u2212" : "";
    return digits ? `${sign}${whole}.${text.slice(-digits)}` : `${sign}${whole}`;
  }

  function points(score, digits = 1) {
    const shown = decimal(score, digits, 2);
    const beyond = Math.abs(score) < 1 - 1e-11 && shown.endsWith(decimal(1, digits, 2));
    if (!beyond) return shown;
    const last = decimal(1 - 10 ** -(digits + 2), digits, 2);
    return score > 0 ? `> ${last}` : `< \u2212${last}`;
  }

  function percent(share, digits = 1) {
    const least = 10 ** -digits;
    const nothing = share * 100 > 1e-9 && decimal(share, digits, 2) === decimal(0, digits);
    return nothing ? `< ${decimal(least, digits)}` : points(share, digits);
  }

  const count = (number) => decimal(number, 0);
  const format = { number: decimal, points, percent, count };

  // Charts --------------------------------------------------------------------------------------------------------

  const isComposite = (spec) =>
    ["hconcat", "vconcat", "concat", "facet", "repeat"].some((key) => key in spec) ||
    ["row", "column", "facet"].some((key) => spec.encoding && key in spec.encoding);

  // Colours of the theme become variables of the style sheet, so that a drawn chart follows light, dark and paper.
  // Ramps are computed from their ends, so they get the colours that the variables have now.
  function themed(node, colour = asVariable) {
    if (typeof node === "string") return /^#[0-9a-f]{6}$/i.test(node) ? colour(node) : node;
    if (Array.isArray(node)) return node.map((one) => themed(one, colour));
    if (node === null || typeof node !== "object") return node;
    const ramp = node.type === "quantitative" ? asValue : colour;
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => {
        if (key === "datasets" || key === "values") return [key, value];
        if (RAMPS.includes(key)) return [key, themed(value, asValue)];
        return [key, themed(value, key === "scale" ? ramp : colour)];
      }),
    );
  }

  const RAMPS = ["ramp", "heatmap", "diverging", "ordinal"];
  const variable = (colour) => `--c-${colour.slice(1).toLowerCase()}`;
  const valueOf = (colour) => getComputedStyle(root).getPropertyValue(variable(colour)).trim();
  const asVariable = (colour) => (valueOf(colour) ? `var(${variable(colour)})` : colour);
  const asValue = (colour) => valueOf(colour) || colour;

  // Names break after fewer letters where there is less room.
  function rewrapped(spec, width) {
    const letters = Math.max(12, Math.floor(width / 13.5));
    if (letters >= 34) return spec;
    const fewer = (given) => Math.min(Number(given), letters);
    const text = JSON.stringify(spec)
      .replace(/\(\?=\.\{\d+\}\)\(\.\{1,(\d+)\}/g, (_, one) => `(?=.{${fewer(+one + 1) + 1}})(.{1,${fewer(+one + 1) - 1}}`)
      .replace(/\|\.\{(\d+)\}\)', 'g'\)/g, (_, most) => `|.{${fewer(most)}})', 'g')`);
    return JSON.parse(text);
  }

  function resized(spec, factor) {
    if (Array.isArray(spec)) return spec.map((one) => resized(one, factor));
    if (spec === null || typeof spec !== "object") return spec;
    return Object.fromEntries(
      Object.entries(spec).map(([key, value]) => {
        if (["data", "datasets", "encoding", "config", "mark", "transform", "params"].includes(key)) return [key, value];
        if (key === "width" && typeof value === "number") return [key, Math.max(40, Math.round(value * factor))];
        return [key, resized(value, factor)];
      }),
    );
  }

  // Where there is little room, more than two panels stand in rows of two, or each by itself where words stand between
  // them; each row names what it shows.
  function paired(spec) {
    const { hconcat, bounds, spacing, ...rest } = spec;
    if (!(hconcat?.length > 2)) return spec;
    const labelled = (panel) => JSON.parse(JSON.stringify(panel).replaceAll('"labels":false', '"labels":true'));
    const rows = [];
    const across = spacing > 60 ? 1 : 2;
    for (let at = 0; at < hconcat.length; at += across)
      rows.push({ bounds, spacing, hconcat: [labelled(hconcat[at]), ...hconcat.slice(at + 1, at + across)] });
    return { ...rest, vconcat: rows };
  }

  const drawnWidth = (place) => place.querySelector("svg")?.viewBox.baseVal.width ?? 0;

  // The interpreter (ast) stands in for compiled expressions, which the page's policy forbids.
  // Vega-embed names the place anew; what stands for the chart stays what the page says.
  async function embed(place, spec) {
    const told = ["role", "aria-label"].map((name) => [name, place.getAttribute(name)]);
    const result = await vegaEmbed(place, spec, { renderer: "svg", actions: false, ast: true, tooltip: { theme: "page" } });
    for (const svg of place.querySelectorAll("svg")) svg.setAttribute("aria-hidden", "true");
    for (const [name, value] of told) place.setAttribute(name, value);
    place.removeAttribute("aria-roledescription");
    return result;
  }

  // The longest name may take more lines than a row has room for: rows grow until it fits.
  function tallestLabel(place) {
    const labels = [...place.querySelectorAll(".mark-text.role-axis-label text")];
    return Math.max(1, ...labels.map((label) => label.querySelectorAll("tspan").length));
  }

  // The plot takes what labels, and marks that reach beyond it, leave of the column.
  async function drawSingle(place, spec, width) {
    const sized = { ...spec, width: Math.max(120, width - 160), autosize: "pad" };
    const { view: look = {} } = spec.config;
    let result = await embed(place, sized);
    const row = tallestLabel(place) * 14 + 4;
    if (row > look.step && typeof spec.height !== "number") {
      result.finalize();
      result = await embed(place, { ...sized, config: { ...spec.config, view: { ...look, step: row } } });
    }
    for (let turn = 0; turn < 3 && Math.abs(drawnWidth(place) - width) > 1; turn += 1) {
      const { view } = result;
      view.width(Math.max(60, view.width() + width - drawnWidth(place)));
      await view.runAsync();
    }
    return result;
  }

  // A grid fills the column with cells that stay wide enough for their numbers; over narrow cells the labels lean.
  async function drawGrid(place, spec, width) {
    const result = await embed(place, spec);
    const cells = result.view.width() / spec.width.step;
    const step = Math.max(20, Math.floor((width - drawnWidth(place) + result.view.width()) / cells));
    if (step === spec.width.step) return result;
    result.finalize();
    const leaning = step < 0.7 * spec.width.step ? JSON.parse(JSON.stringify(spec).replaceAll('"labelAngle":0', '"labelAngle":-45')) : spec;
    return embed(place, { ...leaning, width: { step } });
  }

  // Side by side, the panels share what the labels leave: their width is found from two drawings, for it is linear.
  async function drawComposite(place, spec, width) {
    const first = await embed(place, spec);
    const natural = drawnWidth(place);
    if (natural <= width && natural > width - 24) return first;
    first.finalize();
    (await embed(place, resized(spec, 0.5))).finalize();
    const slope = 2 * (natural - drawnWidth(place));
    const factor = slope > 1 ? (width - natural + slope) / slope : 1;
    const result = await embed(place, resized(spec, Math.min(Math.max(factor, 0.2), 1.6)));
    place.classList.toggle("wide", drawnWidth(place) > width * 1.3);
    return result;
  }

  const hasRamp = (spec) => /"scheme"|"mark":\s*({"type":\s*)?"rect"/.test(JSON.stringify(spec));

  async function chart(figure) {
    const place = figure.querySelector(".chart");
    const alt = place.firstElementChild;
    const spec = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    let drawn = null;
    let drawnAt = 0;

    async function fit() {
      const width = Math.floor(figure.clientWidth);
      if (!width || Math.abs(width - drawnAt) < 8) return;
      drawnAt = width;
      drawn?.finalize();
      const config = {
        ...spec.config,
        font: getComputedStyle(figure).fontFamily,
        padding: { left: 1, right: 8, top: 4, bottom: 2 },
        legend: { ...spec.config?.legend, columns: width < 520 ? 2 : undefined },
      };
      const whole = rewrapped(themed({ ...spec, config }), width);
      const ready = width < 520 ? paired(whole) : whole;
      const draw = isComposite(ready) ? drawComposite : spec.width?.step ? drawGrid : drawSingle;
      drawn = await draw(place, ready, width);
      figure.dataset.state = "drawn";
      figure.dispatchEvent(new CustomEvent("gamut-drawn", { bubbles: true, detail: spec }));
    }

    async function redraw() {
      drawnAt = 0;
      await fit();
    }

    try {
      await fit();
      new ResizeObserver(debounced(() => fit().catch(() => {}))).observe(figure);
      if (hasRamp(spec)) addEventListener("gamut-theme", () => redraw().catch(() => {}));
    } catch (error) {
      figure.dataset.state = "failed";
      place.replaceChildren(alt);
      figure.querySelector("details.numbers")?.setAttribute("open", "");
      console.error(`${figure.id}: the chart could not be drawn`, error);
    }
  }

  function debounced(action, wait = 150) {
    let timer = 0;
    return (...given) => { clearTimeout(timer); timer = setTimeout(() => action(...given), wait); };
  }

  // Tables --------------------------------------------------------------------------------------------------------

  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // By the raw number where there is one, by the words otherwise; what is undefined stays at the end either way.
  function compare(column, direction) {
    const value = (row) => {
      const cell = row.cells[column];
      if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
      return cell.classList.contains("number") ? null : cell.textContent;
    };
    return (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return direction === "ascending" ? order : -order;
    };
  }

  function table(block) {
    const body = block.tBodies[0];
    const rows = [...body.rows];
    const words = rows.map((row) => row.textContent.toLowerCase());
    const search = element("input", { type: "search", placeholder: `Search ${rows.length} rows`, autocomplete: "off" });
    const found = element("output");
    const more = element("button", { type: "button" });
    const foot = element("p", { className: "table-more" }, more);
    search.setAttribute("aria-label", `Search the table ${block.caption?.textContent ?? ""}`);
    let order = rows;
    let whole = false;

    function show() {
      const wanted = search.value.trim().toLowerCase();
      const kept = order.filter((row) => !row.classList.contains("faded"));
      const hits = kept.filter((row) => words[rows.indexOf(row)].includes(wanted));
      const isPart = Boolean(wanted) || kept.length < rows.length;
      const limit = whole || isPart ? Infinity : SHOWN_ROWS;
      const visible = new Set(hits.slice(0, limit));
      for (const row of rows) row.hidden = !visible.has(row);
      found.textContent = isPart ? `${hits.length} of ${rows.length} rows` : "";
      foot.hidden = isPart || rows.length <= SHOWN_ROWS;
      more.textContent = whole ? `Show the first ${SHOWN_ROWS} rows` : `Show all ${rows.length} rows`;
    }

    function sort(head) {
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      const now = head.getAttribute("aria-sort");
      const next = now === null ? first : now === first ? second : null;
      for (const other of block.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      if (next) head.setAttribute("aria-sort", next);
      order = next ? [...rows].sort(compare(head.cellIndex, next)) : rows;
      body.append(...order);
      show();
    }

    // The button lies over the head and leaves its words alone: browsers repeat words on each printed page, not buttons.
    for (const head of block.tHead.rows[0].cells) {
      const button = element("button", { type: "button", className: "sort" });
      button.setAttribute("aria-label", `Sort by ${head.firstChild.textContent}`);
      button.addEventListener("click", () => sort(head));
      head.append(button);
    }
    search.addEventListener("input", show);
    block.addEventListener("gamut-choice", show);
    more.addEventListener("click", () => { whole = !whole; show(); });
    const tools = element("div", { className: "table-tools" }, search, found);
    if (block.caption) block.caption.append(tools);
    else block.before(tools);
    block.after(foot);
    show();
  }

  // Following the reader ------------------------------------------------------------------------------------------

  function contents() {
    const links = new Map([...document.querySelectorAll("#contents li a")].map((link) => [link.hash.slice(1), link]));
    const headings = [...links.keys()].map((id) => document.getElementById(decodeURIComponent(id))).filter(Boolean);
    const mark = () => {
      const passed = headings.filter((heading) => heading.getBoundingClientRect().top < innerHeight / 3);
      const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 4;
      const current = atEnd ? headings.at(-1) : passed.at(-1);
      for (const [id, link] of links)
        if (current && decodeURIComponent(id) === current.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
  }

  // A region that scrolls sideways can be reached by keyboard.
  function reachable() {
    for (const block of document.querySelectorAll(".gamut-block, .chart, .math"))
      if (block.scrollWidth > block.clientWidth + 1) block.tabIndex = 0;
      else block.removeAttribute("tabindex");
  }

  const actions = {
    theme: switchTheme,
    code: (button) => {
      const shown = document.body.classList.toggle("show-code");
      button.setAttribute("aria-pressed", String(shown));
      button.textContent = shown ? "Hide code" : "Show code";
    },
  };

  // What stands in the page under data-component; each is given its element once. Scripts at the end add theirs.
  const components = { chart, table };
  // What begins once all of them stand.
  const last = [];

  // A part that fails says so and stays as it was written, and does not take the others with it.
  async function start(part) {
    try {
      if (part.isConnected) await components[part.dataset.component](part);
    } catch (error) {
      part.dataset.state = "failed";
      console.error(`${part.id}: ${part.dataset.component} could not be started`, error);
    }
  }

  applyTheme();
  root.classList.add("scripted");
  systemDark.addEventListener("change", () => applyTheme());

  addEventListener("DOMContentLoaded", async () => {
    applyTheme();
    for (const [name, action] of Object.entries(actions))
      for (const button of document.querySelectorAll(`[data-action="${name}"]`))
        button.addEventListener("click", () => action(button));
    const toggle = document.querySelector(".rail-toggle");
    const fold = (open) => toggle.setAttribute("aria-expanded", String(open));
    toggle.addEventListener("click", () => fold(toggle.getAttribute("aria-expanded") !== "true"));
    for (const link of document.querySelectorAll("#contents a")) link.addEventListener("click", () => fold(false));
    contents();
    const parts = [...document.querySelectorAll("[data-component]")];
    await Promise.all(parts.map(start));
    for (const begin of last) begin();
    reachable();
    addEventListener("resize", debounced(reachable));
    root.dataset.state = "ready";
  });

  const verdicts = ["meets", "partially_meets", "missing", "contradicts"];

  globalThis.Gamut = { components, last, format, element, debounced, reachable, verdicts };
})();
