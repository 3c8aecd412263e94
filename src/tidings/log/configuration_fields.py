"""The configuration of a log, and the word weights, <-> their fields."""

from tidings.log.fields import Fields, described, finite
from tidings.model.errors import InputError, shortened
from tidings.model.events import AnalyserConfiguration, Configure, Globe, Plane, Space, Weights, Window
from tidings.model.limits import MAX_TIME_MS, MAX_WEIGHT, MAX_WINDOW_MESSAGES

_LARGEST = 1.7976931348623157e308
_PLANE = '{"plane": [min_x, min_y, max_x, max_y]}'


def read_configuration(fields: Fields) -> Configure | None:
    """The configuration; None when something is wrong with it."""
    before = len(fields.problems)
    space = _space(fields)
    window = _window(fields)
    max_distance = fields.number("max_distance", 0.0, _LARGEST, above=True)
    analyser = _analyser(fields)
    inner = fields.inner("weights", ("idf", "default"))
    weights = Weights() if inner is None else read_weights(inner)
    return None if len(fields.problems) > before else Configure(space, window, max_distance, analyser, weights)


def read_weights(fields: Fields) -> Weights:
    """A version of the word weights."""
    idf: dict[str, float] = {}
    given = fields.values.get("idf")
    if given is not None and not isinstance(given, dict):
        fields.wrong_type("idf", "an object of weights by word")
    elif given is not None:
        words = Fields(given, fields.at("idf"), fields.problems)
        for word, value in given.items():
            weight = finite(value)
            if weight is not None and 0.0 <= weight <= MAX_WEIGHT:
                idf[word] = weight
            elif weight is None:
                words.wrong("field-type", word, described(value), "a number")
            else:
                words.wrong("field-value", word, shortened(value), f"0 to {MAX_WEIGHT:g}")
    default = fields.number("default", 0.0, MAX_WEIGHT)
    return Weights(idf, 1.0 if default is None else default)


def configuration_to_fields(configuration: Configure) -> dict[str, object]:
    """The fields of a configuration; what is the default is left out."""
    fields: dict[str, object] = {}
    space, window, analyser = configuration.space, configuration.window, configuration.analyser
    if isinstance(space, Plane):
        fields["space"] = {"plane": space.bounds}
    if window != Window():
        fields["window"] = {name: value for name in ("messages", "ms") if (value := getattr(window, name)) is not None}
    if configuration.max_distance is not None:
        fields["max_distance"] = configuration.max_distance
    if analyser != AnalyserConfiguration():
        inner: dict[str, object] = {} if analyser.language is None else {"language": analyser.language}
        if analyser.stemming:
            inner["stemming"] = True
        if analyser.stop_words is not True:
            inner["stop_words"] = analyser.stop_words
        fields["analyser"] = inner
    if configuration.weights != Weights():
        fields["weights"] = weights_to_fields(configuration.weights)
    return fields


def weights_to_fields(weights: Weights) -> dict[str, object]:
    """The fields of a version of the word weights."""
    return {"idf": weights.idf, "default": weights.default}


def _space(fields: Fields) -> Space:
    value = fields.values.get("space")
    if value is None or value == "globe":
        return Globe()
    if isinstance(value, str):
        fields.wrong("field-value", "space", shortened(value), f'"globe" or {_PLANE}')
        return Globe()
    inner = fields.inner("space", ("plane",))
    if inner is None or not inner.need("plane"):
        return Globe()
    bounds = inner.values["plane"]
    if not isinstance(bounds, list | tuple) or len(bounds) != 4:
        inner.wrong("field-type", "plane", described(bounds), "four numbers: min_x, min_y, max_x, max_y")
        return Globe()
    numbers = [finite(bound) for bound in bounds]
    for index, number in enumerate(numbers):
        if number is None:
            inner.wrong("field-type", f"plane[{index}]", described(bounds[index]), "a number")
    min_x, min_y, max_x, max_y = numbers
    if min_x is None or min_y is None or max_x is None or max_y is None:
        return Globe()
    if not (min_x < max_x and min_y < max_y):
        inner.wrong("field-value", "plane", shortened(bounds), "min_x < max_x and min_y < max_y")
    elif finite(max_x - min_x) is None or finite(max_y - min_y) is None:
        inner.wrong("field-value", "plane", shortened(bounds), "an extent that is a finite number")
    return Plane((min_x, min_y, max_x, max_y))


def _window(fields: Fields) -> Window:
    inner = fields.inner("window", ("messages", "ms"))
    if inner is None:
        return Window()
    return Window(inner.integer("messages", 1, MAX_WINDOW_MESSAGES), inner.integer("ms", 1, MAX_TIME_MS))


def _analyser(fields: Fields) -> AnalyserConfiguration:
    inner = fields.inner("analyser", ("language", "stemming", "stop_words"))
    if inner is None:
        return AnalyserConfiguration()
    before = len(fields.problems)
    language, stemming = inner.string("language"), inner.boolean("stemming")
    given = inner.values.get("stop_words")
    stop_words: tuple[str, ...] | bool = True
    if isinstance(given, bool):
        stop_words = given
    elif isinstance(given, list):
        stop_words = inner.strings("stop_words") or ()
    elif given is not None:
        inner.wrong_type("stop_words", "a list of words, or true or false")
    configuration = AnalyserConfiguration(language, bool(stemming), stop_words)
    if len(fields.problems) == before and configuration != AnalyserConfiguration():
        from tidings.words.analyser import Analyser

        try:
            Analyser(configuration)
        except InputError as error:
            fields.problems.extend(error.problems)
    return configuration
