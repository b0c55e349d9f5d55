// How is searched or drawn: one row of a table is one control.
import {byId, el, empty} from './dom.js';

// name of the field in a request, label, kinds of models, least, most, step, default, hint
const ROWS = [
    {name: 'beam', label: 'Beam', kinds: ['translator'], least: 1, most: 16, step: 1, hint: 'hypotheses side by side; 1 is greedy search'},
    {name: 'length_penalty', label: 'Length penalty', kinds: ['translator'], least: 0, most: 2, step: 0.1, hint: 'none, the average of all tokens, or the exponent of GNMT’s',
     choices: [['average', 'average'], ['none', 'none'], ['0.6', '0.6'], ['1', '1.0'], ['1.5', '1.5']], initial: 'average'},
    {name: 'tokens', label: 'Tokens', kinds: ['language'], least: 0, most: 100, step: 1, initial: 20, hint: 'to be written'},
    {name: 'temperature', label: 'Temperature', kinds: ['translator', 'language'], least: 0, most: 2, step: 0.05, initial: 0, hint: '0 takes the best, 1 draws by probability'},
    {name: 'top_k', label: 'Top k', kinds: ['translator', 'language'], least: 0, most: 100, step: 1, initial: 0, hint: '0 draws among all tokens'},
    {name: 'seed', label: 'Seed', kinds: ['translator', 'language'], least: 0, most: 99, step: 1, initial: 1, hint: 'of the draws'},
];

export function optionsOf(page) {
    const out = {};
    for (const row of ROWS) if (row.kinds.includes(page.model.kind)) out[row.name] = page.options[row.name];
    return out;
}

function slider(row, page, changed) {
    const out = el('output', {text: page.options[row.name]});
    const input = el('input', {type: 'range', min: row.least, max: row.most, step: row.step, id: `c-${row.name}`, value: page.options[row.name], on: {
        input: (e) => (out.textContent = e.target.value),
        change: (e) => {
            page.options[row.name] = Number(e.target.value);
            changed();
        },
    }});
    return [input, out];
}

function menu(row, page, changed) {
    return [el('select', {id: `c-${row.name}`, on: {change: (e) => {
        page.options[row.name] = e.target.value;
        changed();
    }}}, row.choices.map(([value, text]) => el('option', {value, text, selected: value === page.options[row.name]})))];
}

export function drawControls(page, changed) {
    const rows = ROWS.filter((r) => r.kinds.includes(page.model.kind));
    for (const row of rows) page.options[row.name] ??= row.initial ?? Math.max(row.least, Math.min(row.most, page.model.beam || 1));
    byId('controls').parentElement.hidden = !rows.length;
    empty(byId('controls'), rows.map((row) => el('div', {class: 'control'},
        el('label', {for: `c-${row.name}`, text: row.label}),
        el('span', {class: 'setting'}, row.choices ? menu(row, page, changed) : slider(row, page, changed)),
        el('span', {class: 'hint', text: row.hint}))));
}
