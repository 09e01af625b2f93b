"""Results of comparisons: incumbents over time, ranks and leaders; as tables, text, JSON and plots."""
