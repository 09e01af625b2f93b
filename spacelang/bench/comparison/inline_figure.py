"""A figure of matplotlib that notebooks show without pyplot, which would change the settings of the user."""

from io import BytesIO

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

RESOLUTION = 80  # Dots per inch in a notebook


class InlineFigure(Figure):
    """A figure that a notebook shows as an image."""

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        FigureCanvasAgg(self).print_figure(content, format="png", dpi=RESOLUTION)
        return content.getvalue()
