"use strict";
// Draws the charts, keeps the selection, switches between light and dark.
(() => {
  const { data, css, color, shape, tip } = Charts;
  const samples = data.samples;
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const drawn = []; // { chart, option } of every chart
  const panels = []; // of these, the scatter plots
  const images = []; // { canvas, levels } of every block heat map
  const titles = [data.blocks ? data.blocks.first : "", ...data.views.map((view) => view.name)];
  const picks = document.querySelectorAll("button.pick"); // one for every cluster
  const state = { selected: null, cluster: null, layout: samples ? samples.first : null, brush: null };

  function element(name, parent, text, attributes = {}) {
    const made = parent.appendChild(document.createElement(name));
    if (text) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  // Vectors are sharp on paper; only the many marks of a scatter plot need a canvas.
  function draw(place, option, renderer = "svg") {
    const chart = echarts.init(place, null, { renderer });
    const one = { chart, option };
    chart.setOption(option());
    new ResizeObserver(() => place.clientWidth > 40 && chart.resize()).observe(place);
    drawn.push(one);
    return one;
  }

  function panel(grid, title, label, height) {
    const figure = element("figure", grid);
    const caption = element("figcaption", figure, title);
    if (data.views.some((view) => view.unrelated && view.name === title)) element("span", caption, "unrelated", { class: "badge unrelated" });
    const place = element("div", figure, "", { role: "img", "aria-label": `${label}: ${title}` });
    if (height) Object.assign(place.style, { height });
    return place;
  }

  // Scatter plots

  const points = (at) => samples.layouts[state.layout][at];
  const present = (at) => every.filter((i) => points(at)[2 * i] !== null); // a view may lack samples
  const point = (at, i) => [points(at)[2 * i], points(at)[2 * i + 1], i];
  const every = samples ? samples.names.map((_, i) => i) : [];

  function names(at) {
    const mark = (x, y, c) => ({ value: [x, y], name: String(c), label: { color: css("--ink") } });
    const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
    return data.sizes.flatMap((_, c) => {
      const own = present(at).filter((i) => samples.clusters[i] === c).map((i) => point(at, i));
      return own.length ? [mark(middle(own.map((p) => p[0])), middle(own.map((p) => p[1])), c)] : [];
    });
  }

  function series(at) {
    const some = state.selected !== null;
    const size = (at ? 3.5 : 5) * (every.length > 2500 ? 0.8 : 1) * (every.length < 300 ? 1.5 : 1);
    const cluster = (value) => samples.clusters[value[2]];
    const pale = css("--quiet");
    const marks = { type: "scatter", symbol: (value) => shape(cluster(value)), progressive: 0 };
    return [
      { ...marks, id: "all", data: present(at).map((i) => point(at, i)), symbolSize: size,
        itemStyle: { color: (p) => (some ? pale : color(cluster(p.value))), opacity: some ? 0.18 : 0.75 } },
      { ...marks, id: "lit", data: some ? present(at).filter((i) => state.selected.has(i)).map((i) => point(at, i)) : [], symbolSize: size + (some && state.selected.size < 25 ? 7 : 1.5),
        itemStyle: { color: (p) => color(cluster(p.value)), opacity: 0.95 }, z: 3 },
      { id: "names", type: "scatter", silent: true, symbolSize: 0.1, data: names(at), z: 5, label: { show: true,
        formatter: "{b}", fontSize: at ? 11 : 14, fontWeight: 700, textBorderColor: css("--surface"), textBorderWidth: 4 } },
    ];
  }

  function describe({ value }) {
    const i = value[2];
    const known = samples.classes ? `class ${samples.classes[i]}` : null;
    return tip(samples.names[i], `cluster ${samples.clusters[i]}`, known);
  }

  function scatter(at) {
    const [wide, high] = [0, 1].map((axis) => Math.max(...points(0).filter((_, i) => i % 2 === axis).map(Math.abs)));
    const plain = (most) => ({ min: -1.12 * most, max: 1.12 * most, show: false, type: "value" });
    return {
      ...Charts.base(describe), xAxis: plain(Math.max(wide, 0.55 * high)), yAxis: plain(Math.max(high, 0.55 * wide)), grid: { left: 2, right: 2, top: 2, bottom: 2 },
      toolbox: { show: false },
      brush: { toolbox: [], xAxisIndex: 0, yAxisIndex: 0, brushMode: "single", transformable: false, outOfBrush: {},
        brushStyle: { color: css("--focus") + "22", borderColor: css("--focus"), borderWidth: 1.5 } },
      series: series(at),
    };
  }

  function inside([x, y], area) {
    if (area.brushType === "rect") {
      const [[left, right], [low, high]] = area.coordRange;
      return x >= left && x <= right && y >= low && y <= high;
    }
    let odd = false;
    const ring = area.coordRange;
    ring.forEach(([x1, y1], j) => {
      const [x2, y2] = ring[(j + 1) % ring.length];
      if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) odd = !odd;
    });
    return odd;
  }

  function startScatter(grid, at) {
    const place = panel(grid, at ? titles[at] : "Map of the samples", "Scatter plot of the samples");
    const one = draw(place, () => scatter(at), "canvas");
    one.chart.on("click", ({ value }) => value && value.length === 3 && choose(samples.clusters[value[2]]));
    one.chart.on("brushEnd", ({ areas }) => {
      if (!areas.length) return;
      select(present(at).filter((i) => inside(point(at, i), areas[0])), null);
      one.chart.dispatchAction({ type: "brush", areas: [] });
    });
    panels.push({ ...one, at });
  }

  // Selection

  function choose(cluster) {
    if (state.cluster === cluster) return select(null, null);
    return select(every.filter((i) => samples.clusters[i] === cluster), cluster);
  }

  function select(indices, cluster) {
    state.selected = indices && indices.length ? new Set(indices) : null;
    state.cluster = state.selected ? cluster : null;
    redrawPanels();
    paintBlocks();
    showSelection(indices);
  }

  function showSelection(indices) {
    const chosen = state.selected ? [...state.selected] : [];
    const counts = new Map();
    for (const i of chosen) counts.set(samples.clusters[i], (counts.get(samples.clusters[i]) || 0) + 1);
    const parts = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([c, size]) => `${size} in cluster ${c}`);
    const empty = indices ? "No sample matches." : "No samples are selected.";
    const words = chosen.length ? `${chosen.length} of ${every.length} drawn samples selected: ${parts.join(", ")}${counts.size > 6 ? " …" : ""}.` : empty;
    byId("selected").textContent = words;
    byId("status").textContent = words;
    byId("clear").disabled = !state.selected;
    byId("names-list").textContent = chosen.length
      ? chosen.slice(0, 500).map((i) => samples.names[i]).join(", ") + (chosen.length > 500 ? " …" : "") : empty;
    for (const pick of picks) pick.setAttribute("aria-pressed", String(Number(pick.dataset.cluster) === state.cluster));
    root.dataset.selected = chosen.length;
  }

  function clear() {
    byId("find").value = "";
    select(null, null);
  }

  function find(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return select(null, null);
    const matches = (i) => samples.names[i].toLowerCase().includes(wanted)
      || (samples.classes && samples.classes[i].toLowerCase() === wanted);
    const exact = every.filter((i) => samples.names[i].toLowerCase() === wanted);
    return select(exact.length ? exact : every.filter(matches), null);
  }

  // Tools

  function choices(group, entries, chosen, act) {
    for (const [value, label] of entries) {
      const button = element("button", group, label, { type: "button", "aria-pressed": String(value === chosen), "data-value": value });
      button.addEventListener("click", () => act(value));
    }
  }

  function press(group, value) {
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.dataset.value === String(value)));
  }

  const first = titles[0].toLowerCase();
  const words = {
    tsne: `t-SNE of the ${first}: samples that are close there are close here, but large distances and the size of a cluster mean little. Each view: the same layout predicted from the view’s leading eigenvectors by linear regression, every sample left out of its own prediction. A view without information about the layout puts all samples near the center. The labels only color the marks.`,
    principal: `The first two principal components of the ${first} and of the leading eigenvectors of each view, rotated to match. More than three clusters may overlap in a plane although they are separate in more dimensions. The labels only color the marks.`,
  };
  const layoutNames = { tsne: "t-SNE", principal: "Principal plane" };

  function setLayout(layout) {
    state.layout = layout;
    press(byId("layouts"), layout);
    byId("layout-words").textContent = words[layout];
    redrawPanels();
  }

  function redrawPanels() {
    for (const { chart, at } of panels) chart.setOption(scatter(at));
  }

  function setBrush(kind) {
    state.brush = state.brush === kind ? null : kind;
    press(byId("brushes"), state.brush);
    armBrush();
  }

  function armBrush() {
    const brushOption = { brushType: state.brush || false, brushMode: "single" };
    for (const { chart } of panels) chart.dispatchAction({ type: "takeGlobalCursor", key: "brush", brushOption });
  }

  function startSamples() {
    for (const pick of picks) pick.addEventListener("click", () => choose(Number(pick.dataset.cluster)));
    choices(byId("layouts"), ["tsne", "principal"].filter((name) => samples.layouts[name]).map((name) => [name, layoutNames[name]]), state.layout, setLayout);
    const answers = [samples.clusters, ...samples.alternatives];
    if (answers.length > 1) {
      choices(byId("answers"), answers.map((_, at) => [at, at ? `Answer ${at}` : "This answer"]), 0, (at) => {
        samples.clusters = answers[at];
        press(byId("answers"), at);
        select(null, null);
      });
    }
    choices(byId("brushes"), [["rect", "Box"], ["polygon", "Lasso"]], null, setBrush);
    byId("find").addEventListener("input", (event) => find(event.target.value));
    byId("clear").addEventListener("click", clear);
    document.addEventListener("keydown", (event) => event.key === "Escape" && clear());
    setLayout(state.layout);
    samples.layouts.principal.forEach((_, at) => startScatter(byId(at ? "grid-samples" : "map"), at));
  }

  // Block heat maps

  function ramp() {
    const stops = Charts.heat().map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    return Array.from({ length: 256 }, (_, level) => {
      const place = (level / 255) * (stops.length - 1);
      const low = Math.min(stops.length - 2, Math.floor(place));
      return stops[low].map((value, channel) => value + (place - low) * (stops[low + 1][channel] - value));
    });
  }

  function paint({ canvas, levels }, tones) {
    const { cells, edges } = data.blocks;
    const [side, strip] = [320, 9];
    const small = Object.assign(document.createElement("canvas"), { width: cells, height: cells });
    const pixels = new ImageData(cells, cells);
    for (let i = 0; i < levels.length; i++) pixels.data.set([...tones[levels[i]], 255], 4 * i);
    small.getContext("2d").putImageData(pixels, 0, 0);
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, strip + 2, strip + 2, side, side);
    data.sizes.forEach((_, c) => {
      const [from, to] = [strip + 2 + side * edges[c], side * (edges[c + 1] - edges[c])];
      pen.fillStyle = color(c);
      pen.fillRect(from, 0, to, strip);
      pen.fillRect(0, from, strip, to);
      if (c === state.cluster) {
        Object.assign(pen, { strokeStyle: css("--alarm"), lineWidth: 3 });
        pen.strokeRect(from, from, to, to);
      }
    });
  }

  function paintBlocks() {
    const tones = ramp();
    for (const image of images) paint(image, tones);
  }

  function startBlocks() {
    data.blocks.images.forEach((text, at) => {
      const place = panel(byId("grid-blocks"), titles[at], "Similarity of samples");
      const canvas = element("canvas", place, "", { width: 331, height: 331 });
      images.push({ canvas, levels: Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) });
    });
    paintBlocks();
  }

  // Light, dark and paper

  function redraw() {
    for (const { chart, option } of drawn) {
      chart.setOption(option(), true);
      chart.getZr().flush(); // before printing starts
    }
    paintBlocks();
    armBrush();
  }

  function setTheme(theme) {
    root.dataset.theme = theme;
    byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
    byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  }

  function switchTheme(theme) {
    setTheme(theme);
    redraw();
  }

  function start() {
    const preferred = matchMedia("(prefers-color-scheme: dark)");
    root.dataset.theme = preferred.matches ? "dark" : "light";
    for (const name of ["choice", "survival"]) {
      const place = byId(`chart-${name}`);
      if (place) draw(place, Charts[name]);
    }
    if (data.spectra) {
      data.spectra.panels.forEach(({ title }, at) =>
        draw(panel(byId("grid-spectra"), title, "Eigenvalues", "190px"), () => Charts.spectrum(at)));
    }
    if (samples) startSamples();
    if (data.blocks) startBlocks();
    setTheme(root.dataset.theme);
    byId("theme").addEventListener("click", () => switchTheme(root.dataset.theme === "dark" ? "light" : "dark"));
    preferred.addEventListener("change", (event) => switchTheme(event.matches ? "dark" : "light"));
    addEventListener("scroll", () => { for (const { chart } of drawn) chart.dispatchAction({ type: "hideTip" }); }, { passive: true });
    let before = null;
    addEventListener("beforeprint", () => { before = root.dataset.theme; switchTheme("light"); });
    addEventListener("afterprint", () => switchTheme(before));
    root.dataset.ready = "true";
    Charts.panels = panels; // for tests: where a sample lies on the screen
  }

  start();
})();
