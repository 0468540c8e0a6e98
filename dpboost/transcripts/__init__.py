"""Transcripts: the public arguments of a call and the outcomes that it released."""
