"use strict";
// Draws what /events tells. Everything is set as text, never as HTML. No chart keeps more than there are pixels for.
const SVG = "http://www.w3.org/2000/svg";
const W = 560, H = 190, LEFT = 58, RIGHT = 8, TOP = 16, BOTTOM = 20;
const KEPT = 3600;
const at = id => document.getElementById(id);
let head = null, seconds = [], points = [], last = 0, isOver = false, drawn = false;

const text = (id, value) => { const it = at(id); if (it.textContent !== value) it.textContent = value; };
const number = value => Math.abs(value) >= 1e6 ? (value / 1e6).toPrecision(3) + " M" : Math.abs(value) >= 1e4
  ? (value / 1e3).toPrecision(3) + " k" : Number.isInteger(value) || Math.abs(value) >= 100 ? String(Math.round(value)) : value.toPrecision(3);
const wait = ms => ms < 10 ? ms.toFixed(2) + " ms" : ms < 1000 ? ms.toFixed(1) + " ms" : ms < 1e5 ? (ms / 1e3).toFixed(2) + " s" : (ms / 1e3).toFixed(0) + " s";
const shortWait = ms => !ms ? "0" : ms < 1 ? +(ms * 1e3).toPrecision(3) + " µs" : ms < 1000 ? +ms.toPrecision(3) + " ms" : +(ms / 1e3).toPrecision(3) + " s";
const bytes = b => !b ? "0" : b < 1048576 ? (b / 1024).toFixed(0) + " KiB" : b < 1073741824 ? +(b / 1048576).toFixed(1) + " MiB" : +(b / 1073741824).toFixed(2) + " GiB";
const clock = s => { s = Math.max(0, Math.floor(s)); const two = n => String(n).padStart(2, "0"), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60; return (h ? h + ":" + two(m) : m) + ":" + two(s % 60); };
const nodesInWords = n => n === 1 ? "1 node" : n + " nodes";
const phases = { "waiting": "waiting for the target", "generator-limit": "measuring the generator against a server that does nothing",
  "warm-up": "warm-up", "measuring": "measuring", "ended": "ended" };

function element(name, attributes, parent) {
  const it = document.createElementNS(SVG, name);
  for (const key in attributes) it.setAttribute(key, attributes[key]);
  if (parent) parent.append(it);
  return it;
}

// Round steps of a unit from 0 up; powers of ten on a logarithmic axis.
function ticks(low, high, isLog, unit = 1) {
  const all = [];
  if (isLog) {
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
      for (const m of high / low > 300 ? [1] : [1, 2, 5]) { const v = m * 10 ** p; if (v >= low * .999 && v <= high * 1.001) all.push(v); }
    return all;
  }
  const rough = (high - low) / 4 / unit || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= rough) * unit;
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6; v += step) all.push(v);
  return all;
}

// Curves over x. Each is { name, values: [[x, y or null], ..] }; colours go by their order.
function chart(id, curves, options) {
  const figure = at(id), format = options.format;
  let svg = figure.querySelector("svg"), key = figure.querySelector(".key");
  if (!svg) {
    svg = element("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": figure.querySelector("figcaption").textContent });
    key = document.createElement("div");
    key.className = "key";
    figure.append(svg, key);
    svg.addEventListener("pointermove", event => {
      const box = svg.getBoundingClientRect();
      figure.dataset.x = (event.clientX - box.left) / box.width * W;
      if (figure.redraw) figure.redraw();
    });
    svg.addEventListener("pointerleave", () => { delete figure.dataset.x; if (figure.redraw) figure.redraw(); });
  }
  figure.redraw = () => chart(id, curves, options);
  svg.replaceChildren();
  const all = curves.flatMap(c => c.values), ys = all.map(v => v[1]).filter(y => y !== null && (!options.log || y > 0));
  let [xLow, xHigh] = options.range || [Math.min(...all.map(v => v[0])), Math.max(...all.map(v => v[0]))];
  if (!(xHigh > xLow)) { xLow = options.points ? 0 : xLow || 0; xHigh = xLow + (options.points ? xLow || 1 : 30); if (!(xHigh > xLow)) xHigh = xLow + 1; }
  let yLow = options.log ? Math.min(...ys, Infinity) : 0, yHigh = Math.max(...ys, options.log ? 0 : options.least || 0);
  if (options.log) { if (!ys.length) { yLow = .1; yHigh = 10; } yLow /= 1.3; yHigh *= 1.3; if (yHigh / yLow < 8) { const mid = Math.sqrt(yHigh * yLow); yLow = mid / 2.9; yHigh = mid * 2.9; } }
  else yHigh = yHigh > 0 ? yHigh * 1.08 : 1;
  const X = x => LEFT + (x - xLow) / (xHigh - xLow) * (W - LEFT - RIGHT);
  const scale = options.log ? Math.log : y => y;
  const Y = y => TOP + (scale(yHigh) - scale(Math.max(y, options.log ? yLow : 0))) / (scale(yHigh) - scale(yLow)) * (H - TOP - BOTTOM);
  for (const band of options.bands || []) {
    const x = Math.max(X(band[0]), LEFT), end = Math.min(X(band[1]), W - RIGHT);
    if (end > x) element("rect", { class: "warmup", x, y: TOP, width: end - x, height: H - TOP - BOTTOM }, svg);
  }
  for (const y of ticks(yLow, yHigh, options.log, options.unit)) {
    element("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: Y(y), y2: Y(y) }, svg);
    element("text", { x: LEFT - 6, y: Y(y) + 4, "text-anchor": "end" }, svg).textContent = format(y);
  }
  const xs = options.points ? ticks(xLow, xHigh, false) : timeTicks(xLow, xHigh);
  for (const x of xs) element("text", { x: X(x), y: H - 5, "text-anchor": X(x) > W - 30 ? "end" : "middle" }, svg).textContent = options.points ? number(x) : clock(x);
  for (const [x, label] of options.borders || []) {
    if (x < xLow || x > xHigh) continue;
    element("line", { class: "border", x1: X(x), x2: X(x), y1: TOP, y2: H - BOTTOM }, svg);
    if (label) element("text", { x: X(x) + 1, y: TOP - 5 }, svg).textContent = label;
  }
  curves.forEach((curve, n) => {
    let path = "", isUp = true;
    for (const [x, y] of thinned(curve.values)) {
      if (y === null || (options.log && !(y > 0))) { isUp = true; continue; }
      path += (isUp ? "M" : "L") + X(x).toFixed(1) + " " + Y(y).toFixed(1);
      isUp = false;
    }
    element("path", { class: "curve s" + n % 8, d: path }, svg);
    if (options.points) for (const [x, y] of curve.values) element("circle", { class: "f" + n % 8, cx: X(x), cy: Y(y), r: 3 }, svg);
  });
  const px = figure.dataset.x === undefined ? null : +figure.dataset.x;
  let chosen = null;
  if (px !== null && px >= LEFT && all.length) {
    const want = xLow + (px - LEFT) / (W - LEFT - RIGHT) * (xHigh - xLow);
    chosen = all.reduce((best, v) => Math.abs(v[0] - want) < Math.abs(best - want) ? v[0] : best, all[0][0]);
    element("line", { class: "cursor", x1: X(chosen), x2: X(chosen), y1: TOP, y2: H - BOTTOM }, svg);
  }
  key.replaceChildren(...curves.map((curve, n) => {
    const entry = document.createElement("span"), colour = document.createElement("i");
    colour.className = "f" + n % 8;
    const found = chosen === null ? null : curve.values.find(v => v[0] === chosen);
    entry.append(colour, curve.name + (found && found[1] !== null ? " " + format(found[1]) : ""));
    return entry;
  }));
  if (chosen !== null) key.append(options.points ? "at " + number(chosen) : "at " + clock(chosen));
}

function timeTicks(low, high) {
  const step = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600].find(s => (high - low) / s <= 6) || 3600;
  const all = [];
  for (let t = Math.ceil(low / step) * step; t <= high; t += step) all.push(t);
  return all;
}

// Of many seconds in one pixel the greatest counts: peaks must not vanish.
function thinned(values) {
  const every = Math.ceil(values.length / 500);
  if (every < 2) return values;
  const out = [];
  for (let n = 0; n < values.length; n += every) {
    const group = values.slice(n, n + every), seen = group.filter(v => v[1] !== null);
    out.push(seen.length ? [group[0][0], Math.max(...seen.map(v => v[1]))] : [group[0][0], null]);
  }
  return out;
}

function table(id, columns, rows) {
  const section = at(id);
  section.hidden = rows.length === 0;
  const cells = (row, kind) => {
    const line = document.createElement("tr");
    row.forEach((cell, n) => {
      const it = document.createElement(kind);
      it.textContent = cell && cell.text !== undefined ? cell.text : cell;
      const classes = [n < columns.words ? "words" : "", cell && cell.is || ""].join(" ").trim();
      if (classes) it.className = classes;
      if (kind === "th") it.scope = "col";
      line.append(it);
    });
    return line;
  };
  section.querySelector("thead").replaceChildren(cells(columns.names, "th"));
  section.querySelector("tbody").replaceChildren(...rows.map(row => cells(row, "td")));
}

// Gaps between points are gaps in curves.
function series(value) {
  const out = [];
  let before = null;
  for (const s of seconds) {
    if (before && (s.point !== before.point || s.t - before.t > 3)) out.push([s.t - .5, null]);
    out.push([s.t, value(s)]);
    before = s;
  }
  return out;
}

function drawTimes() {
  at("charts").hidden = !seconds.length;
  if (!seconds.length) return;
  const bands = [], borders = [];
  let before = null;
  for (const s of seconds) {
    if (!before || s.point !== before.point) {
      const done = points.find(p => p.number === s.point);
      const place = done || (head.place && head.place.number === s.point ? head.place : null);
      borders.push([s.t - 1, place ? place.load : ""]);
    }
    if (s.at_s < -.001) bands.push([s.t - 1, s.t + .05]);
    before = s;
  }
  const range = [seconds[0].t - 1, Math.max(seconds[seconds.length - 1].t, seconds[0].t + 29)];
  if (borders.length > 12) borders.forEach(b => b[1] = "");
  const common = { bands, borders, range };
  const rates = [{ name: "right answers/s", values: series(s => s.answered) }];
  if (seconds.some(s => s.failed)) rates.push({ name: "failed/s", values: series(s => s.failed) });
  chart("rates", rates, { ...common, format: number });
  chart("waits", ["p50", "p90", "p99", "p999"].map(p => ({ name: p === "p999" ? "p99.9" : p, values: series(s => s.answered ? s[p] : null) })), { ...common, format: shortWait, log: true });
  const count = Math.max(...seconds.map(s => s.nodes.length)), seen = [];
  for (let n = 0; n < count; n++) if (seconds.some(s => s.nodes[n])) seen.push(n);
  at("cpus").hidden = at("memory").hidden = !seen.length;
  const name = n => head.nodes[n] ? head.nodes[n].name.replace(/^https?:\/\//, "") : "node " + (n + 1);
  const of = part => seen.map(n => ({ name: name(n), values: series(s => s.nodes[n] ? s.nodes[n][part] : null) }));
  if (seen.length) {
    chart("cpus", of(0), { ...common, format: v => String(+v.toPrecision(3)) });
    const most = Math.max(...seconds.flatMap(s => s.nodes.map(n => n ? n[1] : 0)));
    chart("memory", of(1), { ...common, format: bytes, unit: most > 2 ** 31 ? 2 ** 30 : most > 2 ** 21 ? 2 ** 20 : 2 ** 10 });
  }
}

function drawHead() {
  const place = head.place, second = seconds[seconds.length - 1];
  document.title = (head.phase === "ended" ? "ended" : Math.round(head.progress * 100) + " %") + " - " + head.name;
  text("name", head.name);
  let phase = phases[head.phase] || head.phase;
  if (head.phase === "warm-up" && head.at_s < 0) phase += `, ${Math.round(-head.at_s)} s to measuring`;
  if (head.phase === "measuring") phase += ` ${Math.round(head.at_s + 1)} of ${head.measure_s} s`;
  text("phase", phase);
  at("progress").value = head.progress;
  drawClock();
  text("place", place ? `Point ${place.number} of ${place.count}: ${place.load}, ${nodesInWords(place.nodes)}` + (place.configuration ? ", " + place.configuration : "") +
    (place.replicate ? `, measurement ${place.replicate + 1}` : "") : "");
  text("rate", second ? number(second.answered) : "-");
  for (const p of ["p50", "p90", "p99", "p999"]) text(p, second && second.answered ? wait(second[p]) : "-");
  text("failed", second ? number(second.failed) : "-");
  at("failing").className = second && second.failed ? "bad" : "";
  text("busy", Math.round(head.busy * 100) + " %");
  at("generating").className = head.busy > .9 ? "bad" : "";
  const far = head.so_far;
  text("sofar", head.phase === "measuring" && far.max ? `This point so far: p50 ${wait(far.p50)}, p90 ${wait(far.p90)}, p99 ${wait(far.p99)}, p99.9 ${wait(far.p999)}, at most ${wait(far.max)}` : "");
  table("nodes", { names: ["node", "answers/s", "failed/s", "cores in use", "of", "memory", "of", "held back"], words: 1 }, head.nodes.map(n => [n.name, number(n.answered),
    { text: number(n.failed), is: n.failed ? "bad" : "" }, n.cpus === null ? "-" : n.cpus.toFixed(2), n.cores ? String(+n.cores.toFixed(2)) : "-", n.memory === null ? "-" : bytes(n.memory),
    n.memory_max === null ? "-" : bytes(n.memory_max), n.throttled ? Math.round(n.throttled * 100) + " %" : "-"]));
  table("steps", { names: ["step", "answers/s", "failed/s"], words: 1 }, head.steps.length > 1 ? head.steps.map(s => [s.name, number(s.answered), { text: number(s.failed), is: s.failed ? "bad" : "" }]) : []);
  table("causes", { names: ["cause", "times"], words: 1 }, Object.entries(head.causes).sort((a, b) => b[1] - a[1]).map(([cause, count]) => [cause, { text: String(count), is: "bad" }]));
}

function drawClock() {
  if (!head) return;
  const gone = isOver ? head.elapsed_s : head.elapsed_s + (Date.now() - last) / 1e3;
  const left = head.left_s === null || isOver ? "" : `, about ${clock(head.left_s - (Date.now() - last) / 1e3)} left`;
  text("left", `${Math.round(head.progress * 100)} %, ${clock(gone)} gone${left}`);
}

function drawPoints() {
  table("points", { names: ["configuration", "load", "nodes", "answers/s", "p50", "p90", "p99", "p99.9", "max", "failed", "generator", { text: "marks", is: "words" }], words: 2 }, points.map(p => [p.configuration, p.load, p.nodes,
    number(p.rate), wait(p.p50), wait(p.p90), wait(p.p99), wait(p.p999), wait(p.max), { text: (p.error_share * 100).toFixed(2) + " %", is: p.failed ? "bad" : "" },
    Math.round(p.busy * 100) + " %", { text: p.marks.join("; "), is: "marks" }]));
  const curves = new Map(), byNodes = new Set(points.map(p => p.size)).size === 1 && new Set(points.map(p => p.nodes)).size > 1;
  for (const p of points) {
    const name = [p.configuration, byNodes ? p.load : nodesInWords(p.nodes)].filter(Boolean).join(", ");
    if (!curves.has(name)) curves.set(name, []);
    curves.get(name).push(p);
  }
  const of = value => [...curves].map(([name, all]) => ({ name, values: all.map(p => [byNodes ? p.nodes : p.size, value(p)]).sort((a, b) => a[0] - b[0]) }));
  if (!points.length) return;
  const x = [0, Math.max(...points.map(p => byNodes ? p.nodes : p.size)) * 1.05];
  chart("scale", of(p => p.rate), { format: number, points: true, range: x });
  chart("scalewait", of(p => p.p99), { format: shortWait, points: true, range: x });
}

function drawEnding() {
  const ending = head.ending, section = at("ending");
  section.hidden = !ending;
  if (!ending) return;
  const line = words => { const p = document.createElement("p"); p.textContent = words; section.append(p); return p; };
  section.replaceChildren();
  section.className = ending.cut_short || ending.thresholds.some(t => !t.is_kept) ? "bad" : "";
  line(ending.cut_short ? "The run was cut short: " + ending.cut_short : "The run has ended.");
  for (const t of ending.thresholds) line(`Threshold ${t.is_kept ? "kept" : "BROKEN"}: ${t.threshold}, measured ${t.measured}`);
  if (ending.record) line("Record: " + ending.record);
  if (ending.report) {
    const link = document.createElement("a");
    link.href = ending.report;
    link.target = "_blank";
    link.textContent = "Open the report";
    line("").append(link);
  }
}

function draw() {
  drawn = false;
  if (!head) return;
  drawHead();
  drawTimes();
}
function drawSoon() { if (!drawn) { drawn = true; requestAnimationFrame(draw); } }

function took(message) {
  last = Date.now();
  head = message.head;
  isOver = head.phase === "ended";
  at("link").hidden = true;
}

// A stream that was dropped begins anew with all there is, so nothing is missing.
function connect() {
  const events = new EventSource("/events");
  const on = (name, does) => events.addEventListener(name, event => { const message = JSON.parse(event.data); took(message); does(message); drawSoon(); });
  on("all", message => { seconds = message.seconds; points = message.points; drawPoints(); drawEnding(); });
  on("head", () => {});
  on("second", message => { seconds.push(message.second); if (seconds.length > KEPT) seconds.shift(); });
  on("point", message => { points.push(message.point); drawPoints(); });
  on("end", drawEnding);
  events.onerror = () => {
    if (isOver) return events.close();
    at("link").hidden = false;
    text("link", "The run cannot be reached: this is its last state. Trying again.");
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
  };
}
connect();
setInterval(() => { if (!isOver) drawClock(); }, 1000);
