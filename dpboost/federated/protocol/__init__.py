"""What coordinator and parties agree on and send."""
