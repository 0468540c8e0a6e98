"""Gubler, "Secure and Interpretable: Federated Differentially Private Decision Trees", 2023."""
