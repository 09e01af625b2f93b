"""Text to syntax tree and back: the grammar stands in `grammars/spacelang.lark`."""
