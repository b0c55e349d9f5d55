// Source above, translation below, and bands between them as wide as cross-attention is large.
import {el, empty, name, percent, svg, width} from './dom.js';

const FONT = '15px system-ui, sans-serif';
const GAP = 14, WIDE = 44, TOP = 30, HEIGHT = 210, LEAST = 0.04, EDGE = 24;

// Side by side, over the width there is, but not too far apart.
function places(tokens, room) {
    const all = tokens.reduce((sum, t) => sum + Math.max(width(name(t), FONT), 10), 2 * EDGE);
    const gap = Math.max(GAP, Math.min(WIDE, (room - all) / Math.max(1, tokens.length - 1)));
    let x = EDGE;
    return tokens.map((t) => {
        const w = Math.max(width(name(t), FONT), 10), at = {x: x + w / 2, w, text: name(t)};
        x += w + gap;
        return at;
    });
}

// The columns that a row looks at most, in words.
function words(row, sources) {
    const best = row.map((w, i) => [w, i]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    return best.map(([w, i]) => `${name(sources[i])} ${percent(w)}`).join(', ');
}

function band(a, b, weight) {
    const y0 = TOP + 8, y1 = HEIGHT - TOP - 12, mid = (y0 + y1) / 2;
    return `M${a.x} ${y0}C${a.x} ${mid} ${b.x} ${mid} ${b.x} ${y1}`;
}

function table(page) {
    const {source, target, alignment} = page.answer;
    return el('details', {class: 'table'}, el('summary', {text: 'As a table'}), el('div', {class: 'scroll'}, el('table', {},
        el('thead', {}, el('tr', {}, el('th'), source.map((t) => el('th', {scope: 'col', text: name(t)})))),
        el('tbody', {}, target.map((t, i) => el('tr', {}, el('th', {scope: 'row', text: name(t)}), alignment[i].map((w) => el('td', {text: w < 0.005 ? '' : (100 * w).toFixed(0)}))))))));
}

export function drawAlignment(page, root) {
    const a = page.answer;
    if (!a?.alignment) return empty(root, el('p', {class: 'note', text: a ? 'This model has no cross-attention.' : 'Type a sentence.'}));
    const room = root.clientWidth - 48, from = places(a.source, room), to = places(a.target, room);
    const across = Math.max(from.at(-1).x + from.at(-1).w / 2, to.at(-1).x + to.at(-1).w / 2) + EDGE;
    for (const [list, last] of [[from, from.at(-1)], [to, to.at(-1)]]) { // the shorter line is stretched over the longer
        const end = last.x + last.w / 2 + EDGE, spread = (across - end) / Math.max(1, list.length - 1);
        list.forEach((p, i) => (p.x += spread * i));
    }
    const links = svg('g', {class: 'links'});
    a.alignment.forEach((row, i) => row.forEach((w, k) => {
        if (w >= LEAST) links.append(svg('path', {d: band(from[k], to[i]), 'data-row': i, 'data-col': k, 'stroke-width': (1 + 11 * w).toFixed(1), 'stroke-opacity': (0.12 + 0.6 * w).toFixed(2)}));
    }));
    const said = el('p', {class: 'said', 'aria-live': 'polite', text: 'Point at a token, or go to one with Tab and the arrow keys.'});
    const light = (attribute, i, text) => {
        links.classList.toggle('lit', i !== null);
        for (const p of links.children) p.classList.toggle('on', i !== null && p.getAttribute(attribute) === String(i));
        if (text) said.textContent = text;
    };
    const mark = (p, i, y, side, text) => {
        const node = svg('text', {x: p.x.toFixed(1), y, class: `at ${side}`, 'text-anchor': 'middle', tabindex: -1, role: 'img', 'aria-label': text});
        node.textContent = p.text;
        const attribute = side === 'target' ? 'data-row' : 'data-col';
        for (const event of ['focus', 'pointerenter']) node.addEventListener(event, () => light(attribute, i, text));
        for (const event of ['blur', 'pointerleave']) node.addEventListener(event, () => light(attribute, null));
        return node;
    };
    const column = (k) => a.alignment.map((row) => row[k]);
    const tops = from.map((p, k) => mark(p, k, TOP - 6, 'source', `${p.text} is looked at by ${words(column(k), a.target)}`));
    const bottoms = to.map((p, i) => mark(p, i, HEIGHT - TOP + 14, 'target', `${p.text} looks at ${words(a.alignment[i], a.source)}`));
    const picture = svg('svg', {viewBox: `0 0 ${across.toFixed(0)} ${HEIGHT}`, width: across.toFixed(0), height: HEIGHT, class: 'ribbon', role: 'group', 'aria-label': 'Alignment of source and translation'}, links, tops, bottoms);
    const all = [...tops, ...bottoms];
    all[0].tabIndex = 0;
    picture.addEventListener('keydown', (e) => {
        const i = all.indexOf(document.activeElement), n = tops.length;
        const nearest = (list, x) => list.reduce((best, p, k) => (Math.abs(p.x - x) < Math.abs(list[best].x - x) ? k : best), 0);
        let next = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: all.length - 1}[e.key];
        if (e.key === 'ArrowDown' && i < n) next = n + nearest(to, from[i].x);
        if (e.key === 'ArrowUp' && i >= n) next = nearest(from, to[i - n].x);
        if (i < 0 || next === undefined || !all[next]) return;
        e.preventDefault();
        all[i].tabIndex = -1, all[next].tabIndex = 0;
        all[next].focus();
    });
    page.picture = picture;
    empty(root, el('p', {class: 'note lead', text: 'Mean of the cross-attention heads of the last layer: a heuristic, not a word alignment.'}), el('div', {class: 'scroll'}, picture), said, table(page));
}
