"""The asking methods of every session, here and over HTTP; their signatures list all ways to pay."""
