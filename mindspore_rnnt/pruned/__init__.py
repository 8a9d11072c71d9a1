# SPDX-License-Identifier: Apache-2.0
"""The pruned loss: a cheap joiner finds the part of the lattice that matters, the real one runs
there only. F. Kuang et al., Pruned RNN-T, https://arxiv.org/abs/2206.13236"""
