"""Decision Tree for Locally Private Estimation with Public Data (LPDT), NeurIPS 2023."""
