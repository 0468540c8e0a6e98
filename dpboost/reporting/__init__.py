"""What a person reads of a guarantee: plain words, pages, and a certificate to file."""
