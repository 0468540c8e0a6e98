"""Explanations of a released model: feature effects, their errors, and reasons of predictions.

All of this is post-processing of released trees, released bin frequencies and the public noise
scale. The only rows are those that the caller passes.
"""
