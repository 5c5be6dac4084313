// The questions of one model: filter them, open them, read every check with each judge's verdict and reason.
// The data is columns of codes, as live/explorer.py wrote them; a row is made when a reader asks for it.
"use strict";

(() => {
  const { components, element, debounced, format, reachable } = Gamut;
  const STEP = 20;
  const NO_VERDICT = ".";
  const DIFFER = "differ";
  const ORDERS = {
    lost: ["Most points lost first", (a, b) => b.lost - a.lost],
    low: ["Lowest score first", (a, b) => a.score - b.score],
    high: ["Highest score first", (a, b) => b.score - a.score],
    name: ["By question id", (a, b) => a.id.localeCompare(b.id, "en", { numeric: true })],
  };
  const TOO_MUCH = "left out, so that the page stays small; the costliest questions have theirs";

  const plural = (count, word) => `${format.count(count)} ${word}${count === 1 ? "" : "s"}`;
  const starts = (sizes) => {
    const sums = [0];
    for (const size of sizes) sums.push(sums.at(-1) + size);
    return sums;
  };

  // What the columns hold, question by question and check by check.
  function opened(data) {
    const { questions, checks, items, said, book, kept } = data;
    const first = starts(checks.size);
    const firstItem = starts(items.size);
    const notes = data.notes.map(({ at, text }) => new Map(at.map((check, place) => [check, book[text[place]]])));
    const words = [];
    const store = {
      ...data,
      count: questions.id.length,
      checksOf: (question) => Array.from({ length: checks.size[question] }, (_, place) => first[question] + place),
      cost: (check) => book[checks.cost[check]] ?? 0,
      text: (check) => book[checks.text[check]],
      note: (rater, check) => notes[rater].get(check) ?? null,
      differs: (check) => new Set(said.map((marks) => marks[check]).filter((mark) => mark !== NO_VERDICT)).size > 1,
      item: (question, group) => {
        const place = firstItem[question] + group;
        return question < kept.texts ? { text: book[items.text[place]], type: data.types[items.type[place]] } : {};
      },
      has: (question, wanted) => (words[question] ??= spoken(question)).includes(wanted),
    };
    function spoken(question) {
      const own = store.checksOf(question);
      const reasons = own.flatMap((check) => notes.map((given) => given.get(check)));
      const told = [questions.id[question], questions.text[question], questions.answer[question]];
      const parts = question < kept.texts ? own.flatMap((check) => [store.text(check), store.item(question, checks.group[check]).text]) : [];
      return [...told, ...parts, ...reasons].filter(Boolean).join("\n").toLowerCase();
    }
    return store;
  }

  // Finding -------------------------------------------------------------------------------------------------------

  // Each filter of checks: its label, the values that it offers, and which of them a check has.
  function checkFilters(store) {
    const { checks, said, tiers, roles, verdicts } = store;
    const marks = said[0] ?? "";
    const labels = (names) => names.map((name, place) => [String(place), name]);
    return {
      tier: { label: "Tier", all: "All tiers", values: labels(tiers), of: (check) => [String(checks.tier[check])] },
      role: { label: "Role", all: "All roles", values: labels(roles), of: (check) => [String(checks.role[check])] },
      verdict: {
        label: "Verdict",
        all: "All verdicts",
        values: [...labels(verdicts), [NO_VERDICT, "Not graded"], [DIFFER, "The judges differ"]],
        of: (check) => (store.differs(check) ? [marks[check], DIFFER] : [marks[check]]),
      },
    };
  }

  // The questions that have a check with all that is asked for, and how many each other choice would find.
  function find(store, filters, wanted) {
    const names = Object.keys(filters);
    const asked = names.filter((name) => wanted[name] !== "");
    const words = wanted.words.trim().toLowerCase();
    const tally = Object.fromEntries(["domain", ...names].map((name) => [name, new Map()]));
    const tell = (name, value) => tally[name].set(value, (tally[name].get(value) ?? 0) + 1);
    const hits = [];
    for (let question = 0; question < store.count; question += 1) {
      if (words && !store.has(question, words)) continue;
      const domain = String(store.questions.domain[question]);
      const here = wanted.domain === "" || wanted.domain === domain;
      const seen = Object.fromEntries(names.map((name) => [name, new Set()]));
      const matching = [];
      for (const check of store.checksOf(question)) {
        const values = Object.fromEntries(names.map((name) => [name, filters[name].of(check)]));
        const failed = asked.filter((name) => !values[name].includes(wanted[name]));
        if (!failed.length) matching.push(check);
        for (const name of names)
          if (failed.every((other) => other === name)) for (const value of values[name]) seen[name].add(value);
      }
      const has = matching.length > 0 || !asked.length;
      if (has) tell("domain", domain);
      if (here) for (const name of names) for (const value of seen[name]) tell(name, value);
      if (!has || !here) continue;
      const lost = matching.reduce((sum, check) => sum + store.cost(check), 0);
      hits.push({ question, id: store.questions.id[question], score: store.questions.score[question], matching, lost });
    }
    const [, compare] = ORDERS[wanted.order];
    const unscored = (hit) => hit.score === null && wanted.order !== "name";
    hits.sort((a, b) => unscored(a) - unscored(b) || (unscored(a) ? 0 : compare(a, b)) || a.question - b.question);
    return { hits, tally, asked };
  }

  // Showing -------------------------------------------------------------------------------------------------------

  function verdict(store, rater, check) {
    const mark = store.said[rater][check];
    const note = store.note(rater, check);
    const shown =
      mark === NO_VERDICT
        ? element("span", { textContent: "Not graded" })
        : element("span", { className: `verdict ${Gamut.verdicts[mark]}`, textContent: store.verdicts[mark] });
    return note ? [shown, element("small", { textContent: note })] : [shown];
  }

  const cell = (tag, role, properties, ...children) => {
    const made = element(tag, properties, ...children);
    made.setAttribute("role", role);
    return made;
  };

  function checkRow(store, question, check, matching) {
    const { checks, judges, roles, tiers, kept } = store;
    const cost = store.cost(check);
    const about = [roles[checks.role[check]], tiers[checks.tier[check]], cost ? `costs ${format.points(cost)} points` : null];
    const text = question < kept.texts ? store.text(check) : `Check ${check - store.checksOf(question)[0] + 1}`;
    const head = cell("th", "rowheader", { scope: "row", textContent: text });
    head.append(element("small", { textContent: about.filter(Boolean).join(" · ") }));
    const given = judges.map((judge, rater) => {
      const made = cell("td", "cell", {}, ...verdict(store, rater, check));
      made.dataset.judge = judge;
      return made;
    });
    return cell("tr", "row", { className: `tier-${checks.tier[check]}${matching.has(check) ? " match" : ""}` }, head, ...given);
  }

  function itemRow(store, question, group) {
    const { text, type } = store.item(question, group);
    const head = cell("th", "rowheader", { scope: "rowgroup", colSpan: store.judges.length + 1, textContent: text ?? "Checks" });
    if (type) head.append(element("small", { textContent: type }));
    return cell("tr", "row", { className: "item" }, head);
  }

  function rubric(store, question, matching) {
    const groups = grouped(store.checksOf(question), (check) => store.checks.group[check]);
    const heads = ["Check", ...store.judges].map((name) => cell("th", "columnheader", { scope: "col", textContent: name }));
    const named = question < store.kept.texts && [...groups.keys()].some((group) => store.item(question, group).text);
    const bodies = [...groups].map(([group, own]) =>
      cell("tbody", "rowgroup", {}, ...(named ? [itemRow(store, question, group)] : []), ...own.map((check) => checkRow(store, question, check, matching))),
    );
    const table = cell("table", "table", { className: "gamut-table rubric" }, cell("thead", "rowgroup", {}, cell("tr", "row", {}, ...heads)), ...bodies);
    return element("div", { className: "gamut-block" }, table);
  }

  function grouped(values, key) {
    const groups = new Map();
    for (const value of values) groups.set(key(value), [...(groups.get(key(value)) ?? []), value]);
    return groups;
  }

  // What each tier takes from 100, or why there is no score.
  function account(store, question) {
    const { questions, tiers, checks, kept } = store;
    const reason = questions.reason[question];
    const own = store.checksOf(question);
    const lost = tiers.map((tier, code) => [tier, own.filter((check) => checks.tier[check] === code)]).filter(([, part]) => part.length);
    const sums = lost.map(([tier, part]) => `${tier} ${format.points(part.reduce((sum, check) => sum + store.cost(check), 0))}`);
    const told = [reason ? `No score: ${reason}.` : `Taken from 100 points by the checks of each tier: ${sums.join(", ")}.`];
    if (question >= kept.texts) told.push(`The texts of its checks are ${TOO_MUCH}.`);
    else if (question >= kept.notes) told.push(`Reasons and the answer are ${TOO_MUCH}.`);
    return element("p", { className: "gamut-note", textContent: told.join(" ") });
  }

  function content(store, { question, matching }, asked) {
    const answer = store.questions.answer[question];
    const shown = element("details", {}, element("summary", { textContent: "The answer" }), element("div", { className: "answer", textContent: answer ?? "" }));
    const own = store.checksOf(question);
    const marked = new Set(asked.length && matching.length < own.length ? matching : []);
    return [
      account(store, question),
      ...(answer ? [shown] : []),
      own.length ? rubric(store, question, marked) : element("p", { textContent: "The rubric has no checks." }),
    ];
  }

  function row(store, hit, asked, open) {
    const { question, id, score, matching, lost } = hit;
    const { questions, domains } = store;
    const own = store.checks.size[question];
    const cost = score === null ? "" : `, which cost ${format.points(lost)} points`;
    const about = [domains[questions.domain[question]], id, asked.length ? `${format.count(matching.length)} of ${plural(own, "check")}${cost}` : null];
    const summary = element(
      "summary",
      {},
      element("span", { className: "value" }, element("span", { className: "gamut-hidden", textContent: "Score " }), score === null ? "\u2013" : format.points(score)),
      element("span", { className: "question", textContent: questions.text[question] ?? id }),
      element("small", { textContent: about.filter(Boolean).join(" · ") }),
    );
    const made = element("details", {}, summary);
    made.dataset.question = id;
    const fill = () => { if (made.children.length === 1) made.append(...content(store, hit, asked)); };
    made.addEventListener("toggle", () => {
      if (made.open) { fill(); open.add(question); reachable(); } else open.delete(question);
    });
    if (open.has(question)) { fill(); made.open = true; }
    return made;
  }

  // The controls --------------------------------------------------------------------------------------------------

  function select(label, options) {
    const made = element("select", {}, ...options.map(([value, text]) => element("option", { value, textContent: text })));
    return [element("label", {}, element("span", { textContent: label }), made), made];
  }

  // Only values that occur are offered, and a filter of one value is none.
  function offered(store, filters) {
    const present = find(store, filters, { domain: "", tier: "", role: "", verdict: "", order: "name", words: "" }).tally;
    const domain = { label: "Domain", all: "All domains", values: store.domains.map((name, place) => [String(place), name]) };
    return Object.entries({ domain, ...filters })
      .map(([name, filter]) => [name, { ...filter, values: filter.values.filter(([value]) => present[name].has(value)) }])
      .filter(([, filter]) => filter.values.length > 1);
  }

  function explorer(part) {
    const store = opened(JSON.parse(part.querySelector(':scope > script[type="application/json"]').textContent));
    const filters = checkFilters(store);
    const choices = offered(store, filters).map(([name, filter]) => {
      const [label, control] = select(filter.label, [["", filter.all], ...filter.values]);
      return { name, filter, label, control };
    });
    const [orderLabel, order] = select("Order", Object.entries(ORDERS).map(([value, [text]]) => [value, text]));
    const search = element("input", { type: "search", autocomplete: "off", placeholder: "Questions, checks, reasons" });
    const clear = element("button", { type: "button", textContent: "Clear" });
    const found = element("p", { className: "live-found" });
    found.setAttribute("role", "status");
    const heads = element("p", { className: "list-head" }, element("span", { textContent: "Score" }), element("span", { textContent: "Question" }));
    heads.setAttribute("aria-hidden", "true");
    const list = element("div", { className: "gamut-opened" });
    const more = element("button", { type: "button" });
    const foot = element("p", { className: "table-more" }, more);
    const open = new Set();
    let shown = STEP;

    const wanted = () => ({
      domain: "",
      ...Object.fromEntries(Object.keys(filters).map((name) => [name, ""])),
      ...Object.fromEntries(choices.map(({ name, control }) => [name, control.value])),
      order: order.value,
      words: search.value,
    });

    function show() {
      const { hits, tally, asked } = find(store, filters, wanted());
      for (const { name, filter, control } of choices)
        for (const option of [...control.options].slice(1)) {
          const [, text] = filter.values.find(([value]) => value === option.value);
          option.textContent = `${text} (${format.count(tally[name].get(option.value) ?? 0)})`;
        }
      const matching = hits.reduce((sum, hit) => sum + hit.matching.length, 0);
      const told = [`${format.count(hits.length)} of ${plural(store.count, "question")}`];
      if (asked.length) told.push(`${plural(matching, "check")} match${matching === 1 ? "es" : ""}`);
      found.textContent = `${told.join(" · ")} · ${ORDERS[order.value][0].toLowerCase()}`;
      clear.hidden = !search.value && choices.every(({ control }) => control.value === "");
      list.replaceChildren(...hits.slice(0, shown).map((hit) => row(store, hit, asked, open)));
      foot.hidden = hits.length <= shown;
      more.textContent = `Show ${format.count(Math.min(STEP, hits.length - shown))} more`;
    }

    function again() {
      shown = STEP;
      show();
    }

    for (const { control } of [...choices, { control: order }]) control.addEventListener("change", again);
    search.addEventListener("input", debounced(again));
    clear.addEventListener("click", () => {
      for (const { control } of choices) control.value = "";
      search.value = "";
      again();
      search.focus();
    });
    let domain = null;
    part.addEventListener("gamut-choice", ({ detail }) => {
      const offer = choices.find(({ name }) => name === "domain");
      if (!offer || detail.domain === domain) return;
      domain = detail.domain;
      offer.control.value = domain === null ? "" : String(store.domains.indexOf(domain));
      again();
    });
    more.addEventListener("click", () => {
      const next = shown;
      shown += STEP;
      show();
      list.children[next]?.querySelector("summary").focus();
    });
    show();
    const words = element("label", { className: "wide" }, element("span", { textContent: "Search" }), search);
    const tools = element("div", { className: "live-tools" }, ...choices.map(({ label }) => label), orderLabel, words, clear);
    tools.setAttribute("role", "search");
    tools.setAttribute("aria-label", "The questions");
    const judge = store.judges[0] ? `Scores, costs and the filter by verdict are by ${store.judges[0]}.` : "";
    part.replaceChildren(tools, found, heads, list, foot, element("p", { className: "gamut-note", textContent: judge }));
  }

  components.explorer = explorer;
})();
