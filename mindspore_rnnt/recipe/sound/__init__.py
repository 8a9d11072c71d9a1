# SPDX-License-Identifier: Apache-2.0
"""What reaches a microphone in a plant: noises, rooms and channels, as arrays of samples."""
