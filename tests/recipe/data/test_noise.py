# SPDX-License-Identifier: Apache-2.0
"""The ratio that was asked for is the ratio that is measured; recordings; people who babble."""

import pickle

import numpy as np
import pytest
import soundfile
import torch
import torchaudio

from mindspore_rnnt.recipe.data.corpus import UNREADABLE
from mindspore_rnnt.recipe.data.noise import NOMINAL_POWER, NoiseMaker, cut, mix
from mindspore_rnnt.recipe.settings import NoiseConfig
from mindspore_rnnt.recipe.sound import plant
from mindspore_rnnt.recipe.sound.levels import power


@pytest.fixture(scope="module")
def speech():
    rng = np.random.default_rng(0)
    return (0.1 * rng.standard_normal(32000)).astype(np.float32)


@pytest.mark.parametrize("snr_db", [20.0, 10.0, 5.0, 0.0, -7.5])
def test_measured_ratio(speech, snr_db):
    noisy = NoiseMaker(NoiseConfig(), 16000).add(speech, snr_db, np.random.default_rng(1))
    difference = noisy.astype(np.float64) - speech
    measured = 10 * np.log10(np.mean(speech.astype(np.float64) ** 2) / np.mean(difference**2))
    print("snr", snr_db, measured)
    assert noisy.dtype == np.float32
    assert measured == pytest.approx(snr_db, abs=1e-3)


def test_mix_equals_torchaudios(speech):
    noise = plant.machine(len(speech), 16000, np.random.default_rng(2))
    theirs = torchaudio.functional.add_noise(
        torch.tensor(speech)[None], torch.tensor(noise)[None], torch.tensor([3.0])
    )[0].numpy()
    error = np.abs(mix(speech, noise, 3.0, power(speech)) - theirs).max()
    print("max error", error)
    assert error < 1e-6


def test_the_same_generator_gives_the_same_noise(speech):
    maker = NoiseMaker(NoiseConfig(), 16000)
    first, second, other = (maker.add(speech, 5.0, np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_probability_and_range(speech):
    maker = NoiseMaker(NoiseConfig(probability=0.7, snr_db=[0.0, 20.0]), 16000)
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(300):
        noisy = maker.maybe(speech[:1600], rng)
        if noisy is not speech[:1600] and not np.array_equal(noisy, speech[:1600]):
            ratios.append(10 * np.log10(power(speech[:1600]) / power(noisy - speech[:1600])))
    print(len(ratios), min(ratios), max(ratios))
    assert abs(len(ratios) / 300 - 0.7) < 0.1
    assert -0.01 <= min(ratios) < 1.5 and 18.5 < max(ratios) <= 20.01


def test_own_recordings_are_mixed_in(speech, tmp_path):
    recording = np.sin(2 * np.pi * 3000 * np.arange(5000) / 16000) * 0.2
    (tmp_path / "plant").mkdir()
    soundfile.write(tmp_path / "plant" / "PUMP.WAV", recording, 16000)
    maker = NoiseMaker(NoiseConfig(folder=str(tmp_path), folder_share=1.0), 16000)
    noisy = maker.add(speech, 0.0, np.random.default_rng(1))
    spectrum = np.abs(np.fft.rfft(noisy - speech)) ** 2
    hertz = np.fft.rfftfreq(len(speech), 1 / 16000)
    share = spectrum[np.abs(hertz - 3000) < 50].sum() / spectrum.sum()
    print("share at 3 kHz", share)
    assert share > 0.95


def test_no_probability_draws_nothing(speech):
    maker, rng = NoiseMaker(NoiseConfig(probability=0.0), 16000), np.random.default_rng(3)
    before = rng.bit_generator.state
    assert maker.maybe(speech, rng) is speech
    assert rng.bit_generator.state == before


def test_bad_recordings_are_skipped_counted_and_named(speech, tmp_path):
    config = NoiseConfig(folder=str(tmp_path), folder_share=1.0)
    soundfile.write(tmp_path / "good.wav", np.full(800, 0.1), 16000)
    soundfile.write(tmp_path / "silent.wav", np.zeros(800), 16000)
    soundfile.write(tmp_path / "nan.wav", np.full(800, np.nan), 16000, subtype="FLOAT")
    (tmp_path / "text.wav").write_text("no audio")
    with pytest.raises(ValueError, match="3 of 4 noise files cannot be used"):
        NoiseMaker(config, 16000, strict=True)
    with pytest.warns(UserWarning, match="3 of 4 noise files cannot be used") as caught:
        maker = NoiseMaker(config, 16000)
    message = str(caught[0].message)
    print(message)
    assert "silent or empty: 1: silent.wav" in message
    assert "unreadable: 2: nan.wav" in message
    noisy = maker.add(speech, 0.0, np.random.default_rng(1))
    assert np.ptp(noisy - speech) < 1e-6 < abs(noisy - speech).min(), "the constant of good.wav"


def test_pieces_are_those_of_the_file_from_anywhere_and_begin_anew(tmp_path):
    ramp = np.arange(1000, dtype=np.float32) / 2000
    stereo = np.stack([ramp + 0.1, ramp - 0.1], axis=1)
    soundfile.write(tmp_path / "ramp.wav", stereo, 16000, subtype="FLOAT")
    maker = NoiseMaker(NoiseConfig(folder=str(tmp_path), folder_share=1.0), 16000)
    starts = set()
    for seed in range(20):
        piece = maker.noise(2500, np.random.default_rng(seed))
        start = round(float(piece[0]) * 2000)
        starts.add(start)
        assert np.allclose(piece, np.take(ramp, np.arange(start, start + 2500), mode="wrap"))
    assert len(starts) > 15


def test_recordings_of_another_rate_keep_their_pitch(tmp_path):
    tone = 0.2 * np.sin(2 * np.pi * 1000 * np.arange(44100) / 44100)
    soundfile.write(tmp_path / "tone.wav", tone, 44100)
    maker = NoiseMaker(NoiseConfig(folder=str(tmp_path), folder_share=1.0), 16000)
    piece = maker.noise(8000, np.random.default_rng(1))
    assert len(piece) == 8000
    assert np.abs(np.fft.rfft(piece * np.hanning(8000))).argmax() == 500


def test_a_recording_that_gets_lost_is_named_and_is_not_the_utterances_fault(speech, tmp_path):
    soundfile.write(tmp_path / "pump.wav", np.full(800, 0.1), 16000)
    maker = NoiseMaker(NoiseConfig(folder=str(tmp_path), folder_share=1.0), 16000)
    (tmp_path / "pump.wav").unlink()
    with pytest.raises(RuntimeError, match=r"noise file .*pump.wav became unreadable") as error:
        maker.add(speech, 0.0, np.random.default_rng(1))
    assert not isinstance(error.value, UNREADABLE)


def test_a_folder_without_any_recording_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="has no usable wav file"):
        NoiseMaker(NoiseConfig(folder=str(tmp_path)), 16000)


def test_the_ratio_is_to_the_speech_alone(speech):
    """Quiet before and after speech does not count; noise fills all."""
    padded = np.pad(speech, (16000, 8000))
    noisy = NoiseMaker(NoiseConfig(), 16000).add(
        padded, 3.0, np.random.default_rng(1), power(speech)
    )
    noise = noisy.astype(np.float64) - padded
    assert 10 * np.log10(power(speech) / power(noise)) == pytest.approx(3.0, abs=1e-3)
    assert power(noise[:16000]) > 0 and power(noise[-8000:]) > 0


def test_where_nothing_is_said_the_ratio_is_to_nominal_speech():
    silence = np.zeros(16000, np.float32)
    noise = NoiseMaker(NoiseConfig(), 16000).add(silence, 6.0, np.random.default_rng(1), 0.0)
    assert power(noise) == pytest.approx(NOMINAL_POWER * 10**-0.6, rel=1e-3)


def test_only_the_configured_kinds_are_heard(speech):
    people = [np.sin(2 * np.pi * 1234 * np.arange(16000) / 16000).astype(np.float32)]
    maker = NoiseMaker(NoiseConfig(kinds=["babble"]), 16000, people=people)
    for seed in range(5):
        spectrum = np.abs(np.fft.rfft(maker.noise(16000, np.random.default_rng(seed)))) ** 2
        assert spectrum[1234] > 0.999 * spectrum.sum()
    alone = NoiseMaker(NoiseConfig(kinds=["babble", "machine"]), 16000)  # no recordings of people
    noise = alone.noise(16000, np.random.default_rng(1))
    assert np.array_equal(noise, alone.noise(16000, np.random.default_rng(1)))


def test_pieces_are_made_once_and_are_the_same_for_every_worker():
    config, seconds = NoiseConfig(kinds=["broadband"], pieces=3), 4
    first, second = (NoiseMaker(config, 16000) for _ in range(2))
    ours = [first.noise(16000 * seconds, np.random.default_rng(seed)) for seed in range(8)]
    # In another order, and after a trip to another process in between.
    theirs = {seed: second.noise(16000 * seconds, np.random.default_rng(seed)) for seed in (7, 2)}
    second = pickle.loads(pickle.dumps(second))
    theirs |= {seed: second.noise(16000 * seconds, np.random.default_rng(seed)) for seed in (0, 5)}
    assert all(np.array_equal(ours[seed], noise) for seed, noise in theirs.items())
    assert all(power(noise) == pytest.approx(1.0, rel=1e-4) for noise in ours)
    assert len({noise.tobytes() for noise in ours}) == 8, "each is cut from somewhere else"


def test_a_cut_is_a_part_of_its_piece_and_begins_anew_where_that_ends():
    piece = np.arange(100, dtype=np.float32)
    starts = set()
    for seed in range(300):
        part = cut(piece, 90, np.random.default_rng(seed))
        assert np.array_equal(part, np.arange(part[0], part[0] + 90))
        starts.add(int(part[0]))
    assert starts == set(range(11))
    long = cut(piece, 250, np.random.default_rng(1))
    assert np.array_equal(long, (long[0] + np.arange(250)) % 100)


def test_without_pieces_each_noise_is_made_anew():
    maker = NoiseMaker(NoiseConfig(kinds=["machine"], pieces=0), 16000)
    rng, same = np.random.default_rng(4), np.random.default_rng(4)
    same.integers(1)  # the kind
    assert np.array_equal(maker.noise(8000, rng), plant.machine(8000, 16000, same))
