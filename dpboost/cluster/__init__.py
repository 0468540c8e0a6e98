"""What clusters of every kind share: rows in partitions on workers, and the gate at one place."""
