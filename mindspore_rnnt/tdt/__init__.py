# SPDX-License-Identifier: Apache-2.0
"""The loss of token-and-duration transducers. H. Xu et al., Efficient Sequence Transduction by
Jointly Predicting Tokens and Durations, https://arxiv.org/abs/2304.06795"""
