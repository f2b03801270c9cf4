"""ExKMC from a single leaf on three clusters of a line (kernel paper, Theorem 6)."""

import matplotlib.pyplot as plt
import numpy as np

from cutwise import ExplainableKMeans
from cutwise.datasets import make_exkmc_line

distances = np.geomspace(0.2, 0.005, 12)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for algorithm, marker in (("exkmc", "o"), ("imm", "s")):
    ratios = []
    for epsilon in distances:
        line = make_exkmc_line(float(epsilon))
        ratios.append(ExplainableKMeans(3, algorithm=algorithm, reference=line.centers).fit(line.X).cost_ratio_)
    ax.loglog(distances, ratios, marker=marker, ms=4, label=f"{algorithm}, 3 leaves")
ax.set(xlabel="distance of the points from their center", ylabel="cost ratio")
ax.legend()
plt.show()
