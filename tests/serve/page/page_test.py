#!/usr/bin/env python3
"""The page of `heed serve` in a headless Chromium: what it shows, what it asks, and whom. page_test.py HEED
Exit 77: there is no Chromium, or heed was built without the server. HEED_SHOTS=FOLDER keeps pictures."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402

NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
STATE = "import('/page/main.js').then((m) => JSON.stringify({answer: m.page.answer, plain: m.page.plain, factors: [...m.page.factors]}))"


class Server:
    """A translator, a language model and a BERT that know next to nothing, behind one server."""

    def __init__(self, heed):
        self.folder = tempfile.mkdtemp(prefix="heed-page-")
        at = lambda name: os.path.join(self.folder, name)  # noqa: E731
        run = lambda *words: subprocess.run([heed, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: E731
        run("corpus", "--pairs", "300", "--seed", "1", "--out", at("c"))
        small = ["--layers", "2", "--width", "32", "--heads", "2", "--steps", "20", "--seed", "1", "--threads", "1"]
        pairs = [at(f"c/train.{side}") for side in ("en", "de")]
        run("train", "--train", *pairs, "--valid", *pairs, "--tokenizer", "words", *small, "--out", at("translator"))
        run("train", "--task", "lm", "--model", "gpt", "--train", pairs[0], "--valid", pairs[0], *small, "--out", at("writer"))
        run("train", "--task", "mlm", "--vocab-size", "340", "--train", pairs[0], "--valid", pairs[0], *small, "--out", at("filler"))
        self.process = subprocess.Popen([heed, "serve", "--port", "0", "--threads", "1", at("translator"), at("writer"), at("filler"), "--languages", "en:de"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def metrics(self):
        with NO_PROXY.open(self.url + "/metrics", timeout=20) as answer:
            lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def close(self):
        self.process.terminate()
        self.process.wait(40)
        shutil.rmtree(self.folder, ignore_errors=True)


def state(p):
    return json.loads(p.eval(STATE))


def settled(p, change=None):
    """Makes a change and waits for the answer to it."""
    p.eval("document.getElementById('status').textContent = ''")
    if change:
        p.eval(change)
    p.wait(r"/^\d/.test(document.getElementById('status')?.textContent)")
    return state(p)


def at_tab(p, name):
    p.eval(f"document.getElementById('tab-{name}').click()")


def focus(p):
    return p.eval("(() => { const e = document.activeElement; return e.id || e.className.baseVal || e.className || e.tagName; })()")


# -- what must hold --


def shows_a_translation(p, server):
    s = settled(p)
    words = p.eval("[...document.querySelectorAll('.token .word')].map((n) => n.textContent)")
    assert len(words) == len(s["answer"]["target"]), words
    assert p.eval("document.getElementById('output-title').textContent") == "German"
    at_tab(p, "alignment")
    assert p.eval("document.querySelectorAll('.ribbon .at').length") == len(s["answer"]["source"]) + len(s["answer"]["target"])
    at_tab(p, "beam")
    p.wait("document.querySelectorAll('.tree .box.best').length > 0")
    assert p.eval("document.querySelectorAll('.tree .box.best').length") == len(words)
    at_tab(p, "engine")
    p.wait("document.querySelectorAll('.engine').length === 3")


def a_head_off_changes_numbers_and_on_again_restores_them(p, server):
    before = settled(p, "document.getElementById('input').dispatchEvent(new Event('input'))")
    at_tab(p, "attention")
    p.wait("document.querySelectorAll('.head').length === 4")
    p.eval("document.querySelector('[data-head=\"dec.1.cross.0\"]').click()")
    off = settled(p, "document.querySelector('.zoom .switch').click()")
    assert off["factors"] == [["dec.1.cross.0", 0]]
    assert [t["p"] for t in off["answer"]["target"]] != [t["p"] for t in before["answer"]["target"]]
    assert off["plain"] == before["answer"]
    p.wait("document.querySelector('[data-head=\"dec.1.cross.0\"]')?.classList.contains('off')")
    assert not p.eval("document.getElementById('changes').hidden")
    on = settled(p, "document.querySelector('.zoom .switch').click()")
    assert on["answer"] == before["answer"] and not on["factors"]
    at_tab(p, "heads")
    p.eval("document.getElementById('try-all').click()")
    p.wait("!!document.getElementById('try-all') && document.querySelectorAll('.meter.loss, .meter.gain').length === 12", 60)
    effects = p.eval("[...document.querySelectorAll('.effect .share')].map((n) => Number(n.textContent.replace('−', '-')))")
    assert effects == sorted(effects) and effects[0] < effects[-1], effects


def the_keyboard_is_enough(p, server):
    settled(p, "document.getElementById('input').dispatchEvent(new Event('input'))")
    p.eval("document.getElementById('input').focus()")
    p.key("Tab")
    assert "token" in focus(p), focus(p)
    p.key("ArrowRight")
    assert p.eval("[...document.querySelectorAll('.token')].indexOf(document.activeElement)") == 1
    p.key("Enter")
    p.wait("!document.getElementById('alternatives').hidden")
    assert "choice" in focus(p), focus(p)
    p.key("Escape")
    assert p.eval("document.getElementById('alternatives').hidden")
    assert p.eval("[...document.querySelectorAll('.token')].indexOf(document.activeElement)") == 1
    p.key("Enter")
    for _ in range(3):
        p.key("ArrowRight")
    other = p.eval("document.activeElement.querySelector('.word').textContent")
    p.eval("document.getElementById('status').textContent = ''")
    p.key("Enter")  # forces it
    p.wait(r"/^\d/.test(document.getElementById('status')?.textContent)")
    assert p.eval("document.querySelectorAll('.token .word')[1].textContent") == other
    assert state(p)["answer"]["target"][1]["given"]
    p.eval("document.getElementById('tab-alignment').focus()")
    for name in ("attention", "heads", "beam", "engine", "alignment", "attention"):
        p.key("ArrowRight")
        assert focus(p) == f"tab-{name}" and not p.eval(f"document.getElementById('view-{name}').hidden")
    p.wait("document.querySelectorAll('.head').length === 4")
    p.key("Tab")
    p.key("Tab")
    assert focus(p).startswith("head"), focus(p)
    p.key("ArrowDown")
    name = p.eval("document.activeElement.dataset.head")
    assert name == "dec.1.cross.0", name
    p.key("o")
    p.wait(f"document.querySelector('[data-head=\"{name}\"]')?.classList.contains('off')")
    p.wait(f"document.activeElement.dataset.head === '{name}'")
    p.key("o")
    p.wait(f"!document.querySelector('[data-head=\"{name}\"]').classList.contains('off')")
    # whatever can be used has a name that can be read out
    nameless = p.eval("""[...document.querySelectorAll('button, input, select, textarea, [role=img]')].filter((n) =>
        !(n.getAttribute('aria-label') || n.textContent.trim() || n.labels?.length || n.getAttribute('aria-labelledby'))).map((n) => n.outerHTML)""")
    assert not nameless, nameless


def what_is_typed_stays_text(p, server):
    evil = "<script>window.wrong = 1</script><img src=x onerror='window.wrong = 1'> dog"
    p.eval("document.getElementById('input').value = ''; document.getElementById('input').focus()")
    settled(p, "document.getElementById('input').value = " + json.dumps(evil) + "; document.getElementById('input').dispatchEvent(new Event('input'))")
    for name in ("alignment", "attention", "heads", "beam"):
        at_tab(p, name)
        time.sleep(0.2)
    assert "<script>" in p.eval("document.getElementById('view-alignment').textContent")
    assert p.eval("window.wrong === undefined && document.querySelectorAll('main script, main img').length === 0")
    p.open("about:blank")
    p.open(server.url + "/#model=translator&text=" + "%3Cimg%20src%3Dx%20onerror%3D%27window.wrong%3D1%27%3E&heads=%3Cb%3E%3D0&view=heads")
    p.wait("document.getElementById('status')?.classList.contains('wrong')")  # there is no such head
    assert p.eval("window.wrong === undefined && document.querySelectorAll('main img').length === 0")
    p.open(server.url + "/")


def other_models_have_their_own_views(p, server):
    p.wait("document.querySelectorAll('#model option').length === 3")
    choose = "document.getElementById('model').value = '%s'; document.getElementById('model').dispatchEvent(new Event('change'))"
    s = settled(p, choose % "writer")
    assert s["answer"]["kind"] == "language" and p.eval("document.getElementById('tab-beam').hidden")
    written = [i for i, t in enumerate(s["answer"]["target"]) if not t.get("given")]
    assert len(written) == 20
    p.eval(f"document.querySelectorAll('.token')[{written[2]}].click()")
    other = s["answer"]["target"][written[2]]["top"][1]["id"]
    s = settled(p, "document.querySelectorAll('.choice')[1].click()")
    assert s["answer"]["target"][written[2]]["id"] == other and len(s["answer"]["target"]) > written[2] + 1
    s = settled(p, choose % "filler")
    at_tab(p, "attention")
    assert s["answer"]["kind"] == "masked" and p.eval("document.querySelectorAll('.token.blank').length") == 1
    s = settled(p, "document.querySelector('.token.blank').click(); document.querySelector('.choice').click()")
    assert "[MASK]" not in p.eval("document.getElementById('input').value")
    word = next(i for i, t in enumerate(s["answer"]["source"]) if t["end"] > t["begin"])
    p.eval(f"document.querySelectorAll('.token')[{word}].click()")
    s = settled(p, "[...document.querySelectorAll('#alternatives button')].find((b) => b.textContent.startsWith('Mask')).click()")
    assert p.eval("document.getElementById('input').value").startswith("[MASK]")
    settled(p, choose % "translator")


def what_is_shown_can_be_saved(p, server):
    p.wait("document.querySelectorAll('.token').length > 0")
    at_tab(p, "beam")
    p.wait("document.querySelectorAll('.tree .box').length > 0")
    p.eval("window.saved = []; URL.createObjectURL = (blob) => (window.saved.push(blob), '#'); HTMLAnchorElement.prototype.click = () => 0")
    for kind in ("json", "svg", "html"):
        p.eval(f"document.getElementById('export').value = '{kind}'; document.getElementById('export').dispatchEvent(new Event('change'))")
    numbers, picture, whole = p.eval("Promise.all(window.saved.map((b) => b.text()))")
    assert json.loads(numbers)["answer"] == state(p)["answer"]
    assert picture.startswith("<svg") and "class=" not in picture and "fill=" in picture
    assert whole.startswith("<!doctype html>") and "<svg" in whole and "<script" not in whole
    p.open("about:blank")
    p.open(server.url + "/")


def a_key_is_asked_for(p, server):
    """By a server of its own, which answers nobody without one."""
    keys = os.path.join(server.folder, "keys")
    with open(keys, "w") as f:
        f.write("sesame\n")
    os.chmod(keys, 0o600)
    locked = subprocess.Popen([sys.argv[1], "serve", "--port", "0", "--threads", "1", os.path.join(server.folder, "translator"), "--languages", "en:de", "--key-file", keys],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        p.open(locked.stdout.readline().strip() + "/")
        p.wait("document.getElementById('key') && !document.getElementById('key').hidden")
        for key in ("wrong", "sesame"):
            # a field that was hidden keeps the focus until the page is drawn again
            p.wait("!document.getElementById('key').hidden && document.activeElement.id === 'key-input' && document.activeElement.value === ''")
            p.type(key)
            p.key("Enter")
        p.wait("document.querySelectorAll('.token').length > 0")
        assert p.eval("document.getElementById('key').hidden")
    finally:
        locked.terminate()
        locked.wait(40)
    p.events = [e for e in p.events if e.get("method") != "Network.requestWillBeSent" and "status of 40" not in json.dumps(e)]
    p.open(server.url + "/")


def who_leaves_frees_the_seats(p, server):
    p.wait(r"/^\d/.test(document.getElementById('status')?.textContent)")
    at_tab(p, "engine")  # which asks nothing of the model
    name = 'heed_running_jobs{model="translator"}'
    while server.metrics()[name]:
        time.sleep(0.02)
    p.eval("""void fetch('/translate', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(
        {q: Array(900).fill('the dog sees the cat . '.repeat(20)), source: 'en', target: 'de'})}).catch(() => 0)""")
    end = time.time() + 20
    while not server.metrics()[name] and time.time() < end:
        time.sleep(0.02)
    assert server.metrics()[name] >= 1
    p.open("about:blank")
    left = time.time()
    while server.metrics()[name] and time.time() < left + 10:
        time.sleep(0.02)
    ends = {k: v for k, v in server.metrics().items() if "translator" in k}
    assert ends['heed_jobs_total{model="translator",end="canceled"}'] >= 1, ends
    print(f"  the seats were free {1000 * (time.time() - left):.0f} ms after the page was left")
    assert time.time() - left < 2
    p.open(server.url + "/")


def nothing_else_is_asked(p, server):
    others = [url for url in p.requests() if not url.startswith((server.url, "blob:" + server.url, "data:", "about:"))]
    assert not others, others
    complaints = [c for c in p.complaints() if "status of 400" not in c]
    assert not complaints, complaints
    size = 0
    for url in {u.split("#")[0] for u in p.requests() if u.startswith(server.url) and ("/page/" in u or u.split("#")[0] == server.url + "/")}:
        with NO_PROXY.open(url) as answer:
            size += len(answer.read())
    print(f"  the page is {size} bytes")
    assert 30000 < size < 250000


def it_fits_narrow_screens(p, server):
    p.wait("document.querySelectorAll('.token').length > 0")
    for width, dark in ((1200, False), (1200, True), (400, False)):
        p.resize(width, 900)
        p.prefer(dark)
        for name in ("alignment", "attention", "heads", "beam", "engine"):
            at_tab(p, name)
            time.sleep(0.3)
            wide = p.eval("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} wide at {width}"
            if os.environ.get("HEED_SHOTS"):
                p.shot(os.path.join(os.environ["HEED_SHOTS"], f"{name}-{'dark' if dark else 'light'}-{width}.png"))
        paper = p.eval("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper[4:-1].split(","))) < 200) == dark, paper


TESTS = [shows_a_translation, a_head_off_changes_numbers_and_on_again_restores_them, the_keyboard_is_enough, what_is_typed_stays_text,
         other_models_have_their_own_views, it_fits_narrow_screens, what_is_shown_can_be_saved, a_key_is_asked_for,
         who_leaves_frees_the_seats, nothing_else_is_asked]


def main():
    heed = sys.argv[1]
    if not browser.find():
        print("skipped: no chromium")
        return 77
    said = subprocess.run([heed, "serve", "nowhere"], capture_output=True, text=True).stderr
    if "libmicrohttpd" in said:
        print("skipped: built without libmicrohttpd")
        return 77
    server, page = Server(heed), None
    try:
        page = browser.Page()
        page.open(server.url + "/")
        page.wait("document.readyState === 'complete'")
        for test in TESTS:
            print(test.__name__.replace("_", " "), flush=True)
            test(page, server)
    finally:
        if page:
            page.close()
        server.close()
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
