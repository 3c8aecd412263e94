"""What is said: text to words, words to hashes and bags, and the dictionary of the words that subscriptions use."""
