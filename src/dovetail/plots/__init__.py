"""Draw arrays. Nothing here knows a noise, and Matplotlib is imported only when something is drawn."""
