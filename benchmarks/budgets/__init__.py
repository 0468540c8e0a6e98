"""What a budget promises, measured: intervals, forecasts, books that survive a kill."""

NAME = "budget"
DESCRIPTION = (
    "Intervals of private evaluations, forecasts from public rows, and the books of a budget whose "
    "process is killed."
)
