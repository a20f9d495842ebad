"use strict";
// Options for the chart library, one function per chart, from the page's data.
const Charts = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const mode = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
  const known = { light: {}, dark: {} };
  const css = (name) => (known[mode()][name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  const count = data.colours.light.length;
  const colour = (cluster) => data.colours[mode()][cluster % count];
  const shape = (cluster) => data.shapes[Math.floor(cluster / count) % data.shapes.length];
  const heat = () => data.heat[mode()];
  const onHeat = (share) => (share > 0.55 ? css("--ground") : css("--ink"));
  const plain = (value, digits) => (Number(value.toFixed(digits)) || 0).toFixed(digits); // no -0.00
  const roomy = { min: 0, boundaryGap: [0, "14%"] }; // for the number after a bar
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

  const viewColour = (_, index) => css(data.views[index].unrelated ? "--alarm" : "--ink");

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

  function agreement() {
    const names = data.views.map((view) => view.name);
    const label = { color: viewColour, ...short, interval: 0 };
    const wide = names.length <= 14;
    return cells(names, names, data.agreement,
      wide ? (x, y) => (x === y || data.agreement[y][x] === null ? "" : plain(data.agreement[y][x], 2)) : null,
      ({ value }) => tip(`${names[value[1]]} and ${names[value[0]]}`, `agreement ${plain(value[2], 3)}`),
      { x: { axisLabel: { ...label, rotate: names.length > 6 ? 60 : 30 } }, y: { axisLabel: label } });
  }

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

  function bars(panels, names, labelColour, height) {
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
        axisLabel: { show: at === 0, color: labelColour, interval: 0, width: 90, overflow: "truncate" } }));
      option.series.push({ name: panel.title, xAxisIndex: at, yAxisIndex: at, barMaxWidth: height, ...panel.series });
    });
    return option;
  }

  function noise() {
    const names = data.views.map((view) => view.name);
    const bar = (values, tone) => ({ type: "bar", data: values, itemStyle: { color: css(tone) },
      label: { show: true, position: "right", color: css("--quiet"), fontSize: 11, formatter: ({ value }) => value.toFixed(1) } });
    return bars([
      { title: "N-noise", series: bar(data.noise.null, "--n-noise"), axis: roomy },
      { title: "C-noise", series: bar(data.noise.column, "--c-noise"), axis: roomy },
    ], names, viewColour, 18);
  }

  function weights() {
    const names = data.views.map((view) => view.name);
    return bars([{ title: "weight", series: { type: "bar", data: data.weights, itemStyle: { color: css("--n-noise") } } }],
      names, viewColour, 18);
  }

  function clusters() {
    const names = data.sizes.map((_, cluster) => `cluster ${cluster}`);
    const sizes = { type: "bar", data: data.sizes.map((value, c) => ({ value, itemStyle: { color: colour(c) } })),
      label: { show: true, position: "right", color: css("--quiet"), fontSize: 11 } };
    const panels = [{ title: "samples", series: sizes, axis: roomy }];
    if (data.silhouettes) {
      const boxes = data.silhouettes.map((value, c) => ({ value: value || [],
        itemStyle: { color: colour(c) + "55", borderColor: colour(c), borderWidth: 1.5 } }));
      const least = Math.min(0, ...data.silhouettes.filter(Boolean).map((value) => value[0]));
      panels.push({ title: "silhouette", axis: { min: Math.floor(4 * least) / 4, max: 1, interval: 0.25 },
        series: { type: "boxplot", layout: "vertical", data: boxes, boxWidth: [6, 14],
          tooltip: { formatter: ({ name, value }) => tip(name, `median silhouette ${value[3].toFixed(2)}`,
            `middle half ${value[2].toFixed(2)} to ${value[4].toFixed(2)}`) } } });
    }
    return bars(panels, names, css("--ink"), 16);
  }

  function choice() {
    const { ks, chosen, lines } = data.choice;
    const tones = { score: css("--ink"), stability: css("--n-noise"), separation: colour(2), gap: css("--c-noise"), "noise share": css("--quiet") };
    const series = Object.entries(lines).map(([name, values]) => ({ name, type: "line",
      data: values.map((value, i) => [ks[i], value]), color: tones[name], symbolSize: name === "score" ? 8 : 5,
      lineStyle: { width: name === "score" ? 3 : 1.5, type: name === "noise share" ? "dashed" : "solid" } }));
    series[0].markLine = { symbol: "none", silent: true, data: [{ xAxis: chosen,
      lineStyle: { type: "solid", color: css("--focus"), width: 1.5 },
      label: { formatter: `k = ${chosen}`, color: css("--ink"), position: "end", distance: 9 } }] };
    return {
      ...base(({ seriesName, value }) => tip(`${value[0]} clusters`, `${seriesName} ${plain(value[1], 3)}`)),
      legend: { bottom: 0, type: "scroll", textStyle: { color: css("--ink") }, pageTextStyle: { color: css("--ink") }, pageIconColor: css("--ink") },
      grid: { left: 8, right: 24, top: 34, bottom: 40, containLabel: true },
      xAxis: axis("value", { min: ks[0], max: ks[ks.length - 1], minInterval: 1, splitLine: { show: false } }),
      yAxis: axis("value", { max: 1 }), series,
    };
  }

  function stability() {
    const { clusters: values, flips } = data.stability;
    const bar = (numbers, digits) => ({ type: "bar", data: numbers.map((value, c) => ({ value, itemStyle: { color: colour(c) } })),
      label: { show: true, position: "right", color: css("--quiet"), fontSize: 11, formatter: ({ value }) => value.toFixed(digits) } });
    return bars([
      { title: "Jaccard", series: bar(values, 2), axis: { min: 0, max: 1.3, interval: 0.5, axisLabel: { showMaxLabel: false },
        splitLine: { show: true, showMaxLine: false, lineStyle: { color: css("--line") } } } },
      { title: "samples that flip", series: bar(flips, 0), axis: { ...roomy, minInterval: 1 } },
    ], values.map((_, cluster) => `cluster ${cluster}`), css("--ink"), 16);
  }

  function spectrum(at) {
    const { points, kept } = data.spectra.views[at];
    const last = points[points.length - 1][0];
    const mark = (x, name, type) => ({ xAxis: x, lineStyle: { type, color: css("--ink"), width: 1.5 },
      label: { formatter: name, color: css("--ink"), position: "end", distance: 2 } });
    const marks = kept === data.spectra.k ? [mark(kept, `d = k = ${kept}`, "solid")]
      : [mark(data.spectra.k, kept < 2.2 * data.spectra.k ? "k" : `k = ${data.spectra.k}`, "dashed"), mark(kept, `d = ${kept}`, "solid")];
    return {
      ...base(([point]) => tip(`direction ${point.value[0]}`, `eigenvalue ${point.value[1]} of the largest`)),
      grid: { left: 8, right: 30, top: 24, bottom: 4, containLabel: true },
      xAxis: axis("log", { min: 1, max: last, logBase: 10, splitLine: { show: false } }),
      yAxis: axis("log", { max: 1, axisLabel: { formatter: (v) => String(Number(v.toPrecision(1))) } }),
      tooltip: { ...base(null).tooltip, trigger: "axis",
        formatter: ([point]) => tip(`direction ${point.value[0]}`, `${point.value[1]} of the largest eigenvalue`) },
      series: [{ type: "line", data: points, showSymbol: false, color: css("--n-noise"), lineStyle: { width: 2 },
        areaStyle: { opacity: 0.12 }, markLine: { symbol: "none", silent: true, data: marks } }],
    };
  }

  return { data, css, mode, colour, shape, heat, tip, base, agreement, classes, noise, weights, clusters, choice, stability, spectrum };
})();
