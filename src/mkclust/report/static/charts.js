"use strict";
// Options for the chart library, one function per chart, from the page's data.
const Charts = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const mode = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
  const known = { light: {}, dark: {} };
  const css = (name) => (known[mode()][name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  const count = data.colors.light.length;
  const color = (cluster) => data.colors[mode()][cluster % count];
  const shape = (cluster) => data.shapes[Math.floor(cluster / count) % data.shapes.length];
  const heat = () => data.heat[mode()];

  function tip(...lines) {
    const box = document.createElement("div");
    for (const line of lines.filter((text) => text !== null)) {
      box.appendChild(document.createElement("div")).textContent = line;
    }
    return box;
  }

  function base(formatter) {
    return {
      animation: false,
      textStyle: { fontFamily: css("--font"), color: css("--ink") },
      tooltip: {
        formatter, className: "tip", confine: true, transitionDuration: 0, padding: [6, 10],
        backgroundColor: css("--surface"), borderColor: css("--line"),
        textStyle: { color: css("--ink"), fontSize: 13 },
      },
    };
  }

  function axis(kind, more = {}) {
    const line = { lineStyle: { color: css("--line") } };
    const { axisLabel, ...rest } = more;
    return {
      type: kind, axisLine: { show: kind === "category", ...line }, axisTick: { show: false },
      splitLine: { show: kind !== "category", ...line },
      nameTextStyle: { color: css("--quiet") },
      axisLabel: { color: css("--quiet"), hideOverlap: true, ...axisLabel }, ...rest,
    };
  }

  function choice() {
    const { ks, chosen, range, held_out: held, tested, null: mean, null_high: high } = data.choice;
    const along = (values) => values.map((value, i) => [ks[i], value]);
    const gray = css("--quiet");
    const band = { type: "line", symbol: "none", lineStyle: { opacity: 0 }, stack: "null", silent: true, color: gray };
    const marks = chosen === null ? [] : [{ xAxis: chosen, lineStyle: { type: "solid", color: css("--focus"), width: 1.5 },
      label: { formatter: `k = ${chosen}`, color: css("--ink"), position: "end", distance: 9 } }];
    const series = [
      { name: "held-out samples", type: "line", data: along(held), color: css("--main"), symbol: "circle", symbolSize: 7, lineStyle: { width: 2.5 }, z: 4,
        markLine: { symbol: "none", silent: true, data: marks },
        markArea: { silent: true, itemStyle: { color: css("--focus"), opacity: 0.12 },
          data: range ? [[{ xAxis: range[0] - 0.3 }, { xAxis: range[1] + 0.3 }]] : [] } },
      { name: "samples tested", type: "line", data: along(tested), color: css("--ink"), symbol: "none", lineStyle: { width: 1.5, type: "dotted" }, z: 3 },
      { ...band, data: along(mean) },
      { ...band, name: "null model, mean to upper limit", data: along(high.map((value, i) => value - mean[i])), areaStyle: { opacity: 0.3, color: gray } },
    ];
    return {
      ...base(({ dataIndex: i }) => tip(`${ks[i]} clusters`, `held-out modularity ${held[i].toFixed(3)}`,
        `tested ${tested[i].toFixed(3)}, null model ${mean[i].toFixed(3)}, upper limit ${high[i].toFixed(3)}`)),
      legend: { bottom: 0, data: [{ name: "held-out samples" }, { name: "samples tested" }, { name: "null model, mean to upper limit", icon: "rect" }], textStyle: { color: css("--ink") } },
      grid: { left: 8, right: 24, top: 34, bottom: 52, containLabel: true },
      xAxis: axis("value", { min: ks[0] - 0.5, max: ks[ks.length - 1] + 0.5, splitLine: { show: false }, name: "number of clusters",
        nameLocation: "middle", nameGap: 24, interval: 1, axisLabel: { formatter: (v) => (Number.isInteger(v) ? v : "") , customValues: ks } }),
      yAxis: axis("value", { scale: true }), series,
    };
  }

  // Colors and dashes tell the curves apart; their names are in the table of numbers at risk.
  function survival() {
    const { curves, ticks } = data.survival;
    const dashes = ["solid", [6, 3], [2, 3], [8, 3, 2, 3]];
    return {
      ...base(null),
      tooltip: { ...base(null).tooltip, trigger: "item", formatter: ({ seriesName, value }) => tip(seriesName, `time ${value[0]}`, `survival ${value[1].toFixed(2)}`) },
      grid: { left: 8, right: 20, top: 12, bottom: 28, containLabel: true },
      xAxis: axis("value", { min: 0, splitLine: { show: false }, name: "time", nameLocation: "middle", nameGap: 26,
        max: Math.max(...curves.map(({ points }) => points[points.length - 1][0])), axisLabel: { customValues: ticks } }),
      yAxis: axis("value", { min: 0, max: 1, interval: 0.25 }),
      series: curves.map(({ cluster, points }) => ({ name: `cluster ${cluster}`, type: "line", step: "end", data: points, symbol: "circle",
        symbolSize: 5, showSymbol: false, color: color(cluster), lineStyle: { width: 2, type: dashes[cluster % 4] } })),
    };
  }

  function spectrum(at) {
    const { log, panels } = data.spectra;
    const { points, kept, k } = panels[at];
    const last = points[points.length - 1][0];
    const mark = (x, name, type) => ({ xAxis: x, lineStyle: { type, color: css("--ink"), width: 1.5 },
      label: { formatter: name, color: css("--ink"), position: "end", distance: 2 } });
    const marks = kept === undefined ? [mark(k, "", "dashed")] : kept === k ? [mark(kept, `d = k = ${kept}`, "solid")]
      : [mark(k, kept < 2.2 * k ? "k" : `k = ${k}`, "dashed"), mark(kept, `d = ${kept}`, "solid")];
    const least = Math.min(...points.map((point) => point[1]));
    const below = log ? 10 ** Math.floor(Math.log10(Math.max(least, 1e-6))) : Math.max(0, Math.floor(least * (least > 0.8 ? 20 : 10) - 0.05) / (least > 0.8 ? 20 : 10));
    const kind = log ? "log" : "value";
    return {
      ...base(null),
      grid: { left: 8, right: 30, top: 24, bottom: 4, containLabel: true },
      xAxis: axis(kind, { min: 1, max: last, splitLine: { show: false }, minInterval: 1 }),
      yAxis: axis(kind, { min: below, max: 1, ...(log ? {} : { interval: (1 - below) / 2 }),
        axisLabel: { formatter: (v) => String(Number(v.toPrecision(log ? 1 : 3))) } }),
      tooltip: { ...base(null).tooltip, trigger: "axis",
        formatter: ([point]) => tip(`eigenvalue ${point.value[0]}`, `${point.value[1]} of the largest`) },
      series: [{ type: "line", data: points, symbol: "circle", symbolSize: 4, showSymbol: !log, color: css("--main"), lineStyle: { width: 2 },
        areaStyle: { opacity: 0.12, origin: "start" }, markLine: { symbol: "none", silent: true, data: marks } }],
    };
  }

  return { data, css, mode, color, shape, heat, tip, base, choice, survival, spectrum };
})();
