"""The language server, which `spacelang lsp` starts: spaces in an editor, with one module for each feature."""
