"""What an answer costs and how accurate it is, from its question alone: no row is looked at."""
