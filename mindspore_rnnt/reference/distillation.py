# SPDX-License-Identifier: Apache-2.0
"""Distillation of a lattice, three classes a cell.

S. Panchapagesan et al., Efficient Knowledge Distillation for RNN-Transducer Models, 2020,
https://arxiv.org/abs/2011.06110
"""

import numpy as np
from numpy.typing import ArrayLike

from .lattice import log_softmax, samples


def rnnt_distillation_loss_reference(
    logits: ArrayLike,
    teacher_logits: ArrayLike,
    targets: ArrayLike,
    logit_lengths: ArrayLike,
    target_lengths: ArrayLike,
    blank: int = -1,
    temperature: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Losses (B,) of :func:`mindspore_rnnt.rnnt_distillation_loss`, and the gradient of their sum
    with respect to the student's logits."""
    student = np.asarray(logits, np.float64)
    teacher, targets = np.asarray(teacher_logits, np.float64), np.asarray(targets)
    losses, gradient = np.zeros(len(targets)), np.zeros(student.shape)
    for b, T, U, index in samples(student, logit_lengths, target_lengths):
        of_student = student[index].reshape(T, U + 1, -1) / temperature
        of_teacher = teacher[index].reshape(T, U + 1, -1) / temperature
        total, of_sample = 0.0, np.zeros(of_student.shape)
        for t, u in np.ndindex(T, U + 1):
            label = targets[b, u] if u < U else None
            kl, of_sample[t, u] = _cell(of_student[t, u], of_teacher[t, u], label, blank)
            total += kl
        if np.isnan(total):
            of_sample[:] = np.nan
        elif np.isposinf(total):  # the teacher uses a class that the student excludes
            of_sample[:] = 0.0
        losses[b] = total
        gradient[index] = of_sample.reshape(gradient[index].shape) / temperature
    return losses, gradient


def _cell(
    student: np.ndarray, teacher: np.ndarray, label: int | None, blank: int
) -> tuple[float, np.ndarray]:
    """KL(teacher || student) over the classes label, blank, rest; its gradient with respect to the
    student's scaled logits: softmax_k (1 - p_c / q_c) for k of class c."""
    q_k, p_k = np.exp(log_softmax(student)), np.exp(log_softmax(teacher))
    kl, gradient = 0.0, np.zeros(q_k.shape)
    for of_student, of_teacher in zip(
        _classes(len(q_k), label, blank), _classes(len(p_k), label, blank)
    ):
        q, p = q_k[of_student].sum(), p_k[of_teacher].sum()
        if np.isnan(p) or np.isnan(q):
            return np.nan, np.full(q_k.shape, np.nan)
        if p > 0:
            kl += p * np.log(p / q) if q > 0 else np.inf
        if q > 0:
            gradient[of_student] = q_k[of_student] * (1 - p / q)
    return kl, gradient


def _classes(V: int, label: int | None, blank: int) -> list[np.ndarray]:
    """Boolean masks over V entries. A label that is the blank is one class with it."""
    classes = [np.arange(V) == blank % V]
    if label is not None and label != blank % V:
        classes.append(np.arange(V) == label)
    return [*classes, ~np.any(classes, axis=0)]
