"""Sockets that listen: addresses in use, names with several addresses, unix sockets that were left behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tellstone.errors import StartError
from tellstone.listeners import Listener, close_all, listen, raise_file_limit
from tellstone.units import Address, parse_address


@pytest.fixture
def opened() -> Iterator[list[Listener]]:
    listeners: list[Listener] = []
    yield listeners
    close_all(listeners)


def connect(listener: Listener) -> None:
    with socket.socket(listener.socket.family) as client:
        client.connect(listener.socket.getsockname())


def test_a_port_that_is_free(opened: list[Listener]) -> None:
    opened += listen(Address("127.0.0.1", 0))
    (listener,) = opened
    assert listener.address.port > 0
    assert (listener.name, listener.url) == (f"127.0.0.1:{listener.address.port}", f"redis://{listener.address}")
    connect(listener)


def test_a_port_in_use_is_one_line(opened: list[Listener]) -> None:
    opened += listen(Address("127.0.0.1", 0))
    with pytest.raises(StartError) as caught:
        listen(opened[0].address)
    assert str(caught.value) == f"cannot listen on {opened[0].address}: address already in use"


def test_every_interface_shares_a_port(opened: list[Listener]) -> None:
    opened += listen(Address("", 0))
    assert len({listener.address.port for listener in opened}) == 1
    assert {listener.address.host for listener in opened} <= {"0.0.0.0", "::"}
    for listener in opened:
        connect(listener)


def test_ipv6(opened: list[Listener]) -> None:
    try:
        opened += listen(parse_address("[::1]:0"))
    except StartError:
        pytest.skip("no IPv6 here")
    assert opened[0].name.startswith("[::1]:")
    connect(opened[0])


def test_a_host_that_is_none() -> None:
    with pytest.raises(StartError) as caught:
        listen(Address("no-such-host.invalid", 0))
    assert str(caught.value) == "cannot listen on no-such-host.invalid:0: no such host"


def test_a_unix_socket_goes_with_its_listener(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    (listener,) = listen(Address(path=str(path)))
    connect(listener)
    assert listener.name == f"{path}:0"
    listener.close()
    assert not path.exists()


def test_a_stale_unix_socket_is_replaced(tmp_path: Path, opened: list[Listener]) -> None:
    path = str(tmp_path / "socket")
    script = "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); os._exit(0)"
    subprocess.run([sys.executable, "-c", script, path], check=True)
    assert Path(path).is_socket()
    opened += listen(Address(path=path))
    connect(opened[0])


def test_a_unix_socket_that_answers_is_left_alone(tmp_path: Path, opened: list[Listener]) -> None:
    opened += listen(Address(path=str(tmp_path / "socket")))
    with pytest.raises(StartError, match="address already in use"):
        listen(opened[0].address)
    connect(opened[0])


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("precious")
    with pytest.raises(StartError, match="the file exists and is no socket"):
        listen(Address(path=str(path)))
    assert path.read_text() == "precious"


def test_a_unix_socket_of_somebody_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    (listener,) = listen(Address(path=str(path)))
    os.unlink(path)
    (other,) = listen(Address(path=str(path)))
    listener.close()
    connect(other)
    other.close()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="no such file or directory"):
        listen(Address(path=str(tmp_path / "missing" / "socket")))


def test_the_limit_of_files_is_raised_as_far_as_it_goes() -> None:
    script = """if True:
        import resource
        from tellstone.listeners import raise_file_limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
        print(raise_file_limit(100), resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 100, raise_file_limit(50))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["100", "True", "50"]
    assert raise_file_limit(1) == 1
