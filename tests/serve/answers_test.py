"""What the service answers: the bytes of the command line, and what there is beside them."""
import json
import random
import re
import unittest

from service_test_case import PROJECT, ServiceTestCase

LINES = {"Accept": "application/x-ndjson"}


class Answers(ServiceTestCase):
    def test_explain_gives_the_file_of_the_command_line(self):
        server = self.serve()
        for count, flags, asked in (
                (1, ["--epsilon", "1%"], {"epsilon": "1%"}),
                (1, ["--epsilon", "0.01", "--set", "true"], {"epsilon": 0.01, "set": "true"}),
                (7, [], {}),
                (20, ["--epsilon", "1%", "--lock", "income,purpose", "--bounds", "debt=:9000", "--direction", "savings=increase"],
                 {"epsilon": "1%", "options": {"lock": ["income", "purpose"], "bounds": {"debt": [None, 9000]},
                                               "direction": {"savings": "increase"}}}),
                (5, ["--epsilon", "2%", "--plans", "3", "--cost", "l1", "--seed", "7"],
                 {"epsilon": "2%", "cost": "l1", "seed": 7, "options": {"exact": {"plans": 3}}}),
                (5, ["--epsilon", "1%", "--max-changes", "2", "--horizon", "12 months", "--threshold", "0.5", "--range", "off"],
                 {"epsilon": "1%", "options": {"exact": {"max_changes": 2}, "horizon": "12 months", "threshold": 0.5, "range": "off"}}),
                (12, ["--epsilon", "1%", "--rule", "debt <= 0.2 * income", "--rule", "if savings rises then loan_amount stays",
                      "--weight", "income=9", "--weight", "debt=0.25"],
                 {"epsilon": "1%", "options": {"rules": ["debt <= 0.2 * income", "if savings rises then loan_amount stays"],
                                               "weights": {"income": 9, "debt": 0.25}}}),
                (5, ["--method", "data", "--epsilon", "1%"], {"method": "data", "epsilon": "1%"}),
                (9, ["--epsilon", "100%"], {"epsilon": "100%"})):
            with self.subTest(flags=flags):
                expected = self.ellice("explain", "m.json", self.write_people(count), *flags, "--format", "json", "--quiet")
                found = self.post_ok(server, "/api/explain", {"people": self.people(count), **asked})
                self.assertEqual(found.decode(), expected)
                # The head of a file asks the same again.
                head = {key: value for key, value in json.loads(expected).items() if key not in ("results", "explained", "sha256")}
                again = self.post_ok(server, "/api/explain", {**head, "people": self.people(count)})
                self.assertEqual(again.decode(), expected)

    def test_lines_are_those_of_the_command_line(self):
        server = self.serve()
        self.write("many.csv", "\n".join((self.folder / "people.csv").read_text().splitlines() * 1) + "\n")
        people = self.people() * 5
        header, *rows = (self.folder / "people.csv").read_text().splitlines()
        self.write("many.csv", "\n".join([header] + rows * 5) + "\n")
        expected = self.ellice("explain", "m.json", "many.csv", "--epsilon", "1%", "--format", "jsonl", "--quiet")
        status, headers, content = server.post("/api/explain", {"people": people, "epsilon": "1%"}, LINES)
        self.assertEqual(status, 200)
        self.assertEqual(headers["Transfer-Encoding"], "chunked")
        self.assertEqual(headers["Content-Type"], "application/x-ndjson")
        self.assertEqual(content.decode(), expected)
        self.assertEqual(expected.count("\n"), 150)

    def test_frontier_and_verify_give_the_files_of_the_command_line(self):
        server = self.serve()
        people = {"people": self.people(3)}
        expected = self.ellice("frontier", "m.json", self.write_people(3), "--format", "json", "--quiet")
        self.assertEqual(self.post_ok(server, "/api/frontier", people).decode(), expected)
        expected = self.ellice("frontier", "m.json", self.write_people(3), "--epsilons", "0,0.005,2%", "--format", "json", "--quiet")
        self.assertEqual(self.post_ok(server, "/api/frontier", {**people, "epsilons": [0, 0.005, "2%"]}).decode(), expected)
        plans = self.post_ok(server, "/api/explain", {**people, "epsilon": "1%"})
        self.write("plans.json", plans)
        expected = self.ellice("verify", "m.json", "plans.json", "--format", "json", "--quiet")
        self.assertEqual(self.post_ok(server, "/api/verify", plans).decode(), expected)
        certificate = json.loads(plans)["results"][0]["certificate"]
        self.write("certificate.json", certificate)
        expected = self.ellice("verify", "m.json", "certificate.json", "--format", "json", "--quiet")
        self.assertEqual(self.post_ok(server, "/api/verify", certificate).decode(), expected)
        self.assertEqual(json.loads(expected)["failed"], 0)
        certificate["robust_logit"] += 0.01
        self.assertEqual(json.loads(self.post_ok(server, "/api/verify", certificate))["failed"], 1)

    def test_certify(self):
        server = self.serve()
        plan = json.loads(self.post_ok(server, "/api/explain", {"people": self.people(1), "epsilon": "1%"}))
        answer = plan["results"][0]
        asked = {"people": self.people(1) + [answer["counterfactual"]], "epsilon": "1%"}
        found = json.loads(self.post_ok(server, "/api/certify", asked))
        self.assertEqual([one["certified"] for one in found["results"]], [False, True])
        self.assertEqual([one["accepted"] for one in found["results"]], [False, True])
        self.assertEqual(found["results"][1]["certificate"], answer["certificate"])
        self.assertEqual(found["results"][1]["robust_logit"], answer["robust_logit"])
        self.assertIsNone(found["results"][0]["certificate"])
        self.assertLess(found["results"][0]["robust_logit"], found["results"][0]["logit"])
        self.assertEqual(found["epsilon"], plan["epsilon"]["value"])

    def test_ids_bad_rows_reasons_and_display(self):
        server = self.serve()
        people = self.people(3)
        for number, person in enumerate(people):
            person["customer"] = f"C-{number}"
        people[1]["income"] = "much"
        self.expect_error(server.post("/api/explain", {"people": people, "id": "customer"}), 422, "people[1]", ["income", "much"])
        asked = {"people": people, "id": "customer", "on_error": "skip", "epsilon": "1%"}
        found = json.loads(self.post_ok(server, "/api/explain", asked))["results"]
        self.assertEqual([one.get("id") for one in found], ["C-0", "C-1", "C-2"])
        self.assertEqual(found[1]["status"], "invalid")
        lines = self.post_ok(server, "/api/explain", asked, LINES).decode().splitlines()
        self.assertEqual([json.loads(line)["status"] for line in lines], [one["status"] for one in found])
        self.assertIn("reasons", found[0])
        self.assertNotIn("reasons", self.post_ok(server, "/api/explain", {"people": self.people(1), "reasons": False}).decode())
        shown = json.loads(self.post_ok(server, "/api/explain", {"people": self.people(1), "epsilon": "1%", "display": True}))
        self.assertGreater(len(shown["results"]), 1)
        changed = [len(one["changes"]) for one in shown["results"]]
        self.assertEqual(changed, sorted(changed))

    def test_what_is_for_people_is_verified_like_all_else(self):
        server = self.serve()
        asked = {"people": self.people(12), "epsilon": "1%", "display": True}
        for options in ({}, {"rules": ["debt <= 0.3 * income"], "weights": {"income": 4}}):
            shown = self.post_ok(server, "/api/explain", {**asked, "options": options})
            self.assertGreater(max(one["plan"] for one in json.loads(shown)["results"]), 1)
            said = json.loads(self.post_ok(server, "/api/verify", shown))
            self.assertEqual(said["failed"], 0, [one["failures"] for one in said["results"] if one["failures"]][:3])
            self.assertEqual([one["failures"] for one in said["results"] if one["failures"]], [])
            lines = self.post_ok(server, "/api/explain", {**asked, "options": options}, LINES).decode().splitlines()
            self.assertEqual([json.loads(line).get("message") for line in lines], [one.get("message") for one in json.loads(shown)["results"]])

    def test_what_is_for_people_is_verified_of_many_features_too(self):
        golden = PROJECT / "tests" / "golden"
        groups = json.loads((golden / "models" / "german.json").read_text(encoding="utf-8"))["schema"]["one_hot"]
        known = [one["query"] for one in json.loads((golden / "recourse" / "german.json").read_text(encoding="utf-8"))["results"]]
        draw = random.Random(1)
        people = []
        for _ in range(30):
            person = {name: draw.choice(known)[name] for name in known[0]}
            people.append({**person, **{name: draw.choice(groups[name]) for name in draw.sample(sorted(groups), 6)}})
        server = self.serve(golden / "models" / "german.json")
        shown = self.post_ok(server, "/api/explain", {"people": people, "epsilon": "1%", "display": True})
        found = json.loads(shown)["results"]
        self.assertGreater(max(one["plan"] for one in found), 1)
        self.assertTrue(any("would lower the cost" in one.get("message", "") for one in found))
        self.write("shown.json", shown)
        self.ellice("verify", golden / "models" / "german.json", "shown.json")

    def test_rules_and_weights_bind_and_are_checked(self):
        server = self.serve()
        people = self.people(20)
        found = json.loads(self.post_ok(server, "/api/explain", {"people": people, "epsilon": "1%",
                                                                 "options": {"rules": ["debt <= 0.05 * income"]}}))
        for one in found["results"]:
            row = one.get("counterfactual")
            if row and one["changes"]:
                self.assertLessEqual(row["debt"], 0.05 * row["income"] * (1 + 1e-12))
            if one["status"] == "infeasible":
                self.assertTrue(one["infeasible"]["blocking"])
        # Who says that another rule was kept is not believed.
        found["options"]["rules"] = ["income <= 1000"]
        said = json.loads(self.post_ok(server, "/api/verify", found))
        moved = [said["results"][i] for i, one in enumerate(found["results"]) if one.get("changes")]
        self.assertTrue(moved)
        for one in moved:
            self.assertIn("income <= 1000", " ".join(one["failures"]))
        # What is heavy is changed less.
        def raised(weights):
            answers = json.loads(self.post_ok(server, "/api/explain", {"people": people, "epsilon": "1%", "options": {"weights": weights}}))["results"]
            return sum(one["counterfactual"]["income"] - one["query"]["income"] for one in answers if one.get("counterfactual"))
        self.assertLess(raised({"income": 100}), 0.5 * raised({}))
        for options, words in (({"rules": ["debt <= wealth"]}, ["wealth"]), ({"rules": ["debt"]}, ["debt"]), ({"rules": [3]}, ["rules"]),
                               ({"rules": [f"if debt falls then income rises by at least {k}" for k in range(1, 8)]}, ["more than"]), ({"rules": "debt <= 1"}, ["rules"]), ({"rules": [f"debt <= {k}" for k in range(1, 102)]}, ["at most 100"]),
                               ({"weights": {"incom": 2}}, ["incom", "income"]), ({"weights": {"income": 0}}, ["income", "weight"]),
                               ({"weights": {"income": "much"}}, ["income"]), ({"weights": []}, ["weights"]),
                               ({"rules": ["income <= 1", "income >= 2"]}, ["together"])):
            reply = server.post("/api/explain", {"people": people[:1], "options": options})
            self.expect_error(reply, 422)
            for word in words:
                self.assertIn(word, reply[2].decode())

    def test_model_people_and_several_models(self):
        self.ellice("train", "--dataset", "lending", "--folds", "0", "--l2", "0.01", "-o", "b.json")
        server = self.serve("m.json", "b.json")
        models = json.loads(server.get("/api/models")[2])["models"]
        self.assertEqual([one["name"] for one in models], ["m", "b"])
        for one in models:
            shown = json.loads(server.get(f"/api/model?model={one['name']}")[2])
            self.assertEqual(shown["model_sha256"], one["model_sha256"])
            file = server.get(f"/api/model/file?model={one['name']}")[2]
            self.assertEqual(json.loads(file), shown["model"])
            self.assertNotIn("rows", shown["model"])
            self.write("again.json", file)
            asked = {"people": self.people(2), "epsilon": "1%"}
            expected = self.ellice("explain", "again.json", self.write_people(2), "--epsilon", "1%", "--format", "json", "--quiet")
            found = self.post_ok(server, f"/api/explain?model={one['name']}", asked).decode()
            if one["name"] == "b":  # m has rows, which its reasons compare with
                self.assertEqual(found, expected)
            self.assertEqual(self.post_ok(server, "/api/explain", {**asked, "model_sha256": one["model_sha256"]}).decode(), found)
        self.assertEqual(sum(json.loads(server.get("/api/model?model=m")[2])["histograms"]["income"]["counts"]), 2000)
        self.assertEqual(sum(json.loads(server.get("/api/model?model=m")[2])["histograms"]["housing"]["counts"]), 2000)
        self.assertIsNone(json.loads(server.get("/api/model?model=b")[2])["histograms"])
        self.expect_error(server.get("/api/model"), 422, "model", ["several models"])
        self.expect_error(server.get("/api/model?model=c"), 404, "model")
        self.expect_error(server.post("/api/explain", {"people": self.people(1)}), 422, "model")
        hashes = [one["model_sha256"] for one in models]
        both = {"people": self.people(2), "epsilon": "1%", "set": "ensemble", "options": {"ensemble": hashes[1:]}}
        expected = self.ellice("explain", "m.json", self.write_people(2), "--epsilon", "1%", "--set", "ensemble", "--ensemble", "b.json",
                               "--format", "json", "--quiet")
        found = self.post_ok(server, "/api/explain?model=m", both)
        self.assertEqual(found.decode(), expected)
        self.assertEqual(json.loads(self.post_ok(server, "/api/verify?model=m", found))["failed"], 0)
        both["options"]["ensemble"] = ["0" * 64]
        self.expect_error(server.post("/api/explain?model=m", both), 422, "options.ensemble")

    def test_people_of_the_operator(self):
        server = self.serve()
        first = json.loads(server.get("/api/people?first=2&count=3")[2])
        self.assertEqual((first["total"], first["first"], len(first["people"])), (30, 2, 3))
        self.assertEqual(first["people"], self.people(5)[2:])
        self.assertEqual(json.loads(server.get("/api/people?first=99")[2])["people"], [])
        self.expect_error(server.get("/api/people?first=-1"), 400, "first")

    def test_groups_of_columns_are_asked_by_name(self):
        self.write("housing.csv", "income,rent,own,approved\n" + "".join(
            f"{20 + 3 * i % 17},{i % 2},{1 - i % 2},{'yes' if (7 * i) % 5 > 1 - i % 2 else 'no'}\n" for i in range(60)))
        self.write("housing.yaml", 'target: {column: approved, favourable: "yes"}\nfeatures:\n  income: {kind: numeric}\n'
                                   "one_hot:\n  housing: [rent, own]\n")
        self.ellice("train", "housing.csv", "--schema", "housing.yaml", "--folds", "0", "-o", "h.json")
        self.write("asks.csv", "income,rent,own\n20,1,0\n24,0,1\n")
        expected = self.ellice("explain", "h.json", "asks.csv", "--epsilon", "1%", "--format", "json", "--quiet")
        server = self.serve("h.json", "--people", "asks.csv")
        people = json.loads(server.get("/api/people")[2])["people"]
        self.assertEqual(people[1], {"income": 24, "housing": "own"})
        for asked in (people, [{"income": 20, "rent": 1, "own": 0}, {"income": 24, "rent": 0, "own": 1}]):
            self.assertEqual(self.post_ok(server, "/api/explain", {"people": asked, "epsilon": "1%"}).decode(), expected)
        self.expect_error(server.post("/api/explain", {"people": [{"income": 20, "housing": "tent"}]}), 422, "people[0].housing", ["rent, own"])

    def test_demo(self):
        server = self.serve("--demo")
        people = json.loads(server.get("/api/people?count=2")[2])["people"]
        found = json.loads(self.post_ok(server, "/api/explain", {"people": people, "epsilon": "1%"}))
        self.assertEqual({one["status"] for one in found["results"]} - {"optimal", "infeasible"}, set())
        self.assertIn(b"<!doctype html>", server.get("/")[2].lower())

    def test_kserve(self):
        server = self.serve()
        people = self.people(4)
        self.assertEqual(json.loads(server.get("/v1/models")[2]), {"models": ["m"]})
        self.assertEqual(json.loads(server.get("/v1/models/m")[2]), {"name": "m", "ready": True})
        self.expect_error(server.get("/v1/models/x"), 404, "path")
        predicted = json.loads(self.post_ok(server, "/v1/models/m:predict", {"instances": people}))["predictions"]
        certified = json.loads(self.post_ok(server, "/api/certify", {"people": people, "epsilon": "1%"}))["results"]
        for one, other in zip(predicted, certified, strict=True):
            self.assertEqual(one["accepted"], other["logit"] >= 0)
            self.assertAlmostEqual(one["probability"], 1 / (1 + 2.718281828459045 ** -other["logit"]), places=12)
        explained = json.loads(self.post_ok(server, "/v1/models/m:explain", {"instances": people, "parameters": {"epsilon": "1%"}}))
        file = json.loads(self.post_ok(server, "/api/explain", {"people": people, "epsilon": "1%"}))
        for record in file["results"]:
            record.pop("sha256")
        self.assertEqual(explained["explanations"], file["results"])
        described = json.loads(server.get("/v2/models/m")[2])
        inputs = [{"name": one["name"], "datatype": one["datatype"], "shape": [4], "data": [person[one["name"]] for person in people]}
                  for one in described["inputs"]]
        inferred = json.loads(self.post_ok(server, "/v2/models/m/infer", {"id": "7", "inputs": inputs}))
        outputs = {one["name"]: one["data"] for one in inferred["outputs"]}
        self.assertEqual(inferred["id"], "7")
        self.assertEqual(outputs, {"accepted": [one["accepted"] for one in predicted],
                                   "probability": [one["probability"] for one in predicted]})
        asked = {"inputs": inputs, "outputs": [{"name": "recourse"}], "parameters": {"epsilon": "1%"}}
        records = json.loads(self.post_ok(server, "/v2/models/m/infer", asked))["outputs"][0]["data"]
        self.assertEqual([json.loads(text)[0] for text in records], file["results"])
        inputs[0]["shape"] = [5]
        self.expect_error(server.post("/v2/models/m/infer", {"inputs": inputs}), 422, None, ["[4]"])

    def test_the_description_has_every_option_and_route(self):
        server = self.serve()
        document = json.loads(server.get("/openapi.json")[2])
        self.assertEqual(document["openapi"], "3.1.0")
        options = document["components"]["schemas"]["Options"]["properties"]
        fields = 0
        for title, table in re.findall(r"## (.*)\n\n\|.*\n\|.*\n((?:\|.*\n)*)", self.ellice("options", "--markdown")):
            method = re.fullmatch(r"explain: .*\(--method ([a-z]+)\)", title)
            if not method:
                continue
            for name in re.findall(r"^\| `(\w+)`", table, re.M):
                fields += 1
                self.assertIn(name, options[method[1]]["properties"], title)
        self.assertGreater(fields, 30)
        asked = document["components"]["schemas"]["Asked"]["properties"]
        self.assertEqual(set(asked["method"]["enum"]) - {"auto"} - set(options), set())
        person = document["components"]["schemas"]["Person.m"]
        self.assertEqual(set(person["required"]), set(self.people(1)[0]))
        self.assertEqual(person["properties"]["income"]["type"], "number")
        self.assertEqual(set(person["properties"]["housing"]["enum"]) & {"rent", "own"}, {"rent", "own"})
        references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
        self.assertEqual(references - set(document["components"]["schemas"]), set())
        for path, methods in document["paths"].items():
            for method in methods:
                status = server.ask(method.upper(), path.replace("{name}", "m"), {} if method == "post" else None)[0]
                self.assertEqual(status, 422 if method == "post" else 200, path)

    def test_metrics_and_log_count_and_tell_nothing_of_people(self):
        server = self.serve("m.json")
        person = dict(self.people(1)[0], income=26123.25)
        self.post_ok(server, "/api/explain?model=m&secret=Zebra", {"people": [person], "epsilon": "1%"})
        server.get("/private/Zebra")
        metrics = server.get("/metrics")[2].decode()
        self.assertIn('ellice_requests_total{route="/api/explain",status="200"} 1', metrics)
        self.assertIn('ellice_requests_total{route="none",status="404"} 1', metrics)
        self.assertIn('ellice_people_total{route="/api/explain"} 1', metrics)
        self.assertIn('ellice_answers_total{status="optimal"} 1', metrics)
        self.assertIn('ellice_compute_seconds_bucket{route="/api/explain",le="+Inf"} 1', metrics)
        computed = float(re.search(r'ellice_compute_seconds_sum\{route="/api/explain"\} (\S+)', metrics)[1])
        self.assertTrue(0 < computed < 60, computed)
        self.assertRegex(metrics, r'ellice_model_info\{name="m",sha256="[0-9a-f]{64}"\} 1')
        for line in metrics.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z0-9]+="[^"]*",?)+\})? [-+.0-9e]+)$')
        self.assertEqual(server.stop(), 0)
        text = (self.folder / "log.txt").read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        requests = [line for line in lines if "route" in line]
        self.assertEqual([line["status"] for line in requests], [200, 404, 200])
        self.assertEqual([line["event"] for line in lines if "event" in line], ["listening", "draining", "ended"])
        for word in ("26123", "Zebra", "rent", "secret"):
            self.assertNotIn(word, text)


if __name__ == "__main__":
    unittest.main()
