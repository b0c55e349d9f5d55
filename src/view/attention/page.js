/* Draws the sentences of attention_page.html (attention_html.c says how they are written). What is drawn is only what can be
   seen: a canvas lies on the scrolled area and is drawn anew as it moves, so that 300 tokens are as quick as 3. */
"use strict";
(() => {
const $ = id => document.getElementById(id);
const KINDS = {encoder: "Encoder", decoder: "Decoder", cross: "Cross"};
const VIEWS = {sound: "Sound", picture: "Picture", map: "Heat map", lines: "Lines", all: "All heads"};
const blocks = document.querySelectorAll("script.sentence");
const state = {sentence: 0, kind: "cross", layer: -1, head: 0, view: "map", row: -1, col: -1, size: 0, reader: -1};
/* size 0: what fits; reader: the row of the encoder whose attention lies on the picture, -1: the class token, or the mean */
const stage = $("stage"), canvas = $("canvas"), pen = canvas.getContext("2d");

/* -- data: layers and heads count from 0 here; head 0 of the choice is the mean -- */

const digit = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((c, i) => digit[c.charCodeAt(0)] = i);

/* Four characters are the upper three bytes of a float; a masked row has one weight more than the row before. */
function unpack(part) {
    const {rows, cols, masked, weights} = part, maps = part.layers * part.heads;
    const bits = new Uint32Array(maps * rows * cols);
    for (let m = 0, at = 0; m < maps; m++)
        for (let i = 0; i < rows; i++)
            for (let j = 0, to = (m * rows + i) * cols, n = masked ? i + 1 : cols; j < n; j++, at += 4)
                bits[to + j] = (digit[weights.charCodeAt(at)] << 18 | digit[weights.charCodeAt(at + 1)] << 12 |
                                digit[weights.charCodeAt(at + 2)] << 6 | digit[weights.charCodeAt(at + 3)]) << 8;
    return new Float32Array(bits.buffer);
}

let data = null, parts = {}, picture = null; /* picture: an image, once it is there */

function open(n) {
    data = JSON.parse(blocks[n].textContent);
    parts = {};
    for (const kind in data.attention) {
        const part = data.attention[kind], self = kind !== "cross";
        if (!part.layers || !part.heads) continue;
        parts[kind] = Object.assign(part, {
            from: tokens(kind === "encoder" ? "source" : self ? "input" : "output"),
            to: tokens(kind === "decoder" ? "input" : "source"), values: null, cache: new Map()});
    }
    picture = null;
    if (data.picture || data.sound) {
        const image = new Image(), own = data;
        image.onload = () => { if (data === own) picture = image, plan.thumbs?.clear(), redraw(); };
        image.src = (data.picture ?? data.sound).png;
    }
    $("unknown").hidden = !["source", "input", "output"].some(side => data[side + "_unknown"]);
}

/* The tokens of a side, marked where the vocabulary lacks a word. */
function tokens(side) {
    const unknown = new Set(data[side + "_unknown"]);
    return data[side + "_tokens"].map((t, i) => unknown.has(i) ? t + "*" : t);
}

/* Heads that say when a token was spoken: one more choice of a layer, behind all of them. */
const aligned = () => (state.kind === "cross" && data.sound?.alignment_heads) || [];

/* The weights of a layer and a head, or of the mean of all heads for head -1. */
function weights(part, layer, head) {
    part.values ||= unpack(part);
    const size = part.rows * part.cols, key = layer + " " + head;
    if (layer === part.layers) {
        if (!part.cache.has(key)) {
            const mean = new Float32Array(size), list = aligned();
            for (const [l, h] of list) weights(part, l - part.layer, h - part.head).forEach((w, i) => mean[i] += w / list.length);
            part.cache.set(key, mean);
        }
        return part.cache.get(key);
    }
    if (head >= 0) return part.values.subarray((layer * part.heads + head) * size, (layer * part.heads + head + 1) * size);
    if (!part.cache.has(key)) {
        const mean = new Float32Array(size);
        for (let h = 0; h < part.heads; h++) {
            const one = weights(part, layer, h);
            for (let i = 0; i < size; i++) mean[i] += one[i] / part.heads;
        }
        part.cache.set(key, mean);
    }
    return part.cache.get(key);
}

/* The smallest round number that none exceeds. */
function scaleOf(map) {
    const most = map.reduce((a, b) => b > a ? b : a, 0), steps = [1, .8, .6, .5, .4, .3, .2, .15];
    let scale = 1;
    for (let i = 0; i < 40 && most <= steps[i % 8] / 10 ** Math.floor(i / 8); i++) scale = steps[i % 8] / 10 ** Math.floor(i / 8);
    return scale;
}

/* -- colors -- */

const dark = matchMedia("(prefers-color-scheme: dark)");
const LIGHT = [0xf7fbff, 0xdeebf7, 0xc6dbef, 0x9ecae1, 0x6baed6, 0x4292c6, 0x2171b5, 0x08519c, 0x08306b];
const DARK = [0x141c26, 0x14283f, 0x143a61, 0x154d87, 0x1f69ad, 0x3f8fc9, 0x74b3de, 0xaed4ee, 0xe3f1fb];
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function rgb(share) {
    const stops = dark.matches ? DARK : LIGHT, at = Math.min(Math.max(share, 0), 1) * 8, i = Math.min(Math.floor(at), 7);
    const mix = (a, b) => Math.round(a + (b - a) * (at - i));
    return [16, 8, 0].map(s => mix(stops[i] >> s & 255, stops[i + 1] >> s & 255));
}
const shades = () => Array.from({length: 257}, (_, i) => `rgb(${rgb(i / 256)})`);

/* -- words -- */

/* A text whose direction, which may be from right to left, stays its own: in an element, and where there can be none. */
function bdi(text) {
    const own = document.createElement("bdi");
    own.textContent = text;
    return own;
}
const isolated = text => "\u2068" + text + "\u2069";

function shown(token) {
    return token.replace(/^ | $/g, "␣").replace(/\n/g, "↵").replace(/\t/g, "⇥")
        .replace(/[\x00-\x1f\x7f]/g, c => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));
}

function fit(token, most) {
    let s = shown(token);
    if (pen.measureText(s).width <= most) return s;
    const letters = [...s];
    while (letters.length && pen.measureText(letters.join("") + "…").width > most) letters.pop();
    return letters.join("") + "…";
}

const part = () => parts[state.kind];
const pictured = () => data.picture && state.kind !== "decoder";
const heard = () => data.sound && state.kind === "cross";
const titleOf = (layer, head) =>
    `layer ${part().layer + layer}, ` + (head < 0 ? `mean of ${part().heads} heads` : `head ${part().head + head}`);

/* -- layout of what is chosen; made anew when the choice changes, not when it is scrolled -- */

let plan = {};
const FONT = '13px system-ui, "DejaVu Sans", "Noto Sans", sans-serif', LONGEST = 170, GAP = 6;

function layOut() {
    const p = part(), map = weights(p, state.layer, state.head - 1);
    pen.font = FONT;
    plan = {map, scale: scaleOf(map), shades: shades(),
            from: p.from.map(t => fit(t, LONGEST)), to: p.to.map(t => fit(t, LONGEST))};
    const widest = list => Math.ceil(list.reduce((w, s) => Math.max(w, pen.measureText(s).width), 0));
    const within = (n, least, most) => Math.floor(Math.min(Math.max(n, least), most));
    const number = state.view === "lines" ? 56 : 0; /* room for one beside a token */
    const left = widest(plan.from) + number + 14 + GAP, far = widest(plan.to) + number, up = Math.ceil(far * .71) + 22 + GAP;
    const wide = stage.clientWidth, high = stage.clientHeight;
    if (state.view === "picture") {
        const {width: w, height: h} = data.picture, cell = state.size || 24, by = cell * 8 / Math.max(w, h);
        const side = Math.round(w * by), tall = Math.round(h * by), list = panels();
        const across = Math.max(1, Math.min(list.length, Math.floor((wide - 28) / (side + 14))));
        Object.assign(plan, {left: 14, top: 30, cell, side, tall, across, panels: list, thumbs: new Map(), width: 14 + across * (side + 14),
                             height: Math.ceil(list.length / across) * (tall + 34) + 10});
    } else if (state.view === "sound") {
        const cell = state.size || within((high - STRIP - 80) / p.rows, 14, 24), across = Math.max(320, wide - left - 40);
        Object.assign(plan, {left, top: 34 + STRIP + GAP, cell, across, path: pathOf(map, p.rows, p.cols), width: left + across + 30,
                             height: 34 + STRIP + GAP + p.rows * cell + 30});
    } else if (state.view === "map") {
        const cell = state.size || within(Math.min((wide - left - up) / p.cols, (high - up - 14) / p.rows), 20, 44);
        Object.assign(plan, {left, top: up, cell, width: left + p.cols * cell + up, height: up + p.rows * cell + 14});
    } else if (state.view === "lines") {
        const most = Math.max(p.rows, p.cols), middle = within(wide - left - far - 60, 160, 420);
        const cell = Math.max(state.size || within((high - 48) / most, 20, 30), 14);
        Object.assign(plan, {left, top: 34, cell, middle, width: left + middle + far + 30, height: 34 + most * cell + 14});
    } else {
        const across = p.heads + (p.heads > 1 ? 1 : 0);
        const side = state.size ? Math.max(48, state.size * 5) : within((wide - 84) / across - 10, 64, 180);
        const shape = pictured() ? data.picture.height / data.picture.width : p.rows / p.cols;
        const tall = within(side * shape, 24, side * 2);
        Object.assign(plan, {left: 70, top: 34, cell: Math.round(side / 5), side, tall, across, thumbs: new Map(),
                             width: 70 + across * (side + 10) + 14, height: 34 + p.layers * (tall + 10) + 14});
    }
    $("room").style.width = plan.width + "px";
    $("room").style.height = plan.height + "px";
}

/* -- over a picture -- */

/* The weights of the row that is looked at, in a matrix of the encoder: those of the chosen one, or of the class token; without
   one, the mean of all rows. */
function readerRow(map, n) {
    const row = state.reader >= 0 ? state.reader : data.picture.lead ? 0 : -1;
    return row >= 0 ? map.subarray(row * n, row * n + n) : meanRow(map, n);
}
function meanRow(map, cols) {
    const mean = new Float32Array(cols);
    for (let i = 0; i < map.length; i++) mean[i % cols] += map[i] * cols / map.length;
    return mean;
}

/* The row of the reader in the product over the layers of (A + I) / 2, A the mean of the heads: where layer after layer takes
   what it reads from. From the last layer back, so that no matrices are multiplied. */
function rolloutRow(p) {
    const n = p.rows, reader = state.reader >= 0 ? state.reader : data.picture.lead ? 0 : -1;
    let now = new Float32Array(n).map((_, i) => reader < 0 ? 1 / n : i === reader ? 1 : 0);
    for (let l = p.layers - 1; l >= 0; l--) {
        const a = weights(p, l, -1), next = now.map(v => v / 2);
        for (let i = 0; i < n; i++)
            for (let j = 0, v = now[i] / 2; v && j < n; j++) next[j] += v * a[i * n + j];
        now = next;
    }
    return now;
}

/* What is drawn: the picture, then one panel for each word or object, or for each layer. */
function panels() {
    const p = part(), list = [{name: (data.picture.file ?? "picture").replace(/^.*\//, "")}], plain = t => t.replace(/^▁(?=.)/, "");
    if (state.kind === "cross") {
        const map = weights(p, state.layer, state.head - 1);
        p.from.forEach((t, i) => list.push({name: plain(t), row: map.subarray(i * p.cols, i * p.cols + p.cols), box: i}));
        return list;
    }
    for (let l = 0; l < p.layers; l++)
        list.push({name: "layer " + (p.layer + l), row: readerRow(weights(p, l, state.head - 1), p.cols)});
    if (p.layers > 1 && p.layer === 1 && !state.head) list.push({name: "rollout", row: rolloutRow(p)});
    return list;
}

/* The picture, bright where weights are large: between the middles of cells they are mixed. */
function lit(row, wide, high) {
    const {grid: [down, across], lead} = data.picture, cells = row.subarray(lead), small = document.createElement("canvas");
    small.width = wide, small.height = high;
    const to = small.getContext("2d");
    to.drawImage(picture, 0, 0, wide, high);
    const image = to.getImageData(0, 0, wide, high), px = image.data, most = cells.reduce((a, b) => Math.max(a, b), 0) || 1;
    const along = (i, n, count) => {
        const at = Math.min(Math.max((i + .5) / n * count - .5, 0), count - 1), a = Math.floor(at);
        return [a, Math.min(a + 1, count - 1), at - a];
    };
    for (let y = 0; y < high; y++) {
        const [top, bottom, v] = along(y, high, down);
        for (let x = 0; x < wide; x++) {
            const [left, right, u] = along(x, wide, across), at = (y * wide + x) * 4;
            const above = cells[top * across + left] * (1 - u) + cells[top * across + right] * u;
            const below = cells[bottom * across + left] * (1 - u) + cells[bottom * across + right] * u;
            const s = Math.min((above * (1 - v) + below * v) / most, 1) ** .8;
            const grey = .28 * (.299 * px[at] + .587 * px[at + 1] + .114 * px[at + 2]) + 8;
            for (let c = 0; c < 3; c++) px[at + c] = (1 - s) * grey + s * (px[at + c] + GLOW[c] * (1 - px[at + c] / 255));
        }
    }
    to.putImageData(image, 0, 0);
    return small;
}
const GLOW = [95, 85, 55], BOXES = ["#4292c6", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#8c6d31", "#666666", "#c41e3a"];

function drawBox(n, x, y, wide, high) {
    const box = data.picture.boxes?.[n];
    if (!box) return;
    const [left, top, across, down] = [x + box[0] * wide, y + box[1] * high, box[2] * wide, box[3] * high];
    for (const [color, width] of [["#1f2328", 3.5], [BOXES[n % BOXES.length], 2]])
        pen.strokeStyle = color, pen.lineWidth = width, pen.strokeRect(left, top, across, down);
}

/* The place of the reader on the picture. */
function drawReader(x, y, wide, high) {
    const {grid: [down, across], lead} = data.picture, cell = state.reader - lead;
    if (state.kind !== "encoder" || cell < 0) return;
    pen.strokeStyle = style("--mark");
    pen.lineWidth = 2;
    pen.strokeRect(x + cell % across * wide / across, y + Math.floor(cell / across) * high / down, wide / across, high / down);
}

function drawPicture(w, h) {
    const {left, top, side, tall, across, panels: list} = plan, sx = stage.scrollLeft, sy = stage.scrollTop;
    if (!picture) return;
    const [r0, r1] = seen(sy, h, tall + 34, Math.ceil(list.length / across));
    for (let i = r0 * across; i < Math.min(r1 * across, list.length); i++) {
        const x = left + i % across * (side + 14) - sx, y = top + Math.floor(i / across) * (tall + 34) - sy;
        if (!plan.thumbs.has(i)) plan.thumbs.set(i, list[i].row ? lit(list[i].row, side, tall) : picture);
        pen.drawImage(plan.thumbs.get(i), x, y, side, tall);
        label(fit(list[i].name, side), x, y - 11, {strong: i > 0});
        if (i) drawBox(list[i].box, x, y, side, tall);
        else data.picture.boxes?.forEach((_, n) => drawBox(n, x, y, side, tall));
        drawReader(x, y, side, tall);
        if (i !== state.row) continue;
        pen.strokeStyle = style("--mark");
        pen.lineWidth = 2;
        pen.strokeRect(x - 1, y - 1, side + 2, tall + 2);
    }
}

/* The panel and the cell of a point, -1: none. */
function pointAtPicture(x, y) {
    const {left, top, side, tall, across, panels: list} = plan, {grid: [down, wide], lead} = data.picture;
    const col = Math.floor((x - left) / (side + 14)), row = Math.floor((y - top) / (tall + 34)), i = row * across + col;
    const u = (x - left - col * (side + 14)) / side, v = (y - top - row * (tall + 34)) / tall;
    if (col < 0 || col >= across || row < 0 || i >= list.length || u < 0 || u >= 1 || v < 0 || v >= 1) return [-1, -1];
    return [i, lead + Math.floor(v * down) * wide + Math.floor(u * wide)];
}

function readerName() {
    const p = part(), word = t => isolated("“" + shown(t) + "”");
    return state.reader >= 0 ? word(p.from[state.reader]) : data.picture.lead ? word(p.from[0]) : "the mean of all cells";
}

function sentenceOfPicture(i, cell) {
    const one = plan.panels[i], word = t => isolated("“" + shown(t) + "”");
    if (!one || cell < 0) return one ? one.name : "";
    const to = word(part().to[cell]), encoder = state.kind === "encoder";
    if (!one.row) return encoder ? `click: where ${to} looks` : part().to[cell];
    return (encoder ? `${one.name}, ${readerName()}` : word(one.name)) + ` → ${to}: ${one.row[cell].toPrecision(4)}`;
}

/* Arrow keys: over the picture's cells for what the encoder reads, else from panel to panel. */
function stepPicture(down, right) {
    const {grid: [high, wide], lead} = data.picture, clamp = (i, n) => Math.min(Math.max(i, 0), n - 1);
    if (state.kind === "encoder") {
        const cell = state.reader < lead ? -1 : state.reader - lead;
        const row = cell < 0 ? 0 : clamp(Math.floor(cell / wide) + down, high), col = cell < 0 ? 0 : clamp(cell % wide + right, wide);
        show({reader: lead + row * wide + col});
        $("said").textContent = readerName();
        return;
    }
    mark(clamp(state.row < 0 ? 0 : state.row + right + down * plan.across, plan.panels.length), -1);
    const y = Math.floor(state.row / plan.across) * (plan.tall + 34);
    stage.scrollTop = Math.min(y, Math.max(stage.scrollTop, y + plan.tall + 34 - stage.clientHeight));
}

/* -- over time -- */

const STRIP = 110; /* height of a spectrogram */

/* The columns that never go back and hold the most, those each row attends to most, and how many of these follow the one before. */
function pathOf(map, rows, cols) {
    const best = new Float64Array(rows * cols), from = new Uint32Array(rows * cols), columns = [], most = [];
    for (let i = 0; i < rows; i++)
        for (let j = 0, at = i * cols; j < cols; j++, at++) {
            const here = map[at] + (i ? best[at - cols] : 0), left = j && best[at - 1] >= here;
            best[at] = left ? best[at - 1] : here, from[at] = left ? from[at - 1] : j;
            if (!j || map[at] > map[i * cols + most[i]]) most[i] = j;
        }
    for (let i = rows - 1, j = cols - 1; i >= 0; i--) columns[i] = j = from[i * cols + j];
    return {columns, most, inOrder: most.filter((j, i) => !i || j >= most[i - 1]).length,
            span: (Math.max(...most) - Math.min(...most) + 1) / cols};
}

function drawSound(w, h) {
    const p = part(), {left, top, map, scale, cell: c, across, path} = plan, sx = stage.scrollLeft, sy = stage.scrollTop;
    const x = j => left + j * across / p.cols - sx, y = i => top + i * c - sy, seconds = data.sound.seconds;
    if (picture) pen.drawImage(picture, left - sx, 30 - sy, across, STRIP);
    const [i0, i1] = seen(sy - top, h, c, p.rows);
    for (let i = i0; i < i1; i++) {
        for (let j = 0; j < p.cols; j++) {
            pen.fillStyle = plan.shades[Math.round(Math.min(map[i * p.cols + j] / scale, 1) * 256)];
            pen.fillRect(x(j), y(i), across / p.cols + .5, c - 1);
        }
        label(plan.from[i], left - GAP - sx, y(i + .5), {align: "right", strong: i === state.row});
    }
    pen.strokeStyle = style("--mark");
    pen.lineWidth = 1.5;
    pen.beginPath();
    path.columns.forEach((j, i) => pen.lineTo(x(j + .5), y(i + .5)));
    pen.stroke();
    path.most.forEach((j, i) => { /* a ring where attention goes back */
        pen.beginPath();
        pen.arc(x(j + .5), y(i + .5), i && j < path.most[i - 1] ? 5 : 2.5, 0, 7);
        i && j < path.most[i - 1] ? pen.stroke() : (pen.fillStyle = style("--mark"), pen.fill());
    });
    if (state.row >= 0 && state.col >= 0) pen.strokeRect(x(state.col), y(state.row), across / p.cols, c - 1);
    for (let n = 0; n <= 8; n++)
        label(((data.sound.begin ?? 0) + seconds * n / 8).toFixed(2) + " s", left + across * n / 8 - sx, y(p.rows) + 12, {align: "center", color: "--faint"});
    label(`in order: ${(100 * path.inOrder / p.rows).toFixed(1)} % of ${p.rows} tokens, over ${Math.round(100 * path.span)} % of the time`, left - sx, 14 - sy, {color: "--faint"});
}

/* -- drawing -- */

function label(text, x, y, {align = "left", turn = 0, strong = false, color = "--ink"} = {}) {
    pen.save();
    pen.translate(x, y);
    pen.rotate(-turn * Math.PI / 180);
    pen.font = strong ? "bold " + FONT : FONT;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    pen.fillStyle = style(strong ? "--mark" : color);
    pen.fillText(text, 0, 0);
    pen.restore();
}

/* First and last + 1 of the n things of a size that the window shows. */
const seen = (offset, length, size, n) =>
    [Math.max(0, Math.floor(offset / size)), Math.min(n, Math.ceil((offset + length) / size))];

function drawMap(w, h) {
    const p = part(), {left, top, map, scale, cell: c} = plan, sx = stage.scrollLeft, sy = stage.scrollTop;
    const [i0, i1] = seen(sy, h - top, c, p.rows), [j0, j1] = seen(sx, w - left, c, p.cols);
    pen.save();
    pen.beginPath();
    pen.rect(left, top, w, h);
    pen.clip();
    for (let i = i0; i < i1; i++)
        for (let j = j0; j < (p.masked ? Math.min(j1, i + 1) : j1); j++) {
            const v = map[i * p.cols + j], x = left + j * c - sx, y = top + i * c - sy;
            pen.fillStyle = plan.shades[Math.round(Math.min(v / scale, 1) * 256)];
            pen.fillRect(x, y, c - 1, c - 1);
            if (c < 36) continue;
            label(v.toFixed(2), x + (c - 1) / 2, y + c / 2, {align: "center", color: v / scale > .55 ? "--paper" : "--ink"});
        }
    if (state.row >= 0 && state.col >= 0) {
        pen.strokeStyle = style("--mark");
        pen.lineWidth = 2;
        pen.strokeRect(left + state.col * c - sx, top + state.row * c - sy, c - 1, c - 1);
    }
    pen.restore();
    const thin = c < 13 ? Math.ceil(13 / c) : 1; /* every so many labels where cells are small */
    pen.save();
    pen.beginPath();
    pen.rect(0, top, left, h);
    pen.clip();
    for (let i = i0; i < i1; i++)
        if (i % thin === 0 || i === state.row)
            label(plan.from[i], left - GAP, top + (i + .5) * c - sy, {align: "right", strong: i === state.row});
    pen.restore();
    pen.save();
    pen.beginPath();
    pen.moveTo(left - 4, top), pen.lineTo(left - 4 + top, 0), pen.lineTo(w, 0), pen.lineTo(w, top);
    pen.clip();
    for (let j = j0; j < j1; j++)
        if (j % thin === 0 || j === state.col)
            label(plan.to[j], left + (j + .5) * c - sx, top - GAP, {turn: 45, strong: j === state.col});
    pen.restore();
}

function drawLines(w, h) {
    const p = part(), {left, top, map, scale, cell: pitch, middle} = plan, sx = stage.scrollLeft, sy = stage.scrollTop;
    const x0 = left - sx, x1 = x0 + middle, y = i => top + (i + .5) * pitch - sy, thread = style("--thread");
    const [i0, i1] = seen(sy - 20, h, pitch, p.rows), [j0, j1] = seen(sy - 20, h, pitch, p.cols);
    pen.save();
    pen.beginPath();
    pen.rect(0, top, w, h);
    pen.clip();
    for (let i = 0; i < p.rows; i++)
        for (let j = 0; j < (p.masked ? i + 1 : p.cols); j++) {
            const part = map[i * p.cols + j] / scale;
            const chosen = (state.row < 0 || i === state.row) && (state.col < 0 || j === state.col);
            if (part < .02 || !chosen || ((i < i0 || i >= i1) && (j < j0 || j >= j1))) continue;
            pen.strokeStyle = `rgba(${thread}, ${Math.min(part, 1)})`;
            pen.lineWidth = 1 + 2 * part;
            pen.beginPath();
            pen.moveTo(x0 + GAP, y(i));
            pen.bezierCurveTo(x0 + middle / 2, y(i), x0 + middle / 2, y(j), x1 - GAP, y(j));
            pen.stroke();
        }
    const share = (i, j) => map[i * p.cols + j] / scale < .02 ? "" : map[i * p.cols + j].toPrecision(4);
    for (let i = i0; i < i1; i++) {
        const text = (state.col < 0 ? "" : share(i, state.col) + "  ") + isolated(plan.from[i]);
        label(text, x0, y(i), {align: "right", strong: i === state.row});
    }
    for (let j = j0; j < j1; j++)
        label(isolated(plan.to[j]) + (state.row < 0 ? "" : "  " + share(state.row, j)), x1, y(j), {strong: j === state.col});
    pen.restore();
    label("attends", x0, 16, {align: "right", color: "--faint"});
    label("to", x1, 16, {color: "--faint"});
}

function thumb(layer, head) {
    const p = part(), key = layer + " " + head;
    if (!plan.thumbs.has(key) && pictured()) {
        const map = weights(p, layer, head), row = state.kind === "cross" ? meanRow(map, p.cols) : readerRow(map, p.cols);
        if (!picture) return document.createElement("canvas");
        plan.thumbs.set(key, lit(row, plan.side, plan.tall));
    }
    if (!plan.thumbs.has(key)) {
        const map = weights(p, layer, head), scale = scaleOf(map), small = document.createElement("canvas");
        small.width = p.cols, small.height = p.rows;
        const image = new ImageData(p.cols, p.rows), table = Array.from({length: 257}, (_, i) => rgb(i / 256));
        for (let i = 0; i < map.length; i++) {
            image.data.set(table[Math.round(Math.min(map[i] / scale, 1) * 256)], i * 4);
            image.data[i * 4 + 3] = p.masked && i % p.cols > Math.floor(i / p.cols) ? 0 : 255;
        }
        small.getContext("2d").putImageData(image, 0, 0);
        plan.thumbs.set(key, small);
    }
    return plan.thumbs.get(key);
}

function drawAll(w, h) {
    const p = part(), {left, top, side, tall, across} = plan, sx = stage.scrollLeft, sy = stage.scrollTop;
    const [l0, l1] = seen(sy, h - top, tall + 10, p.layers), [k0, k1] = seen(sx, w - left, side + 10, across);
    pen.save();
    pen.beginPath();
    pen.rect(left - 4, top - 4, w, h);
    pen.clip();
    pen.imageSmoothingEnabled = p.cols > side;
    for (let l = l0; l < l1; l++)
        for (let k = k0; k < k1; k++) {
            const x = left + k * (side + 10) - sx, y = top + l * (tall + 10) - sy;
            pen.drawImage(thumb(l, k < p.heads ? k : -1), x, y, side, tall);
            pen.strokeStyle = style(l === state.row && k === state.col ? "--mark" : "--line");
            pen.lineWidth = l === state.row && k === state.col ? 3 : 1;
            pen.strokeRect(x - .5, y - .5, side + 1, tall + 1);
        }
    pen.restore();
    for (let l = l0; l < l1; l++) {
        const y = top + (l + .5) * (tall + 10) - 5 - sy;
        if (y > top) label("layer " + (p.layer + l), left - 10, y, {align: "right", color: "--faint"});
    }
    for (let k = k0; k < k1; k++) {
        const x = left + k * (side + 10) + side / 2 - sx;
        if (x > left) label(k < p.heads ? "head " + (p.head + k) : "mean", x, 16, {align: "center", color: "--faint"});
    }
}

let asked = false;
function draw() {
    asked = false;
    if (!part()) return;
    const w = stage.clientWidth, h = stage.clientHeight, ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
        canvas.width = Math.round(w * ratio), canvas.height = Math.round(h * ratio);
        canvas.style.width = w + "px", canvas.style.height = h + "px";
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    ({sound: drawSound, picture: drawPicture, map: drawMap, lines: drawLines, all: drawAll})[state.view](w, h);
}
const redraw = () => { if (!asked) asked = true, requestAnimationFrame(draw); };

function drawScale() {
    const bar = $("scale").getContext("2d"), over = pictured() && (state.view === "picture" || state.view === "all");
    for (let i = 0; i < 120; i++)
        bar.fillStyle = over ? `rgb(${GLOW.map(c => Math.round(30 + i / 120 * (130 + c)))})` : `rgb(${rgb((i + .5) / 120)})`, bar.fillRect(i, 0, 1, 10);
    $("most").textContent = over || state.view === "all" ? "the strongest of each" : String(Number(plan.scale.toPrecision(2)));
}

/* -- pointing -- */

function pointAt(x, y) {
    const p = part(), sx = stage.scrollLeft, sy = stage.scrollTop, {left, top} = plan;
    if (state.view === "picture") return pointAtPicture(x + sx, y + sy);
    const inside = (i, n) => i >= 0 && i < n ? i : -1;
    if (state.view === "sound")
        return [inside(Math.floor((y - top + sy) / plan.cell), p.rows), inside(Math.floor((x - left + sx) / plan.across * p.cols), p.cols)];
    if (state.view === "map") {
        const row = y < top ? -1 : inside(Math.floor((y - top + sy) / plan.cell), p.rows);
        const col = x < left ? -1 : inside(Math.floor((x - left + sx) / plan.cell), p.cols);
        return p.masked && col > row ? [-1, -1] : [row, col];
    }
    if (state.view === "lines") {
        const i = y < top ? -1 : Math.floor((y - top + sy) / plan.cell), at = x - left + sx;
        return at < plan.middle / 3 ? [inside(i, p.rows), -1] : at > plan.middle * 2 / 3 ? [-1, inside(i, p.cols)] : [-1, -1];
    }
    const l = Math.floor((y - top + sy) / (plan.tall + 10)), k = Math.floor((x - left + sx) / (plan.side + 10));
    return y < top || x < left ? [-1, -1] : [inside(l, p.layers), inside(k, plan.across)];
}

/* Which experts the token of a row uses in the layer that is shown: " · experts 3 0.61, 5 0.39". */
function expertsOf(row) {
    const layer = data.experts?.find(e => e.layer === part().layer + state.layer);
    if (!layer || state.kind !== "decoder" || !layer.used[row]) return "";
    const used = [...layer.used[row]].sort((a, b) => b[1] - a[1]);
    return " · experts " + used.map(([n, weight]) => `${n} ${weight.toPrecision(2)}`).join(", ") + ` of ${layer.count}`;
}

function sentenceOf(row, col) {
    const p = part(), word = t => isolated("“" + shown(t) + "”");
    if (state.view === "picture") return sentenceOfPicture(row, col);
    if (state.view === "all") return row >= 0 && col >= 0 ? titleOf(row, col < p.heads ? col : -1) : "";
    if (row >= 0 && col >= 0) return `${word(p.from[row])} → ${word(p.to[col])}: ${plan.map[row * p.cols + col].toPrecision(4)}` + expertsOf(row);
    if (row < 0 && col < 0 || state.view === "map" || state.view === "sound") return "";
    const list = row >= 0 ? p.to.map((_, j) => plan.map[row * p.cols + j]) : p.from.map((_, i) => plan.map[i * p.cols + col]);
    const best = list.map((v, i) => [v, i]).sort((a, b) => b[0] - a[0]).slice(0, 3).filter(([v]) => v > 0);
    const other = row >= 0 ? p.to : p.from;
    return word(row >= 0 ? p.from[row] : p.to[col]) + (row >= 0 ? " attends to " : " is attended to by ") +
        best.map(([v, i]) => `${word(other[i])} ${v.toPrecision(4)}`).join(", ") + (row >= 0 ? expertsOf(row) : "");
}

function mark(row, col, event) {
    const text = sentenceOf(row, col), tip = $("tip");
    if (row !== state.row || col !== state.col) state.row = row, state.col = col, $("said").textContent = text, redraw();
    tip.hidden = !event || !text || state.view === "lines"; /* it would lie on the lines, which have numbers */
    if (tip.hidden) return;
    tip.textContent = text;
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    const below = event.clientY + 18;
    tip.style.top = (below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : below) + "px";
}

/* Moves the mark and brings it into sight. */
function step(down, right) {
    if (state.view === "picture") return stepPicture(down, right);
    const p = part(), lines = state.view === "lines", clamp = (i, n) => Math.min(Math.max(i, 0), n - 1);
    if (lines) {
        const toRight = right ? right > 0 : state.row < 0 && state.col >= 0;
        const at = Math.max(state.row, state.col, down < 0 ? 1 : -1);
        const to = right ? Math.max(at, 0) : at + down;
        toRight ? mark(-1, clamp(to, p.cols)) : mark(clamp(to, p.rows), -1);
    } else if (state.view === "all")
        mark(clamp(state.row < 0 ? 0 : state.row + down, p.layers), clamp(state.col < 0 ? 0 : state.col + right, plan.across));
    else {
        const row = clamp(state.row < 0 ? 0 : state.row + down, p.rows);
        mark(row, clamp(state.col < 0 ? 0 : state.col + right, p.masked ? row + 1 : p.cols));
    }
    const [high, wide] = state.view === "all" ? [plan.tall + 10, plan.side + 10] :
        [plan.cell, state.view === "sound" ? plan.across / p.cols : plan.cell];
    const y = Math.max(state.row, lines ? state.col : 0) * high, x = lines ? 0 : state.col * wide;
    const room = [stage.clientHeight - plan.top - high, stage.clientWidth - plan.left - wide];
    stage.scrollTop = Math.min(y, Math.max(stage.scrollTop, y - room[0]));
    if (!lines) stage.scrollLeft = Math.min(x, Math.max(stage.scrollLeft, x - room[1]));
}

/* -- choosing -- */

function options(select, list, chosen) {
    select.replaceChildren(...list.map(([value, text]) => new Option(text, value, false, value === chosen)));
    select.parentElement.hidden = select.id === "sentence" && list.length < 2;
}

function radios(set, list, chosen) {
    set.replaceChildren(...list.map(([value, text]) => {
        const outer = document.createElement("label"), input = document.createElement("input");
        Object.assign(input, {type: "radio", name: set.id, value, checked: value === chosen});
        outer.append(input, text);
        return outer;
    }));
}

/* Brings the choice in order, shows it in the controls and draws. */
function show(change = {}) {
    const focus = document.activeElement?.name;
    if ("sentence" in change || !data) {
        const had = data?.picture;
        open(change.sentence ?? 0);
        if (data.picture && !had) change.view ??= "picture";
        if (data.sound && state.view !== "all") change.view ??= "sound";
        change.reader ??= -1;
    }
    if ("sentence" in change || "view" in change || "kind" in change) change.size ??= 0, stage.scrollTo(0, 0);
    Object.assign(state, change, {row: -1, col: -1});
    if (!part()) state.kind = parts.cross ? "cross" : Object.keys(parts)[0];
    const p = part();
    if (!p) return;
    if (state.view === "picture" && !pictured() || state.view === "sound" && !heard()) state.view = "map";
    const last = aligned().length ? p.layers : p.layers - 1;
    if (state.layer < 0 || state.layer > last) state.layer = last;
    const mixed = state.layer === p.layers;
    if (mixed || state.head > p.heads || p.heads === 1) state.head = p.heads === 1 && !mixed ? 1 : 0;
    radios($("kind"), Object.keys(parts).map(k => [k, KINDS[k] ?? k]), state.kind);
    radios($("view"), Object.entries(VIEWS).filter(([v]) => v === "picture" ? pictured() : v === "sound" ? heard() : true), state.view);
    options($("layer"), Array.from({length: last + 1}, (_, l) => [l, l < p.layers ? p.layer + l : "alignment heads"]), state.layer);
    const heads = Array.from({length: mixed ? 0 : p.heads}, (_, h) => [h + 1, p.head + h]);
    options($("head"), p.heads > 1 || mixed ? [[0, "mean of all"], ...heads] : heads, state.head);
    if (focus) document.querySelector(`input[name="${focus}"]:checked`)?.focus();
    $("sentence").value = state.sentence;
    $("what").textContent = data.picture ? "Picture" : data.sound ? "Sound" : "Sentence";
    const between = document.createElement("i");
    between.textContent = "→";
    const score = document.createElement("i");
    score.textContent = data.score === null ? "" : "score " + Number(data.score.toPrecision(4));
    const place = document.createElement("i");
    place.textContent = data.parts > 1 ? `line ${data.line}, part ${data.part} of ${data.parts}` : "";
    $("texts").replaceChildren(...place.textContent ? [place] : [], bdi(data.source ?? ""),
                               ...data.translation === null ? [] : [between, bdi(data.translation)], score);
    $("said").textContent = "";
    $("tip").hidden = true;
    layOut();
    drawScale();
    redraw();
}

const turn = (n, by, count) => (n + by + count) % count;
const keys = {
    n: () => show({sentence: turn(state.sentence, 1, blocks.length)}),
    p: () => show({sentence: turn(state.sentence, -1, blocks.length)}),
    e: () => parts.encoder && show({kind: "encoder"}),
    d: () => parts.decoder && show({kind: "decoder"}),
    c: () => parts.cross && show({kind: "cross"}),
    "[": () => show({layer: turn(state.layer, -1, part().layers + !!aligned().length)}),
    "]": () => show({layer: turn(state.layer, 1, part().layers + !!aligned().length)}),
    ",": () => show({head: turn(state.head, -1, part().heads + 1)}),
    ".": () => show({head: turn(state.head, 1, part().heads + 1)}),
    i: () => pictured() && show({view: "picture"}),
    s: () => heard() && show({view: "sound"}),
    m: () => show({view: "map"}),
    l: () => show({view: "lines"}),
    a: () => show({view: "all"}),
    "+": () => show({size: Math.min(48, plan.cell + 4)}),
    "-": () => show({size: Math.max(6, plan.cell - 4)}),
    Escape: () => state.reader >= 0 ? show({reader: -1}) : mark(-1, -1),
};
const arrows = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};

/* Opens a head from the view of all; a cell of the picture shows where it looks. */
function choose(row, col) {
    if (state.view === "picture" && state.kind === "encoder" && col >= 0) show({reader: col});
    if (state.view === "all" && row >= 0 && col >= 0) show({layer: row, head: col < part().heads ? col + 1 : 0, view: "map"});
}

function under(event) {
    const box = stage.getBoundingClientRect();
    return pointAt(event.clientX - box.left, event.clientY - box.top);
}

function start() {
    if (!blocks.length) {
        stage.replaceChildren("There are no sentences in this page.");
        return;
    }
    options($("sentence"), Array.from(blocks, (b, i) => [i, `${b.dataset.place ?? i + 1}. ${isolated(b.dataset.title.slice(0, 90))}`]), 0);
    $("controls").addEventListener("change", e => {
        const name = e.target.id || e.target.name;
        show({[name]: e.target.tagName === "SELECT" ? Number(e.target.value) : e.target.value});
    });
    $("controls").addEventListener("submit", e => e.preventDefault());
    stage.addEventListener("scroll", redraw);
    stage.addEventListener("pointermove", e => mark(...under(e), e));
    stage.addEventListener("pointerleave", () => mark(-1, -1));
    stage.addEventListener("click", e => choose(...under(e)));
    document.addEventListener("keydown", e => {
        const free = e.target === stage || e.target === document.body;
        if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === "SELECT") return;
        if (keys[e.key]) keys[e.key]();
        else if (free && arrows[e.key]) step(...arrows[e.key]);
        else if (free && e.key === "Enter") choose(state.row, state.col);
        else return;
        e.preventDefault();
    });
    dark.addEventListener("change", () => show());
    show({sentence: 0});
    new ResizeObserver(() => { layOut(), redraw(); }).observe(stage);
}
start();
})();
