// The hypotheses of the search as a tree, step by step: those that went on, that ended, that were dropped.
import {el, empty, fixed, percent, plain, svg, width} from './dom.js';

let step = Infinity, pruned = false;
const ROW = 30, COLUMN = 104, LEFT = 14, TOP = 26;

// The node that the best hypothesis has in each step.
function bestPath(answer) {
    const path = new Array(answer.beams.length).fill(-1);
    const ids = answer.target.slice(answer.forced).map((t) => t.id);
    let last = Math.min(ids.length, answer.beams.length) - 1, at = -1;
    if (last < 0) return path;
    const ends = answer.beams[last].map((n, i) => ({n, i})).filter(({n}) => n.id === ids[last]);
    for (const {i} of ends) {
        let k = i, good = true;
        for (let s = last; s >= 0 && good; s--) good = k >= 0 && answer.beams[s][k].id === ids[s], k = good ? answer.beams[s][k].parent : -1;
        if (good) at = i;
    }
    for (let s = last; s >= 0 && at >= 0; s--) path[s] = at, at = answer.beams[s][at].parent;
    return path;
}

function spell(answer, s, i) {
    const words = [];
    for (let k = i; s >= 0 && k >= 0; s--) words.unshift(answer.beams[s][k].token), k = answer.beams[s][k].parent;
    const forced = answer.target.slice(0, answer.forced).map((t) => t.token);
    return forced.concat(words).map((t) => (/^[▁Ġ]/.test(t) ? ' ' : '') + plain(t)).join('').trim();
}

function tree(page, upTo) {
    const answer = page.answer, path = bestPath(answer);
    const kept = answer.beams.slice(0, upTo + 1).map((nodes) => nodes.map((n, i) => ({n, i})).filter(({n}) => pruned || n.state !== 'pruned'));
    const deep = Math.max(1, ...kept.map((k) => k.length));
    const across = LEFT + kept.length * COLUMN + 20, down = TOP + deep * ROW + 6;
    const picture = svg('svg', {class: 'tree', width: across, height: down, viewBox: `0 0 ${across} ${down}`, role: 'img', 'aria-label': `Beam of ${kept.length} steps; the list below has the hypotheses of the last one`});
    const place = kept.map((list, s) => new Map(list.map(({i}, y) => [i, {x: LEFT + s * COLUMN, y: TOP + y * ROW + ROW / 2}])));
    kept.forEach((list, s) => {
        const number = svg('text', {x: LEFT + s * COLUMN, y: 14, class: 'axis'});
        number.textContent = String(answer.forced + s + 1);
        picture.append(number);
        for (const {n, i} of list) {
            const to = place[s].get(i), from = s ? place[s - 1].get(n.parent) : null, best = path[s] === i;
            if (from) picture.prepend(svg('path', {class: `edge ${n.state}${best ? ' best' : ''}`, d: `M${from.x + COLUMN - 26} ${from.y}C${from.x + COLUMN - 8} ${from.y} ${to.x - 22} ${to.y} ${to.x - 5} ${to.y}`}));
            const text = svg('text', {x: to.x + 2, y: to.y + 4, class: `node ${n.state}${best ? ' best' : ''}`});
            let shown = plain(n.token);
            while (shown.length > 3 && width(shown, '13px system-ui, sans-serif') > COLUMN - 34) shown = `${shown.slice(0, -2)}…`;
            text.textContent = shown;
            const title = svg('title');
            title.textContent = `${plain(n.token)}: ${percent(n.p)} of its parent, log-probability ${fixed(n.sum)}, score ${fixed(n.score)}, ${n.state}`;
            text.append(title);
            picture.append(svg('rect', {x: to.x - 4, y: to.y - 11, width: COLUMN - 24, height: 22, rx: 5, class: `box ${n.state}${best ? ' best' : ''}`}), text);
        }
    });
    return picture;
}

function list(page, s) {
    const answer = page.answer, path = bestPath(answer);
    const rows = answer.beams[s].map((n, i) => ({n, i})).filter(({n}) => pruned || n.state !== 'pruned');
    return el('div', {class: 'scroll'}, el('table', {class: 'hypotheses'}, el('thead', {}, el('tr', {},
        ['Hypothesis', 'last token', 'log-probability', 'score', ''].map((t) => el('th', {scope: 'col', text: t})))),
    el('tbody', {}, rows.map(({n, i}) => el('tr', {class: path[s] === i ? 'best' : ''}, el('th', {scope: 'row', text: spell(answer, s, i)}),
        el('td', {text: percent(n.p)}), el('td', {text: fixed(n.sum)}), el('td', {text: fixed(n.score, 3)}), el('td', {text: path[s] === i ? `${n.state}, best` : n.state}))))));
}

export function drawBeam(page, root) {
    const answer = page.answer;
    if (!answer?.beams?.length) return empty(root, el('p', {class: 'note', text: answer ? 'Nothing was searched.' : 'Type a sentence.'}));
    let last = answer.beams.length - 1; // where nothing goes on any more, nothing is to be seen
    while (last > 0 && !answer.beams[last].some((n) => n.state !== 'pruned')) last--;
    const now = Math.min(step, last);
    const stage = el('div', {class: 'scroll stage'}), table = el('div');
    const out = el('output', {text: `${now + 1} of ${last + 1}`});
    const show = (s) => {
        page.picture = tree(page, s);
        empty(stage, page.picture);
        empty(table, list(page, s));
        stage.scrollLeft = stage.scrollWidth;
        out.textContent = `${s + 1} of ${last + 1}`;
    };
    empty(root, el('div', {class: 'pane-head'},
        el('label', {for: 'step', text: 'Step'}),
        el('input', {id: 'step', type: 'range', min: 0, max: last, step: 1, value: now, on: {input: (e) => (step = Number(e.target.value) === last ? Infinity : Number(e.target.value), show(Number(e.target.value)))}}), out,
        el('label', {class: 'check'}, el('input', {type: 'checkbox', checked: pruned, on: {change: (e) => (pruned = e.target.checked, drawBeam(page, root))}}), 'what was dropped, too')),
    stage, table,
    answer.hypotheses?.length > 1 ? el('section', {class: 'found'}, el('h3', {text: 'Found'}), el('ol', {}, answer.hypotheses.map((h) => el('li', {}, el('span', {text: h.text}), ' ', el('span', {class: 'note', text: fixed(h.score, 3)}))))) : null);
    show(now);
}
