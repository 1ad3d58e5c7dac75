#!/usr/bin/env python3
"""Pushes what a file says, for software that can do no more than write files.

Linux and macOS, beside push.py. Usage: follow.py PRODUCT FILE. The file holds a state such as {"hardware_mute": true}. Each
time it is written it is pushed once: write it again every 30 s, under another name, and rename it into place.
"""
import json
import os
import sys
import time

import push


def written(path):
    return os.path.exists(path) and (os.stat(path).st_mtime_ns, os.stat(path).st_ino)


def follow(product, path):
    seen = written(path)  # nobody knows what the headset has done since that was written
    print(f"push: waiting for {path} to be written", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.2)
        try:
            now = written(path)
            if now and now != seen:
                seen = now
                with open(path, encoding="utf-8") as file:
                    print(push.push(product, json.load(file)), flush=True)
        except (OSError, ValueError, SystemExit) as e:  # the next writing is the next try
            print(e, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("push: usage: follow.py PRODUCT FILE")
    follow(sys.argv[1], sys.argv[2])
