"""Observation models, one file each: how a state shows in what is seen. `None` stands for states seen exactly."""

from ctbnlearn.data.noise.choice import bind_noise, check_likelihoods, choose_noise
from ctbnlearn.data.noise.exact import ExactStates, RawLikelihoods
from ctbnlearn.data.noise.gaussian import GaussianNoise
from ctbnlearn.data.noise.label import LabelNoise
from ctbnlearn.data.noise.levels import Levels
from ctbnlearn.data.noise.model import LearnedNoise, NoiseModel
from ctbnlearn.data.noise.poisson import PoissonNoise
from ctbnlearn.data.noise.saved import noise_from_dict
from ctbnlearn.data.noise.threshold import ThresholdNoise

__all__ = [
    "ExactStates",
    "GaussianNoise",
    "LabelNoise",
    "LearnedNoise",
    "Levels",
    "NoiseModel",
    "PoissonNoise",
    "RawLikelihoods",
    "ThresholdNoise",
    "bind_noise",
    "check_likelihoods",
    "choose_noise",
    "noise_from_dict",
]
