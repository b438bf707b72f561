"""Three tables that nobody prepared, made from the data sets in the folder that ELLICE_DATA names (or ../shared/datasets).

- voice: thirty numbers, for ten measures of Parkinson's voices their mean, spread and worst over ten recordings.
- credit: German Credit with its one-hot columns joined and its words restored.
- export: the same people as a bank might export them, in German, with every fault that such files have. Names, addresses,
  dates, numbers of customers, incomes and remarks are drawn here; nobody of them exists.
"""
import csv
import math
import os
import pathlib
import random
import statistics

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = pathlib.Path(os.environ.get("ELLICE_DATA", PROJECT.parent / "shared" / "datasets"))

WORDS = {
    "1": ("checking_account", {"A11": "below 0 DM", "A12": "0 to 200 DM", "A13": "200 DM or more", "A14": "none"}),
    "3": ("credit_history", {"A30": "no credits", "A31": "all credits here repaid", "A32": "credits repaid so far",
                             "A33": "delays in the past", "A34": "critical account"}),
    "4": ("purpose", {"A40": "new car", "A41": "used car", "A42": "furniture", "A43": "radio or television", "A44": "appliances",
                      "A45": "repairs", "A46": "education", "A48": "retraining", "A49": "business", "A410": "other"}),
    "6": ("savings", {"A61": "below 100 DM", "A62": "100 to 500 DM", "A63": "500 to 1000 DM", "A64": "1000 DM or more",
                      "A65": "unknown or none"}),
    "7": ("employment_since", {"A71": "unemployed", "A72": "less than 1 year", "A73": "1 to 4 years", "A74": "4 to 7 years",
                               "A75": "7 years or more"}),
    "8": ("installment_rate", {key: key for key in "1234"}),
    "9": ("personal_status_and_sex", {"A91": "male, divorced or separated", "A92": "female, not single", "A93": "male, single",
                                      "A94": "male, married or widowed"}),
    "10": ("other_debtors", {"A101": "none", "A102": "co-applicant", "A103": "guarantor"}),
    "11": ("residence_since", {key: key for key in "1234"}),
    "12": ("property", {"A121": "real estate", "A122": "savings contract or life insurance", "A123": "car or other",
                        "A124": "unknown or none"}),
    "14": ("other_installment_plans", {"A141": "bank", "A142": "stores", "A143": "none"}),
    "15": ("housing", {"A151": "rent", "A152": "own", "A153": "for free"}),
    "17": ("job", {"A171": "unskilled, not resident", "A172": "unskilled, resident", "A173": "skilled employee",
                   "A174": "manager or self-employed"}),
    "19": ("telephone", {"A191": "none", "A192": "registered"}),
    "20": ("foreign_worker", {"A201": "yes", "A202": "no"}),
}
NUMBERS = {"2": "duration_months", "5": "credit_amount", "13": "age", "16": "existing_credits", "18": "dependents"}
MEASURES = ("Jitter(%)", "Jitter:RAP", "Shimmer", "Shimmer(dB)", "Shimmer:APQ11", "NHR", "HNR", "RPDE", "DFA", "PPE")


def read(name):
    with open(SOURCES / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path, header, rows, **form):
    encoding = form.pop("encoding", "utf-8")
    with open(path, "w", encoding=encoding, newline="") as file:
        table = csv.writer(file, lineterminator="\n", **form)
        table.writerow(header)
        table.writerows(rows)


def write_voice(path):
    rows = read("parkinsons.csv")
    middle = statistics.median(float(row["motor_UPDRS"]) for row in rows)
    header = [f"{measure} {of}" for of in ("mean", "spread", "worst") for measure in MEASURES] + ["impairment"]
    written = []
    for start in range(0, len(rows) - 9, 10):
        part = rows[start:start + 10]
        if len({row["subject#"] for row in part}) > 1:
            continue  # the end of one person's recordings and the beginning of the next one's
        columns = [[float(row[measure]) for row in part] for measure in MEASURES]
        numbers = ([statistics.fmean(column) for column in columns] + [statistics.stdev(column) for column in columns]
                   + [max(column) for column in columns])
        score = statistics.fmean(float(row["motor_UPDRS"]) for row in part)
        written.append([f"{number:.5g}" for number in numbers] + ["mild" if score <= middle else "severe"])
    write(path, header, written)


def applicants():
    """German Credit's people by names and words; `risk` is good or bad."""
    for row in read("german.csv"):
        person = {name: row[f"Attribute{number}"] for number, name in NUMBERS.items()}
        for number, (name, words) in WORDS.items():
            person[name] = next(word for key, word in words.items() if row[f"Attribute{number}_{key}"] == "1")
        yield person | {"risk": "bad" if row["y"] == "1" else "good"}


def write_credit(path):
    people = list(applicants())
    write(path, people[0], (person.values() for person in people))


class Clerk:
    """Types what an export holds, carelessly but always the same."""

    FIRST = ("Jürgen", "Käthe", "Ayşe".replace("ş", "s"), "Björn", "Gönül", "Anna", "Otto", "Zoë", "René", "Marie")
    LAST = ("Müller", "Weiß", "Groß", "Krämer", "Özdemir", "Schmidt", "Jäger", "Lefèvre", "Becker", "Köhler")
    REMARKS = ("Kunde wünscht Rückruf nach 18 Uhr", "Unterlagen nachgereicht, siehe Akte", "Gespräch am Schalter, Frau Weiß",
               "Gehaltsnachweis fehlt noch", "hat früher schon einmal angefragt; höflich", "Antrag per Fax, schlecht lesbar")

    def __init__(self):
        self.random = random.Random(7)

    def one_of(self, *texts):
        return self.random.choice(texts)

    def money(self, value, digits=2):
        """1234.5 as 1.234,50 €, sometimes with the sign left out."""
        text = f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))
        return text + self.one_of(" EUR", " EUR", " EUR", "")

    def percent(self, value):
        return f"{value:.2f}".replace(".", ",") + " %"

    def word(self, text):
        """Miete, MIETE, miete or « Miete »."""
        roll = self.random.random()
        return text.upper() if roll < 0.02 else text.lower() if roll < 0.04 else f" {text} " if roll < 0.06 else text

    def or_missing(self, text, share=0.03):
        return self.one_of("NA", "n/a", "-", "?", "") if self.random.random() < share else text

    def day(self, first, last):
        return f"{self.random.randint(1, 28):02}.{self.random.randint(1, 12):02}.{self.random.randint(first, last)}"


def describe(person, clerk, number):
    """A person of German Credit as a row of the export."""
    amount, months = float(person["credit_amount"]), int(person["duration_months"])
    share = {"1": 0.40, "2": 0.29, "3": 0.22, "4": 0.15}[person["installment_rate"]]
    income = 12 * (amount / months) / share * math.exp(clerk.random.gauss(0, 0.1))
    sex = "w" if person["personal_status_and_sex"].startswith("female") else "m"
    age = int(person["age"])
    purpose = {"new car": "Auto neu", "used car": "Auto gebraucht", "furniture": "Möbel"}.get(person["purpose"], "Sonstiges")
    return {
        "Kundennummer": f"K-{100000 + 37 * number}",
        "Name": f"{clerk.one_of(*clerk.FIRST)} {clerk.one_of(*clerk.LAST)}",
        "PLZ": f"{clerk.random.randint(1000, 99999):05}",
        "Geburtsdatum": clerk.day(1994 - age, 1994 - age),
        "Alter": age,
        "Geschlecht": sex,
        "Staatsangehörigkeit": "DE" if person["foreign_worker"] == "no" or clerk.random.random() < 0.8 else clerk.one_of("TR", "IT", "FR"),
        "Antragsdatum": clerk.day(1993, 1994),
        "Jahreseinkommen": clerk.or_missing(clerk.money(round(income, -2))),
        "Kreditsumme": clerk.money(amount),
        "Laufzeit Monate": months,
        "Zinssatz": clerk.percent(6 + months / 24 + clerk.random.random()),
        "Wohnen": clerk.or_missing(clerk.word({"rent": "Miete", "own": "Eigentum", "for free": "Mietfrei"}[person["housing"]])),
        "Beschäftigt seit": clerk.or_missing({"unemployed": "arbeitslos", "less than 1 year": "unter 1 Jahr", "1 to 4 years": "1-4 Jahre",
                                              "4 to 7 years": "4-7 Jahre", "7 years or more": "über 7 Jahre"}[person["employment_since"]]),
        "Verwendungszweck": clerk.word(purpose),
        "Unterhaltspflichtige Kinder": person["dependents"],
        "Bürge": "ja" if person["other_debtors"] == "guarantor" else "nein",
        "Bemerkung": clerk.or_missing(f"{clerk.one_of(*clerk.REMARKS)} ({number})"),
        "Filiale": "Hauptstelle",
        "Zusage": "ja" if person["risk"] == "good" else "nein",
    }


def write_export(path):
    clerk = Clerk()
    rows = [describe(person, clerk, number) for number, person in enumerate(applicants())]
    rows += [dict(row) for row in clerk.random.sample(rows, 12)]  # typed twice
    write(path, rows[0], (row.values() for row in rows), delimiter=";", encoding="latin-1")


# The name of a table, who writes it, its target and what people want of it.
TABLES = (("voice", write_voice, "impairment", "mild"), ("credit", write_credit, "risk", "good"),
          ("export", write_export, "Zusage", "ja"))
