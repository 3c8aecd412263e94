"""`tidings completion`: the script by which a shell completes commands, options and method names."""

import click
from click.shell_completion import get_completion_class

from tidings.cli import main

VARIABLE = "_TIDINGS_COMPLETE"


@click.command(
    epilog="""\b
Examples:
  tidings completion bash > ~/.local/share/bash-completion/completions/tidings
  tidings completion zsh > "${fpath[1]}/_tidings"
  tidings completion fish > ~/.config/fish/completions/tidings.fish
"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that completes commands in a shell.

    It asks `tidings` itself, so it stays right when commands change.
    """
    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(main.cli, {}, "tidings", VARIABLE).source())
