// The models that are served, and how busy their engines are.
import {byId, el, empty, fixed, grouped, svg} from './dom.js';
import {getText} from './server.js';

const EVERY = 2000, KEPT = 60;
let before = null, busy = [], now = {};

// "heed_tokens_total{model="a",end="done"} 12" and so on, to {a: {tokens_total: 12, ...}}
export function readMetrics(text) {
    const out = {};
    for (const line of text.split('\n')) {
        const m = /^heed_(\w+)\{model="((?:[^"\\]|\\.)*)"(?:,(\w+)="([^"]*)")?\} (\S+)$/.exec(line);
        if (!m) continue;
        const of = (out[m[2]] ??= {});
        of[m[4] ? `${m[1]}.${m[4]}` : m[1]] = Number(m[5]);
    }
    return out;
}

async function look(page) {
    try {
        const at = performance.now() / 1000, all = readMetrics(await getText('/metrics'));
        const rates = {};
        for (const [name, m] of Object.entries(all)) {
            const old = before?.all[name], seconds = before ? at - before.at : 0;
            rates[name] = {...m,
                share: old && seconds > 0 ? Math.min(1, Math.max(0, (m.busy_seconds_total - old.busy_seconds_total) / seconds)) : 0,
                speed: old && seconds > 0 ? (m.tokens_total - old.tokens_total) / seconds : 0};
        }
        before = {at, all}, now = rates;
        const mine = rates[page.model?.name];
        busy = busy.concat(mine?.share ?? 0).slice(-KEPT);
        const waiting = Object.values(rates).reduce((sum, m) => sum + (m.queue_jobs ?? 0), 0);
        byId('load').textContent = mine ? `${Math.round(100 * mine.share)} % busy${waiting ? `, ${waiting} waiting` : ''}` : '';
    } catch {
        byId('load').textContent = 'no answer';
    }
    if (page.view === 'engine') drawEngine(page, byId('view-engine'));
}

export function watchLoad(page) {
    const again = async () => {
        if (!document.hidden) await look(page);
        setTimeout(again, EVERY);
    };
    again();
}

function spark() {
    const w = 240, h = 44, step = w / (KEPT - 1);
    const points = busy.map((v, i) => `${((KEPT - busy.length + i) * step).toFixed(1)},${(h - 2 - v * (h - 4)).toFixed(1)}`);
    return svg('svg', {class: 'spark', viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: 'img', 'aria-label': `Busy for the last ${KEPT * EVERY / 1000} seconds`},
        svg('path', {class: 'base', d: `M0 ${h - 1}H${w}`}), points.length ? svg('polyline', {points: points.join(' ')}) : null);
}

const fact = (label, text) => (text === undefined || text === null || text === '' ? [] : [el('dt', {text: label}), el('dd', {text: String(text)})]);

function about(m) {
    const kinds = {};
    for (const l of m.layers) (kinds[l.kind] ??= []).push(l.heads);
    const heads = Object.entries(kinds).map(([k, list]) => `${k} ${list.length} × ${Math.max(...list)}`).join(', ');
    const what = {translator: 'translator', language: 'language model', masked: 'masked language model'}[m.kind];
    return el('dl', {class: 'facts'}, fact('is a', what), fact('built as', m.title), fact('languages', m.source ? `${m.source} → ${m.target}` : null),
        fact('parameters', m.parameters ? grouped(m.parameters) : null), fact('vocabulary', grouped(m.vocabulary)), fact('positions', m.positions), fact('layers × heads', heads),
        fact('device', m.device), fact('precision', m.precision));
}

function load(m) {
    const l = now[m.name];
    if (!l) return null;
    const done = l['jobs_total.done'] ?? 0, other = ['failed', 'canceled', 'late', 'stopped'].map((k) => [k, l[`jobs_total.${k}`] ?? 0]).filter(([, n]) => n);
    return el('dl', {class: 'facts'}, fact('busy', `${Math.round(100 * l.share)} %`), fact('tokens a second', fixed(l.speed, 0)), fact('being computed', l.running_jobs),
        fact('waiting', `${l.queue_jobs} (${l.queue_tokens} tokens)`), fact('done', grouped(done)), other.map(([k, n]) => fact(k, grouped(n))), fact('refused', l.refused_total || null));
}

export function drawEngine(page, root) {
    empty(root, page.models.map((m) => el('section', {class: 'engine'}, el('div', {class: 'pane-head'}, el('h3', {text: m.name}), m === page.model ? spark() : null),
        el('div', {class: 'two'}, about(m), load(m)))));
}
