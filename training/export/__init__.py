"""Plans and datasets in the form of engines that run elsewhere."""
