"""Print the list of targets or optimizers."""

from typing import Any

from spacelang.cli._output import print_json


def list_plugins(plugins: Any, *, as_json: bool) -> None:
    """Print every plug-in with its options and their defaults, as text or as one JSON document."""
    found = [(name, plugins.load(name)) for name in plugins.names()]
    if as_json:
        print_json([_document(plugins, name, plugin) for name, plugin in found])
        return
    from rich.console import Console

    console = Console(highlight=False)
    for name, plugin in found:
        console.print(f"[bold]{name}[/bold]  {_summary(plugin)}", markup=True, soft_wrap=True)
        if paper := getattr(plugin, "paper", ""):
            console.print(f"    [dim]{paper}[/dim]", soft_wrap=True)
        for option in plugins.options(plugin):
            console.print(
                f"    [cyan]{option.name}[/cyan] = {_format_default(option.default)}  ({option.type}) {option.doc}",
                soft_wrap=True,
            )
        for preset, options in plugins.presets(plugin).items():
            said = ", ".join(f"{option}={text}" for option, text in options.items())
            console.print(f"    [cyan]preset={preset}[/cyan]  {said}", soft_wrap=True)


def _document(plugins: Any, name: str, plugin: Any) -> dict[str, object]:
    options = [
        {"name": option.name, "type": option.type, "default": option.default, "description": option.doc}
        for option in plugins.options(plugin)
    ]
    document: dict[str, object] = {"name": name, "description": _summary(plugin), "options": options}
    if hasattr(plugin, "paper"):
        document["paper"] = plugin.paper
    if presets := plugins.presets(plugin):
        document["presets"] = {preset: dict(given) for preset, given in presets.items()}
    return document


def _summary(plugin: Any) -> str:
    return (plugin.__doc__ or "").strip().splitlines()[0]


def _format_default(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:.6g}" if isinstance(default, float) else str(default)
