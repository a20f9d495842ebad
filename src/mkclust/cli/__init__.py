"""The command line. Commands and what they need are imported when they are called."""


def command() -> None:
    """Run ``mkclust`` as a console script; Ctrl-C ends it with one line and exit code 130."""
    import sys

    try:
        from .app import main

        main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
