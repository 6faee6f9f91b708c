"""python train_ray.py FOLDER: Ray Train starts two ranks, and each takes its share of every epoch."""

import sys

import torch
import torch.distributed as distributed
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer, get_device, prepare_model

import gpufeed


def work(given: dict) -> None:
    # Ray Train has begun the process group, by which the loader knows its rank. The folder is that of each node.
    train = gpufeed.DataLoader(
        given["folder"], recipe="cifar-train", batch_size=8, shuffle=True, drop_last=True, seed=42, device=get_device()
    )
    torch.manual_seed(0)
    model = prepare_model(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for epoch in range(2):
        train.set_epoch(epoch)
        for step, (images, labels) in enumerate(train):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"rank {distributed.get_rank()} epoch {epoch} step {step} loss {loss.item():.6f}", flush=True)


ranks = ScalingConfig(num_workers=2, use_gpu=torch.cuda.is_available())
TorchTrainer(work, train_loop_config={"folder": sys.argv[1]}, scaling_config=ranks).fit()
