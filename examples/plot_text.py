"""
Text: topics described by words
===============================

Texts that come with scikit-learn: the documentation of its estimators. Each text becomes a row of word weights (TF-IDF)
in a sparse matrix with one column per word. A threshold on a column means "uses *kernel* often enough".
"""

# %%
# From documentation to a sparse table
# ------------------------------------

import inspect

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils import all_estimators

from cutwise import ExplainableKMeans

classes = dict(all_estimators())
texts = [inspect.getdoc(kind) or "" for kind in classes.values()]
words = TfidfVectorizer(min_df=5, max_df=0.4, sublinear_tf=True, stop_words="english", token_pattern=r"[a-z]{4,}")
weights = words.fit_transform(texts)
X = pd.DataFrame.sparse.from_spmatrix(weights, columns=words.get_feature_names_out())
filled = weights.nnz / (weights.shape[0] * weights.shape[1])
print(f"{X.shape[0]} texts, {X.shape[1]} words, {filled:.1%} of the cells filled")

# %%
# Five topics
# -----------
# A data frame of sparse columns has the words as column names. The estimator keeps it sparse.

model = ExplainableKMeans(5, random_state=0).fit(X)
print(model.rules())

# %%
# Which estimators are in each topic?

names = pd.Series(list(classes))
for cluster in range(5):
    print(cluster, ", ".join(names[model.labels_ == cluster].head(6)))

# %%
# The tree separates one topic after another from the rest.

import matplotlib.pyplot as plt

from cutwise.plot import TreeDisplay

TreeDisplay.from_estimator(model)
plt.show()

# %%
# Word weights are nearly orthogonal, and k-means itself explains little of them. So a cost ratio close to 1 means
# little, and the agreement with the k-means clusters says more.

rules = model.rules()
agreement = sum(cluster.share * cluster.purity for cluster in rules if cluster.size)
print(f"cost ratio {model.cost_ratio_:.3f}, agreement {agreement:.1%}")
