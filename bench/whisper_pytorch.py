#!/usr/bin/python3
# The peer of bench/whisper: whisper_pytorch.py FOLDER THREADS f32|bf16|fast BEAM ROUNDS. transformers' Whisper of the folder that
# bench_whisper made transcribes FOLDER/sound.wav. fast: f32 weights with products in bf16 where oneDNN has them. Prints
# one line that bench/whisper reads: median seconds, those of the encoder alone, processor seconds, peak MiB, tokens.
import os, sys

folder, threads, kind, beam, rounds = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
if kind == "fast":
    os.environ["ONEDNN_DEFAULT_FPMATH_MODE"] = "BF16"
import resource, statistics, time, warnings, wave
import numpy, torch, transformers

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(threads)
torch.set_grad_enabled(False)
TYPE = torch.bfloat16 if kind == "bf16" else torch.float32
model = transformers.WhisperForConditionalGeneration.from_pretrained(folder, dtype=TYPE).eval()
extract = transformers.WhisperFeatureExtractor.from_pretrained(folder)
with wave.open(folder + "/sound.wav") as f:
    sound = numpy.frombuffer(f.readframes(f.getnframes()), dtype="<i2").astype(numpy.float32) / 32768


def transcribe():
    x = extract(sound, sampling_rate=16000, return_tensors="pt").input_features.to(TYPE)
    return model.generate(x, num_beams=beam, do_sample=False, language="en", task="transcribe", max_new_tokens=100)


def encode():
    model.model.encoder(extract(sound, sampling_rate=16000, return_tensors="pt").input_features.to(TYPE))


def median(f):
    f()
    busy, all = time.process_time(), []
    for _ in range(rounds):
        start = time.perf_counter()
        f()
        all.append(time.perf_counter() - start)
    return statistics.median(all), (time.process_time() - busy) / rounds


whole, busy = median(transcribe)
print(f"{whole:.3f} {median(encode)[0]:.3f} {busy:.3f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} {transcribe().shape[1]}")
