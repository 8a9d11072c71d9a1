# SPDX-License-Identifier: Apache-2.0
"""The exported files, loaded again, decode as the model does."""

import mindspore as ms
import numpy as np
import pytest
from recipe_networks import network, random_features

from mindspore_rnnt.recipe.commands import export
from mindspore_rnnt.recipe.data.features import Cmvn
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding import exported as exported_files
from mindspore_rnnt.recipe.decoding import run_folder, search
from mindspore_rnnt.recipe.decoding.streaming import StreamingDecoder

KINDS = [
    ["model.blocks=1"],
    [
        "model.predictor=lstm",
        "model.subsampling=conv2d",
        "model.left_chunks=2",
        "train.dtype=float16",
    ],
    ["model.chunk_size=-1", "model.blocks=1", "loss=tdt"],
]


@pytest.mark.parametrize("kind", KINDS)
def test_exported_files_decode_as_the_model(kind, tmp_path):
    grammar = tmp_path / "own.yaml"
    grammar.write_text("template: '{a}'\nslots: {a: {甲: 1}}\n", encoding="utf-8")
    settings, model = network("decode.max_symbols=2", f"data.grammar={grammar}", *kind)
    run_folder.start_run(tmp_path, settings, Vocabulary("甲乙丙丁戊己"), Cmvn([0.0], [1.0]))
    grammar.unlink()  # it is not where the files will be used
    values = [{"name": item.name, "data": item} for item in model.get_parameters()]
    ms.save_checkpoint(values, str(tmp_path / "model.ckpt"))
    folder = export.run(tmp_path, tmp_path / "export")

    ms.set_seed(99)  # what is loaded must not lean on weights made anew
    exported, loaded, vocabulary, _ = exported_files.load(folder)
    original = run_folder.load_run(tmp_path)[0]
    assert load_grammar(loaded.data.grammar).sentences() == ["甲"]
    settings.data.grammar = str(folder / "grammar.yaml")
    assert loaded.model_dump() == settings.model_dump() and vocabulary.characters[0] == "甲"
    characters = 0
    for batch, frames in ((2, 80), (1, 48)):
        features, lengths = random_features(batch, frames), np.array([frames, 37][:batch])
        for settings.decode.method in ("greedy", "beam")[: 1 if model.durations else 2]:
            ours = search.decode(exported, features, lengths, settings)
            theirs = search.decode(original, features, lengths, settings)
            assert [found[:2] for found in ours] == [found[:2] for found in theirs]
            characters += sum(len(found.ids) for found in ours)
    assert characters > 0
    settings.decode.method = "greedy"
    if settings.model.chunk_size > 0:
        streams = [StreamingDecoder(item, settings, []) for item in (exported, original)]
        features = random_features(1, 250)[0]
        ended = [item.accept(features) + item.finish() for item in streams]
        found = [[segment.found[:2] for segment in segments] for segments in ended]
        assert found[0] == found[1] and len(found[0]) > 0
