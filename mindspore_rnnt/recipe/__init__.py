# SPDX-License-Identifier: Apache-2.0
"""A streaming Conformer-Transducer for Mandarin commands in machine noise.

Start with `python -m mindspore_rnnt.recipe --help`; settings.py has every setting.

Imports go one way: __main__ -> commands -> training -> decoding -> model -> data -> config.
"""
