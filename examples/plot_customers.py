"""
Customers: segments a sales team can use
========================================

440 customers of a wholesaler, and what they spend per year on six kinds of goods (UCI, *Wholesale customers*, Cardoso
2014).
"""

# %%
# The table comes from UCI. Without a network, the environment variable ``CUTWISE_DATA`` names a folder that has it.

import os

import pandas as pd

folder = os.environ.get("CUTWISE_DATA")
there = "https://archive.ics.uci.edu/ml/machine-learning-databases/00292/Wholesale%20customers%20data.csv"
try:
    customers = pd.read_csv(f"{folder}/wholesale_customers.csv.gz" if folder else there)
except OSError as error:
    step = f"Save {there} as wholesale_customers.csv.gz (gzip), and name its folder in CUTWISE_DATA."
    raise SystemExit(f"{error}. {step}") from None
customers = customers.drop(columns=["Channel", "Region"])
print(customers.describe().round().astype(int))

# %%
# Spending has a long tail
# ------------------------
# A customer who spends ten times the average would get a cluster of their own. It is better to measure distances
# between logarithms. The rules stay in units of money.

import numpy as np
from sklearn.preprocessing import FunctionTransformer

from cutwise import ExplainableKMeans

logarithms = FunctionTransformer(np.log1p, feature_names_out="one-to-one")
model = ExplainableKMeans(4, preprocessor=logarithms, random_state=0).fit(customers)
print(model.rules())
print(f"cost ratio {model.cost_ratio_:.3f}")

# %%
# Who are they?
# -------------
# The picture compares each segment with all customers, column by column. It suggests names for the segments, which the
# model can keep.

import matplotlib.pyplot as plt

from cutwise.plot import ProfileDisplay

ProfileDisplay.from_estimator(model, customers)
plt.show()

# %%

spending = customers.groupby(model.labels_).median()
print((spending / customers.median()).round(1))

# %%
# Why is this customer in this segment?

print(model.explain(customers.iloc[[0]])[0])
