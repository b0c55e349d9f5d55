// Requests to the server this page came from, and to nobody else.

let key = '';
let wantKey = null;

// f() is called when the server wants a key, and gives a promise of one.
export function onKey(f) {
    wantKey = f;
}

async function send(path, options, again) {
    const headers = {...options.headers};
    if (key) headers['X-Api-Key'] = key;
    const answer = await fetch(path, {...options, headers, credentials: 'omit', cache: 'no-store'});
    if ((answer.status === 401 || answer.status === 403) && wantKey && again) {
        key = await wantKey();
        return send(path, options, key !== '');
    }
    return answer;
}

async function failure(answer) {
    let text = `${answer.status} ${answer.statusText}`;
    try {
        const body = await answer.json();
        text = body.error?.message ?? body.error ?? text;
    } catch { /* it is no JSON: the status will do */ }
    return new Error(String(text));
}

export async function getJson(path) {
    const answer = await send(path, {}, true);
    if (!answer.ok) throw await failure(answer);
    return answer.json();
}

export async function getText(path, signal) {
    const answer = await send(path, {signal}, true);
    if (!answer.ok) throw await failure(answer);
    return answer.text();
}

// A busy server says when to come again; twice it is waited for.
export async function post(path, body, signal, tries = 3) {
    const answer = await send(path, {method: 'POST', signal, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)}, true);
    if (answer.ok) return answer.json();
    if ((answer.status === 429 || answer.status === 503) && tries > 1) {
        const seconds = Math.min(5, Number(answer.headers.get('Retry-After')) || 1);
        await new Promise((done, stop) => {
            const timer = setTimeout(done, 1000 * seconds);
            signal?.addEventListener('abort', () => (clearTimeout(timer), stop(new DOMException('aborted', 'AbortError'))));
        });
        return post(path, body, signal, tries - 1);
    }
    throw await failure(answer);
}

// Weights in base64: bytes are shares of 255.
export function bytesOf(text) {
    const raw = atob(text), out = new Float32Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i) / 255;
    return out;
}

export function floatsOf(text) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Float32Array(bytes.buffer);
}
