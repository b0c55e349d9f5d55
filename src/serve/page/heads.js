// What each head is needed for: every one is switched off in turn, and what was written is scored again.
import {el, empty, roving, signed} from './dom.js';
import {post} from './server.js';
import {page as state, question, setFactor, writtenIds} from './main.js';

let effects = new Map(), of = null, trying = null, progress = '';

// All heads, as the model names them.
const names = (page) => page.model.layers.flatMap((l) => Array.from({length: l.heads}, (_, i) => `${l.name}.${i}`));

// What a head's absence is measured by: the log-probability of what was written, or that of the fillings.
function worth(page, answer) {
    if (page.model.kind !== 'masked') return answer.sum;
    let sum = 0;
    answer.source.forEach((t, i) => {
        const best = page.answer.source[i]?.top?.[0];
        if (best) sum += Math.log(Math.max(1e-4, t.top?.find((c) => c.id === best.id)?.p ?? 0));
    });
    return sum;
}

function ask(page, name, signal) {
    const factors = [...page.factors].filter(([n]) => n !== name).map(([n, f]) => `${n}=${f}`);
    const q = {...question({top: 50, tokens: 0}), prefix: undefined, heads: factors.concat(name ? `${name}=0` : []).join(',')};
    if (page.model.kind !== 'masked') q.target = writtenIds();
    return post('/v1/explain', q, signal);
}

async function tryAll(page, root) {
    trying?.abort();
    const abort = (trying = new AbortController()), all = names(page);
    effects = new Map(), of = page.answer;
    try {
        const before = worth(page, await ask(page, null, abort.signal));
        for (const [i, name] of all.entries()) {
            const answer = await ask(page, name, abort.signal);
            if (page.answer !== of) return;
            effects.set(name, worth(page, answer) - before);
            progress = `${i + 1} of ${all.length}`;
            if (state.view === 'heads') drawHeads(page, root);
        }
        progress = '';
    } catch (e) {
        progress = e.name === 'AbortError' ? 'stopped' : e.message;
    }
    trying = null;
    if (state.view === 'heads') drawHeads(page, root);
}

function row(page, name, rank, most) {
    const effect = effects.get(name), factor = page.factors.get(name) ?? 1;
    return el('li', {class: 'effect'},
        el('span', {class: 'rank', text: effect === undefined ? '' : `${rank + 1}`}),
        el('code', {text: name}),
        el('span', {class: `meter ${effect === undefined ? '' : effect > 0 ? 'gain' : 'loss'}`, '--p': effect === undefined ? 0 : Math.min(1, Math.abs(effect) / most), 'aria-hidden': 'true'}),
        el('span', {class: 'share', text: effect === undefined ? '' : signed(effect, 3)}),
        el('button', {type: 'button', class: 'switch small', 'data-switch': name, 'aria-pressed': String(factor === 0), 'aria-label': `${name}: ${factor === 0 ? 'switch on' : 'switch off'}`, text: factor === 0 ? 'off' : factor === 1 ? 'on' : `×${factor}`,
            on: {click: () => setFactor(name, factor === 0 ? 1 : 0).then(() => document.querySelector(`[data-switch="${name}"]`)?.focus())}}));
}

export function drawHeads(page, root) {
    if (!page.answer) return empty(root, el('p', {class: 'note', text: 'Type a text.'}));
    if (of !== page.answer && !trying && effects.size && of?.text !== page.answer.text) effects = new Map();
    const all = names(page), most = Math.max(1e-6, ...[...effects.values()].map(Math.abs));
    const sorted = effects.size ? [...all].sort((a, b) => (effects.get(a) ?? Infinity) - (effects.get(b) ?? Infinity)) : all;
    const focused = document.activeElement?.dataset?.switch;
    empty(root, el('div', {class: 'pane-head'},
        trying ? el('button', {type: 'button', text: 'Stop', on: {click: () => trying?.abort()}})
            : el('button', {type: 'button', id: 'try-all', class: 'primary', text: 'Try all heads', on: {click: () => tryAll(page, root)}}),
        el('span', {class: 'note', role: 'status', text: progress})),
    el('p', {class: 'note lead', text: page.model.kind === 'masked'
        ? 'Each head off in turn: how much the log-probability of the first fillings changes. Minus: it is needed.'
        : 'Each head off in turn: how much the log-probability of this text changes. Minus: it is needed.'}),
    el('ol', {class: 'effects'}, sorted.map((n, i) => row(page, n, i, most))));
    if (focused) root.querySelector(`[data-switch="${focused}"]`)?.focus();
    const switches = [...root.querySelectorAll('.switch.small')];
    roving(switches);
}
