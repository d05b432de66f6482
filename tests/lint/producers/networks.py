"""Small networks of architectures that tests/exporters does not have: name -> (module, inputs by name, dynamic axes).

Nothing is run of them: `cameo lint` has to be silent on what PyTorch's exporters write of them. Weights are drawn, widths
and depths are small; what matters is what the exporters make of the structure.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

NETWORKS = {}
SEQUENCE = {"x": {0: "batch", 1: "time"}}


def network(make):
    NETWORKS[make.__name__] = make
    return make


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


class StateSpace(nn.Module):
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
    return StateSpace(), {"x": torch.rand(2, 6, 16)}, {"x": {0: "batch"}}
