// What is shown, as a file: all numbers, the picture of this view, or a page that needs nothing else.
import {byId, el, name, percent, svg} from './dom.js';
import {question} from './main.js';

function save(text, type, ending) {
    const link = el('a', {href: URL.createObjectURL(new Blob([text], {type})), download: `heed-${new Date().toISOString().slice(0, 19).replace(/[:T]/g, '-')}.${ending}`});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// A picture with the colors it has now: a file has no style sheet beside it.
const KEPT = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'font-family', 'font-size', 'font-weight', 'opacity'];
function standalone(picture) {
    const copy = picture.cloneNode(true), from = [picture, ...picture.querySelectorAll('*')], to = [copy, ...copy.querySelectorAll('*')];
    from.forEach((node, i) => {
        const style = getComputedStyle(node);
        for (const property of KEPT) to[i].setAttribute(property, style.getPropertyValue(property));
        for (const unused of ['class', 'tabindex', 'style']) to[i].removeAttribute(unused);
    });
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    copy.prepend(svg('rect', {width: '100%', height: '100%', fill: getComputedStyle(document.body).backgroundColor}));
    return new XMLSerializer().serializeToString(copy);
}

const STYLE = 'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}td,th{padding:.2rem .8rem .2rem 0;text-align:left}svg{max-width:100%;height:auto}';

function wholePage(page) {
    const a = page.answer, out = document.implementation.createHTMLDocument('heed');
    out.documentElement.lang = 'en';
    out.head.append(el('meta', {charset: 'utf-8'}));
    const tokens = (a.target ?? a.source).map((t) => [name(t), t.p === undefined ? '' : percent(t.p), (t.top ?? []).slice(0, 5).map((c) => `${name(c)} ${percent(c.p)}`).join(', ')]);
    out.body.append(el('h1', {text: page.model.name}), el('p', {text: byId('input').value}), el('p', {text: a.text ?? ''}),
        page.factors.size ? el('p', {text: `Heads: ${[...page.factors].map(([n, f]) => `${n} × ${f}`).join(', ')}`}) : '',
        el('div', {id: 'picture'}),
        el('table', {}, el('tr', {}, ['token', 'probability', 'likely'].map((t) => el('th', {text: t}))), tokens.map((row) => el('tr', {}, row.map((text) => el('td', {text}))))));
    if (page.picture) out.getElementById('picture').append(new DOMParser().parseFromString(standalone(page.picture), 'image/svg+xml').documentElement);
    const html = out.documentElement.outerHTML, head = html.indexOf('</head>'); // this page may not make styles, a file may have them
    return `<!doctype html>\n${html.slice(0, head)}<style>${STYLE}</style>${html.slice(head)}`;
}

export function exportAs(kind, page) {
    if (!page.answer) return;
    if (kind === 'json') save(JSON.stringify({asked: question(), answer: page.answer, plain: page.plain, attention: page.attention}, null, 1), 'application/json', 'json');
    else if (kind === 'html') save(wholePage(page), 'text/html', 'html');
    else if (page.picture) save(standalone(page.picture), 'image/svg+xml', 'svg');
    else byId('status').textContent = 'this view has no picture';
}
