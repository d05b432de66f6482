"""Small networks with random weights, each as (module, inputs of several sizes, dynamic axes, what the exporters need).

`NETWORKS` maps a name to a function that returns a `Network`. Widths and depths are small, so that a program of each
compiles in seconds; what matters is the structure that the exporters write.
"""
import collections

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

# inputs: name -> axes that are dynamic, {axis: dim name}; draw(k): the k-th set of inputs, a list in that order.
# only: the exporters that can export it, where the model itself says so (scripting, higher-order operators).
Network = collections.namedtuple("Network", "module inputs draw opset only atol", defaults=(None, None, 1e-4))


def image(height="height", width="width"):
    return {0: "batch", 2: height, 3: width}


def sizes(k, *lists):
    """The k-th size of each list, going round."""
    return [options[k % len(options)] for options in lists]


def pictures(k, batches=(2, 1, 3, 5), heights=(32,), widths=(32,), channels=3):
    b, h, w = sizes(k, batches, heights, widths)
    return [torch.rand(b, channels, h, w)]


# ---- classifiers ----

def vit():
    module = torchvision.models.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32,
                                                  mlp_dim=64, num_classes=10)
    return Network(module, {"image": {0: "batch"}}, pictures)


def swin():
    module = torchvision.models.SwinTransformer(patch_size=[4, 4], embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                                                window_size=[4, 4], num_classes=10)
    return Network(module, {"image": {0: "batch"}}, lambda k: pictures(k, heights=(64,), widths=(64,)))


def swin_sizes():
    module = torchvision.models.swin_transformer.SwinTransformer(
        patch_size=[4, 4], embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=10,
        block=torchvision.models.swin_transformer.SwinTransformerBlockV2,
        downsample_layer=torchvision.models.swin_transformer.PatchMergingV2)
    return Network(module, {"image": image()}, lambda k: pictures(k, heights=(64, 48, 36), widths=(64, 52)))


def convnext():
    from torchvision.models.convnext import CNBlockConfig
    module = torchvision.models.ConvNeXt([CNBlockConfig(16, 24, 1), CNBlockConfig(24, 32, 1), CNBlockConfig(32, None, 1)],
                                         num_classes=10)
    return Network(module, {"image": image()}, lambda k: pictures(k, heights=(64, 48), widths=(64, 80)))


def efficientnet():
    from torchvision.models.efficientnet import FusedMBConvConfig, MBConvConfig
    blocks = [FusedMBConvConfig(1, 3, 1, 8, 8, 1), MBConvConfig(4, 3, 2, 8, 16, 1), MBConvConfig(4, 5, 2, 16, 24, 2)]
    module = torchvision.models.EfficientNet(blocks, dropout=0.2, last_channel=48, num_classes=10)
    return Network(module, {"image": image()}, lambda k: pictures(k, heights=(64, 48), widths=(64, 80)))


def mobilenet():
    module = torchvision.models.mobilenet_v3_small(width_mult=0.25, num_classes=10)
    return Network(module, {"image": image()}, lambda k: pictures(k, heights=(64, 96), widths=(64, 32)))


def resnet():
    module = torchvision.models.resnet18(num_classes=10)
    for name, layer in list(module.named_modules()):
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
    module.layer3 = module.layer4 = nn.Identity()
    module.fc = nn.Linear(128, 10)
    return Network(module, {"image": image()}, lambda k: pictures(k, heights=(32, 48), widths=(32, 40)))


def shuffle():
    module = torchvision.models.ShuffleNetV2([1, 2, 1], [8, 16, 32, 64, 64], num_classes=10)
    return Network(module, {"image": image()}, lambda k: pictures(k, heights=(64, 96), widths=(64, 80)))


# ---- transformers ----

class Attention(nn.Module):
    """Heads split by view; places of the keys that `kept` leaves out, and those to come, get minus infinity."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, y, kept=None, causal=False):
        q, k, v = self.split(self.q(x)), self.split(self.k(y)), self.split(self.v(y))
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if kept is not None:
            scores = scores.masked_fill(kept[:, None, None, :] == 0, float("-inf"))
        if causal:
            scores = scores + later(x.shape[1], y.shape[1])
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))


def later(n, total):
    """[n, total]: 0 where a query may look, minus infinity at the keys behind it."""
    place = torch.arange(n)[:, None] + (total - n)
    return torch.zeros(n, total).masked_fill(torch.arange(total)[None] > place, float("-inf"))


class Block(nn.Module):
    def __init__(self, width=32, crossed=False):
        super().__init__()
        self.itself, self.across = Attention(width), Attention(width) if crossed else None
        self.n1, self.n2, self.n3 = (nn.LayerNorm(width) for _ in range(3))
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width))

    def forward(self, x, kept=None, memory=None):
        x = self.n1(x + self.itself(x, x, kept if memory is None else None, causal=memory is not None))
        if memory is not None:
            x = self.n3(x + self.across(x, memory, kept))
        return self.n2(x + self.feed(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(50, 32), nn.Embedding(64, 32)
        self.body, self.pool = nn.ModuleList(Block() for _ in range(2)), nn.Linear(32, 32)

    def forward(self, tokens, kept):
        x = self.embed(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.body:
            x = block(x, kept)
        return x, torch.tanh(self.pool(x[:, 0]))


def encoder():
    def draw(k):
        b, n = sizes(k, (2, 1, 3, 4), (7, 12, 3))
        kept = torch.ones(b, n, dtype=torch.int64)
        kept[0, n // 2 + 1:] = 0
        return [torch.randint(0, 50, (b, n)), kept]
    axes = {0: "batch", 1: "length"}
    return Network(Encoder(), {"tokens": axes, "kept": axes}, draw)


class DecoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, past_k, past_v, mask):
        b, n, width = x.shape
        split = self.qkv(self.before(x)).view(b, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = split[0], torch.cat([past_k, split[1]], 2), torch.cat([past_v, split[2]], 2)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, width))
        return x + self.down(F.gelu(self.up(self.after(x)), approximate="tanh")), k, v


class Decoder(nn.Module):
    """Causal, with the keys and values of what came before as inputs and outputs."""

    def __init__(self, layers=2, width=32, heads=4, words=50):
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Embedding(64, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens, k0, v0, k1, v1):
        n, before = tokens.shape[1], k0.shape[2]
        places = torch.arange(before, before + n, device=tokens.device)
        mask = later(n, n + before)
        x, kept = self.embed(tokens) + self.place(places), []
        for layer, k, v in zip(self.layers, (k0, k1), (v0, v1)):
            x, k, v = layer(x, k, v, mask)
            kept += [k, v]
        return (self.norm(x) @ self.embed.weight.t(), *kept)


def decoder():
    def draw(k):
        b, n, before = sizes(k, (2, 1, 3), (4, 1, 2), (3, 5, 0))
        return [torch.randint(0, 50, (b, n))] + [torch.randn(b, 4, before, 8) for _ in range(4)]
    past = {0: "batch", 2: "before"}
    return Network(Decoder(), {"tokens": {0: "batch", 1: "length"}, "k0": past, "v0": past, "k1": past, "v1": past}, draw)


class EncoderDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(50, 32), nn.Linear(32, 50)
        self.reads, self.writes = Block(), nn.ModuleList(Block(crossed=True) for _ in range(2))

    def forward(self, source, target):
        memory, x = self.reads(self.embed(source), source), self.embed(target)
        for block in self.writes:
            x = block(x, source, memory)
        return F.log_softmax(self.head(x), -1)


class Whole(nn.Module):
    """torch's own nn.Transformer, whose export by tracing holds for one length."""

    def __init__(self):
        super().__init__()
        self.body = nn.Transformer(32, 4, 1, 2, 64, batch_first=True)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(6)
        return self.body(source, target, tgt_mask=mask)


def transformer():
    draw = lambda k: [torch.randn((2, 3, 5)[k], 7, 32), torch.randn((2, 3, 5)[k], 6, 32)]  # noqa: E731
    return Network(Whole(), {"source": {0: "batch"}, "target": {0: "batch"}}, draw)


def encoder_decoder():
    def draw(k):
        b, s, t = sizes(k, (2, 1, 3), (6, 9, 4), (5, 1, 8))
        return [torch.randint(1, 50, (b, s)), torch.randint(1, 50, (b, t))]
    return Network(EncoderDecoder(), {"source": {0: "batch", 1: "length"}, "target": {0: "batch", 1: "written"}}, draw)


class Rotary(nn.Module):
    """A decoder in the manner of Llama: RMSNorm, rotary places, grouped heads, SwiGLU."""

    def __init__(self, width=32, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.embed, self.scale = nn.Embedding(50, width), nn.Parameter(torch.rand(width))
        self.q, self.kv = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * groups * self.size, bias=False)
        self.gate, self.up, self.down = nn.Linear(width, 64), nn.Linear(width, 64), nn.Linear(64, width)

    def turn(self, x, places):
        rate = 1.0 / 10000 ** (torch.arange(0, self.size, 2).float() / self.size)
        angle = torch.einsum("bn,d->bnd", places.float(), rate)
        cos, sin = (torch.cat([f(angle)] * 2, -1)[:, None] for f in (torch.cos, torch.sin))
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, tokens, places, kept):
        b, n = tokens.shape
        x = self.embed(tokens)
        h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        q = self.turn(self.q(h).view(b, n, self.heads, -1).transpose(1, 2), places)
        k, v = self.kv(h).view(b, n, 2 * self.groups, -1).transpose(1, 2).chunk(2, 1)
        k, v = (t[:, :, None].expand(-1, -1, self.heads // self.groups, -1, -1).reshape(b, self.heads, n, -1)
                for t in (self.turn(k, places), v))
        mask = torch.ones(n, n, dtype=torch.bool).tril()[None, None] & kept[:, None, None, :].bool()
        mask = torch.where(mask, 0.0, torch.finfo(torch.float32).min)
        y = torch.softmax(q @ k.transpose(-1, -2) / self.size ** 0.5 + mask, -1, dtype=torch.float32) @ v
        x = x + y.transpose(1, 2).reshape(b, n, -1)
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


def rotary():
    def draw(k):
        b, n = sizes(k, (2, 1, 3), (6, 9, 2))
        return [torch.randint(0, 50, (b, n)), torch.arange(n).expand(b, n).contiguous(), torch.ones(b, n, dtype=torch.int64)]
    axes = {0: "batch", 1: "length"}
    return Network(Rotary(), {"tokens": axes, "places": axes, "kept": axes}, draw)


# ---- images to images ----

class UNet(nn.Module):
    """Two levels, InstanceNormalization, and the input warped by a flow that the network predicts."""

    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.1))  # noqa: E731
        self.one, self.two, self.three = block(3, 8), block(8, 16), block(24, 8)
        self.up, self.flow = nn.ConvTranspose2d(16, 16, 2, 2), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.one(x)
        b = self.up(self.two(F.max_pool2d(a, 2)))
        b = F.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=False)
        flow = torch.tanh(self.flow(self.three(torch.cat([a, b], 1)))).permute(0, 2, 3, 1)
        eye = torch.tensor([[[1.0, 0, 0], [0, 1.0, 0]]]).expand(x.shape[0], 2, 3)
        grid = F.affine_grid(eye, [x.shape[0], 1, x.shape[2], x.shape[3]], align_corners=False)
        return F.grid_sample(x, grid + 0.1 * flow, mode="bilinear", padding_mode="border", align_corners=False), flow


def unet():
    return Network(UNet(), {"image": image()}, lambda k: pictures(k, heights=(16, 24, 18), widths=(16, 20)), opset=20)


class Diffusion(nn.Module):
    """A level of a diffusion U-Net: time embedding, GroupNorm, attention over pixels, down and up."""

    def __init__(self, width=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, width))
        self.first, self.down = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, width, 3, 2, 1)
        self.n1, self.n2, self.n3 = (nn.GroupNorm(4, width) for _ in range(3))
        self.c1, self.c2, self.last = (nn.Conv2d(width, o, 3, padding=1) for o in (width, width, 4))
        self.attention = nn.MultiheadAttention(width, 2, kdim=24, vdim=24, batch_first=True)
        self.itself = nn.MultiheadAttention(width, 2, batch_first=True)

    def forward(self, x, step, text):
        rate = torch.exp(-9.2 * torch.arange(8) / 8)
        angle = step.float()[:, None] * rate[None]
        t = self.time(torch.cat([angle.sin(), angle.cos()], -1))
        x = self.first(x)
        h = self.c1(F.silu(self.n1(x))) + t[:, :, None, None]
        h = self.down(self.c2(F.silu(self.n2(h))) + x)
        b, c, height, width = h.shape
        p = self.n3(h).flatten(2).transpose(1, 2)
        p = p + self.itself(p, p, p, need_weights=False)[0]
        p = p + self.attention(p, text, text, need_weights=False)[0]
        h = h + p.transpose(1, 2).reshape(b, c, height, width)
        return self.last(F.interpolate(h, scale_factor=2.0, mode="nearest") + x)


def diffusion():
    def draw(k):
        b, h, w, n = sizes(k, (2, 1, 3), (8, 12), (8, 6, 10), (5, 3))
        return [torch.randn(b, 4, h, w), torch.randint(0, 1000, (b,)), torch.randn(b, n, 24)]
    return Network(Diffusion(), {"latent": image(), "step": {0: "batch"}, "text": {0: "batch", 1: "words"}}, draw)


class Upscale(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 8, 5, padding=2), nn.Conv2d(8, 12, 3, padding=1, padding_mode="reflect")
        self.slope = nn.PReLU(8)

    def forward(self, x):
        y = F.pixel_shuffle(self.two(self.slope(self.one(x))), 2)
        y = y + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        y = F.pad(y, (1, 2, 0, 1), mode="replicate")
        return y.clamp(0, 1), F.adaptive_avg_pool2d(y, 1), F.pixel_unshuffle(x, 2)


def upscale():
    return Network(Upscale(), {"image": image()}, lambda k: pictures(k, heights=(8, 12, 10), widths=(8, 14)))


# ---- sequences ----

class Recurrent(nn.Module):
    def __init__(self, kind, packed):
        super().__init__()
        self.body = kind(6, 8, num_layers=2, bidirectional=True, batch_first=not packed)
        self.head, self.packed = nn.Linear(16, 4), packed

    def forward(self, x, lengths=None):
        if not self.packed:
            y, last = self.body(x)
            return self.head(y), *(last if isinstance(last, tuple) else (last,))
        y, _ = self.body(nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=True))
        y, counts = nn.utils.rnn.pad_packed_sequence(y)
        return self.head(y), counts


def recurrent(kind):
    draw = lambda k: [torch.randn(*sizes(k, (2, 1, 3), (5, 9, 1)), 6)]  # noqa: E731
    return Network(Recurrent(kind, False), {"x": {0: "batch", 1: "length"}}, draw)


def packed(kind):
    def draw(k):
        n, b = sizes(k, (5, 9, 3), (3, 1, 4))
        return [torch.randn(n, b, 6), torch.tensor([max(1, n - 2 * i) for i in range(b)])]
    return Network(Recurrent(kind, True), {"x": {0: "length", 1: "batch"}, "lengths": {0: "batch"}}, draw)


class TextConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(60, 12, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(12, 8, k, padding=k // 2) for k in (2, 3, 4))
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(24, 5)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        best = [F.relu(c(x)).max(-1).values for c in self.convs]
        return self.head(self.drop(torch.cat(best, 1)))


def text_conv():
    draw = lambda k: [torch.randint(0, 60, sizes(k, (2, 1, 5), (9, 4, 17)))]  # noqa: E731
    return Network(TextConv(), {"tokens": {0: "batch", 1: "length"}}, draw)


class Wave(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, width, 1), nn.Conv1d(width, 16, 1)
        self.gates = nn.ModuleList(nn.utils.parametrizations.weight_norm(nn.Conv1d(width, 2 * width, 2, dilation=2 ** i))
                                   for i in range(4))
        self.skips = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(4))

    def forward(self, x):
        x, total = self.first(x), 0
        for i, (gate, skip) in enumerate(zip(self.gates, self.skips)):
            a, b = gate(F.pad(x, (2 ** i, 0))).chunk(2, 1)
            y = skip(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return self.last(F.relu(total)).softmax(1)


def wave():
    draw = lambda k: [torch.randn(sizes(k, (2, 1), (1,), (24, 7, 40))[0], 1, (24, 7, 40)[k % 3])]  # noqa: E731
    return Network(Wave(), {"sound": {0: "batch", 2: "samples"}}, draw)


# ---- detectors: suppression, and sizes that only data says ----

class Detector(nn.Module):
    """A torchvision detector of one image, as tensors."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, image):
        found = self.body([image])[0]
        return tuple(found[k] for k in sorted(found))


def small_backbone(width=16):
    body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, width, 3, 4, 1), nn.ReLU())
    body.out_channels = width
    return body


def one_picture(k):
    return [torch.rand(3, *((64, 64), (48, 80), (72, 56))[k % 3])]


def faster_rcnn():
    from torchvision.models.detection import FasterRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
    body = FasterRCNN(small_backbone(), min_size=64, max_size=96, box_score_thresh=0.05,
                      rpn_anchor_generator=AnchorGenerator(((12, 24, 40),), ((0.5, 1.0, 2.0),)),
                      box_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0"], 5, 2), rpn_pre_nms_top_n_test=60,
                      rpn_post_nms_top_n_test=20, box_head=TwoMLPHead(16 * 25, 32), box_predictor=FastRCNNPredictor(32, 3))
    with torch.no_grad():  # scores and boxes that differ, so that rounding decides nothing
        for head in (body.rpn.head, body.roi_heads.box_predictor):
            for p in head.parameters():
                p.mul_(8 if p.ndim > 1 else 1)
    return Network(Detector(body), {"image": {1: "height", 2: "width"}}, one_picture, atol=1e-3)


def mask_rcnn():
    from torchvision.models.detection import MaskRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
    from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
    body = MaskRCNN(small_backbone(), min_size=64, max_size=96, box_score_thresh=0.1,
                    rpn_anchor_generator=AnchorGenerator(((12, 24, 40),), ((0.5, 1.0, 2.0),)),
                    box_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0"], 5, 2), rpn_pre_nms_top_n_test=40,
                    rpn_post_nms_top_n_test=10, box_head=TwoMLPHead(16 * 25, 32), box_predictor=FastRCNNPredictor(32, 3),
                    mask_roi_pool=torchvision.ops.MultiScaleRoIAlign(["0"], 6, 2), mask_head=MaskRCNNHeads(16, (8,), 1),
                    mask_predictor=MaskRCNNPredictor(8, 8, 3), box_detections_per_img=6)
    with torch.no_grad():
        for head in (body.rpn.head, body.roi_heads.box_predictor):
            for p in head.parameters():
                p.mul_(8 if p.ndim > 1 else 1)
    return Network(Detector(body), {"image": {1: "height", 2: "width"}}, one_picture, atol=1e-3)


def retinanet():
    from torchvision.models.detection import RetinaNet
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    body = RetinaNet(small_backbone(), 3, min_size=64, max_size=96, score_thresh=0.001, topk_candidates=30,
                     anchor_generator=AnchorGenerator(((12, 24),), ((0.5, 1.0, 2.0),)))
    for part in (body.head.classification_head.conv, body.head.regression_head.conv):
        del part[1:]
    with torch.no_grad():
        for p in body.head.parameters():
            p.mul_(6 if p.ndim > 1 else 1)
    return Network(Detector(body), {"image": {1: "height", 2: "width"}}, one_picture, atol=1e-3)


def ssdlite():
    body = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4)
    body.score_thresh, body.topk_candidates = 0.1, 20
    return Network(Detector(body), {"image": {1: "height", 2: "width"}}, one_picture, atol=1e-3)


class Selecting(nn.Module):
    """Indices that only data says: nonzero, masks, unique, scatter, topk, sort, cumulative sums."""

    def forward(self, x, index):
        chosen = x[x > 0.5]
        places = torch.nonzero(x > 0.8)
        best, where = torch.topk(x, 2, dim=1)
        spread = torch.zeros_like(x).scatter_add(1, where, best)
        written = x.clone()
        written[index] = 7.0
        values, counts = torch.unique(index, return_counts=True)
        return (chosen.sum(), places, spread, written, values, counts, torch.cumsum(x, 1), torch.sort(x, 1, descending=True)[1],
                x[index, :].mean(0), F.one_hot(index % 4, 4), x.masked_fill(x < 0.2, float("-inf")).logsumexp(1))


def selecting():
    draw = lambda k: [torch.rand(*sizes(k, (4, 6, 5), (3, 5))), torch.tensor(([0, 2, 2], [1], [3, 0, 1, 3])[k % 3])]  # noqa: E731
    return Network(Selecting(), {"x": {0: "rows", 1: "columns"}, "index": {0: "count"}}, draw)


class Suppress(nn.Module):
    def forward(self, boxes, scores):
        corner = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:].abs()], 1)
        kept = torchvision.ops.nms(corner, scores, 0.4)[:10]
        pooled = torchvision.ops.roi_align(scores[None, None, None, :].expand(1, 2, 8, -1).contiguous(),
                                           [corner[kept] * 4], 3, 1.0, 2)
        return kept, corner[kept], scores[kept], pooled.mean((1, 2, 3))


def suppress():
    draw = lambda k: [torch.rand((20, 8, 40)[k % 3], 4), torch.rand((20, 8, 40)[k % 3])]  # noqa: E731
    return Network(Suppress(), {"boxes": {0: "count"}, "scores": {0: "count"}}, draw)


# ---- control flow ----

class Looping(nn.Module):
    """Scripted: a loop with a bound from the input, one with a condition, a branch, a list that grows."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x, limit: torch.Tensor):
        h = torch.zeros(x.size(1), 4)
        kept = []
        for i in range(x.size(0)):
            h = torch.tanh(self.cell(h) + x[i])
            kept.append(h)
        steps = torch.zeros(1, dtype=torch.int64)
        total = x.sum()
        while bool(total.abs() < limit):
            total = total * 2 + 1
            steps = steps + 1
        if bool(total > 0):
            y = h * 2
        else:
            y = h - 1
        return torch.stack(kept), y, steps, total


def looping():
    draw = lambda k: [torch.randn((5, 1, 7)[k % 3], (2, 3)[k % 2], 4), torch.tensor((50.0, 0.0, 900.0)[k % 3])]  # noqa: E731
    return Network(torch.jit.script(Looping()), {"x": {0: "length", 1: "batch"}, "limit": {}}, draw, only="script")


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        def up(x):
            return torch.relu(self.one(x)) + 1

        def down(x):
            return torch.cond(x.min() < -1, lambda x: self.two(x).sin(), lambda x: x.cos(), (x,))
        return torch.cond(x.sum() > 0, up, down, (x,))


def branching():
    draw = lambda k: [torch.randn((2, 1, 4)[k % 3], 6) + (1, -2, -0.1)[k % 3]]  # noqa: E731
    return Network(Branching(), {"x": {0: "batch"}}, draw, only="dynamo")


class While(nn.Module):
    def forward(self, x, count):
        from torch._higher_order_ops.while_loop import while_loop
        return while_loop(lambda i, x: i > 0, lambda i, x: (i - 1, torch.sin(x) * 1.5), (count, x))


def while_loop():
    draw = lambda k: [torch.randn((2, 1, 4)[k % 3], 6), torch.tensor((3, 0, 5)[k % 3])]  # noqa: E731
    return Network(While(), {"x": {0: "batch"}, "count": {}}, draw, only="dynamo")


class Scan(nn.Module):
    def forward(self, x, start):
        from torch._higher_order_ops.scan import scan
        last, all_ = scan(lambda c, v: ((c * 0.5 + v).clone(), (c + v).tanh()), start, x, dim=0)
        return last, all_


def scan():
    draw = lambda k: [torch.randn((5, 2, 7)[k % 3], 6), torch.randn(6)]  # noqa: E731
    return Network(Scan(), {"x": {0: "length"}, "start": {}}, draw, only="dynamo")


class Spectral(nn.Module):
    """A speech front end: short-time spectrum, mel-like bands, logarithm, normalization by statistics."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
        self.register_buffer("bands", torch.rand(17, 6))

    def forward(self, sound):
        spectrum = torch.view_as_real(torch.stft(sound, 32, 16, window=self.window, center=False, return_complex=True))
        power = spectrum.pow(2).sum(-1).transpose(1, 2) @ self.bands
        x = torch.log(power.clamp(min=1e-5))
        return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)


def spectral():
    draw = lambda k: [torch.randn((2, 1, 3)[k % 3], (160, 320, 99)[k % 3])]  # noqa: E731
    return Network(Spectral(), {"sound": {0: "batch", 1: "samples"}}, draw, atol=1e-3)


NETWORKS = {
    "vit": vit, "swin": swin, "swin_v2_sizes": swin_sizes, "convnext": convnext, "efficientnet": efficientnet,
    "mobilenet_v3": mobilenet, "resnet": resnet, "shufflenet": shuffle,
    "encoder": encoder, "decoder": decoder, "encoder_decoder": encoder_decoder, "transformer": transformer, "rotary": rotary,
    "unet": unet, "diffusion": diffusion, "upscale": upscale,
    "lstm": lambda: recurrent(nn.LSTM), "gru": lambda: recurrent(nn.GRU), "rnn": lambda: recurrent(nn.RNN),
    "lstm_packed": lambda: packed(nn.LSTM), "gru_packed": lambda: packed(nn.GRU),
    "text_conv": text_conv, "wave": wave, "spectral": spectral,
    "faster_rcnn": faster_rcnn, "mask_rcnn": mask_rcnn, "retinanet": retinanet, "ssdlite": ssdlite,
    "selecting": selecting, "suppress": suppress,
    "looping": looping, "branching": branching, "while": while_loop, "scan": scan,
}
