"""torchvision's transforms v2 on uint8 tensors: decode_jpeg, one sample at a time in DataLoader's processes.

Variant "whole batch": recipe G by plain torch operators on the resident set, as fast CIFAR trainers do; no torchvision.
"""

import torch
from torch.utils.data import DataLoader
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

import data
import peer
import recipes


def transform(recipe):
    steps = []
    if recipe.random_resized:
        steps.append(v2.RandomResizedCrop(recipe.side, antialias=True))
    if recipe.resize:
        steps.append(v2.Resize((recipe.resize, recipe.resize), antialias=True))
    if recipe.crop:
        steps.append(v2.RandomCrop(recipe.side, padding=recipe.padding or None))
    if recipe.vertical:
        steps.append(v2.RandomVerticalFlip(recipe.vertical))
    steps.append(v2.RandomHorizontalFlip(recipe.horizontal))
    if any(recipe.jitter):
        jitter = v2.ColorJitter(*recipe.jitter)
        steps.append(jitter if recipe.jitter_p == 1 else v2.RandomApply([jitter], p=recipe.jitter_p))
    if recipe.gray:
        steps.append(v2.RandomGrayscale(recipe.gray))
    steps.append(v2.ToDtype(torch.float32, scale=True))
    if recipe.normalize:
        steps.append(v2.Normalize(*recipe.normalize))
    return v2.Compose(steps)


class Files:
    def __init__(self, folder, steps):
        self.paths, self.steps = data.files(folder), steps
        self.labels = peer.labels(self.paths)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return self.steps(decode_jpeg(read_file(self.paths[i]), mode=ImageReadMode.RGB)), self.labels[i]


class Pixels:
    def __init__(self, pixels, steps, times=1):
        self.pixels, self.steps, self.times = pixels, steps, times

    def __len__(self):
        return len(self.pixels) * self.times

    def __getitem__(self, i):
        return self.steps(self.pixels[i % len(self.pixels)]), 0


def planes(array):
    return torch.from_numpy(array).permute(0, 3, 1, 2).contiguous()


def load(dataset, arguments):
    loader = DataLoader(
        dataset,
        batch_size=arguments.batch,
        shuffle=True,
        num_workers=arguments.workers,
        persistent_workers=arguments.workers > 0,
    )

    def epoch():
        for images, _labels in loader:
            yield images

    return peer.Peer(epoch, lambda batch: [batch.numpy()])


def whole_batch(pixels, arguments, recipe):
    """Gathers a window of the padded set for each sample, mirrored or not, then normalises the batch."""
    side, border = recipe.side, recipe.padding
    mean, std = (255 * torch.tensor(values).view(1, 3, 1, 1) for values in recipe.normalize)
    padded = torch.nn.functional.pad(planes(pixels), (border,) * 4)
    channel, along = torch.arange(3).view(1, 3, 1, 1), torch.arange(side)

    def epoch():
        for order in torch.randperm(len(padded)).split(arguments.batch):
            n = len(order)
            top, left = torch.randint(0, 2 * border + 1, (2, n, 1))
            mirrored = torch.rand(n, 1) < recipe.horizontal
            rows, columns = top + along, left + torch.where(mirrored, along.flip(0), along)
            window = padded[order.view(n, 1, 1, 1), channel, rows.view(n, 1, side, 1), columns.view(n, 1, 1, side)]
            yield window.float().sub_(mean).div_(std)

    return peer.Peer(epoch, lambda batch: [batch.numpy()])


def build(arguments, recipe):
    if recipe.source == "bytes":
        torch.set_num_threads(1)
        epoch = peer.decode_in_threads(
            arguments,
            lambda file: decode_jpeg(torch.frombuffer(bytearray(file), dtype=torch.uint8), mode=ImageReadMode.RGB),
        )
        return peer.Peer(epoch, lambda batch: [picture.numpy() for picture in batch])
    if recipe.source == "files":
        return load(Files(arguments.data, transform(recipe)), arguments)
    if recipe.source == "small":
        if arguments.variant == "whole batch":
            torch.set_num_threads(arguments.workers)
            return whole_batch(peer.small(arguments), arguments, recipe)
        return load(Pixels(planes(peer.small(arguments)), transform(recipe)), arguments)
    return load(Pixels(planes(peer.resident(arguments)), transform(recipe), recipes.RESIDENT_TIMES), arguments)


if __name__ == "__main__":
    peer.main(build, "torchvision", ["torch"])
