"""The library's naive twin: every definition written as it reads, slowly and exactly.

Nothing here imports the library. Costs are Python integers in units of a power of two (every float is such a
multiple), so sums, comparisons and ties are exact; scores that divide are ``fractions.Fraction``.

==============  ====================================================================================================
``thresholds``  which number is printed for a cut between two neighboring values
``problem``     the data of one search: values, center coordinates, labels, costs, weights; candidate cuts of a node
``scores``      mistakes, surrogate cost, induced cost, Price, EvalWAD, EvalDExp of one cut
``grow``        whole trees: IMM, ExGreedy, ExShallow, ExKMC, Expand
``measures``    WAD, WAES, tree cost, surrogate cost, mistakes of a finished tree
``cases``       random small problems with everything that makes searches fail
``verify``      checks of a fitted model, node by node, against all of the above
``twin``        the same searches in vectorized NumPy, for data of papers' size; itself tested against ``grow``
==============  ====================================================================================================
"""
