"""A headless Chromium driven over DevTools, with nothing but Python's own modules."""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The program, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Socket:
    """A WebSocket of a client: text in, text out."""

    def __init__(self, port, path):
        self.s = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.s.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.s.recv(1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(head.decode())

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        n = len(data)
        size = struct.pack("!B", 0x80 | n) if n < 126 else struct.pack("!BH", 0xFE, n) if n < 1 << 16 else struct.pack("!BQ", 0xFF, n)
        self.s.sendall(b"\x81" + size + mask + bytes(b ^ mask[i & 3] for i, b in enumerate(data)))

    def exactly(self, n):
        data = bytearray()
        while len(data) < n:
            some = self.s.recv(n - len(data))
            if not some:
                raise RuntimeError("the browser has gone")
            data += some
        return bytes(data)

    def receive(self):
        """The next message; frames that belong together are joined, pings are passed over."""
        message = b""
        while True:
            first, size = self.exactly(2)
            size &= 127
            if size == 126:
                size = struct.unpack("!H", self.exactly(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self.exactly(8))[0]
            data = self.exactly(size)
            if first & 15 in (0, 1):
                message += data
                if first & 128:
                    return message.decode()


class Page:
    """One page in a browser of its own."""

    def __init__(self, width=1200, height=900, dark=False):
        self.profile = tempfile.mkdtemp(prefix="heed-page-")
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server", "--disable-features=BackForwardCache",
             "--remote-debugging-port=0", f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = os.path.join(self.profile, "DevToolsActivePort")
        end = time.time() + 60
        while not (os.path.exists(told) and open(told).read().count("\n")):
            if time.time() > end or self.process.poll() is not None:
                self.close()
                raise RuntimeError("the browser did not start")
            time.sleep(0.05)
        port, path = open(told).read().split("\n")[:2]
        self.socket, self.number, self.events, self.session = Socket(int(port), path), 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.prefer(dark)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def prefer(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def eval(self, expression):
        """What an expression gives; promises are waited for."""
        r = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(f"{expression}: {r['exceptionDetails'].get('exception', {}).get('description')}")
        return r["result"].get("value")

    def wait(self, expression, seconds=30):
        """Until an expression is true."""
        end = time.time() + seconds
        while time.time() < end:
            value = self.eval(expression)
            if value:
                return value
            time.sleep(0.03)
        status = self.eval("document.getElementById('status')?.textContent")
        raise AssertionError(f"after {seconds} s still not: {expression}; the page says: {status}")

    def key(self, key, code=None, text=None, modifiers=0):
        names = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "End": 35, "Home": 36}
        number = names.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = text or ("\r" if key == "Enter" else key if len(key) == 1 else None)
        common = {"key": key, "code": code or key, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="rawKeyDown", **common)
        if text:
            self.call("Input.dispatchKeyEvent", type="char", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def shot(self, path):
        """A picture of all of the page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 4000), "scale": 1})["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def requests(self):
        """Addresses that anything on the page asked for."""
        self.eval("0")
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """What the console and broken rules of content say."""
        self.eval("0")
        said = []
        for e in self.events:
            if e.get("method") == "Runtime.exceptionThrown":
                said.append(json.dumps(e["params"]["exceptionDetails"])[:400])
            elif e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error":
                said.append(e["params"]["entry"]["text"])
        return said

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
