"""Which trials of a long history densities are made of."""

from spacelang.surrogates import MAX_DENSITY_POINTS, choose_trials_for_densities


def test_short_histories_are_used_as_they_are() -> None:
    assert list(choose_trials_for_densities([None] * MAX_DENSITY_POINTS)) == list(range(MAX_DENSITY_POINTS))


def test_the_best_and_the_latest_trials_of_long_histories_are_used() -> None:
    losses = [None if place % 7 == 0 else float((place * 7919) % 700) for place in range(5000)]
    places = choose_trials_for_densities(losses)
    assert len(places) == len(set(places)) == MAX_DENSITY_POINTS
    assert list(places) == sorted(places)
    best = sorted((loss, place) for place, loss in enumerate(losses) if loss is not None)[: MAX_DENSITY_POINTS // 2]
    others = [place for place in range(5000) if place not in {place for _, place in best}]
    assert set(places) == {place for _, place in best} | {*others[-MAX_DENSITY_POINTS // 2 :]}
