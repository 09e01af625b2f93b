"""The forms of a space as a document: JSON, texts of the language and for readers, and what differs between two."""
