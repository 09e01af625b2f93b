"""The solver: exact counts, numbering, nearest structures, and what remains once decisions are fixed."""
