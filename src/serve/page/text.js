// What was written, token by token: how likely each was, what else was, and which are forced.
import {byId, el, empty, fixed, name, percent, plain, roving, signed} from './dom.js';
import {askNow, page as state} from './main.js';

let open = -1; // the token whose alternatives are shown

const MASK = '[MASK]';

// The tokens that are shown: of a BERT those of the text itself.
const shown = (page) => (page.model.kind === 'masked' ? page.answer.source : page.answer.target);

// -- forcing --

// The ids of the text up to token i, then another one.
function force(page, i, id) {
    const from = page.model.kind === 'language' ? page.answer.target.findIndex((t) => !t.given) - page.forced.length : 0;
    page.forced = page.answer.target.slice(from, i).map((t) => t.id).concat(id);
    open = -1;
    askNow().then(() => byId('output').querySelectorAll('.token')[i]?.focus());
}

function release(page) {
    page.forced = [];
    open = -1;
    askNow();
}

// Puts a word, or a mask, in place of token i of the text that was typed.
function replace(page, i, word) {
    const t = page.answer.source[i], bytes = new TextEncoder().encode(byId('input').value);
    const read = (from, to) => new TextDecoder().decode(bytes.slice(from, to));
    let begin = t.begin;
    while (begin < t.end && bytes[begin] === 32) begin++;
    byId('input').value = read(0, begin) + word + read(t.end);
    open = -1;
    askNow();
}

// -- tokens --

function describe(page, t) {
    const parts = [name(t)];
    if (t.p !== undefined) parts.push(`probability ${percent(t.p)}`);
    if (t.rank > 1) parts.push(`rank ${t.rank}`);
    if (t.given) parts.push(page.model.kind === 'language' ? 'given' : 'forced');
    if (t.unknown) parts.push('not in the vocabulary');
    if (t.top?.length && page.model.kind === 'masked') parts.push(`most likely ${plain(t.top[0].token)}`);
    return parts.join(', ');
}

function tokenOf(page, t, i) {
    const masked = page.model.kind === 'masked', blank = masked && t.top?.length;
    const label = blank ? plain(t.top[0].token) : t.text?.trim() || (masked && t.token) || (t.end > t.begin ? '␣' : t.token);
    const p = blank ? t.top[0].p : t.p;
    const old = page.plain ? shown({...page, answer: page.plain})[i] : null;
    const changed = old && old.id !== t.id;
    const kind = ['token', t.end === t.begin ? 'special' : '', t.given ? 'given' : '', blank ? 'blank' : '', changed ? 'changed' : '', p === undefined ? 'untold' : '', t.end > t.begin && !t.text.trim() ? 'space' : ''];
    return el('button', {
        type: 'button', class: kind.filter(Boolean).join(' '), 'aria-label': describe(page, t), title: describe(page, t), 'aria-expanded': String(open === i),
        '--p': p ?? 1, '--doubt-of': p === undefined ? 0 : 1 - p,
        on: {click: () => {
            open = open === i ? -1 : i;
            drawAlternatives(page);
            (byId('alternatives').querySelector('.choice') ?? byId('alternatives').querySelector('button'))?.focus();
        }},
    }, el('span', {class: 'word', text: label}), el('span', {class: 'bar', 'aria-hidden': 'true'}));
}

// Whether a space stands before token i.
function apart(page, tokens, i) {
    const t = tokens[i];
    if (!i) return false;
    if (t.end === t.begin || tokens[i - 1].end === tokens[i - 1].begin) return true;
    if (!t.text.trim()) return false; // a space of its own
    return /^\s/.test(t.text) || (page.model.kind === 'masked' && t.begin > tokens[i - 1].end);
}

// -- alternatives --

function choiceOf(page, i, c, now) {
    const masked = page.model.kind === 'masked';
    return el('li', {}, el('button', {
        type: 'button', class: c.id === now ? 'choice now' : 'choice', '--p': c.p,
        'aria-label': `${plain(c.token)}, ${percent(c.p)}${c.id === now ? ', taken' : masked ? ', fill it in' : ', force it'}`,
        on: {click: () => (masked ? replace(page, i, plain(c.token).replace(/^##/, '')) : force(page, i, c.id))},
    }, el('span', {class: 'bar', 'aria-hidden': 'true'}), el('span', {class: 'word', text: plain(c.token)}), el('span', {class: 'share', text: percent(c.p)})));
}

function close() {
    const i = open;
    open = -1;
    drawAlternatives(state);
    byId('output').querySelectorAll('.token')[i]?.focus();
}

function drawAlternatives(page) {
    const root = byId('alternatives'), t = open >= 0 && page.answer ? shown(page)[open] : null;
    byId('output').querySelectorAll('.token').forEach((n, i) => n.setAttribute('aria-expanded', String(i === open)));
    root.hidden = !t;
    if (!t) return;
    const masked = page.model.kind === 'masked';
    const head = el('div', {class: 'pane-head'},
        el('h3', {text: masked ? (t.top ? 'What may stand here' : `“${name(t)}”`) : `In place of “${name(t)}”`}),
        el('span', {class: 'note', text: masked || !t.rank ? '' : `${percent(t.p)}, rank ${t.rank}`}),
        masked && !t.top && t.end > t.begin ? el('button', {type: 'button', class: 'quiet', text: 'Mask this word', on: {click: () => replace(page, open, MASK)}}) : null,
        el('button', {type: 'button', class: 'quiet', text: 'Close', on: {click: close}}));
    const list = t.top ? el('ul', {class: 'choices'}, t.top.map((c) => choiceOf(page, open, c, t.id)))
        : el('p', {class: 'note', text: masked ? 'Masked, the model says what else could stand here.' : 'It was given: the model was not asked.'});
    empty(root, head, list);
    root.onkeydown = (e) => { // must not give false, which would keep a key from what it does
        if (e.key === 'Escape') close();
    };
    if (t.top) roving([...root.querySelectorAll('.choice')]);
}

// -- all of it --

function drawParts(page) {
    const parts = page.answer?.parts ?? [];
    byId('parts').hidden = parts.length < 2;
    empty(byId('parts'), parts.map((text, i) => el('button', {
        type: 'button', class: 'chip', 'aria-pressed': String(i === page.part), text: text.length > 28 ? `${text.slice(0, 27)}…` : text, title: text,
        on: {click: () => {
            page.part = i, page.forced = [], open = -1;
            askNow();
        }},
    })));
}

function drawFigures(page) {
    const a = page.answer, root = byId('figures');
    if (!a || page.model.kind === 'masked') return empty(root);
    const parts = [];
    const figure = (label, text, hint) => parts.push(el('span', {class: 'figure', title: hint}, el('span', {class: 'label', text: label}), el('b', {text})));
    if (page.model.kind === 'translator') figure('score', fixed(a.score, 3), 'log-probability after the length penalty');
    figure('log-probability', fixed(a.sum, 2), 'of all tokens, natural logarithm');
    const told = a.target.filter((t) => t.logp !== undefined && t.logp !== null);
    if (told.length) figure('perplexity', fixed(Math.exp(-a.sum / told.length), 2), 'per token');
    figure('tokens', String(a.target.length));
    if (page.forced.length) parts.push(el('button', {type: 'button', class: 'quiet', text: `Release ${page.forced.length} forced`, on: {click: () => release(page)}}));
    return empty(root, parts);
}

// What switched heads have changed.
function drawChanges(page) {
    const root = byId('changes'), names = [...page.factors];
    root.hidden = !names.length;
    if (!names.length) return;
    const a = page.answer, b = page.plain;
    const list = names.map(([n, f]) => el('li', {}, el('button', {
        type: 'button', class: 'chip', 'aria-label': `${n} times ${f}: back to normal`, text: `${n} × ${f}  ✕`,
        on: {click: () => (page.factors.delete(n), askNow())},
    })));
    let words = null;
    if (a && b && page.model.kind !== 'masked') {
        const same = a.text === b.text;
        words = el('p', {class: 'compare'}, el('span', {class: 'label', text: same ? 'Same text, log-probability ' : 'With all heads '}),
            same ? null : el('span', {class: 'was', text: b.text}), same ? el('b', {text: signed(a.sum - b.sum, 3)}) : el('span', {class: 'label', text: ` log-probability ${fixed(b.sum)}`}));
    }
    empty(root, el('ul', {class: 'chips', 'aria-label': 'Heads that are not as they were'}, list),
        names.length > 1 ? el('button', {type: 'button', class: 'quiet', text: 'All heads as they were', on: {click: () => (page.factors.clear(), askNow())}}) : null, words);
}

export function drawText(page) {
    const tokens = page.answer ? shown(page) : [];
    if (open >= tokens.length) open = -1;
    const nodes = tokens.map((t, i) => tokenOf(page, t, i));
    empty(byId('output'), nodes.flatMap((n, i) => (apart(page, tokens, i) ? [' ', n] : [n])));
    roving(nodes);
    drawParts(page);
    drawFigures(page);
    drawChanges(page);
    drawAlternatives(page);
}
