"""Networks of pictures, of losses and of tables; of what networks.py says."""
import math

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from networks import network, NETWORKS

PICTURE = {"image": {0: "batch"}}


def picture(side=64, batch=2):
    return {"image": torch.rand(batch, 3, side, side)}


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


# ---- losses, densities, tables ----

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
