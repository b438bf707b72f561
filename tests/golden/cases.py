"""The golden files, one line each: the file and the command that prints it.

Commands run with this folder's `models`, `people`, `inputs` and `recourse` beside them; `--format` follows from the file's
ending. `@lending` stands for `models/lending.json people/lending.csv`, `@lending:borrower` for the same model and
`people/borrower.csv`. A new case is a new line, then `scripts/golden --update`.
"""
from golden import Case, Extract

FEW_MODELS = "--retrain-models 3 --dropout-models 6 --awp-models 6 --bootstrap-models 5 --shift-models 2 --resamples 200"

# Linear models are trained again and compared; networks are not, as thousands of steps lead elsewhere from a last digit.
MODELS = [
    Case("models/lending.json", "train --dataset lending --folds 0"),
    Case("models/lending-other.json", "train --dataset lending --folds 0 --l2 0.01 --balance --seed 5", again=False),  # of version 0.1.0
    # As version 0.1.0 wrote them: older files stay readable, and answer as they can.
    Case("models/german.json", "train --dataset german --folds 0", again=False),
    Case("models/fico.json", "train --dataset fico --folds 0", again=False),
    Case("models/compas.json", "train --dataset compas --folds 0"),
    Case("models/iris3.json", "train --dataset iris3 --model softmax --folds 0"),
    Case("models/wine-grades.json", "train --dataset wine-grades --model softmax --folds 0"),
    Case("models/loans.json", "train inputs/loans.csv --schema inputs/loans.yaml --l2 0.02 --store-rows --folds 0"),
    Case("models/squared.json", "train inputs/loans.csv --schema inputs/loans.yaml --l2 0.02 --loss squared"
         " --no-penalize-bias --holdout 0.25 --folds 0"),
    Case("models/words.json", "train inputs/loans.csv --schema inputs/words.yaml --l2 0.02 --folds 0"),
    Case("models/implications.json", "train inputs/loans.csv --schema inputs/implications.yaml --l2 0.02 --folds 0"),
    Case("models/binned.json", "train inputs/loans.csv --schema inputs/binned.yaml --model additive --l2 0.02 --folds 0"),
    Case("models/imported.json", "import inputs/imported.json --schema inputs/imported.yaml"),
    Case("models/diabetes.json", "train --dataset diabetes --model mlp --hidden 4 --learning-rate 0.01 --refit",
         again=False),  # and `recommended` of calibrations/diabetes.json
    Case("models/loans-network.json", "train inputs/loans.csv --schema inputs/loans.yaml --model mlp --hidden 3"
         " --activation tanh --learning-rate 0.02 --epochs 200 --l2 0.02 --refit --store-rows", again=False),
    Case("models/loans-nam.json", "train inputs/loans.csv --schema inputs/loans.yaml --model nam --hidden 3,2"
         " --learning-rate 0.02 --epochs 200 --l2 0.02 --refit --store-rows", again=False),
    Case("models/iris3-network.json", "train --dataset iris3 --model softmax --hidden 3 --activation sigmoid"
         " --learning-rate 0.02 --epochs 200 --refit", again=False),
]

ONE_LOGIT = [
    Case("recourse/lending.json", "explain @lending --epsilon 1%"),
    Case("recourse/loans-proof.json", "explain @loans --epsilon 1% --proof"),
    Case("recourse/words.json", "explain @words:applicant --epsilon 1%"),
    Case("recourse/lending.jsonl", "explain @lending:borrower --epsilon 1%"),
    Case("recourse/lending.csv", "explain @lending --epsilon 1%"),
    Case("recourse/lending-safe.csv", "explain @lending:borrower --epsilon 1% --spreadsheet-safe --certificates"),
    Case("recourse/lending-ids.json", "explain @lending:lending-ids --epsilon 2% --id id --on-error skip"),
    Case("recourse/lending-infeasible.json", "explain @lending --epsilon 1% --lock income,debt,savings"),
    Case("recourse/lending-plain.json", "explain @lending:borrower --epsilon 0 --method exact --dataset lending"),
    Case("recourse/german.json", "explain @german --epsilon 1% --strict"),
    Case("recourse/german-sparse.json", "explain @german --epsilon 2% --sparse"),
    Case("recourse/german-node-limit.csv", "explain @german --epsilon 5% --node-limit 40"),
    Case("recourse/fico.json", "explain @fico --epsilon 1%"),
    Case("recourse/fico-constraints.json", "explain @fico --epsilon 1% --node-limit 100 --lock ExternalRiskEstimate"
         " --bounds AverageMInFile=0:120 --direction NumSatisfactoryTrades=decrease"),
    Case("recourse/compas.json", "explain @compas --epsilon 4%"),
    Case("recourse/compas.csv", "explain @compas --epsilon 4%"),
    Case("recourse/compas-survival.json", "explain @compas --epsilon survival:99% --retrain fresh:2000 --dataset compas"),
    Case("recourse/squared.json", "explain @squared:applicant --epsilon 1%"),
    Case("recourse/imported.jsonl", "explain @imported"),
    Case("recourse/binned.json", "explain @binned --epsilon 1%"),
    Case("recourse/lending-wishes.json", "explain @lending --epsilon 1% --rule 'debt <= 0.1 * income'"
         " --rule 'if savings rises then loan_amount stays' --weight income=9 --weight debt=0.25"),
]

CLASSES = [
    Case("recourse/iris3.json", "explain @iris3 --epsilon 5%"),
    Case("recourse/iris3-margin.json", "explain @iris3 --epsilon 5% --target setosa --margin 0.5"),
    Case("recourse/iris3-either.json", "explain @iris3 --epsilon 1% --target virginica,versicolor"),
    Case("recourse/iris3-infeasible.json", "explain @iris3 --epsilon 40% --lock petal_length,petal_width"),
    Case("recourse/iris3-plans.json", "explain @iris3 --epsilon 1% --plans 2 --max-changes 2"),
    Case("recourse/wine-grades.json", "explain @wine-grades --epsilon 1%"),
    Case("recourse/wine-grades-sparse.csv", "explain @wine-grades --epsilon 1% --sparse --cost l1"),
    Case("recourse/wine-grades.csv", "explain @wine-grades --epsilon 1% --target medium,high"),
    Case("recourse/iris3-network.json", "explain @iris3-network:iris3 --epsilon 1%"),
]

COSTS = [
    Case("recourse/loans-l1.json", "explain @loans:applicant --epsilon 1% --cost l1"),
    Case("recourse/loans-l1-l2.json", "explain @loans:applicant --epsilon 1% --cost l1+l2"),
    Case("recourse/loans-mixed.json", "explain @loans:applicant --epsilon 1% --cost mixed --lock debt"),
    Case("recourse/loans-sparsity-weight.json", "explain @loans:applicant --epsilon 1% --cost l1 --sparsity-weight 2"),
    Case("recourse/lending-l1.json", "explain @lending:borrower --epsilon 1% --cost l1"),
    Case("recourse/german-mixed.csv", "explain @german --epsilon 2% --cost mixed"),
]

CONSTRAINTS = [
    Case("recourse/loans.json", "explain @loans --epsilon 1%"),
    Case("recourse/loans-lock.json", "explain @loans --epsilon 11% --lock education,purpose,telephone,housing"),
    Case("recourse/loans-bounds.json", "explain @loans --epsilon 1% --bounds income=:38000 --bounds debt=2:"),
    Case("recourse/loans-direction.json", "explain @loans:applicant --epsilon 1% --direction income=any"
         " --direction debt=increase"),
    Case("recourse/loans-per-query.json", "explain @loans --epsilon 1% --constraints inputs/per-query.yaml"),
    Case("recourse/loans-range-off.json", "explain @loans:applicant --epsilon 15% --range off"),
    Case("recourse/loans-threshold.json", "explain @loans:applicant --epsilon 1% --threshold p=0.7"),
    Case("recourse/loans-low-threshold.csv", "explain @loans:applicant --epsilon 0.05 --threshold -0.25"),
    Case("recourse/loans-damping.json", "explain @loans:applicant --epsilon target:0.01 --damping 0.1"),
    Case("recourse/loans-max-changes.json", "explain @loans:applicant --epsilon 10% --max-changes 2"),
    Case("recourse/loans-sparse.json", "explain @loans:applicant --epsilon 1% --sparse"),
    Case("recourse/loans-trade-off.json", "explain @loans:applicant --epsilon 5% --trade-off"),
    Case("recourse/loans-plans.json", "explain @loans:applicant --epsilon 1% --plans 3"),
    Case("recourse/loans-reason-codes.jsonl", "explain @loans --epsilon accuracy:5% --reason-codes inputs/codes.yaml"),
    Case("recourse/implications.json", "explain @implications --epsilon 1%"),
    Case("recourse/implications-lock.json", "explain @implications --epsilon 1% --lock age"),
    Case("recourse/implications-infeasible.json", "explain @implications --epsilon 5% --lock income,age"),
]

SETS = [
    Case("recourse/lending-isotropic.json", "explain @lending:borrower --epsilon 1% --set isotropic"),
    Case("recourse/lending-ensemble.json", "explain @lending:borrower --epsilon 1% --set ensemble"
         " --ensemble models/lending-other.json"),
    Case("recourse/lending-ensemble-infeasible.json", "explain @lending:borrower --epsilon 5% --lock income,savings,loan_amount,guarantor"
         " --ensemble models/lending-other.json"),
    Case("recourse/lending-true.json", "explain @lending:borrower --epsilon 1% --set true --dataset lending"),
    Case("recourse/compas-true.json", "explain @compas --epsilon 1% --set true --dataset compas"),
    Case("recourse/iris3-true.json", "explain @iris3 --epsilon 1% --set true --dataset iris3"),
    Case("recourse/squared-true.json", "explain @squared:applicant --epsilon 1% --set true --data inputs/loans.csv"),
    Case("recourse/loans-true.json", "explain @loans --epsilon 1% --set true"),
    Case("recourse/loans-true-l1.json", "explain @loans:applicant --epsilon 1% --set true --cost l1 --max-changes 1"),
    Case("recourse/loans-true-infeasible.json", "explain @loans --epsilon 20% --set true"
         " --lock education,purpose,telephone,housing"),
    Case("recourse/loans-true-data.json", "explain @loans --epsilon 1% --set true --method data"),
]

NETWORKS = [
    Case("recourse/diabetes.json", "explain @diabetes --epsilon 0.001"),
    Case("recourse/diabetes-auto.json", "explain @diabetes --epsilon auto --set full --dataset diabetes"),
    Case("recourse/diabetes-last-layer.json", "explain @diabetes --epsilon 0.02 --set last-layer"),
    Case("recourse/diabetes-isotropic.json", "explain @diabetes --epsilon 0.02 --set isotropic"),
    Case("recourse/diabetes-true.json", "explain @diabetes --epsilon 1% --set true --dataset diabetes"),
    Case("recourse/diabetes-attack.json", "explain @diabetes --epsilon 0.001 --damping 0.5 --dataset diabetes --attack"),
    Case("recourse/diabetes-plans.json", "explain @diabetes --epsilon 0.001 --plans 2 --max-changes 3"),
    Case("recourse/loans-network.json", "explain @loans-network:loans --epsilon 0.001 --sparse"
         " --row-starts 1 --max-iterations 10"),
    Case("recourse/loans-network-held.json", "explain @loans-network:applicant --epsilon 0.001 --cost mixed"
         " --discrete-nodes 0"),
    Case("recourse/loans-nam.json", "explain @loans-nam:loans --epsilon 0.001"),
    Case("recourse/loans-nam-last.json", "explain @loans-nam:applicant --epsilon 1% --set last-layer"),
    Case("recourse/loans-nam-true.json", "explain @loans-nam:applicant --epsilon 1% --set true"),
    Case("recourse/loans-network-true.json", "explain @loans-network:loans --epsilon 1% --set true"),
]

METHODS = [
    Case("recourse/lending-gradient.csv", "explain @lending:borrower --epsilon 1% --method gradient"),
    Case("recourse/loans-gradient-printed.json", "explain @loans:applicant --epsilon 1% --method gradient --preset printed"),
    Case("recourse/loans-gradient-as-run.csv", "explain @loans:applicant --epsilon 1% --method gradient --preset as-run"),
    Case("recourse/loans-gradient-gd.json", "explain @loans:applicant --epsilon 1% --method gradient --optimizer gd"
         " --alpha 0.5 --beta 2 --proximity 0.01 --sparsity 0.001 --step 0.05 --max-steps 300 --patience 50"
         " --radius-factor 1.5 --jitter 1e-4"),
    Case("recourse/diabetes-gradient.json", "explain @diabetes --epsilon 0.02 --set last-layer --method gradient"
         " --optimizer adam"),
    Case("recourse/loans-network-search.json", "explain @loans:applicant --epsilon 1% --method network --random-starts 1"),
    Case("recourse/loans-greedy.json", "explain @loans:applicant --epsilon 1% --method greedy"),
    Case("recourse/loans-greedy-quadratic.csv", "explain @loans:applicant --epsilon 1% --method greedy"
         " --greedy-step quadratic"),
    Case("recourse/loans-network-greedy.json", "explain @loans-network:applicant --epsilon 0.001"
         " --method greedy"),
    Case("recourse/loans-gumbel.json", "explain @loans:applicant --epsilon 1% --method gumbel --samples 2 --extra-samples 20"
         " --temperature 0.7 --cooling 0.98 --own-logit 2 --seed 3"),
    Case("recourse/loans-data.json", "explain @loans --epsilon 1% --method data --search brute"),
    Case("recourse/german-data.csv", "explain @german --epsilon 1% --method data --sparse --search kdtree --dataset german"),
    Case("recourse/compas-data.json", "explain @compas --epsilon 1% --method data --plans 2 --cost l1 --sparsity-weight 0.5"
         " --search balltree --dataset compas"),
    Case("recourse/lending-trex.json", "explain @lending --epsilon 1% --method trex --tau 0.6 --dataset lending"
         " --variant published"),
    Case("recourse/compas-trex.csv", "explain @compas --epsilon 1% --method trex --tau 0.6 --dataset compas"),
    Case("recourse/loans-trex-i.json", "explain @loans --epsilon 1% --method trex-i --tau 0.6"),
    Case("recourse/lending-delta.json", "explain @lending --epsilon 1% --method delta --delta 50 --dataset lending"),
    Case("recourse/diabetes-delta.csv", "explain @diabetes --epsilon 0.001 --set last-layer --method delta --delta 0.01"
         " --dataset diabetes"),
    Case("recourse/loans-proplace.json", "explain @loans:applicant --epsilon 1% --method proplace --delta 0.01 --hull-rows 5"
         " --hull-query yes --query-seconds 60"),
    Case("recourse/loans-proplace-published.csv", "explain @loans:applicant --epsilon 1% --method proplace --delta 0.01"
         " --hull-query no --variant published"),
    Case("recourse/loans-roar.json", "explain @loans:applicant --epsilon 1% --method roar --delta 0.05"),
    Case("recourse/diabetes-roar.csv", "explain @diabetes --epsilon 0.001 --method roar --delta 0.05"),
]

REPORTS = [
    Case("frontiers/lending.json", "frontier @lending --epsilons 0,1%,5%,10%"),
    Case("frontiers/lending-locked.json", "frontier @lending --epsilons 1%,20% --lock income,debt,savings --cost l1"),
    Case("frontiers/lending-true.json", "frontier @lending --epsilons 1%,5% --set true --dataset lending"),
    Case("frontiers/lending-isotropic.json", "frontier @lending --epsilons 1%,5% --set isotropic"),
    Case("frontiers/lending-ensemble.json", "frontier @lending --epsilons 1%,5% --ensemble models/lending-other.json"),
    Case("frontiers/fico.json", "frontier @fico --epsilons 0,1%,10%"),
    Case("frontiers/iris3.json", "frontier @iris3 --epsilons 0,1%,20% --target setosa"),
    Case("frontiers/diabetes.json", "frontier @diabetes --epsilons 0,0.001,0.01 --set full"),
    Case("epsilons/lending.json", "epsilon models/lending.json --dataset lending --check --refits 4 --splits 2 --people 5"),
    Case("epsilons/compas-fresh.json", "epsilon models/compas.json --survival 0.9,0.99 --retrain fresh:1000 --dataset compas"
         " --people 5"),
    Case("epsilons/loans.json", "epsilon models/loans.json --epsilons 0,1%,accuracy:5% --people 5"),
    Case("epsilons/diabetes.json", "epsilon models/diabetes.json --epsilons 0.01 --dataset diabetes --people 3"),
    Case("calibrations/loans.json", "calibrate models/loans.json --threat dropout --dropout 10 --people 8 --levels 5"
         " -o m.json"),
    Case("calibrations/loans-awp.json", "calibrate models/loans.json --threat awp --awp 4 --people 8 --levels 4 -o m.json"),
    Case("calibrations/loans-network.json", "calibrate models/loans-network.json --data inputs/loans.csv --threat retrain"
         " --retrain 2 --deviations 0 --people 3 --levels 4 --share 0.5 --set isotropic -o m.json"),
    Case("calibrations/diabetes.json", "calibrate models/diabetes.json --dataset diabetes --people 10 --retrain 3 --dropout 10"
         " --awp 5 --levels 6 --share 0.5 --deviations 0 -o m.json"),
    Case("evaluations/loans.json", "evaluate models/loans.json recourse/loans.json --shift-data inputs/later.csv"
         f" --evaluators retrain,dropout,awp,awp-targeted,ellipsoid,true,bootstrap,shift {FEW_MODELS}"),
    Case("evaluations/theirs.json", "evaluate models/loans.json inputs/theirs.csv --queries people/loans.csv"
         " --against recourse/loans.json --evaluators ellipsoid --target-epsilon 1% --lof-reference favourable"
         " --lof-neighbours 5 --resamples 200"),
    Case("evaluations/lending.json", "evaluate models/lending.json recourse/lending.jsonl --dataset lending"
         " --metrics l2,changed --evaluators ellipsoid --target-epsilon 1% --resamples 200"),
    Case("evaluations/compas.json", "evaluate models/compas.json recourse/compas.csv --queries people/compas.csv --rows all"
         " --dataset compas --evaluators ellipsoid,true --target-epsilon 1% --resamples 200"),
    Case("evaluations/diabetes-published.json", "evaluate models/diabetes.json recourse/diabetes.json --dataset diabetes"
         f" --evaluators dropout,awp --variant published --missing not-found {FEW_MODELS}"),
]

CASES = [*MODELS, *ONE_LOGIT, *CLASSES, *COSTS, *CONSTRAINTS, *SETS, *NETWORKS, *METHODS, *REPORTS]

# One certificate per set and per form that a certificate can have.
CERTIFICATES = [
    Extract("certificates/last-layer.json", "recourse/lending.json", 0),
    Extract("certificates/damping.json", "recourse/loans-damping.json", 0),
    Extract("certificates/network.json", "recourse/diabetes-last-layer.json", 0),
    Extract("certificates/full.json", "recourse/diabetes.json", 0),
    Extract("certificates/isotropic.json", "recourse/diabetes-isotropic.json", 0),
    Extract("certificates/ensemble.json", "recourse/lending-ensemble.json", 0),
    Extract("certificates/true.json", "recourse/loans-true.json", 0),
    Extract("certificates/true-network.json", "recourse/loans-network-true.json", 0),
    Extract("certificates/classes.json", "recourse/iris3.json", 0),
    Extract("certificates/classes-either.json", "recourse/iris3-either.json", 1),
    Extract("certificates/classes-true.json", "recourse/iris3-true.json", 0),
]

# What has no case, by option or choice of `explain`, and why.
UNCOVERED = {
    "--help": "prints no file",
    "--help-all": "prints no file",
    "--output": "says where to, not what",
    "--log-level": "is about messages",
    "--quiet": "is about messages",
    "--threads": "changes no result",
    "--memory-limit": "changes no result",
    "--format=table": "rounds for people",
    "--format=html": "rounds for people",
    "--all-features": "belongs to tables",
    "--nearest": "belongs to tables",
    "--worth": "belongs to tables",
    "--declined": "leaves out people, and tests/cli/verify_test.py looks at the others",
    "--horizon": "tests/cli/explain_test.py tries it on a schema with a slow feature",
    "--letters": "writes pages: tests/cli/letters_test.py",
    "--lender": "is for letters",
    "--date": "is for letters",
    "--valid-until": "is for letters",
    "--language": "is for letters",
    "--letter-template": "is for letters",
    "--letter-messages": "is for letters",
    "--timings": "differs from run to run",
    "--time-limit": "differs from run to run",
    "--refit": "answers for a model that is not kept",
}
