"""The `headgate` command, and `python -m headgate`."""

from headgate.cli.shutdown import run_command


def main() -> None:
    """Signals are taken care of before anything slow is imported."""
    run_command(_command)


def _command() -> None:
    from headgate.cli.main import app

    app()


if __name__ == "__main__":
    main()
