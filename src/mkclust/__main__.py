"""``python -m mkclust``: the command line, where the script `mkclust` is not on the path."""

from .cli import command

if __name__ == "__main__":
    command()
