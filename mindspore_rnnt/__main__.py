# SPDX-License-Identifier: Apache-2.0
"""python -m mindspore_rnnt doctor | bench | verify | build-ascend"""

import sys
from importlib import import_module

from . import __version__
from .tools.command import run_command

COMMANDS = {
    "doctor": (".tools.doctor", "what is installed, what is missing, and whether the loss runs"),
    "bench": (".bench", "speed and memory against torchaudio and a stream, as a table and plots"),
    "build-ascend": (".ascend.build", "compile and install the Ascend operators (needs CANN)"),
    "verify": (".verify", "the Ascend operators against the reference, on this machine's NPU"),
}


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--version"]:
        print(f"mindspore_rnnt {__version__}")
        return 0
    debug = arguments[:1] == ["--debug"]
    arguments = arguments[debug:]
    if not arguments or arguments[0] not in COMMANDS:
        print("usage: python -m mindspore_rnnt [--debug] <command> [options]\n")
        print("\n".join(f"  {name:14}{what}" for name, (_, what) in COMMANDS.items()))
        print("\n--version prints the version, --debug shows the traceback of an error.")
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    name, *options = arguments
    return run_command(
        name, lambda: import_module(COMMANDS[name][0], __package__).main(options), debug
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
