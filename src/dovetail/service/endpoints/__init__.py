"""The endpoints, one file for each thing that is asked about."""
