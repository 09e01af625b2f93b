"""Text to syntax tree and back. The grammar is `grammars/spacelang.lark`."""
