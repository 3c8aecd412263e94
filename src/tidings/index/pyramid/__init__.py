"""`pyramid`, the default index of `Within`: a quadtree per word, subscriptions filed under their rarest word."""
