#!/usr/bin/env python3
# The server among those who mean no good: attacks.py HEED MODEL [--idle 10000] [--seconds 5]. MODEL translates from en to de. While each attack goes on
# somebody asks again and again; prints how long that took (median and longest, ms) beside the same without an attack, the server's memory, and whether
# everything was answered. Ends with 1 where a request of others failed or took more than a second.
import argparse, os, re, resource, socket, statistics, subprocess, sys, threading, time

options = argparse.ArgumentParser()
options.add_argument("heed"), options.add_argument("model")
options.add_argument("--idle", type=int, default=10000)
options.add_argument("--seconds", type=float, default=5)
opt = options.parse_args()
wanted = opt.idle + 1000
resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
server = subprocess.Popen([opt.heed, "serve", opt.model, "--languages", "en:de", "--port", "0", "--beam", "1"], stdout=subprocess.PIPE, text=True)
port = int(re.search(r":(\d+)\s*$", server.stdout.readline())[1])
BODY = b"q=A+man+rides+a+horse+.&source=en&target=de"
REQUEST = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


def dial():
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(10)
    return s


def ask():
    start = time.perf_counter()
    with dial() as s:
        s.sendall(REQUEST)
        answer = s.recv(65536)
    return answer.startswith(b"HTTP/1.1 200") and 1e3 * (time.perf_counter() - start)


def memory():
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{server.pid}/status").read())[1]) / 1024


def nothing(stop):
    stop.wait(opt.seconds)


def idle(stop):
    held = [dial() for _ in range(opt.idle)]
    stop.wait(opt.seconds)
    print(f"  {len(held)} connections held")
    for s in held:
        s.close()


def slowloris(stop):
    held = [dial() for _ in range(1000)]
    for s in held:
        s.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nX: ")
    end = time.time() + opt.seconds
    while time.time() < end:
        for s in held:
            try:
                s.sendall(b"x")
            except OSError:
                pass
        stop.wait(0.5)
    for s in held:
        s.close()


def large(stop):
    refused = 0
    end = time.time() + opt.seconds
    while time.time() < end:
        with dial() as s:
            s.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
            try:
                for _ in range(1000):
                    s.sendall(bytes(1 << 20))
            except OSError:
                pass
        with dial() as s:  # and without saying how much
            s.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(20):
                    s.sendall(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
                s.sendall(b"0\r\n\r\n")
                refused += s.recv(100).startswith(b"HTTP/1.1 413")
            except OSError:
                refused += 1
    print(f"  {refused} refused")


def half_closed(stop):
    end, held = time.time() + opt.seconds, []
    while time.time() < end:
        for part in (REQUEST[:20], REQUEST[:-5], REQUEST, b""):
            s = dial()
            s.sendall(part)
            s.shutdown(socket.SHUT_WR)
            held.append(s)
        time.sleep(0.01)
    for s in held:
        s.close()


def malformed(stop):
    import random
    random.seed(1)
    cases = [b"\r\n" * 1000, b"GET\x00/ HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\nHost: localhost\n\n", b"\x16\x03\x01\x02\x00\x01", b"A" * 100000,
             b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nq=abcd",
             b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
             b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n"]
    end = time.time() + opt.seconds
    while time.time() < end:
        case = bytearray(random.choice(cases + [REQUEST] * 5))
        for _ in range(random.randrange(4)):
            case[random.randrange(len(case))] = random.randrange(256)
        try:
            with dial() as s:
                s.sendall(bytes(case))
                s.settimeout(0.05)
                s.recv(1000)
        except OSError:
            pass


def leaving(stop):
    end = time.time() + opt.seconds
    while time.time() < end:
        with dial() as s:
            s.sendall(REQUEST)


bad = 0
try:
    ask()
    for attack in (nothing, idle, slowloris, large, half_closed, malformed, leaving, nothing):
        stop, times, failed = threading.Event(), [], 0
        thread = threading.Thread(target=attack, args=(stop,))
        thread.start()
        while thread.is_alive():
            took = ask()
            times, failed = (times + [took], failed) if took else (times, failed + 1)
            time.sleep(0.02)
        thread.join()
        late = max(times) > 1000
        bad += failed or late
        print(f"{attack.__name__:12} others: {len(times)} answered, {failed} not; {statistics.median(times):.1f} {max(times):.1f} ms; {memory():.0f} MiB", flush=True)
finally:
    server.terminate()
    code = server.wait(60)
    print(f"ended with {code}")
sys.exit(bool(bad or code))
