"""Wang, Dick and Balcan, Differentially Private Distributed Decision Tree Learning, 2020."""
