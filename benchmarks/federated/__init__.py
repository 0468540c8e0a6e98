"""What federated fits cost on the wire."""
