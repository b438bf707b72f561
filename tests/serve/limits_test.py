"""Load that is too much, clients that are too slow, and ends: nobody waits for somebody else's connection."""
import json
import os
import re
import signal
import socket
import threading
import time
import unittest

from service_test_case import ServiceTestCase


def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise AssertionError("it did not happen")
        time.sleep(0.01)


class Background:
    """A request in a thread of its own."""

    def __init__(self, server, path, body, headers=None):
        self.reply = None
        self.thread = threading.Thread(target=self.run, args=(server, path, body, headers))
        self.thread.start()

    def run(self, server, path, body, headers):
        try:
            self.reply = server.post(path, body, headers)
        except OSError as error:
            self.reply = (0, {}, str(error).encode())

    def join(self):
        self.thread.join(60)
        return self.reply


class Limits(ServiceTestCase):
    PEOPLE = 200

    def long_request(self, times=20):
        """Some seconds of work, for one thread."""
        return {"people": self.people() * times, "epsilon": "1%"}

    def running(self, server):
        return "ellice_queue_running 1" in server.get("/metrics")[2].decode()

    def test_a_full_queue_refuses_at_once_and_others_go_on(self):
        server = self.serve("m.json", "--threads", "1", "--queue", "1")
        first = Background(server, "/api/explain", self.long_request())
        wait_until(lambda: self.running(server))
        second = Background(server, "/api/certify", {"people": self.people(1)})
        wait_until(lambda: "ellice_queue_waiting 1" in server.get("/metrics")[2].decode() or second.reply)
        refused = server.post("/api/certify", {"people": self.people(1)})
        self.assertIsNone(first.reply)
        self.expect_error(refused, 503, "")
        self.assertEqual(refused[1]["Retry-After"], "1")
        self.assertEqual(server.get("/v2/health/ready")[0], 200)
        self.assertEqual(first.join()[0], 200)
        self.assertEqual(second.join()[0], 200)

    def test_work_that_takes_too_long_is_stopped(self):
        server = self.serve("m.json", "--threads", "1", "--request-seconds", "0.5")
        self.expect_error(server.post("/api/explain", self.long_request(100)), 503, "", ["longer"])
        endless = {"people": self.people(1), "method": "gumbel", "options": {"gumbel": {"samples": 1000000000}}}
        self.expect_error(server.post("/api/explain", endless), 503, "", ["longer"])
        self.assertEqual(server.post("/api/certify", {"people": self.people(1)})[0], 200)

    def test_a_verification_that_takes_too_long_is_stopped(self):
        answers = json.loads(self.serve("m.json").post("/api/explain", self.long_request(5))[2])
        server = self.serve("m.json", "--threads", "1", "--request-seconds", "0.3")
        began = time.monotonic()
        self.expect_error(server.post("/api/verify", answers), 503, "", ["longer"])
        self.assertLess(time.monotonic() - began, 5)

    def test_time_that_is_up_while_the_body_is_read_is_no_fault_of_the_body(self):
        server = self.serve("m.json", "--threads", "1", "--request-seconds", "0.01")
        body = b'{"people": [' + b"[]," * 1000000 + b"[]]}"
        self.expect_error(server.post("/api/explain", body), 503, "", ["longer"])

    def test_slow_senders_keep_nobody_waiting_and_are_closed(self):
        server = self.serve("m.json", "--threads", "1", "--client-seconds", "3")
        body = json.dumps({"people": self.people(1)}).encode()
        start = b"POST /api/certify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        slow = [server.raw(b"GET / HT") for _ in range(30)]
        slow += [server.raw(start + b"Content-Length: %d\r\n\r\n{" % len(body)) for _ in range(30)]
        for _ in range(3):
            for plug in slow:
                plug.sendall(b"T" if plug in slow[:30] else b" ")
            self.assertEqual(server.post("/api/certify", body)[0], 200)
        for plug in slow:  # whatever they still send: time is up in the end
            self.assertEqual(plug.recv(1000), b"")
            plug.close()

    def test_large_bodies_that_never_end_give_way(self):
        server = self.serve("m.json", "--body-limit", "1")
        start = b"POST /api/certify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"
        plugs = [server.raw(start) for _ in range(60)]
        for _ in range(5):
            self.assertEqual(server.post("/api/certify", {"people": self.people(1)})[0], 200)
        text = server.get("/metrics")[2].decode()
        count = int(next(line for line in text.splitlines() if line.startswith("ellice_connections ")).split()[1])
        self.assertLessEqual(count, 34)
        for plug in plugs:
            plug.close()

    def test_slow_readers_keep_nobody_waiting(self):
        server = self.serve("m.json", "--threads", "1")
        body = json.dumps(self.long_request(5)).encode()
        plug = socket.socket()
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plug.connect(("127.0.0.1", server.port))
        plug.sendall(b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Accept: application/x-ndjson\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.assertTrue(plug.recv(100).startswith(b"HTTP/1.1 200 OK"))
        for _ in range(5):
            self.assertEqual(server.post("/api/certify", {"people": self.people(1)})[0], 200)
        content = b""
        while not content.endswith(b"0\r\n\r\n"):
            piece = plug.recv(1 << 20)
            self.assertTrue(piece)
            content += piece
        plug.close()
        self.assertEqual(content.count(b'"query_index":'), 1000)

    def test_half_open_connections_give_way(self):
        server = self.serve("m.json", "--connections", "50")
        plugs = [server.raw(b"GET") for _ in range(200)]
        for _ in range(5):
            self.assertEqual(server.post("/api/certify", {"people": self.people(1)})[0], 200)
        text = server.get("/metrics")[2].decode()
        count = int(next(line for line in text.splitlines() if line.startswith("ellice_connections ")).split()[1])
        self.assertLessEqual(count, 51)
        for plug in plugs:
            plug.close()

    def test_many_who_break_off_cost_nothing(self):
        server = self.serve("m.json", "--connections", "4000")

        def resident():
            return float(re.search(r"^process_resident_memory_bytes (\S+)", server.get("/metrics")[2].decode(), re.M)[1])

        before = resident()
        for sent in (b"POST /api/certify HTTP/1.1\r\nHost: local", b"POST /api/certify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: 100\r\n\r\n{", b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"):
            plugs = [server.raw(sent) for _ in range(300)]
            for plug in plugs:
                plug.close()
            self.assertEqual(server.get("/v2/health/ready")[0], 200)
        self.assertLess(resident() - before, 20e6)

    def test_an_end_finishes_what_runs(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                server = self.serve("m.json", "--threads", "1")
                idle = server.connect()
                idle.request("GET", "/api/models")
                idle.getresponse().read()
                asked = self.long_request(5)
                whole = Background(server, "/api/explain", asked)
                lines = Background(server, "/api/explain", asked, {"Accept": "application/x-ndjson"})
                wait_until(lambda s=server: self.running(s) and "ellice_queue_waiting 1" in s.get("/metrics")[2].decode())
                self.assertEqual(server.stop(number), 0)
                self.assertEqual(whole.join()[0], 200)
                self.assertEqual(len(json.loads(whole.reply[2])["results"]), 1000)
                self.assertEqual(lines.join()[0], 200)
                self.assertEqual(lines.reply[2].count(b"\n"), 1000)
                with self.assertRaises(OSError):
                    server.raw()

    def test_a_second_signal_and_a_grace_end_at_once(self):
        server = self.serve("m.json", "--threads", "1")
        work = Background(server, "/api/explain", self.long_request(40))
        wait_until(lambda: self.running(server))
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "draining" in server.log_text())
        self.assertEqual(server.stop(), 0)
        self.assertNotEqual(work.join()[0], 200)
        server = self.serve("m.json", "--threads", "1", "--grace-seconds", "0.05")
        work = Background(server, "/api/explain", self.long_request(40))
        wait_until(lambda: self.running(server))
        self.assertEqual(server.stop(), 0)
        self.assertNotEqual(work.join()[0], 200)

    def test_a_reload_loses_no_request(self):
        server = self.serve("m.json")
        before = json.loads(server.get("/api/model")[2])["model_sha256"]
        self.ellice("train", "--dataset", "lending", "--folds", "0", "--l2", "0.01", "-o", "new.json")
        replies, stop = [], threading.Event()

        def ask():
            connection = server.connect()
            body = json.dumps({"people": self.people(1), "epsilon": "1%"})
            while not stop.is_set():
                connection.request("POST", "/api/explain", body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                replies.append((response.status, json.loads(response.read()).get("model_sha256")))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(replies) > 20)
        os.replace(self.folder / "new.json", self.folder / "m.json")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: '"reloaded"' in server.log_text())
        count = len(replies)
        wait_until(lambda: len(replies) > count + 20)
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual({status for status, _ in replies}, {200})
        after = json.loads(server.get("/api/model")[2])["model_sha256"]
        self.assertNotEqual(after, before)
        self.assertEqual({sha256 for _, sha256 in replies}, {before, after})
        # A file that cannot be read changes nothing.
        self.write("m.json", "{")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload failed" in server.log_text())
        self.assertEqual(json.loads(server.get("/api/model")[2])["model_sha256"], after)
        self.assertIn('ellice_reloads_total{result="failed"} 1', server.get("/metrics")[2].decode())

    def test_a_token_is_read_again(self):
        self.write("token.txt", "correct-horse-battery\n")
        server = self.serve("m.json", "--token-file", "token.txt")
        self.write("token.txt", "other-horse-and-battery\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: '"reloaded"' in server.log_text())
        asked = [server.ask("GET", "/api/models", headers={"Authorization": "Bearer " + token})[0]
                 for token in ("correct-horse-battery", "other-horse-and-battery")]
        self.assertEqual(asked, [401, 200])

    def test_a_client_of_http_1_0_gets_lines_whole(self):
        server = self.serve("m.json")
        body = json.dumps({"people": self.people(3), "epsilon": "1%"}).encode()
        plug = server.raw(b"POST /api/explain HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          b"Accept: application/x-ndjson\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        content = b""
        while piece := plug.recv(65536):
            content += piece
        plug.close()
        self.assertTrue(content.startswith(b"HTTP/1.0 200 OK"))
        self.assertNotIn(b"chunked", content)
        self.assertEqual(content.count(b'{"query_index":'), 3)

    def test_who_goes_away_harms_nobody(self):
        server = self.serve("m.json", "--threads", "1")
        body = json.dumps(self.long_request(2)).encode()
        for accept in (b"application/json", b"application/x-ndjson"):
            for _ in range(5):
                server.raw(b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: " + accept +
                           b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body).close()
        self.assertEqual(server.post("/api/certify", {"people": self.people(1)})[0], 200)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
