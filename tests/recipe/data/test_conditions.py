# SPDX-License-Identifier: Apache-2.0
"""What each condition does to speech, measured on the samples."""

from dataclasses import replace

import numpy as np
import pytest
import soundfile

from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import conditions
from mindspore_rnnt.recipe.data.conditions import CHANGES, CLEAN, Condition, Trials
from mindspore_rnnt.recipe.sound.levels import power

RATE = 16000


@pytest.fixture(scope="module")
def settings():
    return config.load(None, ["evaluate.snr_db=[10, 0]", "evaluate.pad_seconds=[0.5, 1.5]"])


@pytest.fixture
def speech():
    return (0.05 * np.random.default_rng(0).standard_normal(RATE)).astype(np.float32)


def test_the_rows_of_the_table(settings):
    names = [condition.name for condition in conditions.conditions(settings)]
    assert names[:3] == ["clean", "10 dB", "0 dB"]
    assert names[3:8] == [
        f"{kind} 5 dB" for kind in ("white", "pink", "babble", "impulses", "reverberated")
    ]
    assert names[8:] == [condition.name for condition in CHANGES.values()]
    few = config.load(None, ["evaluate.noises=[]", "evaluate.changes=[]", "evaluate.snr_db=[]"])
    assert conditions.conditions(few) == [CLEAN]


@pytest.mark.parametrize("kind", ["plant", "white", "pink", "babble", "impulses", "reverberated"])
def test_noise_has_its_ratio_to_the_speech_and_leaves_the_rest_alone(settings, speech, kind):
    trials = Trials(settings)
    clean = trials.hear(speech, CLEAN, 3).astype(np.float64)
    noisy = trials.hear(speech, Condition("x", kind, 5.0), 3)
    noise = noisy - clean
    # Clean speech has its quiet noise and a gain; both are the same in every condition.
    whole = Trials(settings).hear(speech, replace(CLEAN, gain_db=0.0), 3)
    gain_db = 10 * np.log10(power(clean) / power(whole))
    measured = 10 * np.log10(power(speech) / power(noise)) + gain_db
    print(kind, "ratio", measured)
    assert measured == pytest.approx(5.0, abs=0.01)
    assert np.array_equal(noisy, Trials(settings).hear(speech, Condition("x", kind, 5.0), 3))
    assert not np.array_equal(noisy, trials.hear(speech, Condition("x", kind, 5.0), 4))


def test_speech_is_placed_as_configured_and_the_same_under_every_condition(settings, speech):
    trials = Trials(settings)
    lengths = []
    for number in range(20):
        heard = [
            trials.hear(speech, item, number) for item in (CLEAN, Condition("x", "white", 9.0))
        ]
        assert len(heard[0]) == len(heard[1])
        lengths.append((len(heard[0]) - RATE) / RATE)
    assert 1.0 <= min(lengths) < max(lengths) <= 3.0


def test_bare_padded_and_quiet(settings, speech):
    trials = Trials(settings)
    assert np.array_equal(trials.hear(speech, CHANGES["bare"], 1), speech)
    padded = trials.hear(speech, replace(CHANGES["padded"], gain_db=0.0), 1)
    assert len(padded) == 4 * RATE
    assert 10 * np.log10(power(padded[:RATE])) == pytest.approx(-60, abs=1.0)
    loud = trials.hear(speech, replace(CHANGES["quiet"], gain_db=0.0), 1)
    quiet = trials.hear(speech, CHANGES["quiet"], 1)
    assert power(quiet) == pytest.approx(0.01 * power(loud), rel=1e-4)


def test_changes_of_the_speech_itself(settings, speech):
    still = replace(CLEAN, pads=(0.0, 0.0), gain_db=0.0)
    heard = {
        change: Trials(settings).hear(speech, replace(still, change=change), 1)
        for change in ("clipped", "narrow", "reverberant")
    }
    assert np.mean(np.abs(heard["clipped"]) == np.abs(speech).max()) > 0.1
    spectrum = np.abs(np.fft.rfft(heard["narrow"])) ** 2
    assert spectrum[4200:].sum() < 1e-3 * spectrum.sum()
    assert power(heard["reverberant"]) == pytest.approx(power(speech), rel=1e-4)
    assert np.abs(np.corrcoef(heard["reverberant"], speech)[0, 1]) < 0.9


def test_recordings_to_test_with_are_all_that_is_heard(tmp_path, speech):
    """evaluate.noise_folder reaches every utterance, whatever noise.folder_share is."""
    tone = np.sin(2 * np.pi * 3000 * np.arange(RATE) / RATE)
    soundfile.write(tmp_path / "tone.wav", 0.2 * tone, RATE)
    folders = [f"evaluate.noise_folder={tmp_path}", "noise.folder=nowhere"]
    trials = Trials(config.load(None, folders))
    still = Condition("x", "plant", 0.0, pads=(0.0, 0.0), gain_db=0.0)
    for number in range(12):
        noise = trials.hear(speech, still, number) - speech
        spectrum = np.abs(np.fft.rfft(noise)) ** 2
        assert spectrum[3000] > 0.99 * spectrum.sum()
    without = Trials(config.load(None, ["noise.folder=nowhere"]))
    assert np.array_equal(without.hear(speech, CHANGES["bare"], 1), speech), "no folder is opened"
    with pytest.raises(ValueError, match="nowhere"):
        without.hear(speech, still, 1)
