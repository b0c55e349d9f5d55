#!/usr/bin/env python3
# CTranslate2 behind HTTP with batches across requests, as such servers are written in Python: one thread speaks with all connections, one gathers what
# waits into batches and translates. ct2_server.py MODEL-FOLDER PORT [--beam 5] [--batch 64] [--wait 0.002] [--type float32] [--threads N]; the folder is
# one of ct2_convert.py. It answers POST /translate with a form, and takes no care of anything else.
import argparse, asyncio, json, os, queue, threading, urllib.parse
import ctranslate2
from sentencepiece import SentencePieceProcessor

options = argparse.ArgumentParser()
options.add_argument("model"), options.add_argument("port", type=int)
options.add_argument("--beam", type=int, default=5)
options.add_argument("--batch", type=int, default=64)
options.add_argument("--wait", type=float, default=0.002)
options.add_argument("--type", default="float32")
options.add_argument("--threads", type=int, default=os.cpu_count())
opt = options.parse_args()
pieces = SentencePieceProcessor(model_file=f"{opt.model}/tokenizer.model")
translator = ctranslate2.Translator(opt.model, device="cpu", compute_type=opt.type, intra_threads=opt.threads, inter_threads=1)
waiting = queue.SimpleQueue()
loop = asyncio.new_event_loop()


def gather():
    batch = [waiting.get()]
    try:
        while len(batch) < opt.batch:
            batch.append(waiting.get(timeout=opt.wait))
    except queue.Empty:
        pass
    return batch


def translate():
    while True:
        batch = gather()
        found = translator.translate_batch([pieces.encode(text, out_type=str) for text, _ in batch], beam_size=opt.beam)
        texts = [pieces.decode(f.hypotheses[0]) for f in found]
        loop.call_soon_threadsafe(lambda b=batch, t=texts: [f.set_result(x) for (_, f), x in zip(b, t) if not f.cancelled()])


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(next(line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length:")))
            asked = urllib.parse.parse_qs((await reader.readexactly(length)).decode())
            answer = loop.create_future()
            waiting.put((asked["q"][0], answer))
            body = json.dumps({"translatedText": await answer}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


threading.Thread(target=translate, daemon=True).start()
loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", opt.port, backlog=1024))
print("ready", flush=True)
loop.run_forever()
