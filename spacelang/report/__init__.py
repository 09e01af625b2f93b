"""What people and programs read about a run: its progress, its summary and the found pipeline as code."""
