"""Addresses of topics: read whole, or refused with what is wrong."""

import subprocess
import sys

import pytest

from tidings.log.kafka_address import KafkaAddress, parse_address
from tidings.model.errors import InputError


def test_what_an_address_says():
    assert parse_address("kafka://a.example:9092/city") == KafkaAddress("a.example:9092", "city", "city-deliveries")
    url = "kafka://a:1,b:2,[::1]:3/c.d?deliveries=x&partitions=4&delivery_partitions=8&replication=3"
    assert parse_address(url) == KafkaAddress("a:1,b:2,[::1]:3", "c.d", "x", 4, 8, 3)
    assert parse_address(url).progress == "x-progress"
    assert str(parse_address(url)) == "kafka://a:1,b:2,[::1]:3/c.d"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://a:1/t", "the scheme 'http'"),
        ("city.log", "the scheme ''"),
        ("kafka://a/t", "the host 'a'"),
        ("kafka://a:0/t", "the host 'a:0'"),
        ("kafka://a:99999/t", "the host 'a:99999'"),
        ("kafka://a:1,,b:2/t", "the host ''"),
        ("kafka:///t", "the host ''"),
        ("kafka://u:p@a:1/t", "a user"),
        ("kafka://a:1/t#x", "a fragment"),
        ("kafka://a:1", "the topic ''"),
        ("kafka://a:1/", "the topic ''"),
        ("kafka://a:1/s/t", "the topic 's/t'"),
        ("kafka://a:1/..", "the topic '..'"),
        ("kafka://a:1/" + "t" * 250, "the topic 'ttt"),
        ("kafka://a:1/t?deliveries=t", "for events and deliveries"),
        ("kafka://a:1/t?partition=1", "the option 'partition'"),
        ("kafka://a:1/t?partitions=0", "partitions=0"),
        ("kafka://a:1/t?partitions=x", "partitions=x"),
        ("kafka://a:1/t?partitions=1&partitions=2", "an option twice"),
        ("kafka://a:1/t?partitions", "bad query field"),
    ],
)
def test_what_is_wrong_is_said(url, said):
    with pytest.raises(InputError) as caught:
        parse_address(url)
    assert caught.value.code == "option-invalid"
    assert said in caught.value.problems[0].found
    assert caught.value.problems[0].expected


def test_without_the_client_it_is_said_how_to_get_it():
    code = (
        "import sys; sys.modules['confluent_kafka'] = None\n"
        "import tidings.log.kafka_relay, tidings.log.kafka\n"
        "tidings.log.kafka.KafkaLog('kafka://a:1/t')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "package-missing" in ran.stderr
    assert "tidings[kafka]" in ran.stderr
