"""What an answer costs and how exact it is, from its question alone: no row is looked at."""
