"""The parts of BOASF: the state and the budget of an arm, and the scores that divide resources and drop arms."""
