"""Help, manual pages and completions, which are made from the options themselves."""
import shutil
import subprocess
import unittest

from cli_test_case import WRONG_USAGE, CliTestCase


class HelpTexts(CliTestCase):
    def test_help_shows_what_most_people_need_and_help_all_everything(self):
        short = self.ellice("explain", "--help")
        whole = self.ellice("explain", "--help-all")
        self.assertIn("--epsilon", short)
        self.assertIn("`ellice explain --help-all`", short)
        self.assertNotIn("--hull-rows", short)
        self.assertIn("--hull-rows", whole)
        self.assertLess(short.count("\n  --"), 20)
        self.assertEqual(self.ellice("help", "explain"), short)
        self.assertEqual(self.ellice("help"), self.ellice("--help"))
        self.assertEqual(self.ellice("help", "study"), self.ellice("study", "--help"))

    def test_manual_pages_name_every_option(self):
        whole = self.ellice("explain", "--help-all")
        page = self.ellice("man", "explain").replace("\\-", "-")
        for word in whole.split():
            if word.startswith("--") and word.strip("-").isidentifier():
                self.assertIn(word, page)
        self.assertIn(".SH \"ELLICE evaluate\"", self.ellice("man"))
        self.expect_failure(WRONG_USAGE, ['there is no verb "explian"', '"explain"'], "man", "explian")
        if shutil.which("groff"):
            run = subprocess.run(["groff", "-K", "utf8", "-man", "-Tutf8", "-ww", "-"], input=self.ellice("man").encode(), check=True,
                                 capture_output=True)
            self.assertEqual(run.stderr, b"")

    def complete(self, *words):
        """What bash offers for the last of these words."""
        script = self.ellice("completion", "bash") + (
            f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}\n"
            "compopt() { :; }\n_ellice\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
        run = subprocess.run(["bash"], input=script.encode(), capture_output=True, check=True, cwd=self.folder)
        self.assertEqual(run.stderr, b"")
        return run.stdout.decode().split()

    def test_bash_completes_verbs_options_values_and_files(self):
        self.write("people.csv", "a\n1\n")
        self.assertEqual(self.complete("ellice", "exp"), ["explain"])
        self.assertEqual(self.complete("ellice", "explain", "--thr"), ["--threshold", "--threads"])
        self.assertEqual(self.complete("ellice", "explain", "--cost", "l1"), ["l1", "l1+l2"])
        self.assertEqual(self.complete("ellice", "explain", "peo"), ["people.csv"])
        self.assertEqual(self.complete("ellice", "evaluate", "--resam"), ["--resamples"])
        self.assertEqual(self.complete("ellice", "completion", "f"), ["fish"])

    def test_other_shells_accept_their_completions(self):
        for shell in ("zsh", "fish"):
            text = self.ellice("completion", shell)
            self.assertIn("--max-changes" if shell == "zsh" else "-l max-changes", text)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=text.encode(), check=True)


class Mistakes(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans("m.json", "--folds", "0")
        self.write("people.csv", "income,debt,purpose,city\n29000,6.5,car,Köln\n")

    def test_swapped_files_are_recognised(self):
        self.expect_failure(WRONG_USAGE, ["the model comes first", "`ellice explain m.json people.csv`"], "explain",
                            "people.csv", "m.json")

    def test_a_probability_without_p_is_doubted(self):
        run = self.run_ellice("explain", "m.json", "people.csv", "--threshold", "0.7")
        self.assertIn("--threshold p=0.7", run.stderr)
        for text in ("p=0.7", "0", "1.5", "-0.3"):
            self.assertNotIn("write --threshold", self.run_ellice("explain", "m.json", "people.csv", "--threshold", text).stderr)

    def test_an_epsilon_beyond_reach_is_said_before_the_run(self):
        # The city cannot change, and whom it suits is not known beforehand.
        self.assertIn("whoever is declined by one of them will get no answer",
                      self.run_ellice("explain", "m.json", "people.csv", "--epsilon", "1e3").stderr)
        self.assertNotIn("ignore all that may change",
                         self.run_ellice("explain", "m.json", "people.csv", "--epsilon", "1e-4").stderr)

    def test_an_attack_on_a_linear_model_is_refused(self):
        self.expect_failure(WRONG_USAGE, ["--attack is for networks"], "explain", "m.json", "people.csv", "--attack", "--data",
                            "loans.csv")

    def test_epsilon_is_optional_and_its_meaning_is_said(self):
        run = self.run_ellice("explain", "m.json", "people.csv")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("accepted by 95 of 100 models retrained on as many rows", run.stderr)

    def test_the_format_follows_the_ending(self):
        for name, begins in (("a.html", "<!doctype html"), ("a.json", "{"), ("a.csv", "query_index,"), ("a.jsonl", "{\"")):
            self.ellice("explain", "m.json", "people.csv", "-o", name)
            text = (self.folder / name).read_text(encoding="utf-8")
            self.assertTrue(text.lower().startswith(begins), text[:60])
        self.ellice("explain", "m.json", "people.csv", "-o", "b.json", "--format", "csv")
        self.assertTrue((self.folder / "b.json").read_text(encoding="utf-8").startswith("query_index,"))


if __name__ == "__main__":
    unittest.main()
