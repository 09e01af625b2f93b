"""Data: from files, from scikit-learn, from OpenML, from memory, to a table with labels."""
