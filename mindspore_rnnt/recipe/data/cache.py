# SPDX-License-Identifier: Apache-2.0
"""Clean features, computed once: in memory up to a budget, or in a folder for later runs too."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

from ...tools.command import prepare_folder
from ...tools.replacing import replacing
from ..settings import FeaturesConfig
from .corpus import Utterance
from .features import LogMel


class FeatureCache:
    """Features before normalisation, so that they serve any normalisation."""

    def __init__(self, config: FeaturesConfig):
        self._extractor = LogMel(config)
        self._folder = Path(config.cache) if config.cache else None
        self._budget = config.cache_mb * 2**20
        self._memory: dict[Utterance, np.ndarray] = {}
        values = config.model_dump().items()
        settings = {k: v for k, v in values if not k.startswith(("cache", "cmvn"))}
        self._settings = repr(sorted(settings.items()))
        if self._folder:
            prepare_folder(self._folder)

    def __getstate__(self) -> dict:
        """For a worker process, which fills a memory of its own."""
        return self.__dict__ | {"_memory": {}}

    def features(self, utterance: Utterance, audio: np.ndarray) -> np.ndarray:
        """The features of an utterance, made from its clean audio unless they are kept."""
        features = self.get(utterance)
        if features is None:
            features = self._extractor(audio)
            self._put(utterance, features)
        return features

    def get(self, utterance: Utterance) -> np.ndarray | None:
        """The features if they are kept, else None."""
        if self._folder is None:
            return self._memory.get(utterance)
        try:
            return np.load(self._file(self._folder, utterance))
        except (OSError, ValueError, EOFError):
            return None

    def _put(self, utterance: Utterance, features: np.ndarray) -> None:
        if self._folder is None:
            if features.nbytes <= self._budget:
                self._budget -= features.nbytes
                self._memory[utterance] = features
            return
        with replacing(self._file(self._folder, utterance), shared=True) as draft:  # by ranks
            np.save(draft, features)

    def _file(self, folder: Path, utterance: Utterance) -> Path:
        """Named by what the features depend on: settings and either samples or the file's state."""
        digest = hashlib.sha1(self._settings.encode())
        if utterance.pcm is not None:
            digest.update(utterance.pcm.tobytes())
        else:
            state = os.stat(utterance.path)
            digest.update(
                f"{Path(utterance.path).resolve()} {state.st_size} {state.st_mtime_ns} "
                f"{utterance.key} {utterance.start} {utterance.samples}".encode()
            )
        return folder / f"{digest.hexdigest()}.npy"
