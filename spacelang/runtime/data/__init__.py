"""Loading data sets from files, scikit-learn, OpenML or memory into a table with labels."""
