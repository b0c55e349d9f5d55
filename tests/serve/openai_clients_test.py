"""Real clients of OpenAI's interface against heed serve: openai_clients_test.py HEED_PROGRAM. Needs the packages
openai and langchain-openai, in this Python or in that of HEED_CLIENTS; ends with 77 where they are absent."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

if os.environ.get("HEED_CLIENTS") and not os.environ.get("HEED_CLIENTS_USED"):
    os.environ["HEED_CLIENTS_USED"] = "1"
    os.execv(os.environ["HEED_CLIENTS"], [os.environ["HEED_CLIENTS"]] + sys.argv)
try:
    import openai
    from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
except ImportError as e:
    print(f"skipped: {e} (pip install openai langchain-openai, HEED_CLIENTS=PYTHON)")
    sys.exit(77)

program = os.path.abspath(sys.argv.pop(1))
ANIMALS = {"cat": "meow", "dog": "woof", "cow": "moo"}


def heed(*words, **more):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True, **more).stdout


class Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="heed-clients-test-")
        folder = cls.folder = cls.scratch.name
        with open(f"{folder}/d.jsonl", "w") as f:
            for i in range(60):
                said = []
                for name in (list(ANIMALS)[i % 3], list(ANIMALS)[i // 3 % 3]):
                    said += [{"role": "user", "content": f"the {name}?"},
                             {"role": "assistant", "content": ANIMALS[name]}]
                f.write(json.dumps({"messages": said}) + "\n")
        heed("train", "-q", "--task", "lm", "--model", "gpt", "--train", f"{folder}/d.jsonl", "--unit", "char",
             "--layers", "2", "--heads", "2", "--width", "32", "--context", "96", "--batch-size", "16", "--lr", "0.01",
             "--warmup", "10", "--dropout", "0", "--seed", "1", "--steps", "150", "--out", f"{folder}/zoo")
        cls.server = subprocess.Popen([program, "serve", f"{folder}/zoo", "--port", "0", "-d", "cpu"],
                                      stdout=subprocess.PIPE, text=True)
        cls.url = cls.server.stdout.readline().strip() + "/v1"
        cls.client = openai.OpenAI(base_url=cls.url, api_key="none", _strict_response_validation=True)
        # streams of completions have no reason to end until the last piece, and vectors come in base64: the strict one knows neither
        cls.loose = openai.OpenAI(base_url=cls.url, api_key="none")

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        assert cls.server.wait(60) == 0
        cls.server.stdout.close()
        cls.scratch.cleanup()

    def generate(self, *words):
        return heed("generate", f"{self.folder}/zoo", "-d", "cpu", *words)

    def test_models(self):
        self.assertEqual([m.id for m in self.client.models.list()], ["zoo"])
        self.assertEqual(self.client.models.retrieve("zoo").object, "model")

    def test_completions_are_those_of_heed_generate(self):
        expected = [json.loads(line)["text"] for line in self.generate(
            "--prompt", "the", "--tokens", "12", "--seed", "3", "--samples", "2", "--json").splitlines()]
        found = self.client.completions.create(model="zoo", prompt="the", max_tokens=12, seed=3, n=2, logprobs=2)
        self.assertEqual([c.text for c in found.choices], expected)
        self.assertEqual(found.usage.completion_tokens, 24)
        for c in found.choices:
            self.assertEqual(c.finish_reason, "length")
            self.assertEqual(len(c.logprobs.tokens), 12)
            self.assertEqual(len(c.logprobs.top_logprobs[0]), 2)
            self.assertTrue(all(x <= 0 for x in c.logprobs.token_logprobs))

    def test_streams_add_up(self):
        ask = dict(model="zoo", prompt=["the c", "the d"], max_tokens=9, seed=5)
        whole = self.client.completions.create(**ask)
        parts = ["", ""]
        for piece in self.loose.completions.create(stream=True, stream_options={"include_usage": True}, **ask):
            for c in piece.choices:
                parts[c.index] += c.text
        self.assertEqual(parts, [c.text for c in whole.choices])
        self.assertEqual(piece.usage, whole.usage)

    def test_chats(self):
        for name, answer in ANIMALS.items():
            ask = dict(model="zoo", messages=[{"role": "user", "content": f"the {name}?"}], temperature=0)
            found = self.client.chat.completions.create(logprobs=True, top_logprobs=2, **ask)
            choice = found.choices[0]
            self.assertEqual((choice.message.content, choice.message.role, choice.finish_reason),
                             (answer, "assistant", "stop"))
            self.assertEqual("".join(t.token for t in choice.logprobs.content), answer)
            self.assertEqual(len(choice.logprobs.content[0].top_logprobs), 2)
            text, reasons = "", []
            for piece in self.client.chat.completions.create(stream=True, **ask):
                text += piece.choices[0].delta.content or ""
                reasons.append(piece.choices[0].finish_reason)
            self.assertEqual(text, answer)
            self.assertEqual([r for r in reasons if r], ["stop"])

    def test_stops(self):
        found = self.client.chat.completions.create(
            model="zoo", messages=[{"role": "user", "content": "the cow?"}], temperature=0, stop=["oo"])
        self.assertEqual((found.choices[0].message.content, found.choices[0].finish_reason), ("m", "stop"))

    def test_embeddings_in_both_encodings(self):
        plain = self.client.embeddings.create(model="zoo", input=["the cat", "the dog"], encoding_format="float")
        packed = self.loose.embeddings.create(model="zoo", input=["the cat", "the dog"])  # base64 on the way
        for a, b in zip(plain.data, packed.data):
            self.assertEqual(len(a.embedding), 32)
            for x, y in zip(a.embedding, b.embedding):
                self.assertAlmostEqual(x, y, places=6)

    def test_errors(self):
        with self.assertRaises(openai.NotFoundError) as e:
            self.client.completions.create(model="none", prompt="a")
        self.assertEqual(e.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as e:
            self.client.completions.create(model="zoo", prompt="a", temperature=7)
        self.assertIn("temperature", e.exception.body["message"])
        with self.assertRaises(openai.BadRequestError):
            self.client.chat.completions.create(model="zoo", stream=True, messages=[
                {"role": "user", "content": "the cat? " * 100}])

    def test_a_reader_who_leaves_is_no_load(self):
        with self.loose.completions.create(model="zoo", prompt="the", max_tokens=100000, stream=True) as stream:
            next(iter(stream))
        self.assertEqual(self.client.completions.create(model="zoo", prompt="the", max_tokens=1).choices[0].index, 0)

    def test_refusals_are_tried_again(self):
        """503 with retry-after-ms, as the server says it when too much waits, before the server itself."""
        test, refused = self, []

        class Busy(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if len(refused) < 2:
                    refused.append(1)
                    self.send_response(503)
                    self.send_header("retry-after-ms", "10")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                found = openai.OpenAI(base_url=test.url, api_key="none").post(
                    "/completions", body=json.loads(body), cast_to=object)
                text = json.dumps(found).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *words):
                pass

        busy = HTTPServer(("127.0.0.1", 0), Busy)
        threading.Thread(target=busy.serve_forever, daemon=True).start()
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{busy.server_port}/v1", api_key="none")
        found = client.completions.create(model="zoo", prompt="the", max_tokens=3)
        busy.shutdown()
        busy.server_close()
        self.assertEqual((len(refused), found.usage.completion_tokens), (2, 3))

    def test_many_at_once_get_what_each_gets_alone(self):
        def ask(i):
            return self.client.completions.create(model="zoo", prompt=f"the {'cd'[i % 2]}", max_tokens=5 + i, seed=i,
                                                  temperature=0.8).choices[0].text
        alone, beside = [ask(i) for i in range(12)], [None] * 12
        threads = [threading.Thread(target=lambda i=i: beside.__setitem__(i, ask(i))) for i in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(alone, beside)

    def test_langchain(self):
        chat = ChatOpenAI(base_url=self.url, api_key="none", model="zoo", temperature=0)
        self.assertEqual(chat.invoke("the dog?").content, "woof")
        self.assertEqual("".join(piece.content for piece in chat.stream("the cat?")), "meow")
        self.assertEqual([m.content for m in chat.batch(["the cat?", "the cow?"])], ["meow", "moo"])
        text = OpenAI(base_url=self.url, api_key="none", model="zoo", temperature=0, max_tokens=5)
        expected = self.generate("--prompt", "the", "--tokens", "5", "--greedy", "--no-prompt")
        self.assertEqual(text.invoke("the").strip(), expected.strip())
        self.assertEqual("".join(text.stream("the")).strip(), expected.strip())
        vectors = OpenAIEmbeddings(base_url=self.url, api_key="none", model="zoo", check_embedding_ctx_length=False)
        self.assertEqual([len(v) for v in vectors.embed_documents(["the cat", "the dog"])], [32, 32])


if __name__ == "__main__":
    unittest.main()
