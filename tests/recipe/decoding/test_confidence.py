# SPDX-License-Identifier: Apache-2.0
"""Calibration finds the line that made the data; a reliability table is counted by hand."""

import numpy as np
import pytest
from scipy.special import expit, logit

from mindspore_rnnt.recipe.decoding.confidence import Calibration, Line, calibrate, reliability
from mindspore_rnnt.recipe.decoding.found import Found


def test_a_fit_finds_the_line_behind_the_outcomes():
    rng = np.random.default_rng(1)
    probabilities = rng.uniform(0.02, 0.98, 20000)
    right = rng.random(20000) < expit(0.5 * logit(probabilities) - 1.0)
    line = Line.fit(probabilities, right)
    print(line)
    assert line.slope == pytest.approx(0.5, abs=0.1) and line.offset == pytest.approx(-1, abs=0.1)


def test_few_and_sure_outcomes_stay_finite():
    assert Line.fit([], []) == Line()
    line = Line.fit([1.0, 0.99, 0.5], [True, True, True])
    assert np.isfinite([line.slope, line.offset]).all() and line(np.array(0.9)) > 0.9


def test_what_says_nothing_is_flat_and_not_upside_down():
    line = Line.fit([0.1, 0.2, 0.8, 0.9] * 50, [True, True, False, False] * 50)
    assert line.slope == pytest.approx(0.0, abs=1e-3)
    assert line(np.array([0.1, 0.9])) == pytest.approx([0.5, 0.5], abs=0.01)


def found(*probabilities, share=None):
    count = len(probabilities)
    return Found(tuple(range(count)), tuple(range(count)), tuple(np.log(probabilities)), share)


def test_without_a_fit_a_command_is_the_geometric_mean_of_its_labels_or_its_share(tmp_path):
    plain = Calibration.load(tmp_path)
    assert plain.whole(found(0.9, 0.4)) == pytest.approx(0.6)
    assert plain.whole(found(0.9, 0.4, share=0.7)) == pytest.approx(0.7)
    assert plain.labels(np.log([0.9, 0.8])) == pytest.approx([0.9, 0.8])
    assert plain.whole(found()) == plain.whole(found(share=0.8)) == 0.0


def test_a_command_is_on_its_line():
    calibration = Calibration(Line(0.5, 1.0), Line(2.0, -0.5))
    labels = expit(0.5 * logit(np.array([0.7, 0.6])) + 1.0)
    expected = expit(2.0 * logit(np.sqrt(labels.prod())) - 0.5)
    assert calibration.whole(found(0.7, 0.6)) == pytest.approx(expected)
    expected = expit(2.0 * logit(0.8) - 0.5)
    assert calibration.whole(found(0.7, 0.6, share=0.8)) == pytest.approx(expected)


def test_the_share_of_the_search_tells_right_from_wrong_where_labels_do_not():
    commands = [(found(0.9, share=share), share > 0.5) for share in np.linspace(0.05, 0.95, 19)]
    fitted = calibrate([(one, [True]) for one, _ in commands], commands)
    sure = [fitted.whole(one) for one, _ in commands]
    assert sure == sorted(sure) and sure[0] < 0.2 and sure[-1] > 0.8


def test_it_is_saved_and_loaded(tmp_path):
    labels = [(found(0.9, 0.6), [True, False]), (found(0.7), [True])]
    fitted = calibrate(labels, [(found(0.9, 0.6), False), (found(0.7), True)])
    fitted.save(tmp_path)
    assert Calibration.load(tmp_path) == fitted != Calibration()


def test_reliability_counts():
    rows = reliability([0.1, 0.15, 0.9, 1.0], [False, True, True, True])
    assert [(row["from"], row["to"], row["count"], row["right"]) for row in rows] == [
        (0.0, 0.2, 2, 0.5),
        (0.8, 1.0, 2, 1.0),
    ]
    assert rows[1]["confidence"] == pytest.approx(0.95)
