"""The methods of every session that ask, here and over HTTP; their signatures list all ways to pay."""
