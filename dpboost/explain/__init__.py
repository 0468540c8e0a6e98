"""What a released model does and how sure it is: shapes, spreads and reasons.

Everything here is post-processing: it reads released trees, released masses and the public size of
the noise, and no row but those that its caller asks about.
"""
