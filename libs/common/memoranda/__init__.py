"""What Memoranda's services share: the words, the store, and the bus."""
