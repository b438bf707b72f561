// Files in which something is claimed that nobody proved: each is refused, or what was not checked is named.
// The honest files are those of tests/golden. Environment: VERIFIER (src/verify as one module), GOLDEN.
import { strict as assert } from 'node:assert';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const { VERIFIER, GOLDEN } = process.env;
const v = await import(pathToFileURL(VERIFIER).href);
const read = (...path) => readFileSync(join(GOLDEN, ...path), 'utf8');
const files = (folder) => readdirSync(join(GOLDEN, folder)).filter((name) => name.endsWith('.json'));
const models = files('models').map((name) => v.readModel(read('models', name)));
const load = (name) => v.toValue(v.parse(read('recourse', `${name}.json`)));

/** Everything that verify.html would say of a file. */
function check(file, among = models) {
  const model = among.find((one) => one.sha256 === file.model_sha256);
  const parts = [v.verifyRequest(model, file), v.verifyPeople(file), ...file.results.map((record) => v.verifyRecord(model, file, record, among))];
  return { parts, failures: parts.flatMap((part) => part.failures), beside: new Set(parts.flatMap((part) => part.beside)), holds: parts.slice(2).map((part) => part.holds) };
}

for (const name of files('recourse')) {
  test(`refuses nothing of the honest file ${name}`, () => {
    const file = load(name.replace('.json', '')), { failures, holds } = check(file);
    assert.deepEqual(failures, []);
    file.results.forEach((record, i) => {
      if (record.certificate) assert.equal(holds[i], ['last-layer', 'ensemble'].includes(file.set) ? true : null, `record ${i}`);
    });
  });
}

test('writes the claim of every certificate again, to the letter', () => {
  for (const name of files('certificates')) {
    const certificate = v.toValue(v.parse(read('certificates', name)));
    const model = models.find((one) => one.sha256 === certificate.model_sha256);
    assert.notEqual(v.verifyCertificate(model, certificate, models).holds, false, name);
  }
  assert.deepEqual([0, 1, -1.5, 1e-4, 1.5e-5, 1e15, 1e16, 1e300].map(v.numberText), ['0', '1', '-1.5', '0.0001', '1.5e-05', '1000000000000000', '1e+16', '1e+300']);
});

const each = (change) => (file) => { for (const record of file.results) change(record, file); };
const asked = (change) => (file) => { change(file.options, file); };
const as = (other, keys = ['results']) => (file) => { for (const key of keys) file[key] = load(other)[key]; };

// What was altered, in which file, how, and what must be said of it.
const FORGED = [
  ['certificates for another class than the one asked for', 'iris3', asked((options) => { options.target = ['setosa']; }), /other classes than those asked for/],
  ['more acceptable classes than asked for', 'iris3-either', asked((options) => { options.target = ['virginica']; }), /other classes than those asked for/],
  ['another class of the record', 'iris3', each((record) => { record.target = 'setosa'; }), /for another class/],
  ['all classes acceptable', 'iris3', each(({ certificate }) => { Object.assign(certificate, { acceptable: ['setosa', 'versicolor', 'virginica'], rivals: [], logit: 99, robust_logit: 42 }); }), /every class is acceptable/],
  ['all classes asked for', 'iris3', asked((options) => { options.target = ['setosa', 'versicolor', 'virginica']; }), /options.target/],
  ['an ensemble of many classes', 'iris3', each(({ certificate }) => { Object.assign(certificate, { set: 'ensemble', members: [{ model_sha256: '0'.repeat(64), logit: 9, robust_logit: 9, worst_model: [1] }] }); }), /has no set ensemble/],
  ['a member of the ensemble left out', 'lending-ensemble', asked((options) => { options.ensemble.push('0'.repeat(64)); }), /other models of an ensemble/],
  ['a member of the ensemble twice', 'lending-ensemble', each(({ certificate }) => { certificate.members.push(certificate.members[0]); }), /stands there twice/],
  ['more changes than asked for', 'lending', asked((options) => { options.exact = { max_changes: 1 }; }), /features change, at most 1 may/],
  ['a smuggled damping', 'loans-damping', asked((options) => { delete options.damping; }), /another damping/],
  ['changes called none', 'lending', each((record) => { record.status = 'already_robust'; record.gap = 0; }), /changes nothing, but the rows differ/],
  ['a status that there is not', 'lending', each((record) => { record.status = 'optimal and approved by the regulator'; }), /there is no status/],
  ['an optimum with a gap', 'lending', each((record) => { record.status = 'optimal'; record.gap = 0.1; }), /a gap of 0/],
  ['a smaller cost', 'lending', each((record) => { record.distance.weighted /= 2; }), /distance.weighted is stated as/],
  ['another cost', 'loans-l1', (file) => { file.cost = 'l2'; }, /distance.weighted/],
  ['another weight', 'lending', asked((options) => { options.weights = { income: 2 }; }), /distance.weighted/],
  ['a larger radius', 'lending', each((record) => { record.robustness_radius *= 2; }), /robustness_radius is stated as/],
  ['another threshold in the claim', 'lending', each(({ certificate }) => { certificate.claim = certificate.claim.replace('at least 0,', 'at least 5 always,'); }), /to the letter/],
  ['more in the claim', 'lending', each(({ certificate }) => { certificate.claim += ' The regulator agrees.'; }), /to the letter/],
  ['an option that there is not', 'lending', asked((options) => { options.whatever = 1; }), /options.whatever/],
  ['an option for one person that there is not', 'lending', asked((options) => { options.queries = { 0: { whatever: 1 } }; }), /options.queries.0.whatever/],
  ['a lock of nothing', 'lending', asked((options) => { options.lock = ['wealth']; }), /options.lock/],
  ['another word for a range', 'lending', asked((options) => { options.range = 'Train'; }), /neither train nor off/],
  ['a key that there is not', 'lending', (file) => { file.approved = true; }, /approved is no key/],
  ['a key of a record that there is not', 'lending', each((record) => { record.approved = true; }), /approved is no key/],
  ['a key of a certificate that there is not', 'lending', each(({ certificate }) => { certificate.approved = true; }), /approved is no key/],
  ['another rule of ε', 'lending', (file) => { file.epsilon.rule = '90%'; }, /but the rule 90% gives/],
  ['no rule of ε', 'lending', (file) => { file.epsilon.rule = 'as you like'; }, /is no rule/],
  ['people left out', 'lending-ids', (file) => { file.results.pop(); }, /explained is 3, but 2/],
  ['people left out in between', 'lending-ids', (file) => { file.results.splice(1, 1); file.explained = 2; }, /people are missing/],
  ['one person twice', 'lending-ids', (file) => { file.results[2] = file.results[1]; }, /do not count up/],
  ['no plan, without a proof', 'lending', each((record, file) => { const { query_index, plan, query } = record; file.results[file.results.indexOf(record)] = { query_index, plan, status: 'infeasible', query }; }), /nothing shows that no plan exists/],
  ['a proof beside a plan', 'lending', each((record) => { record.infeasible = load('lending-infeasible').results[0].infeasible; }), /stands beside a plan/],
  ['no certificate', 'lending', each((record) => { record.certificate = null; }), /there is no certificate/],
  ['a certificate that the status does not promise', 'lending', each((record) => { record.status = 'uncertified'; }), /promises none/],
  ['answers to another question', 'lending', as('loans'), /it speaks of the model/],
];

for (const [what, name, alter, message] of FORGED) {
  test(`refuses ${what}`, () => {
    const file = load(name);
    assert.deepEqual(check(file).failures, []);
    alter(file);
    assert.match(check(file).failures.join('\n'), message);
  });
}

test('names what it does not check, beside certificates that hold', () => {
  const beside = (name, change = () => {}) => { const file = load(name); change(file); return [...check(file).beside]; };
  assert.ok(beside('lending', each((record) => { record.status = 'optimal'; record.gap = 0; })).includes('that no allowed plan is nearer'));
  assert.ok(beside('lending', each((record) => { record.predicted_survival = 0.9999; })).includes('the chance to outlast retraining'));
  assert.ok(beside('lending-infeasible').includes('the proof that no plan exists, and what blocks'));
  assert.ok(beside('compas-survival').includes('that the rule survival:99% gives this ε'));
  assert.ok(beside('lending', (file) => { delete file.sha256; }).some((text) => /no hash/.test(text)));
  assert.ok(check(load('lending-infeasible')).holds.includes(null));
});

test('states the strictest of all models of an ensemble, and proves nothing without one of them', () => {
  const file = load('lending-ensemble'), { certificate } = file.results[0];
  const model = models.find((one) => one.sha256 === file.model_sha256);
  const least = Math.min(certificate.robust_logit, ...certificate.members.map((member) => member.robust_logit));
  assert.ok(Math.abs(v.verifyCertificate(model, certificate, models).robustLogit - least) <= 1e-9);
  assert.equal(v.verifyCertificate(model, certificate, [model]).holds, null);
});
