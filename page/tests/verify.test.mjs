// The browser's verifier against the program: answers of every kind, the same verdicts, the same robust logits;
// and certificates in which something was altered are refused.
// Environment: ELLICE (the program), VERIFIER (src/verify as one module), GOLDEN (tests/golden), WORK (a folder).
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { askers, makeModels } from './models.mjs';
import { peopleCsv, random } from './people.mjs';

const { ELLICE, VERIFIER, GOLDEN, WORK } = process.env;
const v = await import(pathToFileURL(VERIFIER).href);
mkdirSync(WORK, { recursive: true });

const models = new Map(readdirSync(join(GOLDEN, 'models')).map((name) => {
  const text = readFileSync(join(GOLDEN, 'models', name), 'utf8');
  return [name.replace('.json', ''), { text, file: join(GOLDEN, 'models', name), model: v.readModel(text) }];
}));
const others = [...models.values()].map(({ model }) => model);

function ellice(...args) {
  const done = spawnSync(ELLICE, args, { encoding: 'utf8', maxBuffer: 2 ** 30 });
  assert.ok(done.status === 0 || done.status === 4, `ellice ${args.join(' ')}\n${done.stderr}`);
  return done.stdout;
}

// Model, people, options of explain.
const CASES = [
  ['lending', 60, '--epsilon 1% --horizon', '12 months'],
  ['lending', 15, '--epsilon 2% --plans 3'],
  ['lending', 15, '--epsilon 1% --trade-off'],
  ['lending', 30, '--epsilon 1% --cost l1 --lock debt --bounds income=20000:60000 --direction loan_amount=decrease'],
  ['lending', 25, '--epsilon 3% --threshold p=0.7 --max-changes 2'],
  ['lending', 40, '--epsilon 1% --range off --sparse'],
  ['lending', 25, '--epsilon 1% --lock income,debt,savings'],
  ['lending', 20, '--epsilon 1% --ensemble', `${join(GOLDEN, 'models', 'lending-other.json')}`],
  ['lending', 30, '--epsilon 0'],
  ['lending-other', 40, '--epsilon 5%'],
  ['loans', 160, '--epsilon 1%'],
  ['loans', 40, '--epsilon 1% --damping 0.1'],
  ['loans', 20, '--epsilon 1% --set true'],
  ['words', 60, '--epsilon 1% --horizon', '2 years'],
  ['implications', 100, '--epsilon 1%'],
  ['squared', 120, '--epsilon 1%'],
  ['imported', 150, '--epsilon 0.01'],
  ['compas', 200, '--epsilon 4%'],
  ['fico', 30, '--epsilon 1% --node-limit 100'],
  ['german', 20, '--epsilon 1% --node-limit 100'],
  ['iris3', 160, '--epsilon 5%'],
  ['iris3', 40, '--epsilon 1% --target virginica,versicolor --margin 0.5'],
  ['wine-grades', 40, '--epsilon 1%'],
  ['diabetes', 40, '--epsilon 0.02 --set last-layer'],
  ['diabetes', 10, '--epsilon 0.001'],
  ['loans-network', 80, '--epsilon 1% --set last-layer'],
  ['loans-nam', 80, '--epsilon 1% --set last-layer'],
  ['iris3-network', 80, '--epsilon 1%'],
  ['binned', 150, '--epsilon 1%'],
  ['binned', 60, '--epsilon 3% --cost l1 --range off'],
];

function answersOf([name, count, options, last], seed) {
  const { model, text, file } = models.get(name);
  const oneHot = JSON.parse(text).schema.one_hot ?? {};
  const wanted = [...options.split(' '), ...(last ? [last] : [])];
  return answersTo(model, file, peopleCsv(model, oneHot, count, seed), seed, wanted, last);
}

function answersTo(model, file, table, seed, wanted, last) {
  const people = join(WORK, `${seed}.csv`), answers = join(WORK, `${seed}.json`);
  writeFileSync(people, table);
  ellice('explain', file, people, '--format', 'json', '-o', answers, '--quiet', ...wanted);
  const members = wanted.includes('--ensemble') ? ['--ensemble', last] : [];
  const verified = JSON.parse(ellice('verify', file, answers, '--format', 'json', '--quiet', ...members));
  return { model, verified, text: readFileSync(answers, 'utf8') };
}

let answers = 0, certified = 0;
const statuses = new Map(), samples = [];
const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));

CASES.forEach((one, index) => {
  test(`agrees with the program on ${one.join(' ')}`, () => compare(answersOf(one, index + 1)));
});

const made = makeModels(ellice, WORK);
made.forEach((one, index) => {
  for (const epsilon of ['0.2%', '2%']) {
    test(`agrees with the program on ${one.name}, at ${epsilon}`, () => {
      const model = v.readModel(readFileSync(one.file, 'utf8'));
      const table = askers(110, 20 + index, one.codes);
      compare(answersTo(model, one.file, table, `${one.name}-${epsilon}`, ['--epsilon', epsilon, ...one.sets]));
    });
  }
});

test('agrees with the program on rules and weights of a run', () => {
  const { model, file } = models.get('lending');
  const rules = ['--rule', 'debt <= 0.3 * income', '--rule', 'if savings rises then loan_amount stays', '--weight', 'income=9', '--weight', 'debt=0.25'];
  const plain = ['--epsilon', '1%'], people = peopleCsv(model, {}, 60, 77);
  const with_ = answersTo(model, file, people, 'rules', [...plain, ...rules]), without = answersTo(model, file, people, 'no-rules', plain);
  compare(with_);
  const rows = ({ text }) => JSON.parse(text).results.map((record) => record.counterfactual);
  let moved = 0;
  rows(with_).forEach((row, i) => {
    const { query } = JSON.parse(with_.text).results[i];
    const isSame = row && model.features.every((f) => row[f.name] === query[f.name]);
    if (row && !isSame) {
      assert.ok(row.debt <= 0.3 * row.income * (1 + 1e-12), `${i}: ${row.debt} of ${row.income}`);
      assert.ok(row.savings <= query.savings || row.loan_amount === query.loan_amount);
    }
    if (JSON.stringify(row) !== JSON.stringify(rows(without)[i])) moved++;
  });
  assert.ok(moved >= 10, `${moved} plans differ`);
  // What the file says of them counts: another rule, and the row breaks it.
  const file_ = JSON.parse(with_.text);
  const broken = file_.results.filter((record) => record.changes?.length > 0).filter((record) => {
    file_.options.rules = ['income <= 1000'];
    return v.verifyRecord(model, file_, record).holds === false;
  });
  assert.equal(broken.length, file_.results.filter((record) => record.changes?.length > 0).length);
});

function compare({ model, verified, text }) {
  const tree = v.parse(text), file = v.toValue(tree);
  assert.deepEqual(v.wrongHashes(tree), []);
  assert.deepEqual(v.verifyRequest(model, file).failures, []);
  assert.deepEqual(v.verifyPeople(file).failures, []);
  assert.equal(verified.failed, 0);
  file.results.forEach((record, i) => {
    const theirs = verified.answers?.[i] ?? verified.results[i];
    const ours = v.verifyRecord(model, file, record, others);
    const where = `record ${i}, ${record.status}: ${ours.failures.join('; ')}`;
    answers++;
    statuses.set(record.status, (statuses.get(record.status) ?? 0) + 1);
    assert.notEqual(ours.holds, false, where);
    const canCheck = record.certificate && ['last-layer', 'ensemble'].includes(record.certificate.set);
    if (!canCheck) return;
    certified++;
    assert.equal(theirs.holds, true, where);
    assert.equal(ours.holds, true, where);
    assert.ok(near(ours.logit, record.certificate.logit), where);
    assert.ok(near(ours.robustLogit, record.robust_logit), where);
    if (i % 7 === 0) samples.push({ model, file, record });
  });
}

test('that was more than a thousand answers, of every status', () => {
  console.log(`# ${answers} answers, ${certified} certificates, ${samples.length} of them to be altered: ${[...statuses].map((s) => s.join(' ')).join(', ')}`);
  assert.ok(certified >= 1000, `${certified} certificates`);
  for (const status of ['optimal', 'certified', 'already_robust', 'infeasible']) assert.ok((statuses.get(status) ?? 0) >= 10, status);
});

/** Every number and text in a certificate, as a path. */
function* leaves(value, path = []) {
  if (value !== null && typeof value === 'object') {
    for (const key of Object.keys(value)) yield* leaves(value[key], [...path, key]);
  } else yield path;
}

const at = (value, path) => path.reduce((inner, key) => inner[key], value);

test('refuses a certificate in which anything was altered', () => {
  const next = random(99);
  let altered = 0;
  assert.ok(samples.length >= 100);
  for (const { model, file, record } of samples) {
    const paths = [...leaves(record.certificate)];
    for (let i = 0; i < 12; i++) {
      const path = paths[Math.floor(next() * paths.length)];
      const copy = JSON.parse(JSON.stringify(record));
      const parent = at(copy.certificate, path.slice(0, -1)), key = path.at(-1), old = parent[key];
      parent[key] = typeof old === 'number' ? old + (1e-6 + next()) * (next() < 0.5 ? -1 : 1) : old + 'x';
      const verdict = v.verifyCertificate(model, v.toValue(v.parse(JSON.stringify(copy.certificate))), others);
      // A worst model or an ε may be written with fewer digits than we see; what was changed above is far larger.
      const { bins } = (path[0] === 'point' && model.features.find((f) => f.name === key)) || { bins: null };
      const isIdle = path[0] === 'acceptable' || (bins && v.binOf(bins, old) === v.binOf(bins, parent[key])); // which the model does not see
      if (!isIdle) assert.equal(verdict.holds, false, `${path.join('.')}: ${old} became ${parent[key]}`);
      altered++;
    }
    const lie = JSON.parse(JSON.stringify(record));
    lie.counterfactual = lie.certificate.point = lie.query;
    if (record.changes?.length > 0) assert.equal(v.verifyRecord(model, file, lie, others).holds, false);
  }
  console.log(`# ${altered} alterations`);
});

test('asks those who decide elsewhere, and bounds their rounding', () => {
  for (const { model, record } of samples.filter((one) => one.model.deployed !== null)) {
    const { certificate } = record, altered = (deployed) => ({ ...model, deployed: { ...model.deployed, ...deployed } });
    assert.equal(v.verifyCertificate(model, certificate).holds, true);
    const lower = altered({ head: model.deployed.head.map((value, i, all) => (i + 1 === all.length ? value - 50 : value)) });
    assert.match(v.verifyCertificate(lower, certificate).failures.join(), /the deployed model gives/);
    assert.match(v.verifyCertificate(altered({ margin: model.deployed.margin / 1000 }), certificate).failures.join(), /rounding may change/);
  }
});

test('knows bins: their edges, their codes, their grid', () => {
  const bins = { edges: [0.3, 0.6], closedRight: true, codes: [{ number: -9, text: 'none' }, { number: 0.5, text: 'half' }], values: null };
  const seen = (value, changes = {}) => v.seen({ ...bins, ...changes }, value).indexOf(1);
  assert.deepEqual([0, 0.3, 0.31, 0.6, 0.61, -9, 0.5].map((value) => seen(value)), [0, 0, 1, 1, 2, 3, 4]);
  assert.deepEqual([0.3, 0.6].map((value) => seen(value, { closedRight: false })), [1, 2]);
  assert.deepEqual(v.seen({ ...bins, values: [5, 4, 3, 2, 1] }, 0.5), [1]);
  assert.deepEqual([[1, 20], [0.3, 1], [0.05, 2], [1e-7]].map(v.gridOf), [1, 0.01, 0.001, 1e-8]);
  const of = (name) => samples.filter((one) => one.file.model_sha256 === v.readModel(readFileSync(made.find((m) => m.name === name).file, 'utf8')).sha256);
  const changed = of('bins').filter(({ record }) => record.changes.some((change) => change.feature === 'share'));
  assert.ok(changed.length > 3);
  const breaks = ({ model, file, record }, value) => v.violations(model, record.query, { ...record.counterfactual, share: value }, file.options, 0).join();
  for (const one of changed) {
    assert.match(breaks(one, 9), /share: 9 is a code/);
    assert.match(breaks(one, one.record.counterfactual.share + 1e-5), /share: .* is not on the grid/);
    assert.match(breaks({ ...one, record: { ...one.record, query: { ...one.record.query, share: -1 } } }, 0.1), /share: must not change/);
    const lie = JSON.parse(JSON.stringify(one.record));
    lie.distance.l2 *= 1.001;
    assert.match(v.verifyRecord(one.model, one.file, lie).failures.join(), /distance.l2/);
  }
});

test('refuses rows that break what the schema or the run asks for', () => {
  let broken = 0;
  for (const { model, file, record } of samples) {
    for (const feature of model.features) {
      const wants = { ...file.options, lock: [feature.name] };
      const changed = record.changes.some((change) => change.feature === feature.name);
      const found = v.violations(model, record.query, record.counterfactual, wants, record.query_index);
      assert.equal(found.length > 0, changed, `${feature.name}: ${found}`);
      if (changed) broken++;
    }
  }
  assert.ok(broken > 50);
});

test('refuses a model file in which a number was altered, by its hash', () => {
  for (const { text, model } of models.values()) {
    const certificateOfIt = { format: 'ellice.certificate', version: 1, model_sha256: model.sha256, set: 'last-layer', epsilon: 0, threshold: 0 };
    const changed = v.readModel(text.replace(/("objective":\s*)0\.(\d)/u, (_, key, digit) => `${key}0.${(Number(digit) + 1) % 10}`));
    assert.notEqual(changed.sha256, model.sha256);
    assert.equal(v.verifyCertificate(changed, certificateOfIt).holds, false);
  }
});

test('reads JSON as the formats say', () => {
  assert.throws(() => v.parse('{"a": 1, "a": 2}'), /twice/);
  assert.throws(() => v.parse('[1,]'));
  assert.throws(() => v.parse('[1e999]'));
  assert.throws(() => v.parse('['.repeat(200)));
  assert.equal(v.canonical(v.parse('{"b": 1.50, "2": [true, null], "1": "\\u00e9\\n"}')), '{"1":"é\\n","2":[true,null],"b":1.50}');
  assert.equal(v.sha256(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  assert.equal(v.sha256('a'.repeat(1000)), '41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3');
});
