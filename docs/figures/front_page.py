"""The tree of the wines, and what its clusters are like."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from cutwise import ExplainableKMeans
from cutwise.plot import TreeDisplay

wine = load_wine(as_frame=True).data
model = ExplainableKMeans(n_clusters=3, preprocessor=StandardScaler(), random_state=0).fit(wine)
TreeDisplay.from_estimator(model, wine)
plt.show()
