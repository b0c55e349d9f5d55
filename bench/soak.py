#!/usr/bin/env python3
# Mixed load on a server for as long as one likes: soak.py HEED [--translate MODEL] [--write MODEL] [--chat MODEL] [--embed MODEL] [--seconds 60] [--users 8]
# [--folder FOLDER] [--grow 48] [--reload 20] [--seed 1]. HEED is built with sanitizers as a rule (make asan, or cmake -DHEED_SANITIZE=address,undefined);
# MODEL translates from en to de, writes, has a chat template, gives vectors. The models are copied to FOLDER (a new one below /tmp if not given), where also
# what the server says and reports of sanitizers go, so that any number of these can run side by side. Users translate, complete (also streamed, slowly
# read, or left in the middle), chat, ask for vectors, explanations and pages, hang up, and send what makes no sense; models are opened anew under way.
# The same question must always get the same answer. Ends with 0 if nothing was answered wrongly, no sanitizer reported anything, the server ended with 0
# after SIGTERM, and it had no more than --grow MiB of memory more in the last quarter of the time than in the second (the lowest tenths).
import argparse, atexit, glob, http.client, json, os, random, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time

options = argparse.ArgumentParser()
options.add_argument("heed")
roles = ("translate", "write", "chat", "embed")
for role in roles:
    options.add_argument(f"--{role}", metavar="MODEL")
options.add_argument("--seconds", type=float, default=60)
options.add_argument("--users", type=int, default=8)
options.add_argument("--folder")
options.add_argument("--grow", type=float, default=48)
options.add_argument("--reload", type=float, default=20)
options.add_argument("--seed", type=int, default=1)
opt = options.parse_args()
models = {role: getattr(opt, role) for role in roles if getattr(opt, role)}
if not models:
    options.error("no model: give at least one of --translate, --write, --chat, --embed")
folder = opt.folder or tempfile.mkdtemp(prefix="soak-")
os.makedirs(folder, exist_ok=True)
copies = {role: shutil.copytree(path, f"{folder}/{role}", dirs_exist_ok=True) for role, path in models.items()}

# -- the server --

report = f"{folder}/report"
supp = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cmake/lsan.supp")
environment = dict(os.environ, ASAN_OPTIONS=f"log_path={report}:detect_leaks=1:quarantine_size_mb=16", UBSAN_OPTIONS=f"log_path={report}:print_stacktrace=1",
                   TSAN_OPTIONS=f"log_path={report}", LSAN_OPTIONS=f"suppressions={supp}:print_suppressions=0")
command = [opt.heed, "serve", "--port", "0", "--uncaged", "--device", "cpu"]  # a leak checker looks at its own process, which the cage forbids
if "translate" in models:
    command += ["--languages", "en:de"]
server = subprocess.Popen(command + [f"{role}={path}" for role, path in copies.items()], env=environment, stdout=subprocess.PIPE,
                          stderr=open(f"{folder}/stderr", "w"), text=True)
atexit.register(lambda: server.poll() is None and server.kill())
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
said = re.search(r":(\d+)\s*$", server.stdout.readline())
if not said:
    sys.exit(f"soak: the server did not start: {open(f'{folder}/stderr').read()}")
port = int(said[1])


def memory():
    with open(f"/proc/{server.pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) / 1024


# -- questions --

WORDS = "a the man woman dog two young people in on with rides stands near street red blue shirt ball plays while water behind".split()
REFUSED = (413, 429, 503, 504)
stop, lock = threading.Event(), threading.Lock()
counts, answers, wrong = {}, {}, []


def note(kind, fault=None):
    with lock:
        counts[kind] = counts.get(kind, 0) + 1
        if fault and len(wrong) < 20:
            wrong.append(f"{kind}: {fault}")


def sentence(r):
    return " ".join(r.choice(WORDS) for _ in range(r.randint(1, 20))).capitalize() + " ."


def send(method, path, body=None, form=False):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    data = body if body is None or form else json.dumps(body)
    c.request(method, path, data, {"Content-Type": "application/x-www-form-urlencoded" if form else "application/json"} if body is not None else {})
    return c, c.getresponse()


def same(kind, question, answer):
    """Whether it is the answer that the question had before."""
    with lock:
        known = answers.setdefault(json.dumps(question), answer) if len(answers) < 20000 else answers.get(json.dumps(question), answer)
    return None if known == answer else f"two answers to {question}: {known!r:.200} and {answer!r:.200}"


def ask(kind, path, question, find):
    """Asks, and compares what find(answer) gives with what it gave before."""
    c, a = send("POST", path, question)
    body = a.read()
    c.close()
    if a.status in REFUSED:
        return note("refused")
    note(kind, f"{a.status} {body[:200]!r}" if a.status != 200 else same(kind, [path, question], find(json.loads(body))))


def translate(r):
    q = sentence(r) if r.random() < 0.7 else [sentence(r) for _ in range(r.randint(1, 12))]
    ask("translate", "/translate", {"q": q, "source": r.choice(("en", "en", "auto")), "target": "de", "alternatives": r.choice((0, 0, 2))},
        lambda a: [a["translatedText"], a.get("alternatives")])


def complete(r):
    q = {"model": "write", "prompt": sentence(r), "max_tokens": r.randint(1, 60), "seed": r.randint(1, 3), "n": r.randint(1, 3), "temperature": r.choice((0, 0.8))}
    ask("complete", "/v1/completions", q, lambda a: [x["text"] for x in a["choices"]])


def stream(r, model="write"):
    q = {"model": model, "max_tokens": r.choice((20, 200, 2000)), "seed": r.randint(1, 3), "stream": True, "temperature": 0.8}
    q.update({"messages": [{"role": "user", "content": sentence(r)}]} if model == "chat" else {"prompt": sentence(r)})
    c, a = send("POST", "/v1/chat/completions" if model == "chat" else "/v1/completions", q)
    slow, leave = 40 if r.random() < 0.2 else 0, r.random() < 0.3  # readings that it rests before: for two seconds, not for as long as a text has tokens
    if a.status != 200:
        a.read(), c.close()
        return note("refused" if a.status in REFUSED else "stream", None if a.status in REFUSED or a.status == 400 and model == "chat" else a.status)
    text = b""
    while piece := a.read1(1 << 14):
        text += piece
        if leave and len(text) > 2000 or stop.is_set():
            c.close()
            return note("left")
        if slow:
            slow -= 1
            time.sleep(0.05)
    c.close()
    events = [json.loads(e[6:]) for e in text.decode().split("\n\n") if e.startswith("data: {")]
    if any("error" in e for e in events):
        return note("late")
    pieces = "".join((e["choices"][0].get("text") or e["choices"][0].get("delta", {}).get("content") or "") for e in events if e.get("choices"))
    note("stream", same("stream", [model, q], pieces) if b"[DONE]" in text else "no end")


def chat(r):
    if r.random() < 0.5:
        return stream(r, "chat")
    q = {"model": "chat", "messages": [{"role": "user", "content": sentence(r)}], "max_tokens": 20, "seed": 1}
    ask("chat", "/v1/chat/completions", q, lambda a: a["choices"][0]["message"]["content"])


def embed(r):
    texts = [sentence(r) for _ in range(r.randint(1, 8))]
    ask("embed", "/v1/embeddings", {"model": "embed", "input": texts, "encoding_format": "base64"}, lambda a: [x["embedding"] for x in a["data"]])


def explain(r):
    model = r.choice(list(models))
    ask("explain", r.choice(("/v1/explain", "/v1/explain", "/v1/attention")), {"model": model, "text": sentence(r), "tokens": 10, "encoding": "bytes"}, lambda a: a)


def leave(r):
    with socket.create_connection(("127.0.0.1", port)) as s:
        body = json.dumps({"model": "write", "prompt": sentence(r), "max_tokens": 5000, "q": sentence(r), "source": "en", "target": "de", "stream": r.random() < 0.5}).encode()
        path = r.choice(("/translate", "/v1/completions", "/v1/explain")).encode()
        s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (path, len(body)) + body[:r.randint(0, len(body))])
        time.sleep(r.random() * 0.1)
    note("hung up")


PAGES = ("/", "/main.js", "/metrics", "/health", "/languages", "/v1/models", "/spec", "/props", "/frontend/settings", "/none", "/v1/explain")


def page(r):
    c, a = send(r.choice(("GET", "GET", "HEAD")), r.choice(PAGES))
    a.read(), c.close()
    note("page", a.status if a.status not in (200, 404) else None)


def nonsense(r):
    """Bytes that are no request, or one that asks for nothing that there is: never an error of the server."""
    body = r.choice((b"{", b"[]", b'{"q": {}}', b"\xff\xfe", b"q=%zz&source=%00", b'{"model": 7, "prompt": [[]]}', b"--x\r\n\r\n--x--", b'{"a":' * 500))
    kind = r.choice((b"application/json", b"multipart/form-data; boundary=x", b"application/x-www-form-urlencoded", b"text/plain"))
    path = r.choice((b"/translate", b"/detect", b"/v1/completions", b"/v1/chat/completions", b"/v1/embeddings", b"/embed", b"/v1/explain", b"/tokenize", b"/rerank"))
    whole = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (path, kind, len(body)) + body
    whole = r.choice((whole, whole, whole.replace(b"Host", b"Hos\0"), whole[: r.randint(1, len(whole))], r.randbytes(r.randint(1, 2000)), b"GET / HTTP/9.9\r\n\r\n"))
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(60)
        s.sendall(whole)
        s.shutdown(socket.SHUT_WR)
        try:
            answer = s.recv(1 << 16)
        except OSError:
            answer = b""
    note("nonsense", answer[:200] if answer.startswith(b"HTTP/1.1 5") and not answer.startswith((b"HTTP/1.1 503", b"HTTP/1.1 505")) else None)


# -- users --

mix = [page, leave, nonsense, explain]
mix += [translate] * 6 if "translate" in models else []
mix += [complete, stream, stream] if "write" in models else []
mix += [chat, chat] if "chat" in models else []
mix += [embed] * 2 if "embed" in models else []


def user(number):
    r = random.Random(opt.seed * 1000 + number)
    while not stop.is_set():
        act = r.choice(mix)
        try:
            act(r)
        except Exception as e:
            if not stop.is_set():
                note(act.__name__, f"{type(e).__name__}: {e}")


users = [threading.Thread(target=user, args=(i,), daemon=True) for i in range(opt.users)]
began, changed, used = time.time(), time.time(), []
for u in users:
    u.start()
while time.time() < began + opt.seconds and server.poll() is None:
    time.sleep(0.5)
    used.append(memory() if server.poll() is None else 0)
    if opt.reload and time.time() - changed > opt.reload:
        changed = time.time()
        for path in copies.values():
            os.utime(f"{path}/config.json")
        server.send_signal(signal.SIGHUP)
stop.set()
until = time.time() + 60  # what is being asked is still answered
for u in users:
    u.join(max(0, until - time.time()))
server.terminate()
try:
    status = server.wait(180)
except subprocess.TimeoutExpired:
    server.kill()
    status = "none: it did not end"

# -- what became of it --

part = len(used) // 4 + 1


def low(some):
    """The lowest tenth: a model that is opened anew is there twice for a while, a leak is there always."""
    return sorted(some)[len(some) // 10] if some else 0


before, after = low(used[part : 2 * part]), low(used[-part:])
print(f"{time.time() - began:.0f} s: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))
print(f"memory {before:.0f} MiB in the second quarter, {after:.0f} MiB in the last one; exit status {status}; folder {folder}")
said = open(f"{folder}/stderr").read()
reports = glob.glob(f"{report}.*") + ([f"{folder}/stderr"] if re.search(r"Sanitizer|runtime error", said) else [])
faults = wrong + [f"report {r}" for r in reports]
if status != 0:
    faults.append(f"the server ended with status {status}: {said[-500:]}")
if after > before + opt.grow:
    faults.append(f"memory grew by {after - before:.0f} MiB")
for f in faults:
    print(f"soak: {f}", file=sys.stderr)
sys.exit(bool(faults))
