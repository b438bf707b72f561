"""Work can be watched and stopped, and what was finished is kept."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pandas as pd
import pytest

import ellice_recourse as el


@pytest.fixture(scope="module")
def many(people):
    return pd.concat([people] * 1500, ignore_index=True)


def test_ctrl_c_leaves_what_was_finished(explainer, many):
    sent = []

    def interrupt(stage, done, total):
        if done > 0 and not sent:
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        explainer.explain(many, progress=interrupt)
    assert time.process_time() - sent[0] < 0.5  # processor time: others may be at work here
    partial = caught.value.partial
    assert isinstance(partial, el.Answers) and partial.interrupted
    assert 0 < len(partial) < len(many)
    file = json.loads(partial.to_json())
    assert file["interrupted"] is True and len(file["results"]) == len(partial)


def test_a_callback_that_says_no_stops(explainer, many):
    told = []
    with pytest.raises(el.Stopped) as caught:
        explainer.explain(many, progress=lambda *state: told.append(state) or (False if len(told) > 2 else None))
    assert 0 < len(caught.value.partial) < len(many)
    assert all(total == len(many) for _, _, total in told)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_a_callback_that_raises_stops_with_its_exception(explainer, many):
    def fails(stage, done, total):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        explainer.explain(many, progress=fails)
    assert len(caught.value.partial) < len(many)


def test_the_last_word_is_that_all_is_done(explainer, people):
    told = []
    answers = explainer.explain(people, progress=lambda *state: told.append(state))
    assert told[-1][1:] == (len(people), len(people)) and len(answers) == len(people)


def test_progress_is_silent_unless_asked(explainer, people, capfd):
    explainer.explain(people)
    assert capfd.readouterr().err == ""
    explainer.explain(people, progress=True)
    assert "60" in capfd.readouterr().err
    with pytest.raises(TypeError, match="progress = 'yes'"):
        explainer.explain(people, progress="yes")


def test_other_threads_run_meanwhile(explainer, many):
    counted = 0
    finished = threading.Event()

    def count():
        nonlocal counted
        while not finished.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    explainer.explain(many.head(6000))
    finished.set()
    thread.join()
    assert counted > 20


def test_importing_brings_no_heavy_packages():
    text = subprocess.run([sys.executable, "-c", "import sys, ellice_recourse; print(sorted(sys.modules))"],
                          capture_output=True, text=True, check=True).stdout
    for name in ("pandas", "polars", "pyarrow", "sklearn", "matplotlib", "tqdm", "statsmodels"):
        assert f"'{name}'" not in text


def test_two_threads_may_ask_one_explainer(explainer, many):
    wanted = explainer.explain(many.head(3000)).to_json()
    found = {}

    def ask(place):
        found[place] = explainer.explain(many.head(3000)).to_json()

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: wanted, 1: wanted}
