"""ExKMC's cost on Synthetic II as leaves are added (ExKMC paper)."""

import matplotlib.pyplot as plt

from cutwise import ExplainableKMeans, cost_curve
from cutwise.datasets import make_synthetic_ii

planted = make_synthetic_ii(20, 300, random_state=0)
model = ExplainableKMeans(20, algorithm="imm", reference=planted.centers)
curve = cost_curve(model, planted.X, max_leaves=80)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.plot(curve.n_leaves, curve.cost_ratio, lw=2)
ax.axhline(1, color="0.6", lw=1)
ax.set(xlabel="leaves", ylabel="cost ratio")
plt.show()
