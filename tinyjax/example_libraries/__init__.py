"""Small libraries on top of the public names: layers of neural networks and their optimizers."""
