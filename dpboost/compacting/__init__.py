"""Small models: a LightGBM model of ordinary size, fitted to what a released model says.

Everything here is post-processing: it reads a released model, released shares of bins and rows
that are declared public.
"""
