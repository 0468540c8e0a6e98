"""Five papers measured again, a folder for each; `inventory` lists their figures and tables."""
