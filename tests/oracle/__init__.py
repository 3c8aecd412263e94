"""The oracle: what every log must give, written literally from its definition and sharing no code with the product."""
