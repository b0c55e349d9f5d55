#!/usr/bin/env python3
# What clients of LibreTranslate make of the server: libre_clients_test.py HEED TINY-MODEL. TINY-MODEL writes a model into a folder. A client that is
# not installed, in this Python or in that of HEED_CLIENTS, is skipped; 77 where all are.
import importlib.util, json, os, re, subprocess, sys, tempfile, urllib.request

if os.environ.get("HEED_CLIENTS") and not os.environ.get("HEED_CLIENTS_USED"):
    os.environ["HEED_CLIENTS_USED"] = "1"
    os.execv(os.environ["HEED_CLIENTS"], [os.environ["HEED_CLIENTS"]] + sys.argv)

heed, tiny = sys.argv[1:3]
TEXT = "i ate an apple ."


def asked(url, path, **fields):
    request = urllib.request.Request(url + path, json.dumps(fields).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def libretranslatepy(url):
    from libretranslatepy import LibreTranslateAPI
    client = LibreTranslateAPI(url + "/")
    assert client.translate(TEXT, "en", "de") == asked(url, "/translate", q=TEXT, source="en", target="de")["translatedText"]
    assert client.detect(TEXT)[0]["language"] == "en"
    assert [one["code"] for one in client.languages()] == ["en", "de"]


def deep_translator(url):
    from deep_translator import LibreTranslator
    client = LibreTranslator(source="en", target="de", use_free_api=False, custom_url=url + "/", api_key="none")
    assert client.translate(TEXT) == asked(url, "/translate", q=TEXT, source="en", target="de")["translatedText"]


clients = [libretranslatepy, deep_translator]
there = [c for c in clients if importlib.util.find_spec(c.__name__)]
for client in clients:
    if client not in there:
        print(f"skipped: no {client.__name__}")
if not there:
    sys.exit(77)
folder = tempfile.TemporaryDirectory()
model = folder.name + "/model"
subprocess.run([tiny, model], check=True)
server = subprocess.Popen([heed, "serve", model, "--languages", "en:de", "--port", "0", "--threads", "1"], stdout=subprocess.PIPE, text=True)
try:
    address = re.match(r"http://\S+", server.stdout.readline())[0]
    for client in there:
        client(address)
        print(f"{client.__name__}: good")
finally:
    server.terminate()
    if server.wait(60):
        sys.exit("the server did not end well")
