# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt doctor | bench | verify"""

import sys
from importlib import import_module

COMMANDS = {
    "doctor": (".tools.doctor", "what is installed, what is missing, and whether the loss runs"),
    "bench": (".bench", "speed and memory against torchaudio and a stream, as a table and plots"),
    "verify": (".verify", "the Ascend operators against the reference, on this machine's NPU"),
}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in COMMANDS:
        print("usage: python -m mindspore_rnnt <command> [options]\n")
        print("\n".join(f"  {name:8}{what}" for name, (_, what) in COMMANDS.items()))
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    command = import_module(COMMANDS[arguments[0]][0], __package__)
    return command.main(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
