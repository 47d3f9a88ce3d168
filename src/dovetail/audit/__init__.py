"""Is the sampler what the accounting says?"""
