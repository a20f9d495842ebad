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
  const onHeat = (share) => ((share ?? 0) > 0.55 ? css("--ground") : css("--ink"));
  const roomy = { min: 0, boundaryGap: [0, "14%"] }; // for the number after a bar
  const longest = Math.max(...data.views.map((view) => view.name.length));
  const viewNames = () => ({ interval: 0, width: Math.min(innerWidth < 640 ? 110 : 190, 30 + 7.5 * longest), overflow: "break", lineHeight: 14, hideOverlap: false });
  const short = { width: 108, overflow: "truncate" };

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

  const viewColor = (_, index) => css(data.views[index].unrelated ? "--alarm" : "--ink");

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

  function cells(rows, columns, values, text, formatter, more) {
    const items = values.flatMap((row, y) => row.map((value, x) => ({
      value: [x, y, value],
      label: { show: text !== null, color: onHeat(value), formatter: () => (text ? text(x, y) : "") },
    })));
    return {
      ...base(formatter),
      grid: { left: 8, right: 12, top: 8, bottom: 8, containLabel: true },
      xAxis: axis("category", { data: columns, position: "top", ...more.x }),
      yAxis: axis("category", { data: rows, inverse: true, ...more.y }),
      visualMap: { show: false, min: 0, max: 1, inRange: { color: heat() } },
      series: [{ type: "heatmap", data: items, itemStyle: { borderColor: css("--ground"), borderWidth: 1 },
        emphasis: { itemStyle: { borderColor: css("--ink"), borderWidth: 2 } } }],
    };
  }

  // Rows have names; columns have the numbers of the rows, so that long names are never cut there.
  function pairs(word, values) {
    const names = data.views.map((view, at) => `${at + 1}. ${view.name}`);
    const label = { color: viewColor, interval: 0, hideOverlap: false };
    const few = names.length <= 14;
    return cells(names, names.map((_, at) => String(at + 1)), values,
      few ? (x, y) => (x === y || values[y][x] === null ? "" : values[y][x].toFixed(2)) : null,
      ({ value }) => tip(`${data.views[value[1]].name} and ${data.views[value[0]].name}`,
        value[2] === null ? `${word} unknown: too few common samples` : `${word} ${value[2].toFixed(2)}`),
      { x: { axisLabel: { ...label, hideOverlap: true } }, y: { axisLabel: { ...label, ...viewNames() } } });
  }
  // Rows are views, columns clusters: names of views may be long, numbers of clusters are not.
  // The legend (report/answers.py) mentions brackets if there are some and at most 16 clusters.
  function profile() {
    const { values, chance } = data.profile;
    const names = data.views.map((view) => view.name);
    const columns = values[0].map((_, cluster) => String(cluster));
    const shown = (x, y) => (values[y][x] === null ? "" : chance[y][x] ? `(${values[y][x].toFixed(2)})` : values[y][x].toFixed(2));
    return cells(names, columns, values, columns.length <= (innerWidth < 640 ? 7 : 16) ? shown : null,
      ({ value }) => tip(`${names[value[1]]}, cluster ${value[0]}`,
        value[2] === null ? "too few samples" : `separation ${value[2].toFixed(2)}${chance[value[1]][value[0]] ? ", within chance" : ""}`),
      { x: {}, y: { axisLabel: { ...viewNames(), color: viewColor } } });
  }
  const agreement = () => pairs("agreement", data.agreement);
  const redundancy = () => pairs("redundancy", data.redundancy);

  function classes() {
    const { names, counts } = data.classes;
    const sizes = counts.map((row) => row.reduce((sum, value) => sum + value, 0));
    const shares = counts.map((row, y) => row.map((value) => value / (sizes[y] || 1)));
    const clusters = counts.map((_, cluster) => `cluster ${cluster}`);
    return cells(clusters, names, shares, names.length <= 16 ? (x, y) => counts[y][x] || "" : null,
      ({ value }) => tip(`cluster ${value[1]}, class ${names[value[0]]}`,
        `${counts[value[1]][value[0]]} samples, ${(100 * value[2]).toFixed(1)} % of the cluster`),
      { x: { axisLabel: { ...short, rotate: names.length > 12 ? 60 : 0 } }, y: {} });
  }

  function bars(panels, names, labelColor, height) {
    const option = { ...base(({ seriesName, name, value }) => tip(name, `${seriesName} ${value.value ?? value}`)),
      grid: [], xAxis: [], yAxis: [], series: [], title: [] };
    panels.forEach((panel, at) => {
      const left = at ? "60%" : 96;
      const right = panels.length === 1 || at ? 28 : "46%";
      option.title.push({ text: panel.title, left, top: 0,
        textStyle: { color: css("--ink"), fontSize: 13, fontWeight: 600 } });
      option.grid.push({ left, right, top: 28, bottom: 28 });
      option.xAxis.push(axis("value", { gridIndex: at, splitNumber: 4, ...panel.axis }));
      option.yAxis.push(axis("category", { gridIndex: at, data: names, inverse: true,
        axisLabel: { show: at === 0, color: labelColor, interval: 0, width: 90, overflow: "break", lineHeight: 14 } }));
      option.series.push({ name: panel.title, xAxisIndex: at, yAxisIndex: at, barMaxWidth: height, ...panel.series });
    });
    return option;
  }

  function noise() {
    const names = data.views.map((view) => view.name);
    const bar = (values, tone, position) => ({ type: "bar", data: values, itemStyle: { color: css(tone) },
      label: { show: true, position, color: css("--quiet"), fontSize: 11, formatter: ({ value }) => value.toFixed(2) } });
    return bars([
      { title: "N-noise", series: bar(data.noise.null, "--main", "right"), axis: roomy },
      { title: "C-noise", series: bar(data.noise.column, "--other", "left"), axis: { max: 0, boundaryGap: ["30%", 0] } },
    ], names, viewColor, 18);
  }

  function clusters() {
    const names = data.sizes.map((_, cluster) => `cluster ${cluster}`);
    const sizes = { type: "bar", data: data.sizes.map((value, c) => ({ value, itemStyle: { color: color(c) } })),
      label: { show: true, position: "right", color: css("--quiet"), fontSize: 11 } };
    const panels = [{ title: "samples", series: sizes, axis: roomy }];
    if (data.silhouettes) {
      const boxes = data.silhouettes.map((value, c) => ({ value: value || [],
        itemStyle: { color: color(c) + "55", borderColor: color(c), borderWidth: 1.5 } }));
      const least = Math.min(0, ...data.silhouettes.filter(Boolean).map((value) => value[0]));
      panels.push({ title: "silhouette", axis: { min: Math.floor(4 * least) / 4, max: 1, interval: 0.25 },
        series: { type: "boxplot", layout: "vertical", data: boxes, boxWidth: [6, 14],
          tooltip: { formatter: ({ name, value }) => tip(name, `median silhouette ${value[3].toFixed(2)}`,
            `middle half ${value[2].toFixed(2)} to ${value[4].toFixed(2)}`) } } });
    }
    return bars(panels, names, css("--ink"), 16);
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

  return { data, css, mode, color, shape, heat, tip, base, profile, agreement, redundancy, classes, noise, clusters, choice, spectrum };
})();
