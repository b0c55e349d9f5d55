"""python/heed.py on a tiny model: python_test.py LIBRARY HEED_PROGRAM TINY_MODEL. What the program writes as
JSON is what the module must return."""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

library, program, maker = sys.argv[1:4]
os.environ["HEED_LIBRARY"] = library
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "python"))
sys.dont_write_bytecode = True
import heed

LINES = ["i ate an apple .", "are you tired ?", "", "unheard words , too", "the dog barks ; we are tired ."]


class Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="heed-python-test-")
        cls.folder = os.path.join(cls.scratch.name, "modèle")
        subprocess.run([maker, cls.folder], check=True)
        cls.model = heed.Model(cls.folder, threads=1)

    @classmethod
    def tearDownClass(cls):
        del cls.model
        cls.scratch.cleanup()

    def test_a_closed_model_is_gone(self):
        with heed.Model(self.folder, threads=1) as model:
            other = []
            thread = threading.Thread(target=lambda: other.append(model.translate(LINES[:1])[0].text))
            thread.start()
            thread.join()
            self.assertEqual(model.translate(LINES[:1])[0].text, other[0])
            contexts = list(model._contexts)
            self.assertTrue(contexts and all(c.value for c in contexts))
        self.assertFalse(any(c.value for c in contexts) or model._model.value)
        with self.assertRaisesRegex(heed.Error, "closed"):
            model.translate(LINES[:1])
        model.close()  # again does no harm

    def program(self, lines, *options):
        text = "".join(line + "\n" for line in lines)
        done = subprocess.run([program, "translate", self.folder, "--device=cpu", "--json", *options],
                              input=text.encode(), stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def assert_same(self, found, known):
        self.assertEqual(len(found), len(known))
        for t, k in zip(found, known):
            self.assertIsNone(t.error)
            self.assertEqual(t.source_tokens, k["tokens"])
            self.assertEqual(len(t.hypotheses), len(k["hypotheses"]))
            self.assertEqual(t.text, k["hypotheses"][0]["text"] if k["hypotheses"] else "")
            for h, j in zip(t.hypotheses, k["hypotheses"]):
                self.assertEqual((h.text, h.tokens, h.score, h.finished),
                                 (j["text"], j["tokens"], j["score"], j["finished"]))
                self.assertEqual(h.log_probability, j["logprob"])
                self.assertEqual(len(h.ids), len(h.tokens))
                for a, b in zip(h.token_log_probabilities, j["token_logprobs"]):
                    self.assertAlmostEqual(a, b, delta=1e-7 * abs(b))  # JSON has nine digits of a float

    def test_results_are_those_of_the_program(self):
        self.assert_same(self.model.translate(LINES), self.program(LINES))
        self.assert_same(
            self.model.translate(LINES, beam=3, n_best=2, length_penalty="gnmt", alpha=1, stop="full"),
            self.program(LINES, "--beam=3", "--n-best=2", "--length-penalty=gnmt", "--alpha=1",
                         "--stop=full"))
        self.assert_same(
            self.model.translate(LINES, search="sample", n_best=3, temperature=0.5, top_k=5, top_p=0.9,
                                 seed=7),
            self.program(LINES, "--sample", "--n-best=3", "--temperature=0.5", "--top-k=5", "--top-p=0.9",
                         "--seed=7"))
        self.assert_same(
            self.model.translate(LINES, max_length=4, min_length=2, too_long="truncate", sentences="keep", max_source=3,
                                 batch=2),
            self.program(LINES, "--max-length=4", "--min-length=2", "--long=truncate", "--max-source=3",
                         "--batch=2"))
        last = heed.Model(self.folder, checkpoint="last", threads=2)
        self.assert_same(last.translate(LINES), self.program(LINES, "--checkpoint=last"))

    def test_prefix_and_force(self):
        lines, prefix = LINES[:2], ["ich aß", "müde"]
        both = ["\t".join(p) for p in zip(lines, prefix)]
        self.assert_same(self.model.translate(lines, prefix=prefix), self.program(both, "--prefix"))
        self.assert_same(self.model.translate(lines, prefix=["ich aß", None]),
                         self.program([both[0], lines[1]], "--prefix"))
        forced = self.model.translate(lines, prefix=prefix, force=True)
        self.assert_same(forced, self.program(both, "--force"))
        self.assertEqual(forced[0].text, "ich aß")

    def test_attention(self):
        found = self.model.translate(LINES, attention=True)
        self.assert_same(found, self.program(LINES))
        self.assertEqual(found[2].attentions, [])
        for t in (found[0], found[4]):
            self.assertEqual([a.kind for a in t.attentions], ["encoder", "decoder", "cross"])
            cross = t.attention("cross")
            self.assertEqual(cross.weights.shape, (2, 2, len(t.hypotheses[0].tokens), len(t.source_tokens)))
            self.assertEqual(cross.row_labels, t.hypotheses[0].tokens)
            self.assertEqual(cross.column_labels, t.source_tokens)
            for matrix in (cross.matrix(), cross.matrix(0, 1), t.attention("encoder").matrix()):
                for row in matrix:
                    self.assertAlmostEqual(sum(row), 1, places=5)
            self.assertEqual(cross.matrix(0, 1)[2][1], cross.weights[0, 1, 2, 1])
        with self.assertRaises(KeyError):
            found[2].attention()

    def test_bf16_is_that_of_the_program(self):
        self.assert_same(heed.Model(self.folder, precision="bf16").translate(LINES),
                         self.program(LINES, "--precision=bf16"))

    def test_errors(self):
        with self.assertRaises(heed.Error) as e:
            heed.Model(os.path.join(self.folder, "nothing"))
        self.assertEqual(e.exception.name, "EFILE")
        self.assertIn("no such folder", str(e.exception))
        with self.assertRaises(heed.Error) as e:
            heed.Model(self.folder, precision="f8")
        with self.assertRaisesRegex(heed.Error, "no-such-list"):
            heed.Model(self.folder, shortlist="no-such-list")
        self.assertEqual(e.exception.name, "EARG")
        for options in ({"beam": -1}, {"n_best": 9}, {"search": "guess"}, {"alpha": float("nan")},
                        {"force": True}):
            with self.assertRaises(heed.Error) as e:
                self.model.translate(LINES, **options)
            self.assertEqual(e.exception.name, "EARG")
        for wrong in (lambda: self.model.translate("one text"), lambda: self.model.translate(LINES, beams=3),
                      lambda: self.model.translate(LINES, beam=2.5), lambda: self.model.translate([1])):
            with self.assertRaises((TypeError, AttributeError)):
                wrong()
        with self.assertRaises(ValueError):
            self.model.translate(LINES, prefix=["a"])

    def test_bad_lines(self):
        found = self.model.translate([b"broken \xff", "zero \0 byte", "you ate it", "\udcff"])
        self.assertEqual([t.error.name if t.error else None for t in found],
                         ["EFORMAT", "EFORMAT", None, "EFORMAT"])
        self.assertEqual(found[0].text, "")
        self.assertIsNone(found[0].score)
        self.assertTrue(found[2].text)
        self.assertEqual(self.model.translate([]), [])

    def test_threads_share_a_model(self):
        expected = [h.score for t in self.model.translate(LINES, n_best=3) for h in t.hypotheses]
        found = {}

        def work(i):
            found[i] = [h.score for t in self.model.translate(LINES, n_best=3, attention=i % 2 == 0)
                        for h in t.hypotheses]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, dict.fromkeys(range(4), expected))

    def test_a_model_may_go_before_its_results(self):
        model = heed.Model(self.folder, threads=1)
        found = model.translate(LINES, attention=True)
        del model
        gc.collect()
        self.assertEqual(len(found[0].attention().weights.tobytes()), found[0].attention().weights.nbytes)

    def load(self, path, environment):
        code = f"import sys; sys.path[0] = {path!r}; import heed; heed.version()"
        done = subprocess.run([sys.executable, "-B", "-c", code], stderr=subprocess.PIPE,
                              env={**os.environ, **environment})
        return done.returncode, done.stderr.decode()

    def test_where_the_library_is_looked_for(self):
        folder = os.path.join(self.scratch.name, "beside")
        os.mkdir(folder)
        shutil.copy(heed.__file__, folder)
        os.symlink(library, os.path.join(folder, "libheed.so"))
        self.assertEqual(self.load(folder, {"HEED_LIBRARY": ""}), (0, ""))
        code, text = self.load(folder, {"HEED_LIBRARY": "/nowhere/libheed.so"})
        self.assertNotEqual(code, 0)
        self.assertIn("ImportError: libheed not found", text)
        self.assertIn("/nowhere/libheed.so", text)

    def asked(self, verb, folder, lines, *options):
        done = subprocess.run([program, verb, folder, "--device=cpu", "--json", *options],
                              input="".join(line + "\n" for line in lines).encode(), stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def trained(self, name, task, text, *options):
        folder, data = os.path.join(self.scratch.name, name), os.path.join(self.scratch.name, name + ".txt")
        with open(data, "w") as f:
            f.write(text)
        subprocess.run([program, "train", "--task", task, "--train", data, "--out", folder, "--device=cpu", "--layers=1",
                        "--width=16", "--heads=2", "--steps=3", *options], check=True, capture_output=True)
        return folder

    def test_language_models(self):
        folder = self.trained("lm", "lm", "the cat sat on the mat\nthe dog sat on the log\n" * 20, "--unit=word",
                              "--model=gpt", "--context=16")
        prompts = ["the cat", "a dog", "the"]
        with heed.Model(folder, threads=1) as model:
            known = self.asked("generate", folder, prompts, "--prompts=-", "--tokens=9", "--samples=2", "--seed=3", "--top-k=7",
                               "--stop=log")
            found = model.generate(prompts, tokens=9, samples=2, seed=3, top_k=7, stop=["log"])
            self.assertEqual([(t.text, t.tokens, t.stopped) for t in found],
                             [(k["text"], k["token_count"], k["stopped"]) for k in known])
            for t, k in zip(found, known):
                self.assertAlmostEqual(t.log_probability, k["logprob"], delta=1e-7 * abs(k["logprob"]))
            self.assertEqual("".join(model.stream("the cat", tokens=30, seed=3)),
                             model.generate(["the cat"], tokens=30, seed=3)[0].text)
            for piece in model.stream("the cat", tokens=100000000):
                break  # which ends it
            with self.assertRaisesRegex(heed.Error, "no chat template"):
                model.chat([{"role": "user", "content": "the cat"}])
            with self.assertRaises(ZeroDivisionError):
                model.generate(["the"], tell=lambda which, piece: 1 / 0)
            ranked = sorted(self.asked("rank", folder, prompts), key=lambda k: k["line"])
            for v, k in zip(model.score(prompts), ranked):
                self.assertEqual((v.log_probability, v.tokens), (k["logprob"], k["token_count"]))
            for v, k in zip(model.embed(prompts), self.asked("embed", folder, prompts)):
                for a, b in zip(v, k["vector"]):
                    self.assertAlmostEqual(a, b, delta=1e-6)
            before = model.score(["the cat sat"])[0].log_probability
            model.heads("0.self.0=0,0.self.1=0")
            self.assertNotEqual(model.score(["the cat sat"])[0].log_probability, before)
            model.heads(None)
            self.assertEqual(model.score(["the cat sat"])[0].log_probability, before)
            tokens = model.tokenize("the dog sat")
            self.assertEqual((tokens.tokens[1], tokens.spans[1]), ("dog", (4, 7)))
            self.assertEqual(model.detokenize(tokens.ids), "the dog sat")
            with self.assertRaisesRegex(heed.Error, "heed generate"):
                model.translate(["the"])

    def test_conversations(self):
        folder = self.trained("talk", "lm", "the cat sat on the mat\nthe dog sat on the log\n" * 20, "--unit=word",
                              "--model=gpt", "--context=16")
        with open(os.path.join(folder, "chat_template.jinja"), "w") as f:
            f.write("{% for m in messages %}{{ m.content }} {% endfor %}")
        messages = [{"role": "system", "content": "the cat"}, {"role": "user", "content": "sat on"}]
        with heed.Model(folder, threads=1) as model:
            answers = model.chat(messages, samples=2, seed=3)
            asked = answers[0].ids[:len(answers[0].ids) - answers[0].tokens]
            self.assertEqual((len(answers), model.detokenize(asked)), (2, "the cat sat on"))
            self.assertNotEqual(answers[0].text, answers[1].text)
            self.assertEqual("".join(model.stream(messages, seed=3)), model.chat(messages, seed=3)[0].text)
            with self.assertRaisesRegex(heed.Error, "shorten"):
                model.chat([{"role": "user", "content": "the " * 20}])
            with self.assertRaisesRegex(heed.Error, "no message"):
                model.chat([])
            with self.assertRaisesRegex(TypeError, "chat has no option"):
                model.chat(messages, warmth=1)

    def test_masked_models_and_classifiers(self):
        folder = self.trained("mlm", "mlm", "the cat sat on the mat\nthe dog sat on the log\n" * 20, "--unit=word",
                              "--context=16")
        lines = ["the [MASK] sat on the [MASK]", "the dog [MASK]"]
        with heed.Model(folder, threads=1) as model:
            for a, k in zip(model.fill(lines, top=3), self.asked("fill", folder, lines, "--top=3")):
                self.assertEqual([[c.text for c in place] for place in a.places],
                                 [[c["token"] for c in mask] for mask in k["masks"]])
                self.assertAlmostEqual(a.places[0][0].probability, k["masks"][0][0]["probability"], delta=1e-8)
            self.assertRegex(str(model.fill(["no mask"])[0].error), "MASK")
        folder = self.trained("class", "classify",
                              "label\ttext\n" + "good\tfine thing\nbad\tfoul thing\n" * 30, "--unit=word", "--encoder=transformer")
        lines = ["a fine thing", "foul"]
        with heed.Model(folder, threads=1) as model:
            for a, k in zip(model.classify(lines), self.asked("classify", folder, lines, "--top=2")):
                self.assertEqual([c.text for c in a.places[0]], [c["label"] for c in k["labels"]])
                for c, j in zip(a.places[0], k["labels"]):
                    self.assertAlmostEqual(c.probability, j["probability"], delta=1e-6)

    def test_version(self):
        self.assertRegex(heed.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
