"use strict";
(async function () {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const names = data.names, n = names.length;

  // Plotly comes packed (gzip, then base 85), or the page were twice as large; its policy knows what that unpacks to.
  async function unpackPlotly() {
    const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%/()*+-;.=,?@^_`{|}~";
    const value = new Uint8Array(128), text = byId("plotly").textContent, view = new DataView(new ArrayBuffer(text.length / 5 * 4));
    [...alphabet].forEach((letter, k) => { value[letter.charCodeAt(0)] = k; });
    for (let i = 0, k = 0; i < text.length; i += 5, k += 4) {
      let word = 0;
      for (let j = 0; j < 5; j++) word = word * 85 + value[text.charCodeAt(i + j)];
      view.setUint32(k, word);
    }
    const bytes = new Uint8Array(view.buffer, 0, +byId("plotly").dataset.length), script = document.createElement("script");
    script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    document.head.append(script);
  }
  try {
    await unpackPlotly();
  } catch (problem) {
    byId("edge-count").textContent = "This browser is too old to draw the figures of this page; use one of 2023 or later.";
    return;
  }
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"] };
  const palette = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];

  // Words. Plotly reads some tags and entities in its texts: labels go in escaped, and stay text.
  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const cut = (text, limit) => { const t = [...text]; return t.length > limit ? t.slice(0, limit - 1).join("") + "…" : text; };
  const label = (i, limit = 32) => escaped(cut(names[i], limit));
  const probability = (p) => (p === null ? "?" : p > 0 && p < 0.001 ? "< 0.001" : p.toFixed(3));
  const number = (v) => (v === null ? "?" : v !== 0 && (Math.abs(v) < 0.001 || Math.abs(v) >= 1e5) ? v.toExponential(1) : String(+v.toPrecision(3)).replace("-", "−"));
  const moment = (t) => String(+t.toPrecision(7)).replace("-", "−");
  const span = (low, high) => (low === null || high === null ? "" : `${number(low)} to ${number(high)}`);
  const count = (k, what) => `${k.toLocaleString("en")} ${what}${k === 1 ? "" : "s"}`;

  function colours() {
    const style = getComputedStyle(document.documentElement);
    return new Proxy({}, { get: (_, name) => style.getPropertyValue("--" + name).trim() });
  }

  function frame(extra) {
    const c = colours();
    const axis = { gridcolor: c.line, zeroline: false, linecolor: c.line, tickcolor: c.line, automargin: true };
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, hovermode: "closest",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: c.ink },
      margin: { l: 10, r: 10, t: 30, b: 10 }, uirevision: "keep",
      hoverlabel: { bgcolor: c.panel, bordercolor: c.line, font: { color: c.ink }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: c.muted, activecolor: c.accent },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",  // on a phone a drag scrolls the page
    };
    return { ...base, ...extra, xaxis: { ...axis, ...extra.xaxis }, yaxis: { ...axis, ...extra.yaxis } };
  }

  function cell(row, text, kind) {
    const td = row.insertCell();
    td.textContent = text;
    if (kind) td.className = kind;
    return td;
  }

  function options(select, texts) {
    texts.forEach((text, i) => select.add(new Option(text, i)));
  }

  // Network
  const incoming = names.map(() => []);
  data.edges.forEach((e) => incoming[e[1]].push(e));

  const strength = (e) => (e[3] === null ? 0.5 : Math.min(Math.abs(e[3]) / 1.5, 1));
  const tone = (c, e) => (e[6] === "+" ? c.edge : e[6] === "−" ? c.down : c.loose);

  function given(rates, row) {
    return rates.parents.map((p, k) => `${cut(names[p], 20)} = ${cut(row[0][k], 20)}`).join(", ");
  }

  function nodeHover(i) {
    const lines = [`<b>${label(i)}</b>`];
    const parents = incoming[i].filter((e) => e[2] >= 0.05);
    parents.slice(0, 6).forEach((e) => lines.push(`driven by ${label(e[0])}: probability ${probability(e[2])}`));
    if (parents.length > 6) lines.push(`and ${parents.length - 6} less probable`);
    if (!parents.length) lines.push("no probable parents");
    const rates = data.rates[i];
    if (rates.rows.length) lines.push("<b>Rates</b>");
    rates.rows.slice(0, 8).forEach((row) => {
      const when = given(rates, row);
      lines.push(escaped(`${cut(row[1], 20)} → ${cut(row[2], 20)}: ${number(row[3])}${when && " if " + when}`));
    });
    if (rates.total > 8) lines.push("more in the table below");
    return lines.join("<br>");
  }
  const hovers = names.map((_, i) => nodeHover(i));

  // A straight line, or an arc where both directions are drawn, as points from source to target.
  function course(e, pairs) {
    const [ax, ay, bx, by] = [data.x[e[0]], data.y[e[0]], data.x[e[1]], data.y[e[1]]];
    if (!pairs.has(e[1] + ">" + e[0])) return [0, 0.35, 0.5, 0.65, 1].map((t) => [ax + t * (bx - ax), ay + t * (by - ay)]);
    const [mx, my] = [(ax + bx) / 2 + 0.18 * (by - ay), (ay + by) / 2 - 0.18 * (bx - ax)];
    return Array.from({ length: 13 }, (_, k) => k / 12).map((t) => [
      (1 - t) ** 2 * ax + 2 * t * (1 - t) * mx + t * t * bx, (1 - t) ** 2 * ay + 2 * t * (1 - t) * my + t * t * by,
    ]);
  }

  // Where the name of each node hides no arrow: below, above, right or left of it.
  function sides(shown, narrow) {
    const beside = narrow ? 3 : 0.3;  // on a phone a name beside its node would be cut off
    const ways = [[0, -1, 0, "bottom center"], [0, 1, 0.05, "top center"], [1, 0, beside, "middle right"], [-1, 0, beside, "middle left"]];
    const crowding = names.map(() => ways.map((way) => way[2]));
    shown.forEach((e) => [[e[0], e[1], 0.8], [e[1], e[0], 1]].forEach(([here, there, weight]) => {
      const dx = data.x[there] - data.x[here], dy = data.y[there] - data.y[here], far = Math.hypot(dx, dy) || 1;
      ways.forEach(([x, y, extra], k) => { crowding[here][k] = Math.max(crowding[here][k], extra + 1 + weight * (x * dx + y * dy) / far); });
    }));
    return crowding.map((costs) => ways[costs.indexOf(Math.min(...costs))][3]);
  }

  function networkTraces(shown, width) {
    const c = colours(), small = n > 30 || width < 500, radius = n > 120 ? (width < 500 ? 2 : 3.5) : small ? 6 : 14;
    const traces = [], pairs = new Set(shown.map((e) => e[0] + ">" + e[1]));
    const shades = new Map();  // a line has one width, shade and colour, so there is one trace for each that occurs
    shown.forEach((e) => {
      const key = [tone(c, e), Math.min(9, Math.floor(e[2] * 10)), Math.round(strength(e) * 4)].join("|");
      shades.set(key, [...(shades.get(key) || []), e]);
    });
    [...shades].sort().forEach(([key, edges]) => {
      const trace = { x: [], y: [], mode: "lines", hoverinfo: "skip" }, [colour, bin, wide] = key.split("|");
      edges.forEach((e) => {
        course(e, pairs).forEach(([x, y]) => { trace.x.push(x); trace.y.push(y); });
        trace.x.push(null); trace.y.push(null);
      });
      trace.line = { width: (0.8 + 0.7 * +wide) * (small ? 0.6 : 1), color: `rgba(${colour}, ${0.15 + 0.8 * (+bin + 0.5) / 10})` };
      traces.push(trace);
    });
    const heads = { x: [], y: [], angle: [], colour: [] }, middles = { x: [], y: [], text: [], edge: [] };
    shown.forEach((e) => {
      const way = course(e, pairs), [bx, by] = way[way.length - 1], [px, py] = way[way.length - 2];
      heads.x.push(bx); heads.y.push(by);
      heads.angle.push(Math.atan2(bx - px, by - py) * 180 / Math.PI);
      heads.colour.push(`rgba(${tone(c, e)}, ${0.3 + 0.7 * e[2]})`);
      const text = [`${label(e[0])} → ${label(e[1])}`, `probability ${probability(e[2])}`, ...e[7].slice(0, 3).map((t) => escaped(cut(t, 160)))].join("<br>");
      way.slice(1, -1).forEach(([x, y]) => { middles.x.push(x); middles.y.push(y); middles.text.push(text); middles.edge.push(`edge ${e[0]} ${e[1]}`); });
    });
    traces.push({
      name: "heads", x: heads.x, y: heads.y, mode: "markers", hoverinfo: "skip",
      marker: { symbol: "arrow", size: n > 120 ? 2 * radius : small ? 9 : 15, angle: heads.angle, standoff: radius, color: heads.colour, line: { width: 0 } },
    });
    traces.push({
      name: "middles", x: middles.x, y: middles.y, hovertext: middles.text, hoverinfo: "text", mode: "markers", customdata: middles.edge,
      marker: { size: 10, opacity: 0 },
    });
    traces.push({
      name: "nodes", x: data.x, y: data.y, hovertext: hovers, hoverinfo: "text", customdata: names.map((_, i) => i),
      mode: "markers+text", text: names.map((_, i) => label(i, n > 30 ? 14 : 20)), textposition: sides(shown, width < 500),
      textfont: { size: n > 30 ? 9 : 12, color: c.ink },
      marker: { size: 2 * radius, color: c.node, line: { color: c.ink, width: 1 }, opacity: 1 },
    });
    return traces;
  }

  const plot = byId("network-plot"), slider = byId("threshold");

  // Names are written as long as there is room for those in view.
  function nameNodes() {
    const [x, y] = [plot._fullLayout.xaxis.range, plot._fullLayout.yaxis.range];
    const inView = data.x.filter((v, i) => v >= x[0] && v <= x[1] && data.y[i] >= y[0] && data.y[i] <= y[1]).length;
    const mode = inView <= plot.clientWidth * plot.clientHeight / 5500 ? "markers+text" : "markers";
    const last = plot.data.length - 1;
    if (plot.data[last].mode !== mode) Plotly.restyle(plot, { mode }, [last]);
  }

  function drawNetwork() {
    const least = +slider.value, shown = data.edges.filter((e) => e[2] >= least && e[2] > 0);
    byId("threshold-value").textContent = least.toFixed(2);
    byId("edge-count").textContent = shown.length
      ? `${count(shown.length, "edge")} shown.` : "No edge is that probable; move the slider to the left.";
    const width = plot.clientWidth;
    const hidden = { visible: false, showgrid: false };
    const [low, high] = [Math.min(...data.y), Math.max(...data.y)], [left, right] = [Math.min(...data.x), Math.max(...data.x)];
    const pad = 0.3 + 0.05 * Math.max(high - low, right - left);
    const layout = frame({
      height: Math.max(320, Math.min(width * 0.75, n > 30 ? 760 : 540)), margin: { l: 0, r: 0, t: 30, b: 0 },
      xaxis: { ...hidden, range: [left - pad, right + pad] },
      yaxis: { ...hidden, range: [low - pad, high + pad], scaleanchor: "x" },
    });
    if (layout.dragmode) layout.dragmode = "pan";
    return Plotly.react(plot, networkTraces(shown, width), layout, config).then(nameNodes);
  }

  // Heat map
  function matrixTicks(range) {
    const order = data.heat.order, from = Math.max(0, Math.ceil(Math.min(...range))), to = Math.min(order.length - 1, Math.floor(Math.max(...range)));
    const step = Math.max(1, Math.ceil((to - from + 1) / (byId("matrix-plot").clientWidth < 600 ? 25 : 50))), values = [];
    for (let i = from; i <= to; i += step) values.push(i);
    return { tickvals: values, ticktext: values.map((i) => label(order[i], 16)) };
  }

  function drawMatrix() {
    const c = colours(), box = byId("matrix-plot"), order = data.heat.order, m = order.length;
    const side = Math.min(box.clientWidth, 760), numbers = m <= 12 && side > 500;
    const z = data.heat.rows.map((row, s) => row.map((p, t) => (s === t ? null : p / 1000)));
    const text = z.map((row, s) => row.map((p, t) => (p === null ? "" : `${label(order[s])} → ${label(order[t])}<br>probability ${probability(p)}`)));
    const range = [-0.5, m - 0.5], font = { size: m > 25 ? 9 : 12 };
    const longest = Math.max(...order.map((i) => Math.min(names[i].length, 16)));
    const angle = longest * 0.65 * font.size > 0.7 * side / m ? -90 : 0;
    const trace = {
      type: "heatmap", z, text, hoverinfo: "text", zmin: 0, zmax: 1, xgap: m <= 30 ? 1 : 0, ygap: m <= 30 ? 1 : 0,
      colorscale: [[0, c.low], [0.5, c.mid], [1, c.high]],
      colorbar: { thickness: 10, len: 0.6, outlinewidth: 0, tickvals: [0, 0.25, 0.5, 0.75, 1], tickfont: { size: 11 } },
    };
    const layout = frame({
      width: side, height: side * 0.95, plot_bgcolor: c.void, annotations: numbers ? digits(z, c) : [],
      xaxis: { range, title: { text: "target", standoff: 12 }, showgrid: false, tickangle: angle, tickfont: font, ticks: "", ...matrixTicks(range) },
      yaxis: { range: [...range].reverse(), title: { text: "source", standoff: 12 }, showgrid: false, tickfont: font, ticks: "", ...matrixTicks(range) },
    });
    return Plotly.react(box, [trace], layout, { ...config, responsive: false });
  }

  function digits(z, c) {
    const dark = colours().paper !== "#ffffff";
    return z.flatMap((row, y) => row.map((p, x) => ({ p, x, y }))).filter((d) => d.p !== null).map(({ p, x, y }) => ({
      x, y, text: p.toFixed(2), showarrow: false, font: { size: 11, color: p > (dark ? 0.7 : 0.55) ? c.paper : c.ink },
    }));
  }

  // Tables
  function edgeTable() {
    const body = byId("edge-table").tBodies[0];
    data.edges.forEach((e) => {
      const row = body.insertRow();
      cell(row, names[e[0]]); cell(row, names[e[1]]);
      cell(row, probability(e[2]), "number bar").style.backgroundSize = `${100 * e[2]}% 1.5em`;
      const words = cell(row, "", "words");
      e[7].forEach((text) => { const line = document.createElement("div"); line.textContent = text; words.append(line); });
      cell(row, e[6]);
    });
    filterEdges();
  }

  function filterEdges() {
    const wanted = byId("filter").value.trim().toLowerCase(), rows = byId("edge-table").tBodies[0].rows;
    let shown = 0;
    data.edges.forEach((e, k) => {
      const fits = [e[0], e[1]].some((i) => names[i].toLowerCase().includes(wanted));
      rows[k].hidden = !fits;
      shown += fits;
    });
    byId("edge-note").textContent = [data.edges.length ? `${count(shown, "edge")} listed.` : "There are no edges to list.", data.notes.edges].join(" ");
  }

  function showVariable(i) {
    const sets = byId("set-table").tBodies[0], rates = data.rates[i];
    sets.replaceChildren();
    data.sets[i].forEach(([members, weight]) => {
      const row = sets.insertRow();
      cell(row, members.map((p) => names[p]).join(", ") || "no parents");
      cell(row, probability(weight), "number bar").style.backgroundSize = `${100 * weight}% 1.5em`;
    });
    const others = data.set_counts[i] - data.sets[i].length;
    byId("set-note").textContent = others > 0 ? `and ${count(others, "other set")} of less weight.` : data.sets[i].length ? "" : "Not recorded.";
    const moves = data.moves[i];
    byId("gap-note").textContent = moves === null ? ""
      : `It moves ${number(moves)} times between two observations of it; from about one on, what moved first barely shows.`;
    const table = byId("rate-table"), head = table.tHead;
    head.replaceChildren(); table.tBodies[0].replaceChildren();
    if (rates.rows.length) {
      const row = head.insertRow();
      [...rates.parents.map((p) => names[p]), "From", "To", "Rate", "Interval"].forEach((text, k, all) => {
        const th = document.createElement("th");
        th.scope = "col"; th.textContent = cut(text, 24);
        if (k >= all.length - 2) th.className = "number";
        row.append(th);
      });
    }
    rates.rows.forEach((r) => {
      const row = table.tBodies[0].insertRow();
      r[0].forEach((state) => cell(row, state));
      cell(row, r[1]); cell(row, r[2]);
      cell(row, number(r[3]), "number"); cell(row, span(r[4], r[5]), "number");
    });
    const dwell = byId("dwell-table"), stays = data.dwell[i];
    dwell.tHead.replaceChildren(); dwell.tBodies[0].replaceChildren();
    if (stays.length) {
      const row = dwell.tHead.insertRow();
      [...rates.parents.map((p) => names[p]), "State", "Mean time"].forEach((text, k, all) => {
        const th = document.createElement("th");
        th.scope = "col"; th.textContent = cut(text, 24);
        if (k === all.length - 1) th.className = "number";
        row.append(th);
      });
    }
    stays.forEach((d) => {
      const row = dwell.tBodies[0].insertRow();
      d[0].forEach((state) => cell(row, state));
      cell(row, d[1]); cell(row, number(d[2]), "number");
    });
    byId("rate-note").textContent = rates.total > rates.rows.length
      ? `The first ${rates.rows.length} of ${rates.total.toLocaleString("en")} rates.` : rates.rows.length ? "" : "Not recorded.";
  }

  // Trajectories
  function shade(k, total) {
    if (total <= palette.length) return palette[k];
    const t = k / (total - 1);
    return `hsl(${220 - 170 * t}, 65%, ${30 + 35 * t}%)`;
  }

  function drawUnit() {
    const unit = data.units[+byId("unit").value], c = colours(), t = unit.times, back = [...t].reverse(), height = 0.74;
    const traces = [], texts = [], top = unit.strips.length - 1, groups = new Map();
    unit.strips.forEach((strip, r) => {
      const states = data.states[strip.variable], floor = top - r;
      const key = JSON.stringify(states);
      groups.set(key, [...(groups.get(key) || []), strip.variable]);
      const shares = [...strip.share, t.map((_, j) => 1000 - strip.share.reduce((sum, s) => sum + s[j], 0))];
      let lower = t.map(() => floor);
      shares.forEach((share, k) => {
        const upper = lower.map((v, j) => v + height * share[j] / 1000);
        traces.push({
          x: [...t, ...back], y: [...upper, ...[...lower].reverse()], mode: "lines", line: { width: 0 }, fill: "toself",
          fillcolor: shade(k, states.length), opacity: 0.8, hoverinfo: "skip",
        });
        lower = upper;
      });
      traces.push({
        x: t, y: t.map(() => floor + height / 2), mode: "markers", marker: { size: 14, opacity: 0 }, hoverinfo: "text",
        hovertext: t.map((time, j) => [`<b>${label(strip.variable)}</b> at ${moment(time)}`, ...states.map((s, k) => `${escaped(cut(s, 24))}: ${probability(Math.max(shares[k][j], 0) / 1000)}`)].join("<br>")),
      });
      traces.push({
        x: strip.marks.map((m) => m[0]), y: strip.marks.map((m) => floor + height * m[2]), mode: "markers", hoverinfo: "text",
        hovertext: strip.marks.map((m) => `${label(strip.variable)} at ${moment(m[0])}: ${m[1] === null ? "measured" : "seen"} ${escaped(m[3])}`),
        marker: {
          size: 9, symbol: strip.marks.map((m) => (m[1] === null ? "circle" : "triangle-down")), line: { color: c.ink, width: 1 },
          color: strip.marks.map((m) => (m[1] === null ? c.paper : shade(m[1], states.length))),
        },
      });
      texts.push(label(strip.variable, 18));
    });
    const legend = byId("unit-legend");
    legend.replaceChildren(...[...groups].map(([key, members]) => {
      const item = document.createElement("li"), states = JSON.parse(key);
      item.append(members.map((v) => cut(names[v], 32)).join(", ") + ":");
      states.forEach((state, k) => {
        const swatch = document.createElement("i");
        swatch.style.background = shade(k, states.length);
        item.append(swatch, cut(state, 24));
      });
      return item;
    }));
    return Plotly.react(byId("unit-plot"), traces, frame({
      height: 90 + 62 * unit.strips.length,
      xaxis: { title: { text: escaped(data.time_label) }, showgrid: false, range: t.length > 1 ? [t[0], t[t.length - 1]] : undefined },
      yaxis: { tickvals: texts.map((_, r) => top - r + height / 2), ticktext: texts, range: [-0.1, top + 1.02], showgrid: false, ticks: "", fixedrange: true },
      uirevision: unit.id,
    }), config);
  }

  function drawConvergence() {
    const c = colours(), steps = data.objective.map((_, k) => k + 1), weights = data.phases.map((p) => p === "weights");
    return Plotly.react(byId("convergence-plot"), [{
      x: steps, y: data.objective, mode: "lines+markers", line: { color: c.muted, width: 1.5 }, hoverinfo: "text",
      hovertext: steps.map((k) => `step ${k}: ${data.objective[k - 1]}<br>${weights[k - 1] ? "weights updated" : escaped(data.phases[k - 1] || "")}`),
      marker: {
        size: steps.map((k) => (weights[k - 1] ? 10 : 5)), opacity: 1, symbol: steps.map((k) => (weights[k - 1] ? "diamond" : "circle")),
        color: steps.map((k) => (weights[k - 1] ? c.alert : c.accent)),
      },
    }], frame({ height: 320, xaxis: { title: { text: "step" } }, yaxis: { title: { text: "objective (nats)" }, exponentformat: "none" } }), config);
  }

  // Start
  const drawings = [drawNetwork, drawMatrix];
  slider.value = data.threshold;
  options(byId("variable"), names);
  edgeTable();
  showVariable(0);
  slider.addEventListener("input", drawNetwork);
  byId("filter").addEventListener("input", filterEdges);
  byId("variable").addEventListener("change", (event) => showVariable(+event.target.value));
  if (data.units.length) {
    options(byId("unit"), data.units.map((unit) => unit.id));
    byId("unit").addEventListener("change", drawUnit);
    drawings.push(drawUnit);
  }
  if (byId("convergence-plot")) drawings.push(drawConvergence);
  const redraw = () => Promise.all(drawings.map((draw) => draw()));
  redraw().then(() => {
    plot.on("plotly_click", (event) => {
      const place = event.points[0].customdata;
      if (place === undefined) return;
      if (typeof place === "number") {
        byId("variable").value = place;
        showVariable(place);
        byId("variables").scrollIntoView();
        return;
      }
      const [, source, target] = place.split(" ").map(Number), rows = byId("edge-table").tBodies[0].rows;
      byId("filter").value = "";
      filterEdges();
      [...rows].forEach((row, k) => {
        const chosen = data.edges[k][0] === source && data.edges[k][1] === target;
        row.classList.toggle("chosen", chosen);
        if (chosen) row.scrollIntoView({ block: "center" });
      });
    });
    plot.on("plotly_relayout", nameNodes);
    byId("matrix-plot").on("plotly_relayout", (change) => {
      if (!Object.keys(change).some((key) => key.includes("range"))) return;
      const full = byId("matrix-plot")._fullLayout, x = matrixTicks(full.xaxis.range), y = matrixTicks(full.yaxis.range);
      Plotly.relayout(byId("matrix-plot"), {
        "xaxis.tickvals": x.tickvals, "xaxis.ticktext": x.ticktext, "yaxis.tickvals": y.tickvals, "yaxis.ticktext": y.ticktext,
      });
    });
    let width = innerWidth;
    addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
    for (const medium of ["(prefers-color-scheme: dark)", "print"]) matchMedia(medium).addEventListener("change", redraw);
    document.documentElement.dataset.ready = "yes";
  });
})();
