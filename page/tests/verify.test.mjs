// The browser's verifier against the program: answers of every kind, the same verdicts, the same robust logits;
// and certificates in which something was altered are refused.
// Environment: ELLICE (the program), VERIFIER (src/verify as one module), GOLDEN (tests/golden), WORK (a folder).
import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
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
];

function answersOf([name, count, options, last], seed) {
  const { model, text, file } = models.get(name);
  const oneHot = JSON.parse(text).schema.one_hot ?? {};
  const people = join(WORK, `${seed}.csv`), answers = join(WORK, `${seed}.json`);
  writeFileSync(people, peopleCsv(model, oneHot, count, seed));
  const wanted = [...options.split(' '), ...(last ? [last] : [])];
  ellice('explain', file, people, '--format', 'json', '-o', answers, '--quiet', ...wanted);
  const members = wanted.includes('--ensemble') ? ['--ensemble', last] : [];
  const verified = JSON.parse(ellice('verify', file, answers, '--format', 'json', '--quiet', ...members));
  return { model, verified, text: readFileSync(answers, 'utf8') };
}

let answers = 0, certified = 0;
const statuses = new Map(), samples = [];
const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));

CASES.forEach((one, index) => {
  test(`agrees with the program on ${one.join(' ')}`, () => {
    const { model, verified, text } = answersOf(one, index + 1);
    const tree = v.parse(text), file = v.toValue(tree);
    assert.deepEqual(v.wrongHashes(tree), []);
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
      assert.ok(near(ours.robustLogit, record.certificate.robust_logit), where);
      if (i % 7 === 0) samples.push({ model, file, record });
    });
  });
});

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
    const paths = [...leaves(record.certificate)].filter((path) => path[0] !== 'claim');
    for (let i = 0; i < 12; i++) {
      const path = paths[Math.floor(next() * paths.length)];
      const copy = JSON.parse(JSON.stringify(record));
      const parent = at(copy.certificate, path.slice(0, -1)), key = path.at(-1), old = parent[key];
      parent[key] = typeof old === 'number' ? old + (1e-6 + next()) * (next() < 0.5 ? -1 : 1) : old + 'x';
      const verdict = v.verifyCertificate(model, v.toValue(v.parse(JSON.stringify(copy.certificate))), others);
      // A worst model or an ε may be written with fewer digits than we see; what was changed above is far larger.
      const isIdle = path[0] === 'acceptable';
      if (!isIdle) assert.equal(verdict.holds, false, `${path.join('.')}: ${old} became ${parent[key]}`);
      altered++;
    }
    const claim = JSON.parse(JSON.stringify(record.certificate));
    claim.claim = claim.claim.replace(/≤ [^ ]+/u, '≤ 123');
    assert.equal(v.verifyCertificate(model, claim, others).holds, false);
    const lie = JSON.parse(JSON.stringify(record));
    lie.counterfactual = lie.certificate.point = lie.query;
    if (record.changes?.length > 0) assert.equal(v.verifyRecord(model, file, lie, others).holds, false);
  }
  console.log(`# ${altered} alterations`);
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
