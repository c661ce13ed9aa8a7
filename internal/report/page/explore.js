// Draws one chart at a time from the page's data, with Observable Plot. The
// static figures stay as they are: this only adds.
(() => {
  "use strict";
  const began = performance.now();
  const root = document.getElementById("explore");
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!root || !window.Plot || (!data.panels.length && !data.traces.length)) return;

  const colors = d3.schemeTableau10;
  const dashes = [null, "6,3", "2,3"], styles = colors.length * dashes.length; // solid for the first ten, dashed for the next
  let place = []; // of each treatment among those that are shown
  const color = (t) => colors[place[t] % 10];
  const dash = (t) => Math.floor(place[t] / 10) % dashes.length;
  const state = { panel: 0, view: "trials", trace: 0, log: null, picked: data.factors.map((_, i) => new Set(data.treatments.map((t) => t.levels[i]))) };
  const views = { trials: "trials", distribution: "distribution", course: "over the run", power: "power" };

  // Numbers, as Format and significant of the lab print them.
  const prefixes = [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1], ["m", 1e-3], ["µ", 1e-6], ["n", 1e-9], ["p", 1e-12], ["f", 1e-15]];
  const prefixed = ["B", "s", "J", "W", "1/s", "B/s"];
  const digits = (v) => (v === 0 ? "0" : v.toFixed(Math.max(0, Math.min(9, 2 - Math.floor(Math.log10(Math.abs(v)) + 1e-12)))));
  const prefixOf = (v, unit) => prefixes.find(([, f]) => Math.abs(v) >= f * 0.9995 || (f === 1 && (v === 0 || unit === "B" || unit === "1/s"))) || prefixes[prefixes.length - 1];
  const unitText = (p, unit) => (unit && unit !== "1" ? " " + p + (unit === "1/s" ? "/s" : unit) : "");
  function format(v, unit) {
    if (v === null || v === undefined || Number.isNaN(v)) return "–";
    const [p, f] = prefixed.includes(unit) ? prefixOf(v, unit) : ["", 1];
    return digits(v / f) + unitText(p, unit);
  }
  // A tick has the prefix of the largest value; on a logarithmic scale its own.
  function tick(v, unit, largest) {
    if (v === 0) return "0";
    const [p, f] = prefixed.includes(unit) ? prefixOf(largest === undefined ? v : largest, unit) : ["", 1];
    return String(+(v / f).toPrecision(4)) + unitText(p, unit);
  }

  const panel = () => data.panels[state.panel];
  const shown = (t) => data.treatments[t].levels.every((l, i) => state.picked[i].has(l));
  const rows = () => (panel() ? panel().rows.filter((r) => shown(r.t)) : []);
  const name = (t) => data.treatments[t].name;
  const percent = (x) => digits(x * 100) + " %";
  const centers = (all) => (all.every((r) => !r.median) ? "mean" : all.every((r) => r.median) ? "median" : "mean or median");

  // Until the reader says, a scale is logarithmic where the values span more
  // than 12 times, as in the static figures.
  const isLog = (values) => {
    const [lo, hi] = d3.extent(values.filter(Number.isFinite));
    return (used = state.log ?? (lo > 0 && hi / lo > 12));
  };
  let used = false;

  // A scale from 0 where the values come near it, with ticks that do not crowd.
  function scale(values, unit, width, log) {
    const v = values.filter((x) => Number.isFinite(x) && (!log || x > 0));
    let [lo, hi] = d3.extent(v);
    if (lo === undefined) [lo, hi] = [log ? 1 : 0, log ? 10 : 1];
    if (log) [lo, hi] = [lo / 1.1, hi * 1.1];
    else {
      const least = Math.max(Math.abs(lo), Math.abs(hi)) * 2e-3; // below it, ticks would all read the same
      if (hi - lo < least) [lo, hi] = [lo - least / 2, hi + least / 2];
      else if (lo > 0 && lo < hi / 1.5) lo = 0;
      const pad = (hi - lo || Math.abs(hi) || 1) * 0.04;
      [lo, hi] = [lo === 0 ? 0 : lo - pad, hi + pad];
    }
    let ticks = (log ? d3.scaleLog([lo, hi], [0, 1]) : d3.scaleLinear([lo, hi], [0, 1])).ticks(Math.max(2, Math.floor(width / 90)));
    if (log) {
      const most = Math.max(3, Math.floor(width / 60));
      for (const keep of [[1, 2, 5], [1]]) if (ticks.length > most) ticks = ticks.filter((t) => keep.includes(+(t / 10 ** Math.floor(Math.log10(t) + 1e-9)).toFixed(6)));
      while (ticks.length > most) ticks = ticks.filter((_, i) => i % 2 === 0);
    }
    // Subtle: a tickFormat of ours would be asked for some ticks of a logarithmic scale only, a text channel is for all.
    const text = (t) => tick(t, unit, log ? undefined : Math.max(Math.abs(lo), Math.abs(hi)));
    return {
      lo, hi, is: { type: log ? "log" : "linear", domain: [lo, hi], axis: null },
      x: (...anchors) => [Plot.gridX(ticks), ...anchors.map((anchor) => Plot.axisX(ticks, { anchor, text, label: null }))],
      y: () => [Plot.gridY(ticks), Plot.axisY(ticks, { text, label: null })],
    };
  }

  const base = (width, label) => ({ width, ariaLabel: label, style: { background: "none", fontSize: "12px", fontFamily: "inherit", overflow: "visible" } });
  const tip = (points, x, y) => Plot.tip(points, Plot.pointer({ x, y, title: "says", maxRadius: 60, fontSize: 13 }));

  const lines = (points, x, y) => dashes.map((d, i) => Plot.line(points.filter((p) => dash(p.t) === i), { x, y, z: "t", stroke: (p) => color(p.t), strokeWidth: 1.8, strokeDasharray: d, clip: true }));

  // Of more trials than are drawn, the least and the largest of each stretch, in order.
  const thinned = (trials, most) => {
    const some = trials.filter((x) => x[2] !== null), parts = Math.floor(most / 2);
    if (some.length <= most) return some;
    return d3.range(parts).flatMap((p) => {
      const stretch = some.slice(Math.floor((p * some.length) / parts), Math.floor(((p + 1) * some.length) / parts));
      const ends = new Set([d3.minIndex(stretch, (x) => x[2]), d3.maxIndex(stretch, (x) => x[2])]);
      return d3.sort(ends).map((i) => stretch[i]);
    });
  };

  const draw = {
    trials(width) {
      const p = panel(), all = rows();
      const short = (s) => (s.length * 7 > width ? s.slice(0, Math.floor(width / 7) - 1) + "…" : s);
      const points = [], means = [], floors = [], published = [];
      for (const r of all) {
        const y = r.t, what = r.modelled ? "modelled " : "";
        for (const [trial, block, v] of thinned(r.trials, Math.max(20, 2000 / all.length))) points.push({ x: v, y, says: `${name(y)}\n${what}trial ${trial}, block ${block}: ${format(v, p.unit)}` });
        if (r.mean[0] !== null) means.push({ x: r.mean[0], lo: r.mean[1], hi: r.mean[2], y, says: `${name(y)}\n${what}${r.median ? "median" : "mean"} ${format(r.mean[0], p.unit)}` + (r.mean[2] > r.mean[1] ? `\n${percent(data.confidence)} interval ${format(r.mean[1], p.unit)} to ${format(r.mean[2], p.unit)}` : "") + (r.floor ? `\nfloor ${format(r.floor, p.unit)}` : "") });
        if (r.floor !== null) floors.push({ x: r.floor, y });
        if (r.published[0] !== null) published.push({ x: r.published[0], lo: r.published[1], hi: r.published[2], y, says: `${name(y)}\npublished ${format(r.published[0], p.unit)}` });
      }
      const log = isLog([...points, ...means, ...floors, ...published].map((d) => d.x));
      const intervals = means.filter((m) => m.hi > m.lo).map((m) => ({ ...m, lo: log ? Math.max(m.lo, 1e-300) : m.lo }));
      const x = scale([...points, ...means, ...floors, ...published].map((d) => d.x).concat(intervals.flatMap((m) => (log && m.lo < 1e-200 ? [m.hi] : [m.lo, m.hi]))), p.unit, width, log);
      for (const m of intervals) m.lo = Math.max(m.lo, x.lo);
      return Plot.plot({
        ...base(width, `${p.title}: trials, ${centers(all)}s and intervals of ${all.length} treatments`), height: 60 + all.length * 42, marginTop: 30, marginLeft: 8, marginRight: 14, x: x.is,
        y: { type: "band", domain: all.map((r) => r.t), axis: null },
        marks: [
          ...x.x(...(all.length > 12 ? ["top", "bottom"] : ["bottom"])),
          Plot.text(all, { y: "t", text: (r) => short(name(r.t)), frameAnchor: "left", textAnchor: "start", dx: -8, dy: -12, fontSize: 13, fill: (r) => (data.treatments[r.t].floor ? "var(--soft)" : "var(--ink)") }),
          Plot.tickX(floors, { x: "x", y: "y", stroke: "var(--floor)", strokeWidth: 2.5, insetTop: 10, insetBottom: 10 }),
          Plot.dot(points, { x: "x", y: "y", r: 3.5, fill: "var(--pt)", fillOpacity: 0.4 }),
          Plot.ruleY(intervals, { x1: "lo", x2: "hi", y: "y", stroke: "var(--mean)", strokeWidth: 2.5 }),
          Plot.dot(means, { x: "x", y: "y", symbol: "diamond", r: 5, fill: "var(--mean)", stroke: "var(--paper)" }),
          Plot.dot(published, { x: "x", y: "y", symbol: "square", r: 5, stroke: "var(--pub)", strokeWidth: 2 }),
          tip([...points, ...means, ...published], "x", "y"),
        ],
      });
    },
    distribution(width) {
      const p = panel(), all = rows().filter((r) => r.q);
      const at = (r, share) => r.q[data.shares.indexOf(share)];
      const reach = all.flatMap((r) => [at(r, 0.001), at(r, 0.999)]), log = isLog(reach);
      const x = scale(reach, p.unit, width - 50, log);
      const points = all.flatMap((r) => r.q.map((v, i) => ({ x: v, y: data.shares[i], t: r.t, says: `${name(r.t)}\n${percent(data.shares[i])} of ${r.requests} requests within\n${format(v, p.unit)}${r.lacks ? "\n" + r.lacks : ""}` }))).filter((d) => d.x !== null && (!log || d.x > 0));
      const inside = points.filter((d) => d.x >= x.lo && d.x <= x.hi);
      return Plot.plot({
        ...base(width, `${p.title}: share of requests within a value, ${all.length} treatments`), height: 340, marginLeft: 46, marginRight: 14, x: x.is,
        y: { domain: [0, 1], grid: true, label: null, tickFormat: (v) => Math.round(v * 100) + " %" },
        marks: [...x.x("bottom"), ...lines(points, "x", "y"), tip(inside, "x", "y")],
      });
    },
    course(width) {
      const p = panel(), all = rows().filter((r) => r.course);
      const log = isLog(all.flatMap((r) => r.course.flatMap(([v, lo, hi]) => (all.length > 3 ? [v] : [lo, hi]))));
      const points = all.flatMap((r) => r.course.map(([v, lo, hi], i) => ({ x: ((i + 0.5) / r.course.length) * 100, y: v, lo, hi, t: r.t, says: `${name(r.t)}\n${Math.round(((i + 0.5) / r.course.length) * 100)} % of the run\nmean ${format(v, p.unit)}\ntrials ${format(lo, p.unit)} to ${format(hi, p.unit)}` }))).filter((d) => !log || d.lo > 0);
      const y = scale(points.flatMap((d) => (all.length > 3 ? [d.y] : [d.lo, d.hi])), p.unit, 300, log);
      return Plot.plot({
        ...base(width, `${p.title} over the recorded run, ${all.length} treatments`), height: 340, marginLeft: 62, marginRight: 14, y: y.is,
        x: { domain: [0, 100], label: null, tickFormat: (v) => v + " %", ticks: Math.floor(width / 110) },
        marks: [
          ...y.y(),
          all.length > 3 ? null : Plot.areaY(points, { x: "x", y1: "lo", y2: "hi", z: "t", fill: (d) => color(d.t), fillOpacity: 0.15, clip: true }),
          ...lines(points, "x", "y"),
          tip(points, "x", "y"),
        ],
      });
    },
    power(width) {
      const x = data.traces[state.trace];
      const points = x.points.map(([at, v, lo = v, hi = v]) => ({ at, v, lo, hi, says: `${format(at, "s")}\n${x.method} ${format(v, "W")}` + (hi > lo ? `\n${format(lo, "W")} to ${format(hi, "W")}` : "") }));
      const log = isLog([0]); // never by itself
      const phases = x.phases.map(([n, from, to]) => ({ n, from, to }));
      const y = scale(points.flatMap((d) => [d.lo, d.hi]).concat(log ? [] : [0]), "W", 300, log);
      return Plot.plot({
        ...base(width, `Power of the ${x.side} over trial ${x.trial}, ${name(x.t)}, ${x.method} by ${x.instrument}`), height: 340, marginLeft: 62, marginRight: 14, y: y.is,
        x: { label: null, tickFormat: (v) => tick(v, "s", d3.max(points, (d) => d.at)), ticks: Math.floor(width / 110) },
        marks: [
          ...y.y(),
          Plot.rect(phases, { x1: "from", x2: "to", y1: () => y.lo, y2: () => y.hi, fill: (d) => phaseColor[d.n], fillOpacity: 0.18 }),
          Plot.areaY(points, { x: "at", y1: "lo", y2: "hi", curve: "step-before", fill: "var(--pt)", fillOpacity: 0.25 }),
          Plot.line(points, { x: "at", y: "v", curve: "step-before", stroke: "var(--mean)", strokeWidth: 1.5 }),
          tip(points, "at", "v"),
        ],
      });
    },
  };
  const phaseColor = { "warm-up": "var(--floor)", idle: "var(--soft)", "measured run": "var(--good)" };
  const says = {
    trials: () => `Every point is a trial; bars are intervals of the ${centers(rows())} of trials${centers(rows()) === "mean or median" ? ", as the title says" : ""}.`,
    distribution: () => `All requests of each treatment's valid trials: the share of requests within a value. It shows what a single request may take, and has no interval. The axis ends at ${percent(0.999)}.${rows().filter((r) => r.lacks).map((r) => ` ${name(r.t)}: ${r.lacks}.`).join("")}`,
    course: () => "From the first request of the recorded run to the last: the mean of the trials. With three treatments or fewer, the band spans the lowest to the highest trial.",
    power: () => {
      const x = data.traces[state.trace];
      return (x.method === "modelled" ? "Modelled, not measured: the model knows only the mean of the run. " : `Measured by ${x.instrument}. `) + "Seconds since the trial began; each reading covers the time since the one before it.";
    },
  };

  // Elements.
  const el = (tag, attributes, ...children) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes || {})) k in e && k !== "list" ? (e[k] = v) : e.setAttribute(k, v);
    e.append(...children);
    return e;
  };
  const chart = root.querySelector(".chart"), legend = root.querySelector(".keys"), caption = root.querySelector(".caption"), controls = root.querySelector(".controls");
  const choice = (label, id, options, set) => {
    const s = el("select", { id, onchange: () => { set(+s.value); render(); } }, ...options.map((o, i) => el("option", { value: i }, o)));
    return el("label", {}, label + " ", s);
  };
  const available = Object.keys(views).filter((v) => (v === "power" ? data.traces.length : v === "trials" ? data.panels.length : data.panels.some((p) => p.rows.some((r) => r.q))));
  const radios = el("fieldset", { className: "views" }, el("legend", {}, "show"), ...available.map((v) =>
    el("label", {}, el("input", { type: "radio", name: "view", value: v, onchange: () => { state.view = v; render(); } }), " " + views[v])));
  const panelChoice = choice("response", "x-panel", data.panels.map((p) => p.title), (i) => (state.panel = i));
  const traceChoice = choice("trial", "x-trace", data.traces.map((x) => `${name(x.t)}, trial ${x.trial}, ${x.side}, ${x.method}`), (i) => (state.trace = i));
  const log = el("input", { type: "checkbox", id: "x-log", onchange: () => { state.log = log.checked; render(); } });
  controls.append(panelChoice, traceChoice, radios, el("label", {}, log, " logarithmic scale"));
  const picks = el("div", { className: "picks" });
  data.factors.forEach((f, i) => {
    const levels = [...new Set(data.treatments.map((t) => t.levels[i]))];
    if (levels.length < 2) return;
    const boxes = levels.map((l) => el("input", { type: "checkbox", checked: true, name: "pick-" + f, value: l, onchange: (e) => { e.target.checked ? state.picked[i].add(l) : state.picked[i].delete(l); render(); } }));
    const all = (on) => () => { boxes.forEach((b, k) => { b.checked = on; on ? state.picked[i].add(levels[k]) : state.picked[i].delete(levels[k]); }); render(); };
    picks.append(el("fieldset", {}, el("legend", {}, f), ...levels.map((l, k) => el("label", {}, boxes[k], " " + l)),
      el("button", { type: "button", className: "small", onclick: all(true) }, "all"), el("button", { type: "button", className: "small", onclick: all(false) }, "none")));
  });
  controls.append(picks);

  function keys() {
    if (state.view === "trials") return [];
    if (state.view === "power") return data.traces[state.trace].phases.map(([n, from, to]) => [phaseColor[n], `${n}, ${format(from, "s")} to ${format(to, "s")}`]);
    return rows().map((r) => [color(r.t), name(r.t), dash(r.t)]);
  }

  function render() {
    if (!available.includes(state.view)) state.view = available[0];
    for (const b of radios.querySelectorAll("input")) b.checked = b.value === state.view;
    panelChoice.querySelector("select").value = state.panel;
    traceChoice.querySelector("select").value = state.trace;
    const power = state.view === "power";
    panelChoice.hidden = picks.hidden = power;
    traceChoice.hidden = !power;
    let n = 0;
    place = data.treatments.map((_, t) => (shown(t) ? n++ : 0));
    const drawn = power || rows().some((r) => state.view === "trials" || r.q);
    if (drawn) {
      const svg = draw[state.view](Math.max(260, chart.clientWidth));
      svg.setAttribute("role", "img");
      for (const g of svg.querySelectorAll("g[aria-label]")) g.setAttribute("role", "group");
      chart.replaceChildren(svg);
      log.checked = used;
    } else chart.replaceChildren(el("p", {}, rows().length ? "This response has one figure per trial and no distribution; look at its trials." : "No treatment is selected: select a level of each factor."));
    legend.replaceChildren(...keys().map(([c, text, d]) => el("li", {}, el("span", { className: "swatch" + ["", " broken", " dotted"][d || 0], style: "color:" + c }), text)));
    const repeats = (state.view === "distribution" || state.view === "course") && n > styles ? ` More than ${styles} treatments share colours: select fewer.` : "";
    caption.textContent = drawn ? says[state.view]() + repeats : "";
  }

  for (const b of document.querySelectorAll("button.look")) b.onclick = () => {
    if (b.dataset.panel) { state.panel = Math.max(0, data.panels.findIndex((p) => p.id === b.dataset.panel)); if (state.view === "power") state.view = "trials"; }
    if (b.dataset.view) state.view = b.dataset.view;
    render();
    root.scrollIntoView();
    root.querySelector("select:not([hidden])").focus({ preventScroll: true });
  };
  document.documentElement.classList.add("js");
  render();
  let width = chart.clientWidth;
  new ResizeObserver(() => { if (Math.abs(chart.clientWidth - width) > 4) { width = chart.clientWidth; render(); } }).observe(chart);
  root.dataset.ready = Math.round(performance.now());
  root.dataset.took = Math.round(performance.now() - began);
})();
