"""What a budget promises, measured: intervals, forecasts, records that survive a kill."""

NAME = "budget"
DESCRIPTION = (
    "Intervals of private evaluations, forecasts from public rows, and the records of a budget "
    "whose process is killed."
)
