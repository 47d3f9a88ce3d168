"""How is an integer distribution drawn, exactly and fast?"""
