"""Further inputs of the real models, made of the files that lie beside them (inputs/, samples.py)."""
import importlib.util
import pathlib

import numpy as np


def samples_of(models):
    path = pathlib.Path(models) / "samples.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("model_samples", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as e:
        raise SystemExit(f"{path} needs the Python package {e.name}") from e
    return module


def digits(samples, rng, count, **_):
    return [{"Input3": samples.digit(int(d))[None, None]} for d in rng.permutation(10)[:count]]


def files(samples, rng, count, **_):
    """4 KiB from anywhere in a file, as if they were the file."""
    feeds = []
    for _ in range(count):
        data = pathlib.Path(samples.path(str(rng.choice(["sample.c", "sample.py", "faces.jpg", "speech_16k.wav"])))).read_bytes()
        at = int(rng.integers(0, max(1, len(data) - 512)))
        data = data[at:at + 4096]
        head, tail = list(data.lstrip()[:1024]), list(data.rstrip()[-1024:])
        row = head + [256] * (1024 - len(head)) + [256] * (1024 - len(tail)) + tail
        feeds.append({"bytes": np.array([row], np.int32)})
    return feeds


def part(picture, rng):
    """A part of a picture, from 60 % of its sides on."""
    w, h = (int(s * rng.uniform(0.6, 1)) for s in picture.size)
    x, y = int(rng.integers(0, picture.width - w + 1)), int(rng.integers(0, picture.height - h + 1))
    return picture.crop((x, y, x + w, y + h))


def faces(samples, rng, count, **_):
    found = []
    for _ in range(count):
        x = np.asarray(part(samples.image("faces.jpg"), rng).resize((320, 240)), np.float32)
        found.append({"input": ((x - 127) / 128).transpose(2, 0, 1)[None]})
    return found


def objects(samples, rng, count, **_):
    found = []
    for _ in range(count):
        x = np.asarray(part(samples.image("coco_139.jpg"), rng).resize((416, 416)), np.float32)
        found.append({"images": np.ascontiguousarray(x[:, :, ::-1].transpose(2, 0, 1)[None])})
    return found


def speech(samples, _rng, _count, run, names):
    """A hundred chunks that follow one another, each with the state that those before it left: every second one to calibrate on,
    those between to check on, so that speech, silence and what lies between are in both."""
    state, all_ = np.zeros((2, 1, 128), np.float32), []
    for x in samples.speech_chunks(16000, 0.5, 100):
        feeds = {"input": x, "state": state, "sr": np.array(16000, np.int64)}
        all_.append({n: feeds[n] for n in names})
        state = run(all_[-1])[1]
    return all_[::2] + all_[1::2]


MAKERS = {"mnist": digits, "magika_v3_3": files, "ultraface_rfb_320": faces, "yolox_nano": objects, "silero_vad": speech,
          "silero_vad_op18_ifless": speech}
COUNTS = {"mnist": 10, "yolox_nano": 4, "ultraface_rfb_320": 6, "magika_v3_3": 48}


def more_inputs(models, name, rng, run, names):
    """Feeds of the model of that name, in random order; none where the folder has nothing to make them of."""
    samples = samples_of(models)
    if name not in MAKERS or samples is None:
        return []
    return MAKERS[name](samples, rng, COUNTS.get(name, 64), run=run, names=names)
