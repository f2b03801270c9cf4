"""Pictures of a fitted model: matplotlib displays in the manner of scikit-learn's.

``SomeDisplay.from_estimator(model, X, ax=ax)`` computes and draws; the display keeps the arrays it drew from, the axes
as ``ax_`` and the figure as ``figure_``, and ``plot(ax=...)`` draws it again. A cluster has one color in all of them.
matplotlib comes in when the first one is drawn.
"""

from cutwise.plot._curve import CurveDisplay, FrontDisplay
from cutwise.plot._partition import PartitionDisplay
from cutwise.plot._profile import ProfileDisplay
from cutwise.plot._tree import TreeDisplay

__all__ = ["CurveDisplay", "FrontDisplay", "PartitionDisplay", "ProfileDisplay", "TreeDisplay"]
