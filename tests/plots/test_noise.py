import pytest

from dovetail.noise import DiscreteGaussian, GeometricMixture, Laplace, Noise, Staircase


@pytest.mark.parametrize(
    "noise",
    [GeometricMixture(0.2, 1, 5), Laplace(1), DiscreteGaussian(3), Staircase(1), GeometricMixture(9, 8, 1)],
)
def test_every_noise_is_drawn_with_the_range_that_holds_most_of_it(noise: Noise) -> None:
    axes = noise.plot()
    assert axes.figure._repr_png_()[1:4] == b"PNG"
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert f"95 % lie within ±{noise.quantile_abs(0.95):,.4g}" in told
    assert ("break-points" in told) == bool(getattr(noise, "breaks", ()))
    assert noise.plot(ax=axes) is axes
