// Every layer and head as a small map; one of them large, with its tokens; heads are switched off here.
import {color, el, empty, isSpecial, percent, plain, roving, svg, width} from './dom.js';
import {bytesOf, floatsOf, post} from './server.js';
import {needAttention, page as state, question, setFactor, writtenIds} from './main.js';

const KINDS = {encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross'};
let kind = null, zoomed = null, hideSpecial = false;

const SMALL = 76; // pixels of a thumbnail

// The tokens down and across a map of this kind.
export function axes(a, of) {
    const rows = of === 'encoder' ? a.source : of === 'cross' ? a.output : a.input;
    return {rows, cols: of === 'decoder' ? a.input : a.source};
}

// -- thumbnails --

function paint(canvas, head) {
    const w = bytesOf(head.weights), {rows, cols} = head;
    const [r, g, b] = color('--heat').split(' ').map(Number), [pr, pg, pb] = color('--heat-paper').split(' ').map(Number);
    canvas.width = cols, canvas.height = rows;
    const context = canvas.getContext('2d'), image = context.createImageData(cols, rows);
    for (let i = 0; i < rows * cols; i++) {
        const share = Math.sqrt(w[i]);
        image.data.set([pr + (r - pr) * share, pg + (g - pg) * share, pb + (b - pb) * share, 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
}

function thumbnail(page, head) {
    const factor = page.factors.get(head.name) ?? 1;
    const canvas = el('canvas', {'aria-hidden': 'true', class: 'thumb'});
    paint(canvas, head);
    const toggle = () => setFactor(head.name, factor === 0 ? 1 : 0).then(() => document.querySelector(`[data-head="${head.name}"]`)?.focus());
    return el('button', {
        type: 'button', class: `head${factor === 1 ? '' : ' off'}${zoomed === head.name ? ' zoomed' : ''}`, 'data-head': head.name,
        'aria-label': `${head.name}${factor === 1 ? '' : `, times ${factor}`}. Enter shows it, o switches it ${factor === 0 ? 'on' : 'off'}`,
        on: {
            click: () => {
                zoomed = head.name;
                drawZoom(page);
                document.querySelectorAll('.head').forEach((n) => n.classList.toggle('zoomed', n.dataset.head === zoomed));
                document.querySelector('.zoom')?.scrollIntoView({block: 'nearest'});
            },
            keydown: (e) => {
                if (e.key === 'o' || e.key === '0') e.preventDefault(), toggle();
            },
        },
    }, canvas, factor === 1 ? null : el('span', {class: 'badge', text: factor === 0 ? 'off' : `×${factor}`}));
}

function grid(page, heads) {
    const layers = [...new Set(heads.map((h) => h.layer))], most = Math.max(...heads.map((h) => h.head)) + 1;
    const cells = [], rows = [];
    rows.push(el('div', {class: 'grid-row heading', 'aria-hidden': 'true'}, el('span', {class: 'layer'}),
        Array.from({length: most}, (_, i) => el('span', {class: 'column', text: `head ${i}`}))));
    for (const l of layers) {
        const row = heads.filter((h) => h.layer === l).map((h) => thumbnail(page, h));
        cells.push(...row);
        rows.push(el('div', {class: 'grid-row', role: 'group', 'aria-label': `Layer ${l}`}, el('span', {class: 'layer', text: `layer ${l}`}), row));
    }
    roving(cells, most);
    return el('div', {class: 'scroll'}, el('div', {class: 'grid', '--size': `${SMALL}px`}, rows));
}

// -- one head, large --

function heatmap(names, head, w, room) {
    const label = '13px system-ui, sans-serif';
    const keepRow = names.rows.map((t) => !(hideSpecial && isSpecial(t))), keepCol = names.cols.map((t) => !(hideSpecial && isSpecial(t)));
    const rows = [...keepRow.keys()].filter((i) => keepRow[i]), cols = [...keepCol.keys()].filter((i) => keepCol[i]);
    const left = 12 + Math.min(130, Math.max(...rows.map((i) => width(plain(names.rows[i]), label)), 20));
    const top = 12 + Math.min(110, Math.max(...cols.map((i) => width(plain(names.cols[i]), label)), 20));
    const cell = Math.max(13, Math.min(34, Math.floor((room - left - 8) / cols.length)));
    const picture = svg('svg', {class: 'heatmap', width: left + cols.length * cell + 4, height: top + rows.length * cell + 4, viewBox: `0 0 ${left + cols.length * cell + 4} ${top + rows.length * cell + 4}`, role: 'img', 'aria-label': `Weights of ${head.name}; a table follows`});
    const text = (x, y, anchor, turn, t) => {
        const node = svg('text', {x, y, 'text-anchor': anchor, class: isSpecial(t) ? 'axis special' : 'axis', transform: turn ? `rotate(-60 ${x} ${y})` : null});
        node.textContent = plain(t).slice(0, 18);
        return node;
    };
    rows.forEach((i, y) => picture.append(text(left - 6, top + y * cell + cell / 2 + 4, 'end', false, names.rows[i])));
    cols.forEach((k, x) => picture.append(text(left + x * cell + cell / 2 + 2, top - 6, 'start', true, names.cols[k])));
    const said = el('p', {class: 'said', text: 'Point at a cell to read it.'});
    rows.forEach((i, y) => cols.forEach((k, x) => {
        const v = w[i * names.cols.length + k];
        const box = svg('rect', {x: left + x * cell, y: top + y * cell, width: cell - 1, height: cell - 1, rx: 2, class: 'cell', 'fill-opacity': Math.sqrt(v).toFixed(3)});
        box.addEventListener('pointerenter', () => (said.textContent = `${plain(names.rows[i])} looks at ${plain(names.cols[k])}: ${percent(v)}`));
        picture.append(box);
    }));
    return {picture, said};
}

function table(names, w) {
    const n = names.cols.length;
    return el('details', {class: 'table'}, el('summary', {text: 'As a table'}), el('div', {class: 'scroll'}, el('table', {},
        el('thead', {}, el('tr', {}, el('th'), names.cols.map((t) => el('th', {scope: 'col', text: plain(t)})))),
        el('tbody', {}, names.rows.map((t, i) => el('tr', {}, el('th', {scope: 'row', text: plain(t)}),
            Array.from(w.slice(i * n, (i + 1) * n), (v) => el('td', {text: v < 0.005 ? '' : (100 * v).toFixed(0)}))))))));
}

function scale(page, head) {
    const factor = page.factors.get(head.name) ?? 1;
    const out = el('output', {text: `× ${factor}`});
    const set = (v, e) => setFactor(head.name, v).then(() => document.querySelector(`.zoom ${e.target.matches('button') ? '.switch' : '#factor'}`)?.focus());
    return el('div', {class: 'scale'},
        el('button', {type: 'button', 'aria-pressed': String(factor === 0), text: factor === 0 ? 'Switch on' : 'Switch off', class: 'switch', on: {click: (e) => set(factor === 0 ? 1 : 0, e)}}),
        el('label', {for: 'factor', text: 'or scale it'}),
        el('input', {id: 'factor', type: 'range', min: 0, max: 2, step: 0.1, value: factor, on: {
            input: (e) => (out.textContent = `× ${e.target.value}`),
            change: (e) => set(Number(e.target.value), e),
        }}), out);
}

async function drawZoom(page) {
    const root = document.querySelector('.zoom'), a = page.attention;
    if (!root || !a) return;
    const small = a.attention.find((h) => h.name === zoomed);
    if (!small) return empty(root);
    const names = axes(a, small.kind);
    const show = (w) => {
        const {picture, said} = heatmap(names, small, w, root.clientWidth);
        page.picture = picture;
        empty(root, el('div', {class: 'pane-head'}, el('h3', {text: small.name}),
            el('label', {class: 'check'}, el('input', {type: 'checkbox', checked: hideSpecial, on: {change: (e) => (hideSpecial = e.target.checked, show(w))}}), 'hide special tokens')),
            scale(page, small), el('div', {class: 'scroll'}, picture), said, table(names, w));
    };
    show(bytesOf(small.weights));
    try { // all digits of this one
        const exact = await post('/v1/attention', {...question({encoding: 'base64', select: small.name}), prefix: undefined, target: writtenIds()});
        if (page.attention === a && zoomed === small.name && !root.contains(document.activeElement)) show(floatsOf(exact.attention[0].weights));
    } catch { /* bytes will do */ }
}

// -- all of it --

export async function drawAttention(page, root) {
    if (!page.answer) return empty(root, el('p', {class: 'note', text: 'Type a text.'}));
    let a;
    try {
        a = await needAttention();
    } catch (e) {
        if (e.name !== 'AbortError') empty(root, el('p', {class: 'wrong', role: 'alert', text: e.message}));
        return;
    }
    if (!a || state.view !== 'attention') return;
    const kinds = Object.keys(KINDS).filter((k) => a.attention.some((h) => h.kind === k));
    if (!kinds.includes(kind)) kind = kinds.includes('cross') ? 'cross' : kinds[0];
    const heads = a.attention.filter((h) => h.kind === kind);
    if (!heads.some((h) => h.name === zoomed)) zoomed = heads.at(-1)?.name ?? null;
    const pick = el('div', {class: 'segments', role: 'radiogroup', 'aria-label': 'Kind of attention'}, kinds.map((k) => el('label', {},
        el('input', {type: 'radio', name: 'kind', value: k, checked: k === kind, on: {change: () => {
            kind = k, zoomed = null;
            drawAttention(page, root).then(() => root.querySelector(`input[value="${k}"]`)?.focus());
        }}}), KINDS[k])));
    empty(root, el('div', {class: 'pane-head'}, pick, el('span', {class: 'note', text: 'rows look at columns'})),
        el('div', {class: 'split'}, grid(page, heads), el('section', {class: 'zoom', 'aria-label': 'One head'})));
    drawZoom(page);
}
