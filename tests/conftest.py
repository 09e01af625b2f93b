"""Where pytest finds this file it puts the folder on the path: helper modules of all tests lie beside it."""
