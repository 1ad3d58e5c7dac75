#!/usr/bin/env python3
"""Tells Sidetone's agent whether the headset itself has muted its microphone.

Linux and macOS. Usage: push.py PRODUCT true|false
"""
import http.client
import json
import os
import socket
import sys
from urllib.parse import quote

VENDOR = "acme"  # vendor.id in your catalogue


class Agent(http.client.HTTPConnection):
    """A connection to the vendor's agent of this user."""

    def connect(self):
        if sys.platform == "darwin":
            self.address = os.path.expanduser(f"~/Library/Application Support/Sidetone/{VENDOR}/agent.sock")
        else:
            self.address = os.environ.get("XDG_RUNTIME_DIR", "") + f"/sidetone/{VENDOR}/agent.sock"
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self.address)
        except OSError as e:
            sys.exit(f"push: no agent runs (start it with 'sidetone run'): {self.address}: {e}")


def push(product, state):
    # A lease: say it again every 30 s, before ttl_ms runs out, and at once after a failure or on a new "instance" of the status.
    body = {"owner": "acme-suite", "ttl_ms": 60000, "state": state}
    agent = Agent("localhost", timeout=10)
    try:
        agent.request("PUT", "/v1/states/" + quote(product, safe=""), json.dumps(body), {"Content-Type": "application/json"})
        answer = agent.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException) as e:
        sys.exit(f"push: no answer of {agent.address}: {e}")
    finally:
        agent.close()
    if answer.status != 200:
        sys.exit(f"push: the agent refuses: {text}")
    return text


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("true", "false"):
        sys.exit("push: usage: push.py PRODUCT true|false")
    print(push(sys.argv[1], {"hardware_mute": sys.argv[2] == "true"}))
