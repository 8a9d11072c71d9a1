# SPDX-License-Identifier: Apache-2.0
"""Every text file that a user may write: what is wrong with it names the file, in one line."""

import gzip

import pytest

from mindspore_rnnt.bench.config import BenchConfig
from mindspore_rnnt.bench.problems import librispeech
from mindspore_rnnt.recipe import __main__ as cli
from mindspore_rnnt.recipe import config
from mindspore_rnnt.recipe.data import entries, negatives, packages
from mindspore_rnnt.recipe.data.grammar import load_grammar
from mindspore_rnnt.recipe.data.text import Vocabulary
from mindspore_rnnt.recipe.decoding.confidence import FILE, Calibration
from mindspore_rnnt.recipe.training.progress import Progress


def speak_others(path):
    settings = config.load()
    settings.data.others = str(path)
    return negatives.speak_others(settings, "train", 1)


def fillets(path):
    for folder in (path.parent / "fillets-ng" / part for part in ("script", "sound")):
        folder.mkdir(parents=True)
    path.rename(path.parent / "fillets-ng" / "script" / "dialogs_cs.lua")
    return packages.fillets(path.parent, "cs")


def pocketsphinx(path):
    folder = path.parent / "pocketsphinx" / "test" / "data" / "cards"
    folder.mkdir(parents=True)
    path.rename(folder / "cards.transcription")
    return packages.pocketsphinx(path.parent)


def calibration(path):
    path.rename(path.with_name(FILE))
    return Calibration.load(path.parent)


def steps(path):
    path.rename(path.with_name("steps.csv"))
    return Progress(path.parent, 1, 0, visible=True)


READERS = {  # how each is read, and the file's name by then
    "grammar": (load_grammar, "any.txt"),
    "configuration": (config.load, "any.txt"),
    "other speech": (speak_others, "any.txt"),
    "manifest": (entries.read_entries, "any.txt"),
    "vocabulary": (Vocabulary.load, "any.txt"),
    "calibration": (calibration, FILE),
    "fillets": (fillets, "dialogs_cs.lua"),
    "pocketsphinx": (pocketsphinx, "cards.transcription"),
    "steps": (steps, "steps.csv"),
    "bench configuration": (BenchConfig.load, "any.txt"),
    "bench lengths": (lambda path: librispeech(path, 1, 2), "any.txt"),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_file_in_another_encoding_is_named(reader, tmp_path):
    read, name = READERS[reader]
    path = tmp_path / "any.txt"
    path.write_bytes("template: 记录主变".encode("gb18030"))
    with pytest.raises(ValueError, match=rf"{name} is not UTF-8 text .* convert it"):
        read(path)


BROKEN = {
    "grammar": [
        ("template: [", "is no YAML: while parsing"),
        ("template: 2026-99-01\nslots: {}", "is no YAML: month must be in"),
        ("template: 1\nslots: {a: {x: 1}}", "'template' must be a string"),
        ("template: '{a}'\nslots: [a]", "'slots' must map names to phrases"),
        ("template: '{a}'\nslots: {a: {x: 1}}\npinyin: [x]", "'pinyin' and 'bopomofo' mappings"),
    ],
    "configuration": [("data: {train: [\n", "is no YAML: while parsing")],
    "other speech": [
        ("a: 1", "'train' must map languages"),
        ("[]", "'train' must map languages"),
        ("train: {en: [x]}", "'sentences' of en must be a list of strings"),
        ("train: {en: {share: 1, sentences: [1]}}", "'sentences' of en must be a list of strings"),
        ("train: {en: {share: 0, sentences: [a]}}", "a whole 'share' above 0"),
        ("train: {en: {share: 1, sentences: []}}", "en needs a sentence"),
    ],
    "calibration": [
        ("{", "is no JSON: Expecting"),
        ("[]", "is no calibration"),
        ('{"label": {"slop": 1}}', "is no calibration: .*'slop'"),
    ],
    "bench configuration": [("a: [", "is no YAML: while parsing")],
    "bench lengths": [("frames\n1\n", "must have columns 'frames' and 'labels', but has")],
}


@pytest.mark.parametrize(
    ("reader", "text", "message"), [(name, *one) for name in BROKEN for one in BROKEN[name]]
)
def test_a_broken_file_is_named(reader, text, message, tmp_path):
    read, name = READERS[reader]
    path = tmp_path / "any.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"{name}:? .*{message}") as error:
        read(path)
    assert "\n" not in str(error.value)


def test_a_list_that_cannot_be_decompressed_is_named(tmp_path):
    whole = gzip.compress(b"a: b\n" * 1000)
    for content in (b"no gzip", whole[:-9], whole[:20] + bytes(20) + whole[40:]):
        (tmp_path / "core-sounds-en.txt.gz").write_bytes(content)
        with pytest.raises(ValueError, match=r"cannot decompress .*core-sounds-en\.txt\.gz: "):
            packages.asterisk(tmp_path)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("data.train=[", "--set data.train=[ is no YAML: while parsing"),
        ("data.others={}/others.yaml", "others.yaml: 'train' must map languages"),
        ("data.grammar={}/grammar.yaml", "grammar.yaml is not UTF-8 text"),
    ],
)
def test_a_command_ends_in_one_line(setting, message, tmp_path, capsys):
    (tmp_path / "others.yaml").write_text("a: 1")
    (tmp_path / "grammar.yaml").write_bytes("template: 记录".encode("gb18030"))
    small = ["data.train_utterances=2", "data.heldout_utterances=1", "data.train_others=1"]
    given = [word for item in [*small, setting.format(tmp_path)] for word in ("--set", item)]
    assert cli.main(["synth", "--output", str(tmp_path / "corpus"), *given]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith("recipe: ") and message in error
