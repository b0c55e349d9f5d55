// The page: what is asked, when it is asked, and which views show the answer.
import {byId, el, empty} from './dom.js';
import {getJson, onKey, post} from './server.js';
import {drawControls, optionsOf} from './controls.js';
import {drawText} from './text.js';
import {drawAlignment} from './alignment.js';
import {drawAttention} from './attention.js';
import {drawHeads} from './heads.js';
import {drawBeam} from './beam.js';
import {drawEngine, watchLoad} from './engine.js';
import {exportAs} from './export.js';

const EXAMPLES = {
    translator: 'I ate an apple .',
    language: 'The old man opened the door and',
    masked: 'Paris is the [MASK] of France.',
};
const DEBOUNCE = 350;

// What everything draws from. factors: of heads by name, where they are not 1. forced: ids that the text begins
// with. plain: the answer with all heads as they are, where some are not.
export const page = {
    models: [], limits: {}, model: null, options: {}, part: 0, factors: new Map(), forced: [],
    answer: null, plain: null, attention: null, view: 'alignment', picture: null,
};

const views = {alignment: drawAlignment, attention: drawAttention, heads: drawHeads, beam: drawBeam, engine: drawEngine};
let waiting = 0, running = null;

// -- asking --

export function question(more = {}) {
    const heads = [...page.factors].map(([name, f]) => `${name}=${f}`).join(',');
    const q = {model: page.model.name, text: byId('input').value, part: page.part, ...optionsOf(page), ...more};
    if (heads) q.heads = heads;
    if (page.forced.length) q.prefix = page.forced;
    return q;
}

// All tokens that were written, as they are given back for attention and scores.
export function writtenIds(answer = page.answer) {
    const from = page.model.kind === 'language' ? writtenFrom(answer) : 0;
    return (answer.target ?? []).slice(from).map((t) => t.id);
}

// Of a language model: the first token behind the text that was typed.
function writtenFrom(answer) {
    let n = answer.target.findIndex((t) => !t.given);
    if (n < 0) n = answer.target.length;
    return n - page.forced.length;
}

function say(text, wrong) {
    const status = byId('status');
    status.textContent = text;
    status.classList.toggle('wrong', Boolean(wrong));
}

async function ask() {
    running?.abort();
    const abort = (running = new AbortController());
    page.attention = null;
    if (!byId('input').value.trim() && page.model.kind !== 'language') {
        page.answer = page.plain = null;
        say('');
        return draw();
    }
    say('…');
    const from = performance.now();
    try {
        const q = question();
        const answer = await post('/v1/explain', q, abort.signal);
        let plain = null;
        if (q.heads) plain = await post('/v1/explain', {...q, heads: undefined}, abort.signal);
        if (abort.signal.aborted) return;
        page.answer = answer, page.plain = plain;
        page.part = answer.part ?? 0;
        say(`${((performance.now() - from) / 1000).toFixed(2)} s`);
        byId('finished').textContent = answer.text ?? '';
        remember();
        await draw();
    } catch (e) {
        if (e.name !== 'AbortError') say(e.message, true);
    }
}

export function askNow() {
    clearTimeout(waiting);
    return ask();
}

export function askSoon() {
    clearTimeout(waiting);
    waiting = setTimeout(ask, DEBOUNCE);
}

// Attention of what is shown, once for each answer.
export async function needAttention() {
    const of = page.answer;
    if (page.attention || !of) return page.attention;
    const a = await post('/v1/attention', {...question({encoding: 'bytes'}), prefix: undefined, target: writtenIds()}, running?.signal);
    if (page.answer !== of) return null;
    return (page.attention = a);
}

// -- drawing --

export function draw() {
    drawText(page);
    return drawView();
}

export function drawView() {
    const root = byId(`view-${page.view}`);
    page.picture = null;
    return views[page.view](page, root);
}

export function setFactor(name, factor) {
    if (factor === 1) page.factors.delete(name);
    else page.factors.set(name, factor);
    return askNow();
}

function choose(view, focus) {
    page.view = view;
    for (const name of Object.keys(views)) {
        const tab = byId(`tab-${name}`);
        tab.setAttribute('aria-selected', String(name === view));
        tab.tabIndex = name === view ? 0 : -1;
        byId(`view-${name}`).hidden = name !== view;
        if (focus && name === view) tab.focus();
    }
    if (page.model) drawView();
}

// Views that a model has nothing for are left out.
function offerViews() {
    const kind = page.model.kind, attends = page.model.layers.length > 0;
    const has = {alignment: kind === 'translator', attention: attends, heads: attends, beam: kind === 'translator', engine: true};
    for (const [name, yes] of Object.entries(has)) byId(`tab-${name}`).hidden = !yes;
    if (!has[page.view]) page.view = Object.keys(has).find((name) => has[name]);
    choose(page.view);
}

// -- the address: what is shown can be shared --

function remember() {
    const parts = new URLSearchParams();
    parts.set('model', page.model.name);
    parts.set('text', byId('input').value);
    if (page.factors.size) parts.set('heads', [...page.factors].map(([n, f]) => `${n}=${f}`).join(','));
    parts.set('view', page.view);
    history.replaceState(null, '', `#${parts}`);
}

function recall() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const named = page.models.find((m) => m.name === parts.get('model'));
    for (const term of (parts.get('heads') ?? '').split(',')) {
        const at = term.lastIndexOf('=');
        if (at > 0 && Number.isFinite(Number(term.slice(at + 1)))) page.factors.set(term.slice(0, at), Number(term.slice(at + 1)));
    }
    if (views[parts.get('view')]) page.view = parts.get('view');
    return {named, text: parts.get('text')};
}

// -- the beginning --

function setModel(model, text) {
    const translator = model.kind === 'translator';
    if (page.model && page.model !== model) page.factors.clear();
    page.model = model, page.part = 0, page.forced = [], page.answer = page.plain = page.attention = null;
    byId('model').value = model.name;
    byId('input-title').textContent = translator ? language(model.source) ?? 'Text' : 'Text';
    byId('output-title').textContent = translator ? language(model.target) ?? 'Translation' : model.kind === 'language' ? 'Continuation' : 'Words';
    byId('input').lang = model.source ?? '';
    byId('output').lang = model.target ?? '';
    byId('input-note').textContent = model.kind === 'masked' ? 'write [MASK] where a word is missing' : '';
    byId('input').value = text ?? (translator && model.source !== 'en' ? '' : EXAMPLES[model.kind]);
    drawControls(page, askNow);
    offerViews();
    return askNow();
}

function language(code) {
    try {
        return code ? new Intl.DisplayNames('en', {type: 'language'}).of(code) : null;
    } catch {
        return code;
    }
}

function setTheme(next) {
    if (next === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    byId('theme').textContent = {auto: '◐ Auto', light: '○ Light', dark: '● Dark'}[next];
    byId('theme').setAttribute('aria-label', `Colors: ${next}`);
    try {
        localStorage.setItem('theme', next);
    } catch { /* then it is for this visit */ }
    if (page.model) draw();
}

function wireKeys() {
    byId('input').addEventListener('keydown', (e) => {
        if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) askNow();
    });
    byId('input').addEventListener('input', () => {
        page.forced = [], page.part = 0;
        askSoon();
    });
    const tabs = Object.keys(views);
    for (const name of tabs) {
        byId(`tab-${name}`).addEventListener('click', () => (choose(name), page.answer && remember()));
        byId(`tab-${name}`).addEventListener('keydown', (e) => {
            const by = {ArrowRight: 1, ArrowLeft: -1}[e.key];
            const shown = tabs.filter((t) => !byId(`tab-${t}`).hidden);
            if (by) e.preventDefault(), choose(shown[(shown.indexOf(name) + by + shown.length) % shown.length], true);
        });
    }
}

function wireKey() {
    onKey(() => new Promise((done) => {
        const form = byId('key');
        form.hidden = false;
        byId('key-input').focus();
        form.onsubmit = (e) => {
            e.preventDefault();
            form.hidden = true;
            done(byId('key-input').value);
            byId('key-input').value = '';
        };
    }));
}

async function begin() {
    let theme = 'auto';
    try {
        theme = localStorage.getItem('theme') ?? theme;
    } catch { /* as the system has it */ }
    setTheme(theme);
    byId('theme').addEventListener('click', () => {
        const order = ['auto', 'light', 'dark'], now = document.documentElement.dataset.theme ?? 'auto';
        setTheme(order[(order.indexOf(now) + 1) % order.length]);
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => page.model && draw());
    addEventListener('pagehide', () => running?.abort()); // a page that a browser keeps waits for nothing
    wireKeys();
    wireKey();
    byId('export').addEventListener('change', (e) => {
        if (e.target.value) exportAs(e.target.value, page);
        e.target.value = '';
    });
    try {
        const all = await getJson('/v1/explain');
        page.models = all.models.filter((m) => m.kind);
        page.limits = all.limits;
    } catch (e) {
        return say(e.message, true);
    }
    if (!page.models.length) return say('No model here can be explained.', true);
    empty(byId('model'), page.models.map((m) => el('option', {value: m.name, text: m.name})));
    byId('model').addEventListener('change', (e) => setModel(page.models.find((m) => m.name === e.target.value)));
    byId('input').maxLength = page.limits.bytes;
    const {named, text} = recall();
    setModel(named ?? page.models[0], text);
    watchLoad(page);
}

begin();
