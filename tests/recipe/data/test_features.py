# SPDX-License-Identifier: Apache-2.0
"""Log-mel against torchaudio's Kaldi fbank, and a stream against a file."""

import numpy as np
import pytest
import torch
import torchaudio

from mindspore_rnnt.recipe.data.features import Cmvn, FeatureStream, LogMel, mel_filters
from mindspore_rnnt.recipe.settings import FeaturesConfig


@pytest.fixture(scope="module")
def extractor():
    return LogMel(FeaturesConfig())


def _audio(samples, seed=0):
    rng = np.random.default_rng(seed)
    tone = np.sin(2 * np.pi * 440 * np.arange(samples) / 16000)
    return (0.3 * tone + 0.05 * rng.standard_normal(samples)).astype(np.float32)


@pytest.mark.parametrize("samples", [400, 401, 559, 560, 16000, 30011])
def test_equals_kaldis_fbank(extractor, samples):
    audio = _audio(samples)
    theirs = torchaudio.compliance.kaldi.fbank(
        torch.tensor(audio.astype(np.float64) * 32768)[None],
        num_mel_bins=80,
        sample_frequency=16000,
        dither=0.0,
    ).numpy()
    ours = extractor(audio)
    assert ours.shape == theirs.shape == (extractor.num_frames(samples), 80)
    assert ours.dtype == np.float32
    error = np.abs(ours - theirs).max()
    print("max error", error)
    # Theirs keeps the mel filters in float32.
    assert error < 1e-3


def test_equals_mindspores_mel_filters():
    """MindSpore's own filter bank has the same scale; it is linear in hertz inside a triangle."""
    from mindspore.dataset import audio

    theirs = audio.melscale_fbanks(257, 20.0, 8000.0, 20, 16000).T
    ours = mel_filters(20, 512, 16000)
    assert theirs.shape == ours.shape
    assert np.abs(ours.argmax(axis=1) - theirs.argmax(axis=1)).max() <= 1
    print("max error", np.abs(ours - theirs).max())
    assert np.abs(ours - theirs).max() < 0.1


def test_shorter_than_a_window_gives_no_frame(extractor):
    assert extractor(_audio(399)).shape == (0, 80)
    assert extractor(np.zeros(0, np.float32)).shape == (0, 80)


def test_silence_gives_the_floor(extractor):
    assert np.array_equal(extractor(np.zeros(800, np.float32)), np.zeros((3, 80)))


@pytest.mark.parametrize("pieces", ["one sample", "hops", "random", "all"])
def test_a_stream_gives_the_same_bits(extractor, pieces):
    audio = _audio(4000 if pieces == "one sample" else 24123, seed=4)
    rng = np.random.default_rng(5)
    sizes = {
        "one sample": np.ones(len(audio), int),
        "hops": np.full(len(audio) // 160 + 1, 160),
        "random": rng.integers(0, 2000, 100),
        "all": np.array([len(audio)]),
    }[pieces]
    stream = FeatureStream(extractor)
    ends = np.cumsum(sizes)
    frames = [stream.accept(audio[end - size : end]) for size, end in zip(sizes, ends)]
    whole = extractor(audio)
    assert len(whole) > 20
    assert np.concatenate(frames).tobytes() == whole.tobytes()


def test_a_frame_does_not_depend_on_later_audio(extractor):
    audio = _audio(16000)
    changed = audio.copy()
    changed[8000:] = 0.9
    before = extractor.num_frames(8000)
    assert np.array_equal(extractor(audio)[:before], extractor(changed)[:before])
    assert not np.array_equal(extractor(audio)[before], extractor(changed)[before])


def test_cmvn_gives_zero_mean_and_unit_variance(extractor, tmp_path):
    features = [extractor(_audio(16000, seed)) for seed in range(4)]
    cmvn = Cmvn.of(features)
    normal = np.concatenate([cmvn(item) for item in features])
    assert normal.dtype == np.float32
    print("mean", np.abs(normal.mean(axis=0)).max(), "std", np.abs(normal.std(axis=0) - 1).max())
    assert np.abs(normal.mean(axis=0)).max() < 1e-4
    assert np.abs(normal.std(axis=0) - 1).max() < 1e-4
    cmvn.save(tmp_path / "cmvn.npy")
    assert np.array_equal(Cmvn.load(tmp_path / "cmvn.npy")(features[0]), cmvn(features[0]))
    constant = Cmvn.of([np.ones((5, 80), np.float32)])
    assert np.all(constant(np.ones((5, 80), np.float32)) == 0)
    with pytest.raises(ValueError, match="no frames"):
        Cmvn.of([np.zeros((0, 80), np.float32)])
