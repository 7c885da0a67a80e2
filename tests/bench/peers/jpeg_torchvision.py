"""jpeg_torchvision.py LIST: decodes the listed files on the GPU with torchvision, in batches, and counts each
channel with torch.bincount. Prints megapixels a second, start-up and file reading before the clock left out."""

import sys
import time

import torch
from torchvision.io import ImageReadMode, decode_jpeg, read_file

BATCH, SECONDS = 28, 4.0


def main():
    with open(sys.argv[1], encoding="utf-8") as names:
        files = [read_file(name.rstrip("\n")) for name in names]
    pixels = start = 0
    for round_number in range(10**6):
        if round_number == 2:  # warm
            torch.cuda.synchronize()
            start, pixels = time.perf_counter(), 0
        elif round_number > 2 and time.perf_counter() - start > SECONDS:
            break
        for first in range(0, len(files), BATCH):
            for image in decode_jpeg(files[first : first + BATCH], mode=ImageReadMode.RGB, device="cuda"):
                counts = [torch.bincount(channel.flatten(), minlength=256) for channel in image]
                pixels += image.shape[1] * image.shape[2]
            torch.stack(counts).cpu()
    torch.cuda.synchronize()
    print(f"{pixels / 1e6 / (time.perf_counter() - start):.0f}")


main()
