"""`tidings try`: how many messages of a file an expression and a region would match."""

import sys

import click

from tidings.cli import options
from tidings.cli.terminal import Paint, Progress, counted

SAMPLE = 5


@click.command(
    epilog="""\b
Examples:
  tidings try "flood AND (bridge OR road)" --where 11,48,12,48.5 --on events.ndjson
  tidings try "fire NOT drill" --where 11.57,48.14,2500 --on events.parquet --sample 20
  tidings try "tree" --where @district.geojson --on - < events.ndjson
  tidings try "flood" --where '{"any": [{"circle": [11.5, 48.1, 900]}, {"box": [11, 48, 12, 48.5]}]}' --on log.arrow

\b
REGION is one of
  min_lon,min_lat,max_lon,max_lat   a box (across the antimeridian when min_lon > max_lon)
  lon,lat,radius                    a circle, in metres, or in units of a plane
  everywhere                        the whole globe or plane
  @FILE                             a GeoJSON geometry, Feature or FeatureCollection of polygons
  JSON                              a region as a log has it"""
)
@click.argument("expression", metavar='"EXPR"')
@click.option("--where", metavar="REGION", default="everywhere", help="The region; everywhere when absent.")
@click.option("--on", "file", metavar="FILE", required=True, help="The messages: a file of events, or `-`.")
@click.option("--sample", type=click.IntRange(0, 1000), default=SAMPLE, show_default=True, help="Matches to show.")
@click.option("--within", metavar="NAME", shell_complete=options.complete, help="The index of `within`.")
@options.as_json
def command(expression: str, where: str, file: str, sample: int, within: str | None, as_json: bool) -> None:
    """See how many messages of a file an expression and a region would match.

    Only the messages of FILE count; nothing is changed. Without words, with the empty EXPR, the region alone decides.
    """
    from tidings.cli.trying import try_on

    with Progress(as_json) as progress:
        found = try_on(file, expression or None, where, sample, options.chosen({"within": within}), progress)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found).decode())
        return
    paint = Paint(sys.stdout)
    share = f" ({found.matches / found.messages:.2%})" if found.messages else ""
    click.echo(f"{paint(f'{found.matches:,}', 'strong')} of {counted(found.messages, 'message')} match{share}")
    for match in found.sample:
        click.echo(f"  {paint(match.id, 'name')}  {match.said}  {paint(f'(position {match.position})', 'faint')}")
    if found.matches > len(found.sample):
        click.echo(paint(f"  and {found.matches - len(found.sample):,} more", "faint"))
    click.echo(
        f"cost: {found.us_per_message:.2f} µs per message, {counted(found.candidates, 'candidate')} looked at, "
        f"{found.verified:,} verified to the last"
    )
