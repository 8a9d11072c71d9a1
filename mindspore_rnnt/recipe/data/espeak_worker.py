# SPDX-License-Identifier: Apache-2.0
"""Child process of synth.py: speak a list of requests with espeak-ng, in order.

Run as a plain file, so that it imports nothing of this package: espeak-ng stays in a process of
its own. stdin is a JSON list of {text, voice, rate, pitch}; stdout gets, for each request, the
sample rate and the number of samples (little-endian int32) and then the samples (int16).
"""

import ctypes
import json
import os
import struct
import sys

SYNCHRONOUS = 2  # espeak_AUDIO_OUTPUT: samples go to the callback
RATE, PITCH = 1, 3  # espeak_PARAMETER
BY_CHARACTER, UTF8 = 1, 1
CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)


def main() -> None:
    import espeakng_loader

    requests = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the library prints must not end up between the samples
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    data = espeakng_loader.get_data_path()
    rate = library.espeak_Initialize(SYNCHRONOUS, 0, data.encode("utf-8"), 0)
    if rate <= 0:
        sys.exit("espeak-ng did not start")

    pieces = []

    @CALLBACK
    def collect(samples, count, _events):
        if samples and count > 0:
            pieces.append(ctypes.string_at(samples, 2 * count))
        return 0

    library.espeak_SetSynthCallback(collect)
    library.espeak_ng_SetRandSeed(ctypes.c_long(1))  # breath noise is seeded by the clock else
    for request in requests:
        voice = request["voice"]
        variant = voice.partition("+")[2]  # the library itself passes over an unknown one
        known = not variant or os.path.isfile(os.path.join(data, "voices", "!v", variant))
        if not known or library.espeak_SetVoiceByName(voice.encode("utf-8")) != 0:
            sys.exit(f"espeak-ng has no voice {voice!r}")
        library.espeak_SetParameter(RATE, request["rate"], 0)
        library.espeak_SetParameter(PITCH, request["pitch"], 0)
        pieces.clear()
        text = request["text"].encode("utf-8") + b"\0"
        library.espeak_Synth(text, ctypes.c_size_t(len(text)), 0, BY_CHARACTER, 0, UTF8, None, None)
        library.espeak_Synchronize()
        audio = b"".join(pieces)
        out.write(struct.pack("<ii", rate, len(audio) // 2))
        out.write(audio)
    out.close()


if __name__ == "__main__":
    main()
