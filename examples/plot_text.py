"""
Text: topics that can be said by words
======================================

A real text that every reader has: the documentation of scikit-learn's estimators. Each becomes a row of word
weights (TF-IDF), a sparse matrix with a column a word; a threshold on a column reads "says *kernel* often enough".
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
X = words.fit_transform(texts)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / X.shape[0] / X.shape[1]:.1%} of the cells filled")

# %%
# Five topics
# -----------
# Columns of a sparse matrix have no names; the model is told the words through the tree's own column numbers.

model = ExplainableKMeans(5, random_state=0).fit(X)
vocabulary = words.get_feature_names_out()
for cluster in model.rules():
    said = str(cluster.rules[0]) if cluster.rules else "nothing"
    for column in sorted(set(model.tree_.feature[model.tree_.feature >= 0]), reverse=True):
        said = said.replace(f"x{column} ", f"'{vocabulary[column]}' ")
    print(f"{cluster.size:4} texts: {said}")

# %%
# Who is in them?

names = pd.Series(list(classes))
for cluster in range(5):
    print(cluster, ", ".join(names[model.labels_ == cluster].head(6)))

# %%
# Word weights are nearly orthogonal, so each split peels one topic off the rest, and the cost ratio is close to 1
# because the k-means clusters themselves explain little: with text, look at both figures.

print(f"cost ratio {model.cost_ratio_:.3f}")
