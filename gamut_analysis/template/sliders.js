// The constants of the score under the reader's hand. Every move scores all models anew, exactly, from the sums that
// sensitivity.score_cells gives; the formula is in its docstring, the data as live/sliders.py wrote it.
"use strict";

(() => {
  const { components, element, debounced, format } = Gamut;
  const PATTERNS = 8;
  const TIE = 1e-12;
  const SPLITS = { proportional: "in proportion to theirs", equal: "in equal parts" };
  const stillness = matchMedia("(prefers-reduced-motion: reduce)");
  const signed = (text, value) => (value > 0 && /[1-9]/.test(text) ? `+${text}` : text);

  // Scoring -------------------------------------------------------------------------------------------------------

  // What each tier weighs under each pattern of tiers that have checks; bit t of a pattern stands for tier t.
  function effective(weights, split) {
    const whole = weights.reduce((sum, weight) => sum + weight, 0);
    return Array.from({ length: PATTERNS }, (_, pattern) => {
      const has = weights.map((_, tier) => (pattern >> tier) & 1);
      const kept = weights.map((weight, tier) => (weight / whole) * has[tier]);
      const total = kept.reduce((sum, weight) => sum + weight, 0);
      const members = Math.max(has.reduce((sum, one) => sum + one, 0), 1);
      if (split === "equal") return kept.map((weight, tier) => weight + (has[tier] * (1 - total)) / members);
      return kept.map((weight) => (total > 0 ? weight / total : 0));
    });
  }

  // Questions of each model and pattern: the answers of the pattern's first tier.
  function asked({ models, rows }) {
    const counts = models.map(() => new Float64Array(PATTERNS));
    rows.model.forEach((model, row) => {
      const pattern = rows.pattern[row];
      if (rows.tier[row] === Math.log2(pattern & -pattern)) counts[model][pattern] += rows.answers[row];
    });
    return counts;
  }

  function scores({ models, cells, rows }, counts, { lambda_, mu, weights, split }) {
    const weight = effective(weights, split);
    const sums = new Float64Array(models.length);
    rows.model.forEach((model, row) => {
      const cell = rows.cell[row];
      const size = cells.others[cell] - mu * cells.contradicted[cell];
      const worth = rows.meets[row] + lambda_ * rows.partially_meets[row] + mu * cells.contradicted[cell] * rows.answers[row];
      sums[model] += (weight[rows.pattern[row]][rows.tier[row]] * worth) / size;
    });
    return counts.map((own, model) => {
      const scored = own.reduce((sum, count, pattern) => sum + (weight[pattern].some((one) => one > 0) ? count : 0), 0);
      return scored ? sums[model] / scored : null;
    });
  }

  const ranks = (values) => values.map((one) => (one === null ? null : 1 + values.filter((other) => other > one + TIE).length));

  // Pairs in the same and in the other order, and Kendall's tau-b of the two orders.
  function agreement(now, before) {
    let [agree, turned, distinctNow, distinctBefore] = [0, 0, 0, 0];
    const sign = (gap) => (gap > TIE) - (gap < -TIE);
    for (let one = 0; one < now.length; one += 1)
      for (let two = one + 1; two < now.length; two += 1) {
        const [a, b] = [sign(now[one] - now[two]), sign(before[one] - before[two])];
        agree += a * b > 0;
        turned += a * b < 0;
        distinctNow += a !== 0;
        distinctBefore += b !== 0;
      }
    return { turned, pairs: (now.length * (now.length - 1)) / 2, tau: (agree - turned) / Math.sqrt(distinctNow * distinctBefore) };
  }

  // The controls --------------------------------------------------------------------------------------------------

  const share = (weights, tier) => `${format.percent(weights[tier] / weights.reduce((sum, weight) => sum + weight, 0))}\u00a0%`;

  // Each constant: its label, its range, and how it is read, set and shown.
  function constants(data) {
    const most = Math.max(1, ...data.default.weights);
    const tiers = data.tiers.map((tier, place) => ({
      key: `w${place}`,
      label: `Weight of ${tier}`,
      range: [0, most, 0.01],
      get: (setting) => setting.weights[place],
      set: (setting, value) => ({ ...setting, weights: setting.weights.map((old, other) => (other === place ? value : old)) }),
      tell: (setting) => (setting.weights.some(Boolean) ? share(setting.weights, place) : "0"),
    }));
    const plain = (key, label, range, digits) => ({
      key,
      label,
      range,
      get: (setting) => setting[key],
      set: (setting, value) => ({ ...setting, [key]: value }),
      tell: (setting) => format.number(setting[key], digits),
    });
    return [
      plain("lambda_", "λ, worth of a partially met check", [0, 1, 0.01], 2),
      plain("mu", "μ, worth of a contradicted check", [-10, -0.1, 0.1], 1),
      ...tiers,
    ];
  }

  function slider(constant) {
    const [min, max, step] = constant.range;
    const input = element("input", { type: "range", min, max, step });
    const output = element("output");
    input.dataset.constant = constant.key;
    const label = element("label", { className: "slider" }, element("span", { textContent: constant.label }), input, output);
    const show = (setting) => {
      input.value = constant.get(setting);
      output.textContent = constant.tell(setting);
      input.setAttribute("aria-valuetext", output.textContent);
    };
    return { label, input, show };
  }

  // The ranking ---------------------------------------------------------------------------------------------------

  function boardRow(name, isFocus) {
    const [place, score, change] = ["td", "td", "td"].map((tag) => element(tag, { className: "number" }));
    const track = element("td", { className: "track" }, element("span", { className: "bar" }), element("span", { className: "was" }), element("span", { className: "zero" }));
    track.setAttribute("aria-hidden", "true");
    const head = element("th", { scope: "row", textContent: name });
    return { row: element("tr", { className: isFocus ? "focus" : "" }, place, head, track, score, change), place, track, score, change };
  }

  function moved(places) {
    const told = element("small", { textContent: places === 0 ? "" : `${places > 0 ? "\u25b2" : "\u25bc"}\u00a0${Math.abs(places)}` });
    told.setAttribute("aria-hidden", "true");
    const words = places === 0 ? ", as before" : `, ${places > 0 ? "up" : "down"} ${Math.abs(places)}`;
    return [told, element("span", { className: "gamut-hidden", textContent: words })];
  }

  // The track reaches over all scores, before and now, in steps of 20 points, so that it seldom changes under the hand.
  function scale(values) {
    const known = values.filter((value) => value !== null);
    const low = Math.floor(Math.min(0, ...known) * 5) / 5;
    const high = Math.ceil(Math.max(0, ...known) * 5) / 5 || 1;
    return (value) => (100 * (value - low)) / (high - low);
  }

  function mark(track, at, now, before) {
    const [bar, was, zero] = track.children;
    const [from, to] = [at(Math.min(0, now ?? 0)), at(Math.max(0, now ?? 0))];
    Object.assign(bar.style, { left: `${from}%`, width: `${to - from}%` });
    was.style.left = `${at(before ?? 0)}%`;
    zero.style.left = `${at(0)}%`;
  }

  // Rows glide to their new places, unless the reader asked for stillness.
  function reorder(body, rows) {
    const before = new Map(rows.map((row) => [row, row.isConnected ? row.offsetTop : null]));
    if (rows.every((row, place) => body.children[place] === row)) return;
    body.append(...rows);
    if (stillness.matches) return;
    for (const [row, top] of before)
      if (top !== null && top !== row.offsetTop)
        row.animate([{ transform: `translateY(${top - row.offsetTop}px)` }, { transform: "none" }], { duration: 260, easing: "ease-out" });
  }

  function sentence(data, setting, now, before) {
    const order = now.map((score, model) => [score, data.models[model]]).filter(([score]) => score !== null).sort((a, b) => b[0] - a[0]);
    if (!order.length) return "Under these weights no question has a score.";
    const [[top, first], second] = order;
    const ahead = second ? (top - second[0] > TIE ? `, ${format.points(top - second[0])} points ahead of ${second[1]}` : `, level with ${second[1]}`) : "";
    const { turned, pairs, tau } = agreement(now, before);
    const start = data.isPapers ? "the paper\u2019s constants" : "the constants of this study";
    const isStart = JSON.stringify(setting) === JSON.stringify({ ...data.default, split: "proportional" });
    const rest = isStart
      ? `These are ${start}.`
      : `${turned} of ${pairs} pairs of models stand in the other order than under ${start}${Number.isFinite(tau) ? ` (Kendall\u2019s tau ${format.number(tau, 2)})` : ""}.`;
    return `${first} is first with ${format.points(top)} points${ahead}. ${rest}`;
  }

  function sliders(part) {
    const data = JSON.parse(part.querySelector(':scope > script[type="application/json"]').textContent);
    const counts = asked(data);
    const start = { ...data.default, split: "proportional" };
    const before = scores(data, counts, start);
    const placesBefore = ranks(before);
    const controls = constants(data).map((constant) => ({ constant, ...slider(constant) }));
    const split = element("select", {}, ...Object.entries(SPLITS).map(([value, textContent]) => element("option", { value, textContent })));
    const reset = element("button", { type: "button", textContent: data.isPapers ? "Back to the paper\u2019s constants" : "Back to the start" });
    const told = element("p", { className: "live-found" });
    const spoken = element("p", { className: "gamut-hidden" });
    spoken.setAttribute("role", "status");
    const head = (label, className, ...unit) => element("th", { scope: "col", className }, label, ...unit.map((textContent) => element("small", { textContent })));
    const heads = [head("Place", "number"), head("Model", ""), element("td"), head("Score", "number", "points"), head("Change", "number", "points")];
    const board = data.models.map((name, model) => boardRow(name, model === data.focus));
    const body = element("tbody");
    const speak = debounced((text) => { spoken.textContent = text; }, 700);
    let setting = start;

    function show() {
      for (const control of controls) control.show(setting);
      split.value = setting.split;
      reset.disabled = setting === start;
      if (!setting.weights.some(Boolean)) {
        told.textContent = "Give at least one tier a weight; until then the ranking stays as it was.";
        return;
      }
      const now = scores(data, counts, setting);
      const places = ranks(now);
      const at = scale([...now, ...before]);
      board.forEach(({ row, place, track, score, change }, model) => {
        row.dataset.score = now[model] ?? "";
        row.dataset.place = places[model] ?? "";
        place.replaceChildren(String(places[model] ?? "\u2013"), ...moved((placesBefore[model] ?? 0) - (places[model] ?? 0)));
        score.textContent = now[model] === null ? "\u2013" : format.points(now[model]);
        const gap = (now[model] ?? 0) - (before[model] ?? 0);
        change.textContent = signed(format.points(gap), gap);
        mark(track, at, now[model], before[model]);
      });
      const order = data.models.map((_, model) => model).sort((a, b) => (places[a] ?? Infinity) - (places[b] ?? Infinity) || placesBefore[a] - placesBefore[b] || a - b);
      reorder(body, order.map((model) => board[model].row));
      told.textContent = sentence(data, setting, now, before);
      speak(told.textContent);
    }

    function change(next) {
      setting = next;
      show();
    }

    for (const { constant, input } of controls) input.addEventListener("input", () => change(constant.set(setting, Number(input.value))));
    split.addEventListener("change", () => change({ ...setting, split: split.value }));
    reset.addEventListener("click", () => change(start));
    show();
    const choice = element("label", {}, element("span", { textContent: "The weight of an empty tier goes to the others" }), split);
    const tools = element("div", { className: "live-sliders" }, ...controls.map(({ label }) => label), choice, reset);
    tools.setAttribute("role", "group");
    tools.setAttribute("aria-label", "Constants of the score");
    const caption = element("caption", {}, element("span", { textContent: "The ranking under these constants" }));
    const table = element("table", { className: "gamut-table live-board" }, caption, element("thead", {}, element("tr", {}, ...heads)), body);
    const note = `${format.count(data.questions)} questions that are scored for every model here. Thin mark: the score at the start. Triangles: places won or lost since.`;
    part.replaceChildren(tools, told, spoken, element("div", { className: "gamut-block" }, table), element("p", { className: "gamut-note", textContent: note }));
  }

  components.sliders = sliders;
})();
