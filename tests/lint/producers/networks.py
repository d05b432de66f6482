"""Small networks of architectures that tests/exporters does not have: name -> (module, inputs by name, dynamic axes).

Nothing is run of them: `cameo lint` has to be silent on what PyTorch's exporters write of them. Weights are drawn, widths
and depths are small; what matters is what the exporters make of the structure.
"""
import math

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

NETWORKS = {}
SEQUENCE = {"x": {0: "batch", 1: "time"}}
PICTURE = {"image": {0: "batch"}}


def network(make):
    NETWORKS[make.__name__] = make
    return make


def picture(side=64, batch=2):
    return {"image": torch.rand(batch, 3, side, side)}


# ---- speech ----

class Conformer(nn.Module):
    """Half a feed-forward, attention with relative positions, convolution with a gate, half a feed-forward."""

    def __init__(self, d=32, heads=4):
        super().__init__()
        self.first, self.second = (nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d))
                                   for _ in range(2))
        self.norm, self.heads = nn.LayerNorm(d), heads
        self.qkv, self.out, self.place = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, d, bias=False)
        self.u = nn.Parameter(torch.randn(heads, d // heads))
        self.gate, self.depth = nn.Conv1d(d, 2 * d, 1), nn.Conv1d(d, d, 15, padding=7, groups=d)
        self.batch, self.point, self.last = nn.BatchNorm1d(d), nn.Conv1d(d, d, 1), nn.LayerNorm(d)

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, t, 3, self.heads, -1).unbind(2)
        step = torch.arange(t - 1, -t, -1.0, device=x.device)[:, None]
        rate = torch.exp(torch.arange(0, d, 2.0) * -(math.log(10000.0) / d))
        place = self.place(torch.cat([torch.sin(step * rate), torch.cos(step * rate)], 1)).reshape(2 * t - 1, self.heads, -1)
        far = torch.einsum("bqhd,phd->bhqp", q + self.u, place)
        far = F.pad(far, (1, 0)).reshape(b, self.heads, 2 * t, t)[:, :, 1:].reshape(b, self.heads, t, 2 * t - 1)[..., :t]
        score = (torch.einsum("bqhd,bkhd->bhqk", q, k) + far) / math.sqrt(d // self.heads)
        return self.out(torch.einsum("bhqk,bkhd->bqhd", score.softmax(-1), v).reshape(b, t, d))

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        x = x + self.attend(x)
        y = self.depth(F.glu(self.gate(x.transpose(1, 2)), dim=1))
        x = x + self.point(F.silu(self.batch(y))).transpose(1, 2)
        return self.last(x + 0.5 * self.second(x)).log_softmax(-1)


@network
def conformer():
    return Conformer(), {"x": torch.rand(2, 12, 32)}, SEQUENCE


class Wav2Vec(nn.Module):
    """Strided convolutions of the waveform, a convolution with weight norm for places, a transformer, a quantizer's choice."""

    def __init__(self, d=32):
        super().__init__()
        self.first, self.norm = nn.Conv1d(1, d, 10, 5, bias=False), nn.GroupNorm(d, d)
        self.more = nn.ModuleList(nn.Conv1d(d, d, 3, 2) for _ in range(3))
        self.place = nn.utils.parametrizations.weight_norm(nn.Conv1d(d, d, 16, padding=8, groups=4), dim=2)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 64, batch_first=True, activation="gelu"), 2,
                                          enable_nested_tensor=False)
        self.book, self.choose = nn.Parameter(torch.rand(16, d)), nn.Linear(d, 16)

    def forward(self, wave):
        wave = (wave - wave.mean(-1, keepdim=True)) / torch.sqrt(wave.var(-1, keepdim=True, unbiased=False) + 1e-7)
        x = F.gelu(self.norm(self.first(wave[:, None])))
        for conv in self.more:
            x = F.gelu(conv(x))
        x = (x + F.gelu(self.place(x)[..., :-1])).transpose(1, 2)
        x = self.body(x)
        code = F.one_hot(self.choose(x).argmax(-1), 16).to(x.dtype) @ self.book
        return x, F.cosine_similarity(x, code, dim=-1)


@network
def wav2vec():
    return Wav2Vec(), {"wave": torch.rand(2, 800)}, {"wave": {0: "batch", 1: "samples"}}


class Mel(nn.Module):
    """Log-mel features as speech models take them in, and a head for CTC."""

    def __init__(self):
        super().__init__()
        n = 64
        angle = 2 * math.pi * torch.arange(n)[None] * torch.arange(n // 2 + 1)[:, None] / n
        window = torch.hann_window(n)
        self.register_buffer("cos", (torch.cos(angle) * window)[:, None])
        self.register_buffer("sin", (torch.sin(angle) * window)[:, None])
        self.register_buffer("bank", torch.rand(20, n // 2 + 1))
        self.rnn, self.head = nn.GRU(20, 16, batch_first=True, bidirectional=True), nn.Linear(32, 9)

    def forward(self, wave):
        wave = F.pad(wave[:, None], (32, 32), mode="reflect")
        power = F.conv1d(wave, self.cos, stride=16) ** 2 + F.conv1d(wave, self.sin, stride=16) ** 2
        mel = torch.clamp(self.bank @ power, min=1e-10).log10()
        mel = (torch.maximum(mel, mel.amax((1, 2), keepdim=True) - 8.0) + 4.0) / 4.0
        return self.head(self.rnn(mel.transpose(1, 2))[0]).log_softmax(-1)


@network
def mel_ctc():
    return Mel(), {"wave": torch.rand(2, 640)}, {"wave": {0: "batch"}}


class Vocoder(nn.Module):
    """Transposed convolutions with residual dilated ones."""

    def __init__(self, d=16):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.first = norm(nn.Conv1d(20, d, 7, padding=3))
        self.ups = nn.ModuleList(norm(nn.ConvTranspose1d(d >> i, d >> i + 1, 8, 4, 2)) for i in range(2))
        self.blocks = nn.ModuleList(nn.ModuleList(norm(nn.Conv1d(d >> i + 1, d >> i + 1, 3, padding=k, dilation=k))
                                                  for k in (1, 3, 5)) for i in range(2))
        self.last = norm(nn.Conv1d(d // 4, 1, 7, padding=3))

    def forward(self, mel):
        x = self.first(mel)
        for up, block in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(conv(F.leaky_relu(x, 0.1)) for conv in block) / len(block) + x
        return torch.tanh(self.last(F.leaky_relu(x)))


@network
def vocoder():
    return Vocoder(), {"mel": torch.rand(1, 20, 10)}, {"mel": {2: "time"}}


# ---- graphs, points, sets ----

class GraphConv(nn.Module):
    """Messages along edges, added up at their ends; degrees by counting; attention by a softmax over the neighbours."""

    def __init__(self, d=16):
        super().__init__()
        self.inner, self.attend, self.head = nn.Linear(8, d), nn.Linear(2 * d, 1), nn.Linear(d, 4)

    def forward(self, x, edges):
        start, end = edges[0], edges[1]
        h = self.inner(x)
        n = h.shape[0]
        degree = torch.zeros(n).scatter_add(0, end, torch.ones(end.shape[0])).clamp(min=1)
        norm = degree[start].rsqrt() * degree[end].rsqrt()
        h = torch.zeros_like(h).index_add(0, end, h[start] * norm[:, None]).relu()
        score = F.leaky_relu(self.attend(torch.cat([h[start], h[end]], -1)), 0.2)[:, 0]
        top = torch.full((n,), -1e9).scatter_reduce(0, end, score, "amax", include_self=True)
        weight = (score - top[end]).exp()
        total = torch.zeros(n).scatter_add(0, end, weight)
        h = torch.zeros_like(h).index_add(0, end, h[start] * (weight / (total[end] + 1e-16))[:, None])
        return self.head(F.elu(h)).log_softmax(-1)


@network
def graph_attention():
    edges = torch.randint(0, 10, (2, 30))
    return GraphConv(), {"x": torch.rand(10, 8), "edges": edges}, {"x": {0: "nodes"}, "edges": {1: "edges"}}


class PointNet(nn.Module):
    """Shared products, a maximum over points, farthest and nearest points."""

    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 32, 1))
        self.b = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 5))

    def forward(self, points):
        x = self.a(points.transpose(1, 2))
        near = torch.cdist(points, points).topk(4, dim=-1, largest=False).indices
        group = torch.gather(x.transpose(1, 2), 1, near.flatten(1)[..., None].expand(-1, -1, 32))
        group = group.reshape(points.shape[0], -1, 4, 32).amax(2)
        return self.b(torch.cat([x.amax(2), group.mean(1)], -1))


@network
def point_net():
    return PointNet(), {"points": torch.rand(2, 20, 3)}, {"points": {0: "batch"}}


# ---- choosing ----

class Experts(nn.Module):
    """Each token goes to two of four experts, by masks and by weights that are made to sum to 1 again."""

    def __init__(self, d=16, experts=4):
        super().__init__()
        self.gate = nn.Linear(d, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, 32), nn.GELU(), nn.Linear(32, d)) for _ in range(experts))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weight, chosen = self.gate(flat).softmax(-1, dtype=torch.float).topk(2, -1)
        weight = (weight / weight.sum(-1, keepdim=True)).to(flat.dtype)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            out = out + expert(flat) * (weight * (chosen == i)).sum(-1, keepdim=True)
        return out.reshape(x.shape)


@network
def experts():
    return Experts(), {"x": torch.rand(2, 6, 16)}, SEQUENCE


class Beam(nn.Module):
    """A loop of steps of beam search over a recurrent cell."""

    def __init__(self, d=16, words=12):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(words, d), nn.GRUCell(d, d), nn.Linear(d, words)
        self.words: int = words

    def forward(self, start, steps: int):
        beams = 3
        state = start.repeat_interleave(beams, 0)
        batch = start.shape[0]
        score = torch.zeros(batch, beams)
        score[:, 1:] = -1e4
        word = torch.zeros(batch * beams, dtype=torch.long)
        said = torch.zeros(batch, beams, 0, dtype=torch.long)
        for _ in range(steps):
            state = self.cell(self.embed(word), state)
            logits = self.head(state).log_softmax(-1).reshape(batch, beams, self.words)
            best, place = (score[..., None] + logits).reshape(batch, -1).topk(beams, -1)
            beam, word2 = torch.div(place, self.words, rounding_mode="floor"), place % self.words
            score = best
            said = torch.cat([said.gather(1, beam[..., None].expand(-1, -1, said.shape[2])), word2[..., None]], -1)
            rows = (beam + torch.arange(batch)[:, None] * beams).flatten()
            state, word = state[rows], word2.flatten()
        return said, score


@network
def beam_search():
    return torch.jit.script(Beam()), {"start": torch.rand(2, 16), "steps": torch.tensor(4)}, {"start": {0: "batch"}}


class Sampling(nn.Module):
    """The next token: temperature, top-k, top-p, repetition penalty."""

    def forward(self, logits, said, temperature):
        old = torch.gather(logits, 1, said)
        logits = logits.scatter(1, said, torch.where(old < 0, old * 1.2, old / 1.2)) / temperature.clamp(min=1e-5)
        least = logits.topk(5, -1).values[:, -1:]
        logits = torch.where(logits < least, torch.full_like(logits, -float("inf")), logits)
        ordered, index = torch.sort(logits, descending=True)
        drop = ordered.softmax(-1).cumsum(-1) > 0.9
        drop = torch.cat([torch.zeros_like(drop[:, :1]), drop[:, :-1]], -1)
        logits = logits.masked_fill(torch.zeros_like(drop).scatter(1, index, drop), -float("inf"))
        return logits.softmax(-1), logits.argmax(-1)


@network
def sampling():
    given = {"logits": torch.randn(2, 20), "said": torch.randint(0, 20, (2, 4)), "temperature": torch.tensor(0.7)}
    return Sampling(), given, {"logits": {0: "batch"}, "said": {0: "batch", 1: "time"}}


class Viterbi(nn.Module):
    """A tagger: an LSTM, scores of transitions, the best path."""

    def __init__(self, tags=5):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(30, 8), nn.LSTM(8, 8, bidirectional=True, batch_first=True)
        self.head, self.move = nn.Linear(16, tags), nn.Parameter(torch.randn(tags, tags))

    def forward(self, words):
        score = self.head(self.rnn(self.embed(words))[0])
        best, ways = score[:, 0], []
        for t in range(1, 6):
            all_ways = best[:, :, None] + self.move[None]
            best, way = all_ways.max(1)
            best = best + score[:, t]
            ways.append(way)
        tag = best.argmax(-1, keepdim=True)
        path = [tag]
        for way in reversed(ways):
            tag = way.gather(1, tag)
            path.append(tag)
        return torch.cat(path[::-1], 1), torch.logsumexp(best, -1)


@network
def tagger():
    return Viterbi(), {"words": torch.randint(0, 30, (2, 6))}, {"words": {0: "batch"}}


# ---- language ----

class RmsNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        dtype, x = x.dtype, x.float()
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).to(dtype)


class Llama(nn.Module):
    """A decoder's layer as large language models have it: rotary places, grouped heads, a cache, a gated product."""

    def __init__(self, d=32, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, d // heads
        self.embed = nn.Embedding(50, d)
        self.n1, self.n2, self.n3 = RmsNorm(d), RmsNorm(d), RmsNorm(d)
        self.q, self.k = nn.Linear(d, d, bias=False), nn.Linear(d, groups * self.size, bias=False)
        self.v, self.o = nn.Linear(d, groups * self.size, bias=False), nn.Linear(d, d, bias=False)
        self.up, self.gate, self.down = nn.Linear(d, 64), nn.Linear(d, 64), nn.Linear(64, d)
        self.register_buffer("rate", 1.0 / (10000 ** (torch.arange(0, self.size, 2).float() / self.size)))

    def turn(self, x, place):
        angle = (place[:, :, None].float() * self.rate).repeat(1, 1, 2)[:, None]
        half = x.shape[-1] // 2
        other = torch.cat([-x[..., half:], x[..., :half]], -1)
        return x * angle.cos().to(x.dtype) + other * angle.sin().to(x.dtype)

    def forward(self, ids, mask, past_k, past_v):
        x = self.embed(ids)
        b, t, d = x.shape
        before = past_k.shape[2]
        place = mask.long().cumsum(-1) - 1
        place = place.masked_fill(mask == 0, 1)[:, before:]
        h = self.n1(x)
        q = self.turn(self.q(h).view(b, t, self.heads, -1).transpose(1, 2), place)
        k = self.turn(self.k(h).view(b, t, self.groups, -1).transpose(1, 2), place)
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, self.v(h).view(b, t, self.groups, -1).transpose(1, 2)], 2)
        n = k.shape[2]
        wide = [z[:, :, None].expand(b, self.groups, self.heads // self.groups, n, self.size).reshape(b, self.heads, n, -1)
                for z in (k, v)]
        least = torch.finfo(x.dtype).min
        causal = torch.full((t, n), least, dtype=x.dtype).triu(1 + before)
        causal = causal[None, None].expand(b, 1, t, n)
        causal = causal.masked_fill((mask[:, None, None, :] == 0), least)
        score = (q @ wide[0].transpose(2, 3) / math.sqrt(self.size) + causal).softmax(-1, dtype=torch.float32).to(q.dtype)
        x = x + self.o((score @ wide[1]).transpose(1, 2).reshape(b, t, d))
        h = self.n2(x)
        x = x + self.down(F.silu(self.gate(h)) * self.up(h))
        return F.linear(self.n3(x), self.embed.weight), k, v


def llama_inputs(dtype):
    return {"ids": torch.randint(0, 50, (2, 3)), "mask": torch.ones(2, 8, dtype=torch.long),
            "past_k": torch.rand(2, 2, 5, 8).to(dtype), "past_v": torch.rand(2, 2, 5, 8).to(dtype)}


LLAMA = {"ids": {0: "batch", 1: "time"}, "mask": {0: "batch", 1: "total"}, "past_k": {0: "batch", 2: "past"},
         "past_v": {0: "batch", 2: "past"}}


@network
def llama():
    return Llama(), llama_inputs(torch.float32), LLAMA


@network
def llama_half():
    return Llama().half(), llama_inputs(torch.float16), LLAMA


@network
def llama_bfloat16():
    return Llama().bfloat16(), llama_inputs(torch.bfloat16), LLAMA


class T5(nn.Module):
    """Attention with a table of relative places in buckets, logarithmic where they are far."""

    def __init__(self, d=32, heads=4):
        super().__init__()
        self.heads, self.norm, self.table = heads, RmsNorm(d), nn.Embedding(32, heads)
        self.qkv, self.out, self.embed = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False), nn.Embedding(40, d)

    def forward(self, ids, mask):
        x = self.embed(ids)
        b, t, d = x.shape
        away = torch.arange(t)[None] - torch.arange(t)[:, None]
        side, away = (away > 0).long() * 16, away.abs()
        far = 8 + (torch.log(away.float() / 8) / math.log(128 / 8) * 8).long()
        bucket = side + torch.where(away < 8, away, torch.min(far, torch.full_like(far, 15)))
        bias = self.table(bucket).permute(2, 0, 1)[None]
        bias = bias + (1.0 - mask[:, None, None].to(x.dtype)) * torch.finfo(x.dtype).min
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return x + self.out(((q @ k.transpose(2, 3) + bias).softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


@network
def t5():
    return T5(), {"ids": torch.randint(0, 40, (2, 7)), "mask": torch.ones(2, 7)}, \
        {"ids": {0: "batch", 1: "time"}, "mask": {0: "batch", 1: "time"}}


class Bert(nn.Module):
    """Three embeddings, post-norm layers, pooling over what is no padding, a unit vector."""

    def __init__(self, d=32):
        super().__init__()
        self.word, self.place, self.kind = nn.Embedding(60, d), nn.Embedding(32, d), nn.Embedding(2, d)
        self.norm = nn.LayerNorm(d, eps=1e-12)
        self.body = nn.ModuleList(nn.TransformerEncoderLayer(d, 4, 64, batch_first=True, activation="gelu",
                                                             layer_norm_eps=1e-12) for _ in range(2))

    def forward(self, input_ids, attention_mask, token_type_ids):
        x = self.word(input_ids) + self.place(torch.arange(input_ids.shape[1])[None]) + self.kind(token_type_ids)
        x = self.norm(x)
        for layer in self.body:
            x = layer(x, src_key_padding_mask=attention_mask == 0)
        wide = attention_mask[..., None].expand(x.shape).float()
        pooled = (x * wide).sum(1) / torch.clamp(wide.sum(1), min=1e-9)
        return F.normalize(pooled, p=2, dim=1)


@network
def sentence_bert():
    ids = torch.randint(0, 60, (2, 9))
    axes = {n: {0: "batch", 1: "time"} for n in ("input_ids", "attention_mask", "token_type_ids")}
    return Bert(), {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}, axes


class Scan(nn.Module):
    """A selective state space: a causal convolution, steps unrolled, a gate."""

    def __init__(self, d=16, n=8):
        super().__init__()
        self.inner, self.conv = nn.Linear(d, 2 * d), nn.Conv1d(d, d, 4, groups=d, padding=3)
        self.b, self.c, self.step = nn.Linear(d, n), nn.Linear(d, n), nn.Linear(d, d)
        self.log_a = nn.Parameter(torch.log(torch.arange(1, n + 1).float()).repeat(d, 1))
        self.skip, self.out = nn.Parameter(torch.ones(d)), nn.Linear(d, d)

    def forward(self, x):
        t = 6
        u, gate = self.inner(x).chunk(2, -1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., :t]).transpose(1, 2)
        step, a = F.softplus(self.step(u)), -torch.exp(self.log_a)
        decay = torch.exp(step[..., None] * a)
        enter = step[..., None] * self.b(u)[:, :, None] * u[..., None]
        state, outs = torch.zeros(x.shape[0], u.shape[2], a.shape[1]), []
        for i in range(t):
            state = decay[:, i] * state + enter[:, i]
            outs.append((state * self.c(u)[:, i, None]).sum(-1))
        return self.out((torch.stack(outs, 1) + u * self.skip) * F.silu(gate))


@network
def state_space():
    return Scan(), {"x": torch.rand(2, 6, 16)}, {"x": {0: "batch"}}


# ---- pictures ----

class Detr(nn.Module):
    """Queries that attend to a picture's features with places in sines, masks of padding, boxes by Sigmoid."""

    def __init__(self, d=32):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), torchvision.ops.FrozenBatchNorm2d(16), nn.ReLU(),
                                  nn.Conv2d(16, d, 3, 4, 1))
        self.attend = nn.Transformer(d, 4, 1, 1, 64, batch_first=True)
        self.query, self.kind, self.box = nn.Embedding(6, d), nn.Linear(d, 5), nn.Linear(d, 4)

    def forward(self, image, mask):
        x = self.body(image)
        b, d, h, w = x.shape
        free = F.interpolate(mask[:, None].float(), size=(h, w))[:, 0] < 0.5
        y_place, x_place = free.cumsum(1, dtype=torch.float32), free.cumsum(2, dtype=torch.float32)
        y_place = y_place / (y_place[:, -1:] + 1e-6) * 2 * math.pi
        x_place = x_place / (x_place[:, :, -1:] + 1e-6) * 2 * math.pi
        rate = 10000 ** (2 * (torch.arange(d // 2, dtype=torch.float32) // 2) / (d // 2))
        place = []
        for p in (y_place, x_place):
            p = p[..., None] / rate
            place.append(torch.stack([p[..., 0::2].sin(), p[..., 1::2].cos()], 4).flatten(3))
        memory = x.flatten(2).transpose(1, 2) + torch.cat(place, 3).flatten(1, 2)
        out = self.attend(memory, self.query.weight[None].expand(b, -1, -1), src_key_padding_mask=~free.flatten(1))
        cx, cy, bw, bh = self.box(out).sigmoid().unbind(-1)
        boxes = torch.stack([cx - 0.5 * bw, cy - 0.5 * bh, cx + 0.5 * bw, cy + 0.5 * bh], -1)
        score, label = self.kind(out).softmax(-1)[..., :-1].max(-1)
        return boxes, score, label


@network
def detr():
    return Detr(), {"image": torch.rand(2, 3, 64, 64), "mask": torch.zeros(2, 64, 64)}, PICTURE | {"mask": {0: "batch"}}


class Clip(nn.Module):
    """Two towers, unit vectors, products times a learnt scale."""

    def __init__(self, d=16):
        super().__init__()
        self.see = torchvision.models.VisionTransformer(image_size=32, patch_size=8, num_layers=1, num_heads=2, hidden_dim=d,
                                                        mlp_dim=32, num_classes=d)
        self.read, self.rnn = nn.Embedding(30, d), nn.GRU(d, d, batch_first=True)
        self.scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, image, text):
        a = self.see(image)
        h = self.rnn(self.read(text))[0]
        b = h[torch.arange(h.shape[0]), text.argmax(-1)]
        a, b = a / a.norm(dim=-1, keepdim=True), b / b.norm(dim=-1, keepdim=True)
        product = self.scale.exp() * a @ b.t()
        return product, product.t()


@network
def clip():
    given = {"image": torch.rand(2, 3, 32, 32), "text": torch.randint(0, 30, (3, 6))}
    return Clip(), given, {"image": {0: "images"}, "text": {0: "texts"}}


class Codebook(nn.Module):
    """An autoencoder whose inner values are the nearest of a table; the distance as a difference of squares."""

    def __init__(self, d=8):
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(3, d, 4, 2, 1), nn.ReLU(), nn.Conv2d(d, d, 4, 2, 1))
        self.book = nn.Embedding(16, d)
        self.leave = nn.Sequential(nn.ConvTranspose2d(d, d, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(d, 3, 4, 2, 1))

    def forward(self, image):
        z = self.enter(image).permute(0, 2, 3, 1)
        flat = z.reshape(-1, z.shape[-1])
        far = flat.pow(2).sum(1, keepdim=True) + self.book.weight.pow(2).sum(1) - 2 * flat @ self.book.weight.t()
        code = far.argmin(1)
        q = self.book(code).view(z.shape)
        loss = F.mse_loss(q, z) * 1.25
        return torch.sigmoid(self.leave((z + (q - z)).permute(0, 3, 1, 2))), loss


@network
def codebook():
    return Codebook(), picture(32), PICTURE


class Style(nn.Module):
    """A generator: instance norms set by a style, modulated convolutions, noise, upsampling."""

    def __init__(self, d=16):
        super().__init__()
        self.map = nn.Sequential(nn.Linear(8, d), nn.LeakyReLU(0.2), nn.Linear(d, d))
        self.begin, self.weight = nn.Parameter(torch.rand(1, d, 4, 4)), nn.Parameter(torch.rand(1, d, d, 3, 3))
        self.affine, self.rgb, self.norm = nn.Linear(d, 2 * d), nn.Conv2d(d, 3, 1), nn.InstanceNorm2d(d)

    def forward(self, z):
        z = z * torch.rsqrt(z.pow(2).mean(1, keepdim=True) + 1e-8)
        scale, shift = self.affine(self.map(z)).chunk(2, 1)
        x = self.begin.expand(z.shape[0], -1, -1, -1)
        for _ in range(2):
            w = self.weight * (scale[:, None, :, None, None] + 1)
            w = w * torch.rsqrt(w.pow(2).sum([2, 3, 4], keepdim=True) + 1e-8)
            b, c, h, side = x.shape
            x = F.conv2d(x.reshape(1, -1, h, side), w.reshape(-1, c, 3, 3), padding=1, groups=2).view(b, -1, h, side)
            x = F.leaky_relu(self.norm(x) + shift[:, :, None, None], 0.2) * math.sqrt(2)
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return self.rgb(x).clamp(-1, 1)


@network
def style_generator():
    return Style(), {"z": torch.rand(2, 8)}, {}


class Nerf(nn.Module):
    """Rays in, colours out: sines of many frequencies, a sum over samples weighed by what lets light through."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(39, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, start, way):
        t = torch.linspace(2.0, 6.0, 16)
        points = start[:, None] + way[:, None] * t[None, :, None]
        rates = 2.0 ** torch.arange(6)
        angle = (points[..., None, :] * rates[:, None]).flatten(-2)
        out = self.body(torch.cat([points, angle.sin(), angle.cos()], -1))
        colour, dense = out[..., :3].sigmoid(), out[..., 3].relu()
        gap = torch.cat([t[1:] - t[:-1], torch.tensor([1e10])])
        alpha = 1.0 - torch.exp(-dense * gap)
        passed = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
        weight = alpha * passed
        return (weight[..., None] * colour).sum(1), (weight * t).sum(1)


@network
def nerf():
    return Nerf(), {"start": torch.rand(4, 3), "way": torch.rand(4, 3)}, {"start": {0: "rays"}, "way": {0: "rays"}}


class Yolo(nn.Module):
    """Anchors, boxes decoded in three scales, suppression."""

    def __init__(self):
        super().__init__()
        self.body = nn.ModuleList([nn.Sequential(nn.Conv2d(3 if i == 0 else 16, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.SiLU())
                                   for i in range(4)])
        self.heads = nn.ModuleList(nn.Conv2d(16, 2 * 7, 1) for _ in range(2))
        self.register_buffer("anchors", torch.rand(2, 2, 2) * 20)

    def forward(self, image):
        x, found = image, []
        for i, block in enumerate(self.body):
            x = block(x)
            if i >= 2:
                y = self.heads[i - 2](x)
                b, _, h, w = y.shape
                y = y.view(b, 2, 7, h, w).permute(0, 1, 3, 4, 2).sigmoid()
                row, column = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
                grid = torch.stack((column, row), 2).expand(1, 2, h, w, 2) - 0.5
                stride = image.shape[2] / h
                centre = (y[..., :2] * 2 + grid) * stride
                size = (y[..., 2:4] * 2) ** 2 * self.anchors[i - 2][None, :, None, None]
                found.append(torch.cat((centre, size, y[..., 4:]), -1).view(b, -1, 7))
        every = torch.cat(found, 1)[0]
        half = every[:, 2:4] / 2
        boxes = torch.cat([every[:, :2] - half, every[:, :2] + half], 1)
        score, label = (every[:, 5:] * every[:, 4:5]).max(1)
        kept = torchvision.ops.nms(boxes, score, 0.45)
        return boxes[kept], score[kept], label[kept]


@network
def yolo():
    return Yolo(), picture(64, 1), {}


class Loss(nn.Module):
    """What a trainer exports for the sake of its loss."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5))

    def forward(self, x, label, weight):
        logits = self.body(x)
        smooth = F.cross_entropy(logits, label, label_smoothing=0.1)
        focal = torchvision.ops.sigmoid_focal_loss(logits, F.one_hot(label, 5).float(), reduction="mean")
        kl = F.kl_div(logits.log_softmax(-1), weight.softmax(-1), reduction="batchmean")
        return smooth, focal, kl, F.binary_cross_entropy_with_logits(logits, weight.sigmoid())


@network
def losses():
    return Loss(), {"x": torch.rand(4, 8), "label": torch.tensor([0, 1, 2, 4]), "weight": torch.rand(4, 5)}, {"x": {0: "batch"}}


class Flow(nn.Module):
    """A coupling layer and its logarithm of the determinant; a density of normals mixed."""

    def __init__(self, d=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d // 2, 32), nn.Tanh(), nn.Linear(32, d))
        self.mean, self.log = nn.Parameter(torch.rand(3, d)), nn.Parameter(torch.zeros(3, d))

    def forward(self, x):
        a, b = x.chunk(2, -1)
        scale, shift = self.net(a).chunk(2, -1)
        scale = torch.tanh(scale)
        y = torch.cat([a, b * scale.exp() + shift], -1)
        z = (y[:, None] - self.mean) / self.log.exp()
        density = (-0.5 * z ** 2 - self.log - 0.5 * math.log(2 * math.pi)).sum(-1)
        return y, torch.logsumexp(density - math.log(3), 1) + scale.sum(-1)


@network
def flow():
    return Flow(), {"x": torch.rand(4, 8)}, {"x": {0: "batch"}}


class Forecast(nn.Module):
    """A series, normalised by its own mean and deviation, its trend by moving means, its season by Fourier."""

    def __init__(self):
        super().__init__()
        self.trend, self.season = nn.Linear(24, 6), nn.Linear(24, 6)

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        deviation = torch.sqrt(torch.var(x, 1, keepdim=True, unbiased=False) + 1e-5)
        x = ((x - mean) / deviation).transpose(1, 2)
        slow = F.avg_pool1d(F.pad(x, (2, 2), mode="replicate"), 5, 1)
        y = self.trend(slow) + self.season(x - slow)
        return y.transpose(1, 2) * deviation + mean


@network
def forecast():
    return Forecast(), {"x": torch.rand(2, 24, 3)}, {"x": {0: "batch"}}


class Tabular(nn.Module):
    """Categories, numbers with gaps, features crossed two by two."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, 4) for n in (7, 11, 3))
        self.norm, self.body = nn.BatchNorm1d(5), nn.Sequential(nn.Linear(5 + 12 + 3, 16), nn.Mish(), nn.Linear(16, 1))

    def forward(self, codes, numbers):
        numbers = torch.where(torch.isnan(numbers), torch.zeros_like(numbers), numbers)
        numbers = self.norm(torch.sign(numbers) * torch.log1p(numbers.abs()))
        parts = [table(codes[:, i]) for i, table in enumerate(self.tables)]
        stack = torch.stack(parts, 1)
        cross = (stack @ stack.transpose(1, 2))[:, [0, 0, 1], [1, 2, 2]]
        return torch.sigmoid(self.body(torch.cat([numbers, *parts, cross], 1)))


@network
def tabular():
    given = {"codes": torch.randint(0, 3, (4, 3)), "numbers": torch.rand(4, 5)}
    return Tabular(), given, {"codes": {0: "batch"}, "numbers": {0: "batch"}}


class Policy(nn.Module):
    """An actor with a mask of what is allowed and squashed actions with their probability."""

    def __init__(self):
        super().__init__()
        self.body, self.which, self.how = nn.Linear(6, 16), nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, seen, allowed, noise):
        h = torch.tanh(self.body((seen - seen.mean(0)).clamp(-5, 5)))
        logits = self.which(h).masked_fill(~allowed, -1e8)
        chosen = torch.distributions.utils.logits_to_probs(logits)
        mean, log = self.how(h).chunk(2, -1)
        log = log.clamp(-20, 2)
        raw = mean + log.exp() * noise
        action = torch.tanh(raw)
        odds = (-0.5 * noise ** 2 - log - 0.919).sum(-1) - torch.log(1 - action.pow(2) + 1e-6).sum(-1)
        return chosen, action, odds, -(chosen * (logits - logits.logsumexp(-1, keepdim=True))).sum(-1)


@network
def policy():
    given = {"seen": torch.rand(3, 6), "allowed": torch.ones(3, 4, dtype=torch.bool), "noise": torch.randn(3, 2)}
    return Policy(), given, {n: {0: "batch"} for n in given}


class Double(nn.Module):
    """A solver that computes in float64 on purpose, given and giving float64."""

    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.rand(6, 6, dtype=torch.float64))

    def forward(self, b):
        x = torch.zeros_like(b)
        step = 1.0 / self.matrix.diagonal()
        for _ in range(5):
            x = x + step * (b - x @ self.matrix.t())
        return x, (b - x @ self.matrix.t()).norm(dim=-1)


@network
def solver_double():
    return Double(), {"b": torch.rand(2, 6, dtype=torch.float64)}, {"b": {0: "batch"}}


# ---- torchvision's own, small where they can be ----

def vision(name, side=64, **how):
    @network
    def make():
        module = getattr(torchvision.models, name, None) or getattr(torchvision.models.segmentation, name)
        return module(weights=None, **how), picture(side, 1), PICTURE
    NETWORKS[name] = NETWORKS.pop("make")


for _name, _side in (("squeezenet1_1", 64), ("densenet121", 64), ("googlenet", 64), ("mnasnet0_5", 64), ("regnet_x_400mf", 64),
                     ("inception_v3", 96), ("shufflenet_v2_x0_5", 64), ("mobilenet_v2", 64), ("maxvit_t", 224)):
    vision(_name, _side, **({"init_weights": False} if _name in ("googlenet", "inception_v3") else {}))


class Segment(nn.Module):
    """What torchvision's segmentation gives, without the names of a dictionary."""

    def __init__(self, name):
        super().__init__()
        self.inner = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=4)

    def forward(self, image):
        return self.inner(image)["out"].argmax(1)


@network
def lraspp():
    return Segment("lraspp_mobilenet_v3_large"), picture(64, 1), PICTURE


@network
def deeplab():
    return Segment("deeplabv3_mobilenet_v3_large"), picture(64, 1), PICTURE


@network
def video():
    return torchvision.models.video.r2plus1d_18(weights=None, num_classes=5), {"clip": torch.rand(1, 3, 4, 32, 32)}, {}


class Deform(nn.Module):
    def __init__(self):
        super().__init__()
        self.warp, self.conv = nn.Conv2d(3, 2, 3, padding=1), nn.Conv2d(3, 4, 3)

    def forward(self, image):
        flow = self.warp(image).permute(0, 2, 3, 1).tanh()
        line = torch.linspace(-1, 1, 64)
        grid = torch.stack(torch.meshgrid(line, line, indexing="xy"), -1)
        return self.conv(F.grid_sample(image, grid + 0.1 * flow, align_corners=True)).amax((2, 3))


@network
def warp():
    return Deform(), picture(), PICTURE
