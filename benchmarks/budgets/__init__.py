"""What a budget promises, measured: intervals, forecasts, records that survive a kill."""
