#!/usr/bin/env python3
# heed serve with a language model under load: generation.py HEED MODEL [--users 1 4 16] [--tokens 48] [--seconds 5] [--prompt TEXT] [--port 18098]
# [--with OPTIONS OF heed serve]. Each user asks /v1/completions for a stream of so many tokens (temperature 1, a seed of its own) and asks again when it has ended; this
# program shares the cores with the server. For each number of users: tokens/s of all, and in ms the median and p99 of the time to the first token and of that from one to the next.
import argparse, json, selectors, socket, subprocess, time

options = argparse.ArgumentParser()
options.add_argument("heed"), options.add_argument("model")
options.add_argument("--users", type=int, nargs="+", default=[1, 4, 16])
options.add_argument("--tokens", type=int, default=48)
options.add_argument("--seconds", type=float, default=5)
options.add_argument("--prompt", default="The ")
options.add_argument("--port", type=int, default=18098)
options.add_argument("--with", dest="extra", default="", help="further options of heed serve")
opt = options.parse_args()


class User:
    def __init__(self, number):
        self.number, self.asked = number, 0
        self.socket = socket.create_connection(("127.0.0.1", opt.port))
        self.ask()

    def ask(self):
        self.asked += 1
        body = json.dumps({"model": "m", "prompt": opt.prompt, "max_tokens": opt.tokens, "stream": True, "temperature": 1, "seed": 1000 * self.number + self.asked})
        self.socket.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        self.at, self.first, self.tail = time.monotonic(), True, b""

    def hear(self, now, firsts, gaps):
        """Tokens that came; asks again at the end."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise SystemExit("the server has hung up")
        data = self.tail + data
        events = data.count(b'"text"')
        if events:
            (firsts if self.first else gaps).append(now - self.at)
            gaps += [0] * (events - 1)
            self.first, self.at = False, now
        if b"data: [DONE]" in data:
            self.ask()
        else:
            self.tail = data[-12:] if data[-12:].count(b'"text"') == 0 else b""
        return events


def share(times, part):
    times = sorted(times)
    return 1e3 * times[min(int(part * len(times)), len(times) - 1)] if times else float("nan")


server = subprocess.Popen([opt.heed, "serve", f"m={opt.model}", "--port", str(opt.port), *opt.extra.split()], stdout=subprocess.PIPE, text=True)
try:
    server.stdout.readline()
    for count in opt.users:
        with selectors.DefaultSelector() as waiting:
            for number in range(count):
                user = User(number)
                waiting.register(user.socket, selectors.EVENT_READ, user)
            from_, tokens, firsts, gaps = time.monotonic(), 0, [], []
            while time.monotonic() < from_ + opt.seconds:
                for key, _ in waiting.select(0.5):
                    tokens += key.data.hear(time.monotonic(), firsts, gaps)
            took = time.monotonic() - from_
            for key in list(waiting.get_map().values()):
                key.data.socket.close()
        print(f"{count} users: {tokens / took:.0f} tokens/s; first token {share(firsts, 0.5):.1f}, p99 {share(firsts, 0.99):.1f} ms; from one to the next "
              f"{share(gaps, 0.5):.1f}, p99 {share(gaps, 0.99):.1f} ms", flush=True)
        time.sleep(0.5)
finally:
    server.terminate()
    server.wait(60)
