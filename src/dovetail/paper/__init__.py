"""Every table and figure of the paper, next to the published numbers."""
