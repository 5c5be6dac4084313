// Numbers of questions and judges under the reader's hand. The formulas are those of variance.d_study and of
// ranking.minimum_detectable_effect and questions_needed; the data as live/design.py wrote it.
"use strict";

(() => {
  const { components, element, debounced, format } = Gamut;
  const plural = (count, word) => `${format.count(count)} ${word}${count === 1 ? "" : "s"}`;

  // The smallest true gap that is found four times in five, and what of it would stay with endless questions.
  function effect({ error, factors }, { questions, judges, test }) {
    const gap = (n) => factors[test] * Math.sqrt(2 * (error.question / n + error.judge / judges + error.both / (n * judges)));
    return { found: gap(questions), floor: gap(Infinity) };
  }

  // A pair under the judge at hand: what these questions would find, and how many its own gap would take.
  function pairOf({ pairs, factors }, { a, b, questions, test }) {
    const at = pairs.a.findIndex((one, place) => (one === a && pairs.b[place] === b) || (one === b && pairs.b[place] === a));
    if (at < 0 || pairs.gap[at] === null || pairs.spread[at] === null) return null;
    const { [at]: gap } = pairs.gap;
    const { [at]: spread } = pairs.spread;
    const needed = gap === 0 ? null : Math.ceil((factors[test] ** 2 * spread) / gap ** 2);
    return { upper: pairs.a[at], lower: pairs.b[at], gap, needed, found: factors[test] * Math.sqrt(spread / questions) };
  }

  function designText(data, setting, { found, floor }) {
    const judges = data.judges.length > 1 ? `${plural(setting.judges, "judge")} like these` : `the judge ${data.judge}`;
    const told = `${plural(setting.questions, "question")} and ${judges} find a true gap of ${format.points(found)} points between two models four times in five.`;
    if (data.judges.length < 2) return told;
    return `${told} With endless questions it would be ${format.points(floor)}: below that only more judges help.`;
  }

  function pairText(data, setting, pair) {
    if (setting.a === setting.b) return "Choose two different models.";
    if (!pair) return "These two have too few questions in common to plan from.";
    const [upper, lower] = [data.models[pair.upper], data.models[pair.lower]];
    if (pair.needed === null) return `${upper} and ${lower} have the same mean: no number of questions tells them apart.`;
    const more = pair.needed > data.asked ? `more than the ${format.count(data.asked)} at hand` : `of ${format.count(data.asked)} at hand`;
    const gap = `Under the judge ${data.judge}, ${upper} is ${format.points(pair.gap)} points above ${lower}.`;
    return `${gap} A true gap of this size takes ${plural(pair.needed, "question")}, ${more}; ${plural(setting.questions, "question")} would find one of ${format.points(pair.found)} points.`;
  }

  // The controls --------------------------------------------------------------------------------------------------

  function slider(label, key, values, word) {
    const input = element("input", { type: "range", min: 0, max: values.length - 1, step: 1 });
    const output = element("output");
    input.dataset.number = key;
    const show = (value) => {
      input.value = values.indexOf(value);
      output.textContent = format.count(value);
      input.setAttribute("aria-valuetext", plural(value, word));
    };
    return { key, input, show, read: () => values[Number(input.value)], label: element("label", { className: "slider" }, element("span", { textContent: label }), input, output) };
  }

  function select(label, key, texts) {
    const input = element("select", {}, ...texts.map((textContent, value) => element("option", { value, textContent })));
    const show = (value) => { input.value = value; };
    return { key, input, show, read: () => Number(input.value), label: element("label", {}, element("span", { textContent: label }), input) };
  }

  function design(part) {
    const data = JSON.parse(part.querySelector(':scope > script[type="application/json"]').textContent);
    let setting = { questions: data.asked, judges: data.judges[0], test: 0, a: data.pairs.a[0], b: data.pairs.b[0] };
    const models = [select("Model", "a", data.models), select("against", "b", data.models)];
    const tested = select("Tested", "test", data.tests);
    const questions = slider("Questions", "questions", data.questions, "question");
    const isPanel = data.judges.length > 1;
    const controls = isPanel ? [questions, slider("Judges", "judges", data.judges, "judge"), ...models, tested] : [questions, tested, ...models];
    const [overall, single] = [element("p", { className: "live-found" }), element("p", { className: "live-found" })];
    const spoken = element("p", { className: "gamut-hidden" });
    spoken.setAttribute("role", "status");
    const speak = debounced((words) => { spoken.textContent = words; }, 700);

    function show() {
      for (const control of controls) control.show(setting[control.key]);
      const found = effect(data, setting);
      const pair = pairOf(data, setting);
      overall.textContent = designText(data, setting, found);
      single.textContent = pairText(data, setting, pair);
      Object.assign(part.dataset, { effect: found.found, floor: found.floor, pairEffect: pair?.found ?? "", needed: pair?.needed ?? "" });
      speak(`${overall.textContent} ${single.textContent}`);
    }

    for (const { key, input, read } of controls)
      input.addEventListener("input", () => {
        setting = { ...setting, [key]: read() };
        show();
      });
    show();
    const tools = element("div", { className: "live-sliders" }, ...controls.map(({ label }) => label));
    tools.setAttribute("role", "group");
    tools.setAttribute("aria-label", "Numbers of questions and judges");
    part.replaceChildren(tools, overall, single, spoken);
  }

  components.design = design;
})();
