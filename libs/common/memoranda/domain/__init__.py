"""The nouns that services share, as plain values."""
