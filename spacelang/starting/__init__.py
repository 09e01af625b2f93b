"""Starting: a commented space for data that has none yet."""
