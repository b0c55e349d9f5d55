// Elements by hand. Text goes in by textContent alone, so that nothing that was typed becomes markup.

export const byId = (id) => document.getElementById(id);

// el('button', {class: 'quiet', text: 'Off', on: {click: f}, 'aria-pressed': 'true', '--p': 0.5}, child, ...)
function fill(node, props, children) {
    for (const [name, value] of Object.entries(props ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (name === 'text') node.textContent = value;
        else if (name === 'on') for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
        else if (name.startsWith('--')) node.style.setProperty(name, value);
        else if (name === 'value') node.value = value;
        else node.setAttribute(name, value === true ? '' : value);
    }
    for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
    return node;
}

export function el(tag, props, ...children) {
    return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
    return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

export function empty(node, ...children) {
    node.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined));
    return node;
}

// -- words and numbers --

export function percent(p) {
    if (p === null || p === undefined || Number.isNaN(p)) return '–';
    const v = 100 * p;
    if (v >= 99.95) return '100 %';
    if (v >= 10) return `${v.toFixed(0)} %`;
    if (v >= 1) return `${v.toFixed(1)} %`;
    return v >= 0.05 ? `${v.toFixed(1)} %` : '<0.1 %';
}

const minus = (text) => text.replace('-', '−');
export const fixed = (v, digits = 2) => (Number.isFinite(v) ? minus(v.toFixed(digits)) : '–');
export const signed = (v, digits = 2) => (v >= 0 ? '+' : '') + fixed(v, digits);
export const grouped = (n) => Number(n).toLocaleString('en');

// A piece as people read it: the marks of spaces are left out.
export function plain(piece) {
    return piece.replace(/^[▁Ġ]+/, '').replace(/Ċ/g, '⏎') || '␣';
}

export const isSpecial = (token) => /^(<[^>]*>|\[(CLS|SEP|PAD|UNK)\])$/.test(token);

// What a token is called in a picture.
export function name(t) {
    const text = t.text?.trim();
    return text ? text : isSpecial(t.token) ? t.token : plain(t.token);
}

// -- keys --

// One stop of Tab for many elements; arrow keys go among them, `columns` of them to a row.
export function roving(nodes, columns = 0) {
    const go = (from, by) => {
        const to = nodes[Math.min(nodes.length - 1, Math.max(0, from + by))];
        if (!to) return;
        for (const n of nodes) n.tabIndex = n === to ? 0 : -1;
        to.focus();
    };
    nodes.forEach((node, i) => {
        node.tabIndex = i ? -1 : 0;
        node.addEventListener('focus', () => {
            for (const n of nodes) n.tabIndex = n === node ? 0 : -1;
        });
        node.addEventListener('keydown', (e) => {
            const by = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns || 1, ArrowUp: -(columns || 1), Home: -i, End: nodes.length}[e.key];
            if (by === undefined || e.ctrlKey || e.altKey || e.metaKey) return;
            e.preventDefault();
            go(i, by);
        });
    });
}

// -- colors of the theme --

export function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const ruler = document.createElement('canvas').getContext('2d');
export function width(text, font = '14px system-ui, sans-serif') {
    ruler.font = font;
    return ruler.measureText(text).width;
}
