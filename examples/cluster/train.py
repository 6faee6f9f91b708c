"""torchrun --standalone --nproc-per-node 2 --max-restarts 2 train.py FOLDER CHECKPOINT: goes on at CHECKPOINT if it is there."""

import os
import sys

import torch
import torch.distributed as distributed
from torch import nn
from torchvision.transforms import v2

import gpufeed


def main(folder: str, checkpoint: str, global_batch: int = 16, epochs: int = 2, every: int = 4) -> None:
    cuda = torch.cuda.is_available()
    distributed.init_process_group("nccl" if cuda else "gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    device = f"cuda:{os.environ['LOCAL_RANK']}" if cuda else "cpu"
    transforms = v2.Compose([
        v2.RandomResizedCrop(32),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
    ])
    train = gpufeed.DataLoader(
        folder, transforms, batch_size=global_batch // world, shuffle=True, drop_last=True, seed=42, device=device
    )
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 15 * 15, 10)).to(device)
    model = nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9)
    step = 0
    if os.path.exists(checkpoint):
        saved = torch.load(checkpoint, map_location=device)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        train.load_state_dict(saved["train"])  # the same for every rank
        step = saved["step"]
    for epoch in range(train.epoch, epochs):
        train.set_epoch(epoch)
        for images, labels in train:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean = loss.detach() / world
            distributed.all_reduce(mean)
            step += 1
            if rank == 0:
                print(f"epoch {epoch} step {step} loss {mean.item():.6f}", flush=True)
                if step % every == 0:
                    saved = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
                    torch.save(saved | {"train": train.state_dict(), "step": step}, f"{checkpoint}.unfinished")
                    os.replace(f"{checkpoint}.unfinished", checkpoint)
    distributed.destroy_process_group()


main(sys.argv[1], sys.argv[2])
