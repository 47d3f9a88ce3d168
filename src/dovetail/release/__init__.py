"""Ask the data: typed queries, sensitivities, keys and answers with intervals."""
